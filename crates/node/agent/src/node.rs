//! The node itself: its object, its conditions, and the lease that says that it lives.

mod facts;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference, Time};
use kedge_engine::Action;
use kube::Api;
use kube::api::PostParams;

pub(crate) use self::facts::Facts;
use crate::tools::Tools;

/// How often it says that it lives, and for how long that is good.
const BEAT: Duration = Duration::from_secs(10);
const GOOD_FOR: i32 = 40;
/// How often the conditions are told although nothing changed.
const REMIND: Duration = Duration::from_secs(300);

pub(crate) struct NodeKeeper {
    pub(crate) tools: Arc<Tools>,
    pub(crate) facts: Facts,
}

impl NodeKeeper {
    /// Until it is dropped.
    pub(crate) async fn keep(&self) {
        let mut told: Option<Timestamp> = None;
        loop {
            match self.turn(told).await {
                Ok(now) => told = now.or(told),
                Err(error) => tracing::debug!(%error, "cannot tell of this node"),
            }
            if let Err(error) = self.beat().await {
                tracing::debug!(%error, "cannot renew this node's lease");
            }
            // A node that is not ready yet looks again soon.
            let wait = if told.is_some() { BEAT } else { Duration::from_millis(100) };
            self.tools.clock.sleep(wait).await;
        }
    }

    /// Makes the object what it should be. Answers when the conditions were told, if they were.
    async fn turn(&self, told: Option<Timestamp>) -> Result<Option<Timestamp>, kube::Error> {
        let nodes = Api::<Node>::all(self.tools.client.clone());
        let now = self.tools.now();
        let found = match nodes.get_opt(&self.tools.place.node).await? {
            Some(found) => found,
            None => nodes.create(&PostParams::default(), &self.facts.node(&self.tools.place.node)).await?,
        };
        let mut wanted = found.clone();
        self.facts.label(&mut wanted);
        let since = told.map(|told| now.duration_since(told));
        let remind = since.is_none_or(|since| since.unsigned_abs() >= REMIND);
        wanted.status = Some(self.status(found.status.clone().unwrap_or_default(), now, remind).await);
        let actions: Vec<Action> = [Action::change(&found, &wanted), Action::status(&found, &wanted)]
            .into_iter()
            .flatten()
            .collect();
        let ready = wanted.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let ready =
            ready.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        if actions.is_empty() {
            return Ok(None);
        }
        if let Some(error) = self.tools.carrier.carry_out(&actions).await.error {
            tracing::debug!(%error, "cannot tell of this node");
            return Ok(None);
        }
        Ok(ready.then_some(now))
    }

    async fn status(&self, before: NodeStatus, now: Timestamp, remind: bool) -> NodeStatus {
        let place = &self.tools.place;
        let addresses = place.node_ips.iter().map(|ip| ("InternalIP", ip.clone()));
        let addresses = addresses.chain([("Hostname", place.node.clone())]);
        let addresses = addresses.map(|(type_, address)| NodeAddress { type_: type_.to_owned(), address });
        let mut conditions = before.conditions.unwrap_or_default();
        for (type_, status, reason, message) in self.conditions().await {
            let new = NodeCondition {
                type_: type_.to_owned(),
                status: status.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message),
                last_heartbeat_time: second(now),
                last_transition_time: second(now),
            };
            match conditions.iter_mut().find(|condition| condition.type_ == type_) {
                Some(old) if old.status == new.status => {
                    let same = old.reason == new.reason && old.message == new.message;
                    let beat = if remind || !same {
                        new.last_heartbeat_time.clone()
                    } else {
                        old.last_heartbeat_time.clone()
                    };
                    let since = old.last_transition_time.clone();
                    *old = NodeCondition { last_heartbeat_time: beat, last_transition_time: since, ..new };
                }
                Some(old) => *old = new,
                None => conditions.push(new),
            }
        }
        NodeStatus {
            addresses: Some(addresses.collect()),
            conditions: Some(conditions),
            capacity: Some(self.facts.capacity.clone()),
            allocatable: Some(self.facts.allocatable.clone()),
            node_info: Some(self.facts.info.clone()),
            ..before
        }
    }

    async fn conditions(&self) -> Vec<(&'static str, &'static str, &'static str, String)> {
        let fine = |type_, reason, what: &str| (type_, "False", reason, format!("kubelet has {what}"));
        let ready = match self.tools.runtime.status().await {
            Err(error) => {
                ("Ready", "False", "KubeletNotReady", format!("container runtime is down: {error}"))
            }
            Ok(status) => {
                let missing: Vec<String> = status
                    .conditions
                    .iter()
                    .filter(|condition| !condition.status)
                    .map(|condition| match &*condition.r#type {
                        "NetworkReady" => {
                            format!("container runtime network not ready: {}", condition.message)
                        }
                        _ => format!("container runtime not ready: {}", condition.message),
                    })
                    .collect();
                if missing.is_empty() {
                    ("Ready", "True", "KubeletReady", "kubelet is posting ready status".to_owned())
                } else {
                    ("Ready", "False", "KubeletNotReady", missing.join(", "))
                }
            }
        };
        vec![
            fine("MemoryPressure", "KubeletHasSufficientMemory", "sufficient memory available"),
            fine("DiskPressure", "KubeletHasNoDiskPressure", "no disk pressure"),
            fine("PIDPressure", "KubeletHasSufficientPID", "sufficient PID available"),
            ready,
        ]
    }

    async fn beat(&self) -> Result<(), kube::Error> {
        let (name, now) = (&self.tools.place.node, MicroTime(self.tools.now()));
        let leases = Api::<Lease>::namespaced(self.tools.client.clone(), "kube-node-lease");
        let spec = LeaseSpec {
            holder_identity: Some(name.clone()),
            lease_duration_seconds: Some(GOOD_FOR),
            renew_time: Some(now),
            ..LeaseSpec::default()
        };
        match leases.get_opt(name).await? {
            Some(found) => {
                let lease = Lease { spec: Some(spec), ..found };
                leases.replace(name, &PostParams::default(), &lease).await?;
            }
            None => {
                let node = Api::<Node>::all(self.tools.client.clone()).get(name).await?;
                let owner = OwnerReference {
                    api_version: "v1".to_owned(),
                    kind: "Node".to_owned(),
                    name: name.clone(),
                    uid: node.metadata.uid.unwrap_or_default(),
                    ..OwnerReference::default()
                };
                let metadata = ObjectMeta {
                    name: Some(name.clone()),
                    owner_references: Some(vec![owner]),
                    ..ObjectMeta::default()
                };
                let lease = Lease { metadata, spec: Some(spec) };
                leases.create(&PostParams::default(), &lease).await?;
            }
        }
        Ok(())
    }
}

/// Kubernetes' times have whole seconds; what is read back must equal what was written.
fn second(moment: Timestamp) -> Option<Time> {
    Timestamp::from_second(moment.as_second()).ok().map(Time)
}
