//! Sets of pods that stay: as many as wanted, of the wanted template, and a status that says so.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec, ReplicationController};
use kube::ResourceExt;

use super::{All, controller, is_ready, same};

pub(super) fn check(all: &All<'_>, wrong: &mut Vec<String>) {
    all.kind::<ReplicaSet>().iter().for_each(|set| replica_set(all, set, wrong));
    all.kind::<ReplicationController>().iter().for_each(|set| replication_controller(all, set, wrong));
    all.kind::<Deployment>().iter().for_each(|deployment| rollout(all, deployment, wrong));
    all.kind::<StatefulSet>().iter().for_each(|set| stateful_set(all, set, wrong));
    all.kind::<DaemonSet>().iter().for_each(|set| daemon_set(all, set, wrong));
}

fn count(pods: &[Pod], matches: impl Fn(&Pod) -> bool) -> i32 {
    i32::try_from(pods.iter().filter(|pod| matches(pod)).count()).unwrap_or(i32::MAX)
}

fn replica_set(all: &All<'_>, set: &ReplicaSet, wrong: &mut Vec<String>) {
    let pods = all.pods_of(&set.metadata);
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    same(wrong, set, "the number of pods", count(&pods, |_| true), wanted);
    let status = set.status.clone().unwrap_or_default();
    same(wrong, set, "status.replicas", status.replicas, wanted);
    same(wrong, set, "status.readyReplicas", status.ready_replicas.unwrap_or(0), count(&pods, is_ready));
    same(wrong, set, "status.observedGeneration", status.observed_generation, set.metadata.generation);
    let selector = set.spec.as_ref().and_then(|spec| spec.selector.match_labels.clone()).unwrap_or_default();
    strays(all, set, &selector, wrong);
}

fn replication_controller(all: &All<'_>, set: &ReplicationController, wrong: &mut Vec<String>) {
    let pods = all.pods_of(&set.metadata);
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    same(wrong, set, "the number of pods", count(&pods, |_| true), wanted);
    let status = set.status.clone().unwrap_or_default();
    same(wrong, set, "status.replicas", status.replicas, wanted);
    same(wrong, set, "status.readyReplicas", status.ready_replicas.unwrap_or(0), count(&pods, is_ready));
    let selector = set.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default();
    strays(all, set, &selector, wrong);
}

/// Pods that match and that nobody controls belong to the set.
fn strays(
    all: &All<'_>,
    set: &impl kedge_client::world::Watched,
    selector: &std::collections::BTreeMap<String, String>,
    wrong: &mut Vec<String>,
) {
    let matches = |pod: &Pod| selector.iter().all(|(label, value)| pod.labels().get(label) == Some(value));
    let loose: BTreeSet<String> = all
        .kind::<Pod>()
        .iter()
        .filter(|pod| matches(pod) && controller(&pod.metadata).is_none() && super::is_active(pod))
        .map(ResourceExt::name_any)
        .collect();
    same(wrong, set, "what matches and nobody controls", loose, BTreeSet::new());
}

fn rollout(all: &All<'_>, deployment: &Deployment, wrong: &mut Vec<String>) {
    let Some(spec) = &deployment.spec else { return };
    let wanted = spec.replicas.unwrap_or(1);
    let sets: Vec<ReplicaSet> = all
        .kind::<ReplicaSet>()
        .into_iter()
        .filter(|set| controller(&set.metadata) == deployment.metadata.uid.as_deref())
        .collect();
    let is_new = |set: &ReplicaSet| {
        let template =
            set.spec.as_ref().and_then(|spec| spec.template.clone()).and_then(|template| template.spec);
        images(template.as_ref()) == images(spec.template.spec.as_ref())
    };
    let of = |new: bool| -> i32 {
        let sets = sets.iter().filter(|set| is_new(set) == new);
        sets.map(|set| set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)).sum()
    };
    same(wrong, deployment, "the number of new sets", sets.iter().filter(|set| is_new(set)).count(), 1);
    same(wrong, deployment, "what new sets want", of(true), wanted);
    same(wrong, deployment, "what old sets want", of(false), 0);
    let status = deployment.status.clone().unwrap_or_default();
    same(wrong, deployment, "status.replicas", status.replicas.unwrap_or(0), wanted);
    same(wrong, deployment, "status.updatedReplicas", status.updated_replicas.unwrap_or(0), wanted);
    same(wrong, deployment, "status.readyReplicas", status.ready_replicas.unwrap_or(0), wanted);
    same(wrong, deployment, "status.availableReplicas", status.available_replicas.unwrap_or(0), wanted);
    same(
        wrong,
        deployment,
        "status.observedGeneration",
        status.observed_generation,
        deployment.metadata.generation,
    );
}

fn images(spec: Option<&PodSpec>) -> Vec<Option<String>> {
    spec.iter().flat_map(|spec| spec.containers.iter().map(|container| container.image.clone())).collect()
}

fn stateful_set(all: &All<'_>, set: &StatefulSet, wrong: &mut Vec<String>) {
    let Some(spec) = &set.spec else { return };
    let pods = all.pods_of(&set.metadata);
    let wanted = spec.replicas.unwrap_or(1);
    let names: BTreeSet<String> = pods.iter().map(ResourceExt::name_any).collect();
    let expected = (0..wanted).map(|ordinal| format!("{}-{ordinal}", set.name_any())).collect();
    same(wrong, set, "the pods", names, expected);
    let outdated = count(&pods, |pod| images(pod.spec.as_ref()) != images(spec.template.spec.as_ref()));
    same(wrong, set, "the number of outdated pods", outdated, 0);
    let status = set.status.clone().unwrap_or_default();
    same(wrong, set, "status.replicas", status.replicas, wanted);
    same(wrong, set, "status.readyReplicas", status.ready_replicas.unwrap_or(0), count(&pods, is_ready));
    same(
        wrong,
        set,
        "status.updateRevision",
        status.update_revision.clone(),
        status.current_revision.clone(),
    );
    same(wrong, set, "status.observedGeneration", status.observed_generation, set.metadata.generation);
}

fn daemon_set(all: &All<'_>, set: &DaemonSet, wrong: &mut Vec<String>) {
    let Some(spec) = &set.spec else { return };
    let pods = all.pods_of(&set.metadata);
    let nodes: Vec<String> = all.kind::<Node>().iter().map(ResourceExt::name_any).collect();
    let mut on: Vec<String> = pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect();
    on.sort_unstable();
    same(wrong, set, "the nodes with a pod", &on, &nodes);
    let outdated = count(&pods, |pod| images(pod.spec.as_ref()) != images(spec.template.spec.as_ref()));
    same(wrong, set, "the number of outdated pods", outdated, 0);
    let status = set.status.clone().unwrap_or_default();
    let wanted = i32::try_from(nodes.len()).unwrap_or(i32::MAX);
    same(wrong, set, "status.desiredNumberScheduled", status.desired_number_scheduled, wanted);
    same(wrong, set, "status.numberReady", status.number_ready, count(&pods, is_ready));
    same(wrong, set, "status.updatedNumberScheduled", status.updated_number_scheduled.unwrap_or(0), wanted);
    same(wrong, set, "status.observedGeneration", status.observed_generation, set.metadata.generation);
}
