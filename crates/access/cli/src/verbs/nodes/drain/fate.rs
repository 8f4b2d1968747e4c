//! What becomes of each pod of a node that is drained, and what is said of it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::error::CliError;

const MIRROR: &str = "kubernetes.io/config.mirror";

/// What a person said may happen.
#[derive(Clone, Copy, Default)]
pub(super) struct Allowed {
    pub(super) daemons: bool,
    pub(super) data: bool,
    pub(super) force: bool,
}

/// What becomes of a pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes, and this is said.
    Leave(Option<String>),
    /// It stays, and this is said.
    Stay(Option<String>),
    /// It is in the way of everything.
    Refuse(String),
}

/// The daemon set that a pod is of, by namespace and name.
pub(super) fn daemon_set(pod: &Value) -> Option<(String, String)> {
    let owner = owner(pod).filter(|owner| owner["kind"] == "DaemonSet")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (!ended(pod)).then(|| (text(&pod["metadata"]["namespace"]), text(&owner["name"])))
}

fn owner(pod: &Value) -> Option<&Value> {
    let owners = pod["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == json!(true))
}

fn ended(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// `lost` are the daemon sets that are not there any more.
pub(super) fn decide(pod: &Value, allowed: Allowed, lost: &BTreeSet<(String, String)>) -> Fate {
    let said = |words: &str| Some(words.to_owned());
    if let Some(set) = daemon_set(pod) {
        let missing = format!("daemonsets.apps {:?} not found", set.1);
        return match (lost.contains(&set), allowed.force, allowed.daemons) {
            (true, true, _) => Fate::Leave(Some(missing)),
            (true, false, _) => Fate::Refuse(missing),
            (false, _, true) => Fate::Stay(said("ignoring DaemonSet-managed Pods")),
            (false, _, false) => Fate::Refuse(
                "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)".to_owned(),
            ),
        };
    }
    if !pod["metadata"]["annotations"][MIRROR].is_null() {
        return Fate::Stay(None);
    }
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let has_data = !ended(pod) && volumes.into_iter().any(|volume| !volume["emptyDir"].is_null());
    if has_data && !allowed.data {
        return Fate::Refuse(
            "cannot delete Pods with local storage (use --delete-emptydir-data to override)".to_owned(),
        );
    }
    match (ended(pod) || owner(pod).is_some(), allowed.force) {
        (true, _) => Fate::Leave(None),
        (false, true) => Fate::Leave(said("deleting Pods that declare no controller")),
        (false, false) => {
            Fate::Refuse("cannot delete Pods that declare no controller (use --force to override)".to_owned())
        }
    }
}

/// What becomes of all of them; the same words are said once, with the pods that they are about.
#[derive(Default)]
pub(super) struct Fates {
    leaving: Vec<Value>,
    warnings: BTreeMap<String, Vec<String>>,
    refused: BTreeMap<String, Vec<String>>,
}

impl Fates {
    pub(super) fn add(&mut self, pod: Value, fate: Fate) {
        let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default();
        let told = format!("{}/{}", text("namespace"), text("name"));
        let (Fate::Leave(words) | Fate::Stay(words)) = &fate else {
            if let Fate::Refuse(words) = fate {
                self.refused.entry(words).or_default().push(told);
            }
            return;
        };
        if let Some(words) = words {
            self.warnings.entry(words.clone()).or_default().push(told);
        }
        if matches!(fate, Fate::Leave(_)) {
            self.leaving.push(pod);
        }
    }

    /// The pods that leave and what is said of them, unless one is in the way.
    pub(super) fn told(self) -> Result<(Vec<Value>, String), CliError> {
        let lines = |notes: BTreeMap<String, Vec<String>>| {
            let line = |(words, pods): (String, Vec<String>)| format!("{words}: {}", pods.join(", "));
            notes.into_iter().map(line).collect::<Vec<_>>()
        };
        let mut refused: Vec<CliError> = lines(self.refused).into_iter().map(CliError::unmet).collect();
        match refused.len() {
            0 => Ok((self.leaving, lines(self.warnings).join("; "))),
            1 => Err(refused.remove(0)),
            _ => Err(CliError::Several(refused)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_leaves_unless_something_is_lost_with_it() {
        let owned = |kind| json!([{"controller": true, "kind": kind, "name": "set"}]);
        let of = |kind| json!({"metadata": {"namespace": "n", "ownerReferences": owned(kind)}, "spec": {}});
        let none = Allowed::default();
        let force = Allowed { force: true, ..none };
        let with_data = |mut pod: Value| {
            pod["spec"]["volumes"] = json!([{"emptyDir": {}}]);
            pod
        };
        let ended = |mut pod: Value| {
            pod["status"] = json!({"phase": "Failed"});
            pod
        };
        let alone = json!({"metadata": {}, "spec": {}});
        let mirror = json!({"metadata": {"annotations": {MIRROR: "x"}}, "spec": {}});
        let there = BTreeSet::new();
        let gone = BTreeSet::from([("n".to_owned(), "set".to_owned())]);
        for (case, pod, allowed, lost, told) in [
            ("of a set", of("ReplicaSet"), none, &there, "leave"),
            ("of nobody", alone.clone(), none, &there, "refuse: no controller"),
            ("of nobody, by force", alone.clone(), force, &there, "leave: no controller"),
            ("of nobody, ended", ended(alone), none, &there, "leave"),
            ("with data", with_data(of("ReplicaSet")), none, &there, "refuse: local storage"),
            ("with data, ended", ended(with_data(of("ReplicaSet"))), none, &there, "leave"),
            ("with data, allowed", with_data(of("Job")), Allowed { data: true, ..none }, &there, "leave"),
            ("of every node", of("DaemonSet"), none, &there, "refuse: DaemonSet-managed"),
            ("of every node, by force", of("DaemonSet"), force, &there, "refuse: DaemonSet-managed"),
            (
                "of every node, ignored",
                of("DaemonSet"),
                Allowed { daemons: true, ..none },
                &there,
                "stay: DaemonSet-managed",
            ),
            ("of every node, ended", ended(of("DaemonSet")), none, &there, "leave"),
            ("of a daemon set that is gone", of("DaemonSet"), none, &gone, "refuse: \"set\" not found"),
            ("of one that is gone, by force", of("DaemonSet"), force, &gone, "leave: \"set\" not found"),
            ("of the node itself", mirror, none, &there, "stay"),
        ] {
            let (fate, words) = match decide(&pod, allowed, lost) {
                Fate::Leave(words) => ("leave", words),
                Fate::Stay(words) => ("stay", words),
                Fate::Refuse(words) => ("refuse", Some(words)),
            };
            let (wanted, part) =
                told.split_once(": ").map_or((told, None), |(fate, part)| (fate, Some(part)));
            assert_eq!(fate, wanted, "{case}");
            assert_eq!(words.is_some(), part.is_some(), "{case}");
            assert!(words.unwrap_or_default().contains(part.unwrap_or_default()), "{case}");
        }
    }

    #[test]
    fn the_same_words_are_said_once() {
        let pod = |name: &str| json!({"metadata": {"namespace": "n", "name": name}});
        let mut fates = Fates::default();
        fates.add(pod("a"), Fate::Leave(Some("first".to_owned())));
        fates.add(pod("b"), Fate::Stay(Some("second".to_owned())));
        fates.add(pod("c"), Fate::Leave(Some("first".to_owned())));
        fates.add(pod("d"), Fate::Leave(None));
        let (leaving, warnings) = fates.told().unwrap();
        assert_eq!((leaving.len(), &*warnings), (3, "first: n/a, n/c; second: n/b"));
    }
}
