//! Who a pod of a StatefulSet is: its number, its name, and everything that follows from them.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume};
use kedge_children::claim;
use kedge_children::pods::from_template;
use kedge_engine::Action;
use kube::ResourceExt;

use super::claims;
use super::spelling::claim_templates;
use crate::revisions::POD_LABEL;

const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";

pub(super) fn name(set: &StatefulSet, ordinal: i32) -> String {
    format!("{}-{ordinal}", set.name_any())
}

/// The set's name and the number in a pod's name.
pub(super) fn parse(pod: &str) -> Option<(&str, i32)> {
    let (set, number) = pod.rsplit_once('-')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((set, number.parse().ok().filter(|_| digits)?))
}

pub(super) fn is_member(set: &StatefulSet, pod: &str) -> bool {
    parse(pod).is_some_and(|(parent, ordinal)| parent == set.name_any() && pod == name(set, ordinal))
}

/// The name of the revision that a pod was made from.
pub(super) fn revision(pod: &Pod) -> Option<&String> {
    pod.metadata.labels.as_ref()?.get(POD_LABEL)
}

/// A pod with a number, of a template.
pub(super) fn make(
    set: &StatefulSet,
    ordinal: i32,
    template: Option<&PodTemplateSpec>,
    revision: &str,
) -> Pod {
    let mut pod = from_template(template, &set.namespace().unwrap_or_default());
    pod.metadata.name = Some(name(set, ordinal));
    pod.metadata.generate_name = Some(format!("{}-", set.name_any()));
    pod.metadata.owner_references = Some(vec![claim::reference(set)]);
    label(&mut pod, ordinal);
    pod.labels_mut().insert(POD_LABEL.to_owned(), revision.to_owned());
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(name(set, ordinal));
    spec.subdomain = set.spec.as_ref().and_then(|spec| spec.service_name.clone());
    let own: Vec<Volume> = claim_templates(set)
        .iter()
        .map(|template| Volume {
            name: template.name_any(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claims::name(set, template, ordinal),
                read_only: None,
            }),
            ..Volume::default()
        })
        .collect();
    let replaced = |volume: &Volume| own.iter().any(|one| one.name == volume.name);
    let others: Vec<Volume> =
        spec.volumes.take().into_iter().flatten().filter(|volume| !replaced(volume)).collect();
    spec.volumes = Some(own.into_iter().chain(others).collect::<Vec<_>>()).filter(|all| !all.is_empty());
    pod
}

fn label(pod: &mut Pod, ordinal: i32) {
    let name = pod.name_any();
    pod.labels_mut().extend([(NAME_LABEL.to_owned(), name), (INDEX_LABEL.to_owned(), ordinal.to_string())]);
}

/// Gives a pod that was taken in, or that lost it, its name as a label.
pub(super) fn mended(pod: &Pod, ordinal: i32) -> Option<Action> {
    if pod.labels().get(NAME_LABEL) == Some(&pod.name_any()) {
        return None;
    }
    let mut labelled = pod.clone();
    label(&mut labelled, ordinal);
    Action::change(pod, &labelled)
}
