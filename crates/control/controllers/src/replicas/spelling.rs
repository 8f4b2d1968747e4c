//! The two kinds that keep replicas, as one.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition};
use k8s_openapi::api::core::v1::{PodTemplateSpec, ReplicationController, ReplicationControllerCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kedge_client::Written;

use kedge_children::conditions;

const FAILURE: &str = "ReplicaFailure";

pub(super) struct Counts {
    pub(super) replicas: i32,
    pub(super) fully_labeled: i32,
    pub(super) ready: i32,
    pub(super) available: i32,
    pub(super) terminating: i32,
}

pub(super) trait Replicated: Written {
    fn replicas(&self) -> i32;
    fn min_ready_seconds(&self) -> i32;
    fn template(&self) -> Option<&PodTemplateSpec>;
    fn selector(&self) -> Option<LabelSelector>;
    fn count(&mut self, counts: &Counts);
    fn count_leaving(&mut self, leaving: i32);
    fn fail(&mut self, reason: &str, message: &str, now: Timestamp);
    fn recover(&mut self);
}

/// What both spell alike, with types of their own.
macro_rules! alike {
    ($Condition:ident) => {
        fn replicas(&self) -> i32 {
            self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
        }

        fn min_ready_seconds(&self) -> i32 {
            self.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
        }

        fn template(&self) -> Option<&PodTemplateSpec> {
            self.spec.as_ref()?.template.as_ref()
        }

        fn count(&mut self, counts: &Counts) {
            let some = |count: i32| Some(count).filter(|count| *count != 0);
            let status = self.status.get_or_insert_default();
            status.replicas = counts.replicas;
            status.fully_labeled_replicas = some(counts.fully_labeled);
            status.ready_replicas = some(counts.ready);
            status.available_replicas = some(counts.available);
            status.observed_generation = self.metadata.generation;
            self.count_leaving(counts.terminating);
        }

        fn fail(&mut self, reason: &str, message: &str, now: Timestamp) {
            let condition = $Condition {
                type_: FAILURE.to_owned(),
                status: "True".to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message.to_owned()),
                last_transition_time: conditions::at(now),
            };
            let conditions = &mut self.status.get_or_insert_default().conditions;
            // The same failure again may be told in other words, such as another pod's name. That is no news.
            let same = |one: &$Condition| one.type_ == FAILURE && one.reason == condition.reason;
            if !conditions.iter().flatten().any(same) {
                conditions::set(conditions, condition);
            }
        }

        fn recover(&mut self) {
            if let Some(status) = &mut self.status {
                conditions::remove(&mut status.conditions, FAILURE);
            }
        }
    };
}

impl Replicated for ReplicaSet {
    alike!(ReplicaSetCondition);

    fn selector(&self) -> Option<LabelSelector> {
        self.spec.as_ref().map(|spec| spec.selector.clone())
    }

    fn count_leaving(&mut self, leaving: i32) {
        self.status.get_or_insert_default().terminating_replicas = Some(leaving);
    }
}

impl Replicated for ReplicationController {
    alike!(ReplicationControllerCondition);

    fn selector(&self) -> Option<LabelSelector> {
        let labels = self.spec.as_ref()?.selector.clone().filter(|labels| !labels.is_empty());
        labels.map(|labels| LabelSelector { match_labels: Some(labels), ..LabelSelector::default() })
    }

    /// It doesn't say.
    fn count_leaving(&mut self, _leaving: i32) {}
}
