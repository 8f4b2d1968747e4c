//! Conditions: what an object says about itself. The moment of a condition is that of its last change, so that saying the
//! same again is no change.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// A condition of any kind.
pub trait Condition {
    fn type_(&self) -> &str;
    fn status(&self) -> &str;
    fn keep_moment_of(&mut self, other: &Self);
}

macro_rules! condition {
    ($($kind:ty),*) => {$(
        impl Condition for $kind {
            fn type_(&self) -> &str {
                &self.type_
            }
            fn status(&self) -> &str {
                &self.status
            }
            fn keep_moment_of(&mut self, other: &Self) {
                self.last_transition_time.clone_from(&other.last_transition_time);
            }
        }
    )*};
}

condition!(
    k8s_openapi::api::apps::v1::DeploymentCondition,
    k8s_openapi::api::apps::v1::ReplicaSetCondition,
    k8s_openapi::api::core::v1::ReplicationControllerCondition,
    k8s_openapi::api::core::v1::NamespaceCondition,
    k8s_openapi::api::core::v1::NodeCondition,
    k8s_openapi::api::core::v1::PodCondition,
    k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition
);

/// Sets a condition in the place of the one of its type.
pub fn set<C: Condition>(conditions: &mut Option<Vec<C>>, mut new: C) {
    let all = conditions.get_or_insert_default();
    match all.iter_mut().find(|old| old.type_() == new.type_()) {
        Some(old) if old.status() == new.status() => {
            new.keep_moment_of(old);
            *old = new;
        }
        Some(old) => *old = new,
        None => all.push(new),
    }
}

pub fn remove<C: Condition>(conditions: &mut Option<Vec<C>>, type_: &str) {
    if let Some(all) = conditions {
        all.retain(|condition| condition.type_() != type_);
    }
    if conditions.as_ref().is_some_and(Vec::is_empty) {
        *conditions = None;
    }
}

pub fn at(moment: Timestamp) -> Option<Time> {
    // Kubernetes' times have whole seconds; what is read back must equal what was written.
    Timestamp::from_second(moment.as_second()).ok().map(Time)
}
