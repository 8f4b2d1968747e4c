//! A job, its pods and an API of a few lines: writes are refused that come from an outdated view, what has finalizers stays,
//! and everything is seen at once. A turn can be cut short after any write.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use kedge_children::testing::{hold, noon, object};
use kedge_client::{Watched, Written};
use kedge_engine::{Action, Controller, Key, Plan, World};
use serde_json::{Value, json};

use super::super::Jobs;

pub(super) struct Stage {
    pub(super) world: World,
    pub(super) now: Timestamp,
    revision: u64,
    /// How many writes go through before the controller is stopped once.
    pub(super) stops_after: Option<usize>,
    pub(super) writes: usize,
    pub(super) told: Vec<String>,
    pub(super) made: usize,
}

/// `spec` without the template.
pub(super) fn job(spec: Value) -> Job {
    let mut value = json!({
        "metadata": {"name": "work", "namespace": "n", "uid": "job", "resourceVersion": "1", "generation": 1},
        "spec": {
            "backoffLimit": 6, "parallelism": 1, "completionMode": "NonIndexed", "suspend": false,
            "podReplacementPolicy": "TerminatingOrFailed",
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "job"}},
            "template": {
                "metadata": {"labels": {"batch.kubernetes.io/controller-uid": "job"}},
                "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
            },
        },
    });
    json_patch::merge(&mut value["spec"], &spec);
    object(value)
}

impl Stage {
    pub(super) fn new(spec: Value) -> Self {
        let world = World::by_hand();
        hold(&world, vec![job(spec)]);
        hold::<Pod>(&world, Vec::new());
        Self { world, now: noon(), revision: 1, stops_after: None, writes: 0, told: Vec::new(), made: 0 }
    }

    pub(super) fn job(&self) -> Arc<Job> {
        self.world.get::<Job>(&Key::new("n", "work")).unwrap().unwrap()
    }

    pub(super) fn status(&self) -> JobStatus {
        self.job().status.clone().unwrap_or_default()
    }

    /// Succeeded and failed.
    pub(super) fn counts(&self) -> (i32, i32) {
        let status = self.status();
        (status.succeeded.unwrap_or(0), status.failed.unwrap_or(0))
    }

    /// Conditions that hold, each with its reason.
    pub(super) fn conditions(&self) -> String {
        let conditions = self.status().conditions.unwrap_or_default();
        let words = conditions.iter().filter(|condition| condition.status == "True");
        let words = words.map(|one| format!("{}:{}", one.type_, one.reason.clone().unwrap_or_default()));
        words.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn pods(&self) -> Vec<Arc<Pod>> {
        self.world.cache::<Pod>().unwrap().all()
    }

    /// Pods that work, in the order of their names.
    pub(super) fn at_work(&self) -> Vec<String> {
        use kedge_children::pods::PodFacts;
        let pods = self.pods();
        pods.iter().filter(|pod| pod.is_active()).map(|pod| pod.metadata.name.clone().unwrap()).collect()
    }

    /// Which pod works on each index.
    pub(super) fn by_index(&self) -> BTreeMap<String, String> {
        let index = |name: &String| name.split('-').nth(1).unwrap().to_owned();
        self.at_work().into_iter().map(|name| (index(&name), name)).collect()
    }

    pub(super) fn edit_job(&mut self, patch: Value) {
        let job = self.job();
        let mut value = serde_json::to_value(&*job).unwrap();
        json_patch::merge(&mut value, &patch);
        self.put(object::<Job>(value));
    }

    pub(super) fn edit_pod(&mut self, name: &str, patch: Value) {
        let pod = self.world.get::<Pod>(&Key::new("n", name)).unwrap().unwrap();
        let mut value = serde_json::to_value(&*pod).unwrap();
        json_patch::merge(&mut value, &patch);
        self.put(object::<Pod>(value));
    }

    pub(super) fn end_pod(&mut self, name: &str, phase: &str, code: i32) {
        let ended = json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state":
            {"terminated": {"exitCode": code, "finishedAt": self.now.to_string()}}});
        self.edit_pod(name, json!({"status": {"phase": phase, "containerStatuses": [ended]}}));
    }

    pub(super) fn succeed(&mut self, name: &str) {
        self.end_pod(name, "Succeeded", 0);
    }

    pub(super) fn fail(&mut self, name: &str) {
        self.end_pod(name, "Failed", 1);
    }

    /// Somebody deletes a pod.
    pub(super) fn delete(&mut self, name: &str) {
        let gone =
            json!({"metadata": {"deletionTimestamp": self.now.to_string(), "deletionGracePeriodSeconds": 0}});
        self.edit_pod(name, gone);
    }

    /// What was told to go has ended; what nobody counts any more is gone.
    pub(super) fn reap(&mut self) {
        for pod in self.pods() {
            if pod.metadata.deletion_timestamp.is_none() {
                continue;
            }
            if pod.metadata.finalizers.iter().flatten().next().is_none() {
                self.world.feed::<Pod>().remove((*pod).clone());
            } else {
                self.edit_pod(pod.metadata.name.as_ref().unwrap(), json!({"status": {"phase": "Failed"}}));
            }
        }
    }

    pub(super) fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    pub(super) fn plan(&self) -> Plan {
        Jobs.plan(&self.job(), &self.world, self.now).unwrap()
    }

    /// Turns until there is nothing to do.
    pub(super) fn settle(&mut self) {
        for _ in 0..50 {
            let plan = self.plan();
            if plan.actions.is_empty() {
                return;
            }
            self.carry_out(&plan);
        }
        panic!(
            "still something to do: {:#?}",
            self.plan().actions.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
    }

    fn carry_out(&mut self, plan: &Plan) {
        let mut moved: BTreeMap<String, String> = BTreeMap::new();
        for action in &plan.actions {
            if let Action::Tell(note) = action {
                self.told.push(format!("{}: {}", note.reason, note.message));
                continue;
            }
            if self.stops_after == Some(self.writes) {
                self.stops_after = None;
                return;
            }
            self.writes += 1;
            match action {
                Action::Tell(_) => {}
                Action::Create { object: pod, .. } => self.create(pod),
                Action::Delete { target, .. } => self.delete(&target.key.name),
                Action::Change { target, patch, subresource } => {
                    let revision = moved.get(&target.uid).unwrap_or(&target.revision).clone();
                    let written = if target.resource.kind == "Job" {
                        assert_eq!(*subresource, "status");
                        self.change::<Job>(&target.key, &revision, patch)
                    } else {
                        self.change::<Pod>(&target.key, &revision, patch)
                    };
                    moved.insert(target.uid.clone(), written);
                }
            }
        }
    }

    fn create(&mut self, pod: &Value) {
        let mut pod = pod.clone();
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        assert!(self.world.get::<Pod>(&Key::new("n", &*name)).unwrap().is_none(), "{name} is there already");
        self.made += 1;
        pod["metadata"]["uid"] = format!("{name}.{}", self.made).into();
        pod["metadata"]["creationTimestamp"] = self.now.to_string().into();
        pod["spec"]["nodeName"] = "n1".into();
        pod["status"] = json!({"phase": "Running"});
        self.put(object::<Pod>(pod));
    }

    fn change<K: Written>(&mut self, key: &Key, revision: &str, patch: &Value) -> String {
        let object = self.world.get::<K>(key).unwrap().unwrap();
        assert_eq!(object.meta().resource_version.as_deref(), Some(revision), "an outdated write to {key}");
        let mut value = Value::Object(object.write());
        json_patch::merge(&mut value, patch);
        self.put(kedge_children::testing::object::<K>(value));
        self.revision.to_string()
    }

    fn put<K: Watched>(&mut self, mut object: K) {
        self.revision += 1;
        object.meta_mut().resource_version = Some(self.revision.to_string());
        self.world.feed::<K>().put(object);
    }
}
