//! The two kinds that keep replicas, as one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{
    PodTemplateSpec, ReplicationController, ReplicationControllerCondition, ReplicationControllerStatus,
};
use kedge_client::Watched;
use kube::core::Selector;
use serde::Serialize;

use kedge_children::conditions;

const FAILURE: &str = "ReplicaFailure";

pub(super) struct Counts {
    pub(super) replicas: i32,
    pub(super) fully_labeled: i32,
    pub(super) ready: i32,
    pub(super) available: i32,
    pub(super) terminating: i32,
}

pub(super) trait Replicated: Watched + Serialize {
    fn replicas(&self) -> i32;
    fn min_ready_seconds(&self) -> i32;
    fn template(&self) -> Option<&PodTemplateSpec>;
    /// Selects nothing if it makes no sense; such a set can't be created.
    fn selector(&self) -> Selector;
    /// Labels that everything it selects has.
    fn equal_labels(&self) -> BTreeMap<String, String>;
    fn count(&mut self, counts: &Counts);
    fn fail(&mut self, reason: &str, message: &str, now: Timestamp);
    fn recover(&mut self);
}

impl Replicated for ReplicaSet {
    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn selector(&self) -> Selector {
        let selector = self.spec.as_ref().map(|spec| spec.selector.clone());
        selector.and_then(|selector| Selector::try_from(selector).ok()).unwrap_or_else(nothing)
    }

    fn equal_labels(&self) -> BTreeMap<String, String> {
        self.spec.as_ref().and_then(|spec| spec.selector.match_labels.clone()).unwrap_or_default()
    }

    fn count(&mut self, counts: &Counts) {
        let status = self.status.get_or_insert_with(ReplicaSetStatus::default);
        status.replicas = counts.replicas;
        status.fully_labeled_replicas = Some(counts.fully_labeled).filter(|count| *count != 0);
        status.ready_replicas = Some(counts.ready).filter(|count| *count != 0);
        status.available_replicas = Some(counts.available).filter(|count| *count != 0);
        status.terminating_replicas = Some(counts.terminating);
        status.observed_generation = self.metadata.generation;
    }

    fn fail(&mut self, reason: &str, message: &str, now: Timestamp) {
        let status = self.status.get_or_insert_with(ReplicaSetStatus::default);
        let condition = ReplicaSetCondition {
            type_: FAILURE.to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_transition_time: conditions::at(now),
        };
        conditions::set(&mut status.conditions, condition);
    }

    fn recover(&mut self) {
        if let Some(status) = &mut self.status {
            conditions::remove(&mut status.conditions, FAILURE);
        }
    }
}

impl Replicated for ReplicationController {
    fn replicas(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref()?.template.as_ref()
    }

    fn selector(&self) -> Selector {
        match self.equal_labels() {
            labels if labels.is_empty() => nothing(),
            labels => labels.into_iter().collect(),
        }
    }

    fn equal_labels(&self) -> BTreeMap<String, String> {
        self.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default()
    }

    fn count(&mut self, counts: &Counts) {
        let status = self.status.get_or_insert_with(ReplicationControllerStatus::default);
        status.replicas = counts.replicas;
        status.fully_labeled_replicas = Some(counts.fully_labeled).filter(|count| *count != 0);
        status.ready_replicas = Some(counts.ready).filter(|count| *count != 0);
        status.available_replicas = Some(counts.available).filter(|count| *count != 0);
        status.observed_generation = self.metadata.generation;
    }

    fn fail(&mut self, reason: &str, message: &str, now: Timestamp) {
        let status = self.status.get_or_insert_with(ReplicationControllerStatus::default);
        let condition = ReplicationControllerCondition {
            type_: FAILURE.to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_transition_time: conditions::at(now),
        };
        conditions::set(&mut status.conditions, condition);
    }

    fn recover(&mut self) {
        if let Some(status) = &mut self.status {
            conditions::remove(&mut status.conditions, FAILURE);
        }
    }
}

fn nothing() -> Selector {
    kube::core::Expression::In("-".to_owned(), Default::default()).into()
}
