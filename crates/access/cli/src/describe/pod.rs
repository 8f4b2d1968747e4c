//! Pods, and the templates that others make pods of.

use serde_json::Value;

use super::containers::{self, Told};
use super::page::Page;
use super::shown::{Now, controller, is_there, items, number, pairs, plain, selector, text};
use super::{Given, annotations, labels_and_annotations, name_and_namespace, volumes};

pub(super) fn pod(page: &mut Page, given: &Given<'_>) {
    let (pod, now) = (given.object, given.now);
    let (spec, status) = (&pod["spec"], &pod["status"]);
    name_and_namespace(page, pod);
    placed(page, spec, status, now);
    labels_and_annotations(page, pod);
    let leaves = &pod["metadata"]["deletionTimestamp"];
    let phase = text(&status["phase"]);
    if is_there(leaves) && !matches!(phase, "Failed" | "Succeeded") {
        page.field(0, "Status", format_args!("Terminating (lasts {})", now.since(leaves)));
        let grace = number(&pod["metadata"]["deletionGracePeriodSeconds"]);
        page.field(0, "Termination Grace Period", format_args!("{grace}s"));
    } else {
        page.field(0, "Status", phase);
    }
    for (label, field) in [("Reason", "reason"), ("Message", "message")] {
        if is_there(&status[field]) {
            page.field(0, label, text(&status[field]));
        }
    }
    let profile = &spec["securityContext"]["seccompProfile"];
    if is_there(profile) {
        page.field(0, "SeccompProfile", text(&profile["type"]));
        if profile["type"] == "Localhost" {
            page.field(0, "LocalhostProfile", text(&profile["localhostProfile"]));
        }
    }
    page.field(0, "IP", text(&status["podIP"]));
    match items(&status["podIPs"]) {
        [] => page.field(0, "IPs", "<none>"),
        addresses => {
            page.head(0, "IPs");
            addresses.iter().for_each(|one| page.field(1, "IP", text(&one["ip"])));
        }
    }
    if let Some(controller) = controller(pod) {
        page.field(0, "Controlled By", controller);
    }
    if is_there(&status["nominatedNodeName"]) {
        page.field(0, "NominatedNodeName", text(&status["nominatedNodeName"]));
    }
    if is_there(&spec["resources"]) {
        page.head(0, "Resources");
        containers::resources(page, 1, &spec["resources"]);
    }
    all_containers(page, pod, now);
    conditions(page, spec, status);
    volumes::of_pod(page, &spec["volumes"], false);
    page.field(0, "QoS Class", text(&status["qosClass"]));
    page.list(0, "Node-Selectors", pairs(&spec["nodeSelector"]));
    page.list(0, "Tolerations", tolerations(&spec["tolerations"]));
    spread(page, 0, &spec["topologySpreadConstraints"]);
    scheduling_group(page, 0, spec);
}

fn placed(page: &mut Page, spec: &Value, status: &Value, now: &Now) {
    for (label, field) in [
        ("Priority", "priority"),
        ("Priority Class Name", "priorityClassName"),
        ("Runtime Class Name", "runtimeClassName"),
        ("Service Account", "serviceAccountName"),
    ] {
        if is_there(&spec[field]) {
            page.field(0, label, plain(&spec[field]));
        }
    }
    match text(&spec["nodeName"]) {
        "" => page.field(0, "Node", "<none>"),
        node => page.field(0, "Node", format_args!("{node}/{}", text(&status["hostIP"]))),
    }
    if is_there(&status["startTime"]) {
        page.field(0, "Start Time", now.date(&status["startTime"]));
    }
}

fn all_containers(page: &mut Page, pod: &Value, now: &Now) {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    for (label, list, statuses) in [
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
        ("Ephemeral Containers", "ephemeralContainers", "ephemeralContainerStatuses"),
    ] {
        if list == "containers" || is_there(&spec[list]) {
            let told = Told { pod: Some(pod), statuses: &status[statuses], now };
            containers::describe(page, label, &spec[list], &told, false);
        }
    }
}

fn conditions(page: &mut Page, spec: &Value, status: &Value) {
    let conditions = items(&status["conditions"]);
    if is_there(&spec["readinessGates"]) {
        page.head(0, "Readiness Gates");
        page.line(1, "Type\tStatus");
        for gate in items(&spec["readinessGates"]) {
            let kind = text(&gate["conditionType"]);
            let found = conditions.iter().find(|one| one["type"] == kind);
            let met = found.map_or("<none>", |one| text(&one["status"]));
            page.line(1, format_args!("{kind} \t{met} "));
        }
    }
    if !conditions.is_empty() {
        page.head(0, "Conditions");
        page.line(1, "Type\tStatus");
        for one in conditions {
            page.line(1, format_args!("{} \t{} ", text(&one["type"]), text(&one["status"])));
        }
    }
}

/// What a controller makes its pods of.
pub(super) fn template(page: &mut Page, template: &Value, now: &Now) {
    let (meta, spec) = (&template["metadata"], &template["spec"]);
    page.head(0, "Pod Template");
    page.list(1, "Labels", pairs(&meta["labels"]));
    if is_there(&meta["annotations"]) {
        annotations(page, 1, &meta["annotations"]);
    }
    if is_there(&spec["serviceAccountName"]) {
        page.field(1, "Service Account", text(&spec["serviceAccountName"]));
    }
    let told = Told { pod: None, statuses: &Value::Null, now };
    if is_there(&spec["initContainers"]) {
        containers::describe(page, "Init Containers", &spec["initContainers"], &told, true);
    }
    containers::describe(page, "Containers", &spec["containers"], &told, true);
    volumes::of_pod(page, &spec["volumes"], true);
    spread(page, 1, &spec["topologySpreadConstraints"]);
    if is_there(&spec["priorityClassName"]) {
        page.field(1, "Priority Class Name", text(&spec["priorityClassName"]));
    }
    page.list(1, "Node-Selectors", pairs(&spec["nodeSelector"]));
    page.list(1, "Tolerations", tolerations(&spec["tolerations"]));
    scheduling_group(page, 1, spec);
}

fn scheduling_group(page: &mut Page, level: usize, spec: &Value) {
    if is_there(&spec["schedulingGroup"]) {
        page.head(level, "SchedulingGroup");
        page.field(1, "PodGroupName", text(&spec["schedulingGroup"]["podGroupName"]));
    }
}

fn tolerations(tolerations: &Value) -> Vec<String> {
    let mut sorted: Vec<&Value> = items(tolerations).iter().collect();
    sorted.sort_by_key(|one| text(&one["key"]));
    sorted.into_iter().map(toleration).collect()
}

fn toleration(one: &Value) -> String {
    let mut written = text(&one["key"]).to_owned();
    if is_there(&one["value"]) {
        written.push_str(&format!("={}", text(&one["value"])));
    }
    if is_there(&one["effect"]) {
        written.push_str(&format!(":{}", text(&one["effect"])));
    }
    if one["operator"] == "Exists" && !is_there(&one["value"]) {
        written.push_str(if written.is_empty() { "op=Exists" } else { " op=Exists" });
    }
    if let Some(seconds) = one["tolerationSeconds"].as_i64() {
        written.push_str(&format!(" for {seconds}s"));
    }
    written
}

fn spread(page: &mut Page, level: usize, constraints: &Value) {
    if !is_there(constraints) {
        return;
    }
    let mut sorted: Vec<&Value> = items(constraints).iter().collect();
    sorted.sort_by_key(|one| text(&one["topologyKey"]));
    let written = sorted.into_iter().map(|one| {
        let (key, otherwise) = (text(&one["topologyKey"]), text(&one["whenUnsatisfiable"]));
        let skew = number(&one["maxSkew"]);
        let among = match &one["labelSelector"] {
            Value::Null => String::new(),
            labels => format!(" for selector {}", super::shown::selector_or_none(labels)),
        };
        format!("{key}:{otherwise} when max skew {skew} is exceeded{among}")
    });
    page.list(level, "Topology Spread Constraints", written);
}

/// Pods that a controller made and that still count for it, by phase.
pub(super) fn counted(given: &Given<'_>) -> String {
    let uid = &given.object["metadata"]["uid"];
    let pods = given.related.pods.as_deref().unwrap_or_default();
    let own = || pods.iter().filter(|pod| super::shown::owner(pod).is_some_and(|owner| owner["uid"] == *uid));
    let count = |phase: &str| own().filter(|pod| pod["status"]["phase"] == phase).count();
    format!(
        "{} Running / {} Waiting / {} Succeeded / {} Failed",
        count("Running"),
        count("Pending"),
        count("Succeeded"),
        count("Failed")
    )
}

/// The selector by which a workload finds its pods, as it is typed.
pub(super) fn selects(object: &Value) -> String {
    selector(&object["spec"]["selector"])
}
