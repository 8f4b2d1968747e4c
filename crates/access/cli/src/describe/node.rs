//! Nodes: what they are, how they are doing, and how much of them is taken.

use std::collections::{BTreeMap, BTreeSet};

use kedge_kinds::Quantity;
use serde_json::Value;

use super::amounts::{Amounts, Side, add, of_pod};
use super::page::Page;
use super::shown::{Now, entries, is_there, items, joined, plain, plain_or, quantity, text, truth};
use super::{Given, labels_and_annotations, name};

const ROLE: &str = "node-role.kubernetes.io/";
/// Pools of devices that are told; the others are counted.
const MOST_POOLS: usize = 10;

pub(super) fn node(page: &mut Page, given: &Given<'_>) {
    let (object, now) = (given.object, given.now);
    let (spec, status) = (&object["spec"], &object["status"]);
    name(page, object);
    page.field(0, "Roles", roles(&object["metadata"]["labels"]));
    labels_and_annotations(page, object);
    page.field(0, "CreationTimestamp", now.date(&object["metadata"]["creationTimestamp"]));
    page.list(0, "Taints", taints(&spec["taints"]));
    page.field(0, "Unschedulable", truth(&spec["unschedulable"]));
    match &given.related.lease {
        Some(Ok(lease)) => told_lease(page, &lease["spec"], now),
        Some(Err(error)) => page.field(0, "Lease", format_args!("Failed to get lease: {error}")),
        None => {}
    }
    conditions(page, &status["conditions"], now);
    page.head(0, "Addresses");
    for address in items(&status["addresses"]) {
        page.field(1, text(&address["type"]), text(&address["address"]));
    }
    for (label, field) in [("Capacity", "capacity"), ("Allocatable", "allocatable")] {
        if is_there(&status[field]) {
            page.head(0, label);
            for (resource, amount) in entries(&status[field]) {
                page.field(1, resource, plain(amount));
            }
        }
    }
    devices(page, &given.related.devices);
    system(page, spec, &status["nodeInfo"]);
    match &given.related.pods {
        Some(pods) => taken(page, pods, status, now),
        None => page.field(0, "Pods", "not authorized"),
    }
}

fn roles(labels: &Value) -> String {
    let named = entries(labels).filter_map(|(key, value)| match key.strip_prefix(ROLE) {
        Some(role) => Some(role),
        None => value.as_str().filter(|_| key == "kubernetes.io/role"),
    });
    let roles: BTreeSet<&str> = named.filter(|role| !role.is_empty()).collect();
    if roles.is_empty() {
        return "<none>".to_owned();
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn taints(taints: &Value) -> Vec<String> {
    let mut sorted: Vec<&Value> = items(taints).iter().collect();
    sorted.sort_by_key(|taint| (text(&taint["effect"]), text(&taint["key"])));
    let written = sorted.into_iter().map(|taint| {
        let (key, value, effect) = (text(&taint["key"]), text(&taint["value"]), text(&taint["effect"]));
        match value {
            "" => format!("{key}:{effect}"),
            value => format!("{key}={value}:{effect}"),
        }
    });
    written.collect()
}

fn told_lease(page: &mut Page, spec: &Value, now: &Now) {
    page.head(0, "Lease");
    page.field(1, "HolderIdentity", plain_or(&spec["holderIdentity"], "<unset>"));
    for (label, field) in [("AcquireTime", "acquireTime"), ("RenewTime", "renewTime")] {
        let time = &spec[field];
        page.field(1, label, if time.is_null() { "<unset>".to_owned() } else { now.date(time) });
    }
}

fn conditions(page: &mut Page, conditions: &Value, now: &Now) {
    if !is_there(conditions) {
        return;
    }
    page.head(0, "Conditions");
    page.columns(1, &["Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message"]);
    for one in items(conditions) {
        let (seen, changed) = (now.date(&one["lastHeartbeatTime"]), now.date(&one["lastTransitionTime"]));
        let (kind, status) = (text(&one["type"]), text(&one["status"]));
        let (reason, message) = (text(&one["reason"]), text(&one["message"]));
        page.line(1, format_args!("{kind} \t{status} \t{seen} \t{changed} \t{reason} \t{message}"));
    }
}

fn devices(page: &mut Page, slices: &[Value]) {
    let mut pools: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for slice in slices {
        let spec = &slice["spec"];
        let pool = pools.entry((text(&spec["driver"]), text(&spec["pool"]["name"]))).or_default();
        pool.0 += 1;
        pool.1 += items(&spec["devices"]).len();
    }
    if pools.is_empty() {
        return;
    }
    page.head(0, "Node-Local ResourceSlices");
    page.columns(1, &["Driver", "Pool", "Slices", "Devices"]);
    for ((driver, pool), (slices, devices)) in pools.iter().take(MOST_POOLS) {
        page.line(1, format_args!("{driver}\t{pool}\t{slices}\t{devices}"));
    }
    if pools.len() > MOST_POOLS {
        page.line(1, format_args!("...and {} more pools", pools.len() - MOST_POOLS));
    }
}

fn system(page: &mut Page, spec: &Value, info: &Value) {
    page.head(0, "System Info");
    for (label, field) in [
        ("Machine ID", "machineID"),
        ("System UUID", "systemUUID"),
        ("Boot ID", "bootID"),
        ("Kernel Version", "kernelVersion"),
        ("OS Image", "osImage"),
        ("Operating System", "operatingSystem"),
        ("Architecture", "architecture"),
        ("Container Runtime Version", "containerRuntimeVersion"),
        ("Kubelet Version", "kubeletVersion"),
    ] {
        page.field(1, label, text(&info[field]));
    }
    if is_there(&spec["podCIDR"]) {
        page.field(0, "PodCIDR", text(&spec["podCIDR"]));
    }
    if is_there(&spec["podCIDRs"]) {
        page.field(0, "PodCIDRs", joined(&spec["podCIDRs"], ","));
    }
    if is_there(&spec["providerID"]) {
        page.field(0, "ProviderID", text(&spec["providerID"]));
    }
}

/// What the node's pods take of it, one by one and together.
fn taken(page: &mut Page, pods: &[Value], status: &Value, now: &Now) {
    let whole = if is_there(&status["allocatable"]) { &status["allocatable"] } else { &status["capacity"] };
    page.field(0, "Non-terminated Pods", format_args!("({} in total)", pods.len()));
    page.line(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge");
    page.line(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---");
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    for pod in pods {
        let (own, most) = (of_pod(pod, Side::Requests), of_pod(pod, Side::Limits));
        let part = |amounts: &Amounts, resource| share(amounts, resource, whole);
        let meta = &pod["metadata"];
        page.line(
            1,
            format_args!(
                "{}\t{}\t\t{}\t{}\t{}\t{}\t{}",
                text(&meta["namespace"]),
                text(&meta["name"]),
                part(&own, "cpu"),
                part(&most, "cpu"),
                part(&own, "memory"),
                part(&most, "memory"),
                now.since(&meta["creationTimestamp"])
            ),
        );
        add(&mut requests, &own);
        add(&mut limits, &most);
    }
    page.head(0, "Allocated resources");
    page.line(1, "(Total limits may be over 100 percent, i.e., overcommitted.)");
    page.columns(1, &["Resource", "Requests", "Limits"]);
    let huge = entries(whole).map(|(name, _)| name).filter(|name| name.starts_with("hugepages-"));
    for resource in ["cpu", "memory", "ephemeral-storage"].into_iter().chain(huge) {
        let (asked, most) = (share(&requests, resource, whole), share(&limits, resource, whole));
        page.line(1, format_args!("{resource}\t{asked}\t{most}"));
    }
    for (resource, _) in entries(whole) {
        if is_extended(resource) {
            let amount = |amounts: &Amounts| amounts.get(resource).copied().unwrap_or(Quantity::ZERO);
            page.line(1, format_args!("{resource}\t{}\t{}", amount(&requests), amount(&limits)));
        }
    }
}

fn is_extended(resource: &str) -> bool {
    !matches!(resource, "cpu" | "memory" | "ephemeral-storage" | "pods")
        && !resource.starts_with("hugepages-")
}

/// `250m (12%)`
fn share(amounts: &Amounts, resource: &str, whole: &Value) -> String {
    let amount = amounts.get(resource).copied().unwrap_or(Quantity::ZERO);
    let all = quantity(&whole[resource]);
    let (part, all) = match resource {
        "cpu" => (amount.milli_value(), all.milli_value()),
        _ => (amount.value(), all.value()),
    };
    let percent = if all == 0 { 0 } else { (i128::from(part) * 100 / i128::from(all)) as i64 };
    format!("{amount} ({percent}%)")
}
