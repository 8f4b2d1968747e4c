//! Namespaces and what is rationed in them.

use std::collections::BTreeSet;

use kedge_kinds::Quantity;
use serde_json::Value;

use super::page::Page;
use super::shown::{Now, entries, is_there, items, plain, plain_or, quantity, text};
use super::{Given, labels_and_annotations, name, name_and_namespace};

const LIMIT_COLUMNS: [&str; 7] =
    ["Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio"];
const LIMIT_FIELDS: [&str; 5] = ["min", "max", "defaultRequest", "default", "maxLimitRequestRatio"];

pub(super) fn namespace(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name(page, object);
    labels_and_annotations(page, object);
    page.field(0, "Status", text(&object["status"]["phase"]));
    let conditions = items(&object["status"]["conditions"]);
    if !conditions.is_empty() {
        page.head(0, "Conditions");
        dated_conditions(page, conditions, given.now);
    }
    page.line(0, "");
    quotas(page, &given.related.quotas);
    page.line(0, "");
    limits(page, &given.related.limits);
}

pub(super) fn dated_conditions(page: &mut Page, conditions: &[Value], now: &Now) {
    page.columns(1, &["Type", "Status", "LastTransitionTime", "Reason", "Message"]);
    for one in conditions {
        let since = now.date(&one["lastTransitionTime"]);
        let (kind, status) = (text(&one["type"]), text(&one["status"]));
        let (reason, message) = (text(&one["reason"]), text(&one["message"]));
        page.line(1, format_args!("{kind}\t{status}\t{since}\t{reason}\t{message}"));
    }
}

fn quotas(page: &mut Page, quotas: &[Value]) {
    if quotas.is_empty() {
        page.line(0, "No resource quota.");
        return;
    }
    let mut sorted: Vec<&Value> = quotas.iter().collect();
    sorted.sort_by_key(|quota| text(&quota["metadata"]["name"]));
    page.line(0, "Resource Quotas");
    for quota in sorted {
        page.field(1, "Name", text(&quota["metadata"]["name"]));
        scopes(page, 1, &quota["spec"]["scopes"], "* ");
        page.line(1, "Resource\tUsed\tHard");
        page.line(1, "--------\t---\t---");
        for (resource, hard) in entries(&quota["status"]["hard"]) {
            let used = plain_or(&quota["status"]["used"][resource], "0");
            page.line(1, format_args!("{resource}\t{used}\t{}", plain(hard)));
        }
    }
}

fn scopes(page: &mut Page, level: usize, scopes: &Value, mark: &str) {
    if !is_there(scopes) {
        return;
    }
    let mut scopes: Vec<&str> = items(scopes).iter().map(text).collect();
    scopes.sort_unstable();
    page.field(level, "Scopes", scopes.join(", "));
    for help in scopes.into_iter().filter_map(meaning) {
        page.line(level, format_args!("{mark}{help}"));
    }
}

fn meaning(scope: &str) -> Option<&'static str> {
    Some(match scope {
        "Terminating" => {
            "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being \
             actively terminated by the system."
        }
        "NotTerminating" => {
            "Matches all pods that do not have an active deadline. These pods usually include long running pods whose \
             container command is not expected to terminate."
        }
        "BestEffort" => {
            "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service."
        }
        "NotBestEffort" => {
            "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed \
             quality of service."
        }
        _ => return None,
    })
}

pub(super) fn quota(page: &mut Page, given: &Given<'_>) {
    let (object, status) = (given.object, &given.object["status"]);
    name_and_namespace(page, object);
    scopes(page, 0, &object["spec"]["scopes"], " * ");
    page.columns(0, &["Resource", "Used", "Hard"]);
    for (resource, hard) in entries(&status["hard"]) {
        let (mut used, hard) = (quantity(&status["used"][resource]), quantity(hard));
        if used.format() != hard.format() {
            used = Quantity::of(used.value(), hard.format());
        }
        page.line(0, format_args!("{resource}\t{used}\t{hard}"));
    }
}

fn limits(page: &mut Page, ranges: &[Value]) {
    if ranges.is_empty() {
        page.line(0, "No LimitRange resource.");
        return;
    }
    page.line(0, "Resource Limits");
    let mut names = LIMIT_COLUMNS;
    names[0] = " Type";
    page.line(0, names.join("\t"));
    let rules: Vec<String> = LIMIT_COLUMNS.iter().map(|name| "-".repeat(name.len())).collect();
    page.line(0, format_args!(" {}", rules.join("\t")));
    ranges.iter().for_each(|range| rows(page, range, " "));
}

pub(super) fn limit_range(page: &mut Page, given: &Given<'_>) {
    name_and_namespace(page, given.object);
    page.columns(0, &LIMIT_COLUMNS);
    rows(page, given.object, "");
}

fn rows(page: &mut Page, range: &Value, indent: &str) {
    for limit in items(&range["spec"]["limits"]) {
        let lists = LIMIT_FIELDS.iter().map(|field| &limit[*field]);
        let resources: BTreeSet<&str> = lists.flat_map(|list| entries(list).map(|(name, _)| name)).collect();
        for resource in resources {
            let amounts: Vec<String> =
                LIMIT_FIELDS.iter().map(|field| plain_or(&limit[*field][resource], "-")).collect();
            let kind = text(&limit["type"]);
            page.line(0, format_args!("{indent}{kind}\t{resource}\t{}", amounts.join("\t")));
        }
    }
}
