//! Which checks a standard consists of, and what a pod has against it. Reads a pod's spec and annotations, and nothing else.

mod baseline;
mod restricted;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::policy::{Level, Standard};
use crate::object;

/// A pod, or what pods will be made from.
pub(super) struct Pod<'v> {
    pub(super) annotations: Option<&'v Map<String, Value>>,
    pub(super) spec: &'v Value,
}

/// What a pod does that it must not.
pub(super) struct Violation {
    pub(super) reason: &'static str,
    detail: String,
}

type Check = fn(&Pod<'_>) -> Option<Violation>;

/// A check of the baseline level in its versions, and the minor release since which the restricted level has its own
/// in its place.
struct Baseline(&'static [(u32, Check)], Option<u32>);

/// In the order of their names, which is the order in which a pod hears of them.
const BASELINE: [Baseline; 12] = [
    Baseline(&[(0, baseline::app_armor)], None),
    Baseline(&[(0, baseline::capabilities)], Some(22)),
    Baseline(&[(0, baseline::host_namespaces)], None),
    Baseline(&[(0, baseline::host_paths)], Some(0)),
    Baseline(&[(0, baseline::host_ports)], None),
    Baseline(&[(34, baseline::probe_hosts)], None),
    Baseline(&[(0, baseline::privileged)], None),
    Baseline(&[(0, baseline::proc_mount), (35, baseline::proc_mount_of_host_users)], Some(35)),
    Baseline(&[(0, baseline::selinux_0), (31, baseline::selinux_31)], None),
    Baseline(&[(0, baseline::seccomp_0), (19, baseline::seccomp_19)], Some(19)),
    Baseline(
        &[
            (0, baseline::sysctls_0),
            (27, baseline::sysctls_27),
            (29, baseline::sysctls_29),
            (32, baseline::sysctls_32),
        ],
        None,
    ),
    Baseline(&[(0, baseline::host_process)], None),
];

const RESTRICTED: [&[(u32, Check)]; 7] = [
    &[(8, restricted::escalation), (25, restricted::escalation_on_linux)],
    &[(22, restricted::capabilities), (25, restricted::capabilities_on_linux)],
    &[(35, baseline::proc_mount)],
    &[(0, restricted::volumes)],
    &[(0, restricted::non_root), (35, restricted::non_root_of_host_users)],
    &[(23, restricted::user), (35, restricted::user_of_host_users)],
    &[(19, restricted::seccomp), (25, restricted::seccomp_on_linux)],
];

/// Everything that the pod has against the standard.
pub(super) fn violations(standard: Standard, pod: &Pod<'_>) -> Vec<Violation> {
    let minor = standard.version.0.unwrap_or(u32::MAX);
    let version = |versions: &[(u32, Check)]| {
        versions.iter().rev().find(|(since, _)| *since <= minor).map(|(_, check)| *check)
    };
    let is_restricted = standard.level == Level::Restricted;
    let baseline = BASELINE
        .iter()
        .filter(|_| standard.level >= Level::Baseline)
        .filter(|check| !(is_restricted && check.1.is_some_and(|since| since <= minor)))
        .filter_map(|check| version(check.0));
    let restricted = RESTRICTED.iter().filter(|_| is_restricted).filter_map(|check| version(check));
    baseline.chain(restricted).filter_map(|check| check(pod)).collect()
}

/// `hostPort (container "a" uses hostPort 80), privileged (…)`.
pub(super) fn details(violations: &[Violation]) -> String {
    let each: Vec<String> = violations
        .iter()
        .map(|Violation { reason, detail }| match detail.as_str() {
            "" => (*reason).to_owned(),
            detail => format!("{reason} ({detail})"),
        })
        .collect();
    each.join(", ")
}

pub(super) fn reasons(violations: &[Violation]) -> String {
    violations.iter().map(|violation| violation.reason).collect::<Vec<_>>().join(", ")
}

impl<'v> Pod<'v> {
    fn at(&self, path: &[&str]) -> Option<&'v Value> {
        set(self.spec, path)
    }

    fn list(&self, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
        items(self.spec.get(field))
    }

    /// All containers, in the order in which a pod hears of them.
    fn containers(&self) -> impl Iterator<Item = &'v Value> + use<'v> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |field| items(spec.get(field)))
    }

    /// Names of the containers that this is true of.
    fn containers_that(&self, mut bad: impl FnMut(&'v Value) -> bool) -> Vec<&'v str> {
        self.containers().filter(|container| bad(container)).map(name).collect()
    }

    /// Who among the pod and its containers sets something bad, and what they set.
    fn setting<T>(&self, bad: impl Fn(&'v Value) -> Option<T>) -> (Option<String>, Vec<T>) {
        let mut values: Vec<T> = bad(self.spec).into_iter().collect();
        let of_pod = !values.is_empty();
        let containers = self.containers_that(|container| {
            let found = bad(container);
            let is_bad = found.is_some();
            values.extend(found);
            is_bad
        });
        (setters(of_pod, &containers), values)
    }

    fn annotations(&self) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
        self.annotations.into_iter().flatten().filter_map(|(key, value)| Some((&**key, value.as_str()?)))
    }

    fn is_for_windows(&self) -> bool {
        object::text(self.spec, &["os", "name"]) == "windows"
    }

    /// Root in a user namespace is nobody on the node.
    fn has_own_users(&self) -> bool {
        self.at(&["hostUsers"]) == Some(&Value::Bool(false))
    }
}

fn violation(reason: &'static str, detail: impl Into<String>) -> Option<Violation> {
    Some(Violation { reason, detail: detail.into() })
}

/// What stands at a path and is not null.
fn set<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    object::at(value, path).filter(|found| !found.is_null())
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn name(value: &Value) -> &str {
    object::text(value, &["name"])
}

fn is_true(value: &Value, path: &[&str]) -> bool {
    object::at(value, path) == Some(&Value::Bool(true))
}

/// `container "a"` or `containers "a", "b"`.
fn named(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names.iter().copied()))
}

/// `pod and containers "a", "b"`: those who set something themselves.
fn setters(pod: bool, containers: &[&str]) -> Option<String> {
    let containers = Some(containers).filter(|names| !names.is_empty()).map(named);
    let all: Vec<String> = pod.then(|| "pod".to_owned()).into_iter().chain(containers).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

fn quoted<'s>(items: impl IntoIterator<Item = &'s str>) -> String {
    let items: Vec<&str> = items.into_iter().collect();
    if items.is_empty() { String::new() } else { format!("\"{}\"", items.join("\", \"")) }
}

fn sorted(items: &BTreeSet<&str>) -> String {
    quoted(items.iter().copied())
}

fn plural<'s>(one: &'s str, more: &'s str, count: usize) -> &'s str {
    if count == 1 { one } else { more }
}
