//! Who runs, with which processes: taken before and after a round, and compared. And what of them is on each machine.

use std::collections::{BTreeMap, BTreeSet};

use kedge_fleet::{Expected, Remains, Scene, tasks};
use serde_json::Value;

use crate::api::Api;
use crate::workload::{PODS, container, text};

#[derive(Debug)]
pub(crate) struct Picture {
    pods: BTreeMap<String, Seen>,
    /// The first processes of sandboxes and containers on each machine, with when they were started, and whose they are.
    processes: BTreeMap<String, (u32, String, Option<String>)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    name: String,
    node: String,
    container: String,
    restarts: u64,
}

/// A pod that something may be killed of, with its first processes.
pub(crate) struct Victim {
    pub(crate) uid: String,
    pub(crate) container: u32,
    pub(crate) sandbox: Option<u32>,
}

impl Picture {
    pub(crate) fn take(api: &Api, scene: &Scene) -> Result<Self, String> {
        let pods: BTreeMap<String, Seen> =
            api.list(PODS)?.iter().map(|pod| (text(&pod["metadata"]["uid"]), seen(pod))).collect();
        let mut processes = BTreeMap::new();
        for machine in scene.machines() {
            for (id, (pid, started)) in tasks(&machine.data()) {
                // Its cgroup is named after the pod.
                let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
                let owner = pods.keys().find(|uid| groups.contains(&***uid)).cloned();
                processes.insert(id, (pid, started, owner));
            }
        }
        Ok(Self { pods, processes })
    }

    /// The pod of an app on a node that was restarted least.
    pub(crate) fn victim(&self, app: &str, node: &str) -> Option<Victim> {
        let of_app = |seen: &&(&String, &Seen)| seen.1.node == node && seen.1.name.starts_with(app);
        let all: Vec<(&String, &Seen)> = self.pods.iter().collect();
        let (uid, seen) = all.iter().filter(of_app).min_by_key(|(_, seen)| seen.restarts)?;
        let (container, _, _) = self.processes.get(&seen.container)?;
        let of_pod =
            |id: &String, owner: &Option<String>| owner.as_ref() == Some(*uid) && *id != seen.container;
        let sandbox = self.processes.iter().find(|(id, (_, _, owner))| of_pod(id, owner));
        Some(Victim {
            uid: (*uid).clone(),
            container: *container,
            sandbox: sandbox.map(|(_, (pid, _, _))| *pid),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    pub(crate) fn knows(&self, container: &str) -> bool {
        self.processes.contains_key(container)
    }

    /// Who was hurt, while everybody is told still of what ran before.
    pub(crate) fn untold(&self, api: &Api, touched: &BTreeSet<String>) -> Result<Vec<String>, String> {
        let pods = if touched.is_empty() { Vec::new() } else { api.list(PODS)? };
        let is_untold = |uid: &String| {
            let now = pods.iter().find(|pod| text(&pod["metadata"]["uid"]) == *uid).map(seen);
            let before = self.pods.get(uid)?;
            now.is_some_and(|now| now.container == before.container).then(|| before.name.clone())
        };
        let names = touched.iter().filter_map(is_untold);
        Ok(names.map(|name| format!("nobody knows yet that {name} was started again")).collect())
    }

    /// What ran then and does not now, though nobody touched it.
    pub(crate) fn harmed_by_now(&self, now: &Self, touched: &BTreeSet<String>) -> Vec<String> {
        let mut harmed = Vec::new();
        for (uid, before) in &self.pods {
            match now.pods.get(uid) {
                None => harmed.push(format!("{} on {} is gone", before.name, before.node)),
                Some(after) if after != before && !touched.contains(uid) => {
                    harmed.push(format!("{before:?} is now {after:?}"));
                }
                // Once, no more and no less: what was hurt and nobody noticed was not hurt.
                Some(after)
                    if touched.contains(uid)
                        && (after.restarts != before.restarts + 1 || after.container == before.container) =>
                {
                    harmed.push(format!("{before:?} was killed once and is now {after:?}"));
                }
                Some(_) => {}
            }
        }
        for (id, was) in &self.processes {
            let (pid, _, owner) = was;
            let touched = owner.as_ref().is_some_and(|owner| touched.contains(owner));
            if !touched && now.processes.get(id) != Some(was) {
                harmed.push(format!("process {pid} of {id} (pod {owner:?}) runs no more"));
            }
        }
        harmed
    }

    /// What is on the machines besides these pods, and what is missing there.
    pub(crate) fn leaks(&self, api: &Api, scene: &Scene) -> Vec<String> {
        let mut leaks = Vec::new();
        for machine in scene.machines() {
            let pods = self.pods.values().filter(|pod| pod.node == machine.name).count();
            let remains = api.wait_for(Remains::of(&machine.data(), Some(&machine.host)));
            let expected = Expected { pods, containers: pods, networked: pods };
            leaks.extend(
                remains.problems(expected).into_iter().map(|problem| format!("{}: {problem}", machine.name)),
            );
        }
        leaks
    }
}

fn seen(pod: &Value) -> Seen {
    let (container, restarts) = container(pod);
    Seen { name: text(&pod["metadata"]["name"]), node: text(&pod["spec"]["nodeName"]), container, restarts }
}
