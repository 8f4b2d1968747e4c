//! The volumes of a StatefulSet's pods: a claim for each template and number, made before its pod and kept after it.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_client::Cache;
use kedge_engine::Key;
use kube::ResourceExt;

use super::spelling::claim_templates;
use super::{identity, retention};

pub(super) fn name(set: &StatefulSet, template: &PersistentVolumeClaim, ordinal: i32) -> String {
    format!("{}-{}", template.name_any(), identity::name(set, ordinal))
}

/// The pod whose claim has this name.
pub(super) fn pod_of(set: &StatefulSet, claim: &str) -> Option<String> {
    let mut pods = claim_templates(set)
        .iter()
        .filter_map(|template| claim.strip_prefix(&*template.name_any())?.strip_prefix('-'));
    pods.find(|pod| identity::is_member(set, pod)).map(ToOwned::to_owned)
}

pub(super) fn is_of(set: &StatefulSet, claim: &str) -> bool {
    pod_of(set, claim).is_some()
}

/// How the claims of one pod are.
pub(super) struct Claims {
    pub(super) missing: Vec<PersistentVolumeClaim>,
    pub(super) there: Vec<Arc<PersistentVolumeClaim>>,
}

impl Claims {
    pub(super) fn of(set: &StatefulSet, ordinal: i32, known: &Cache<PersistentVolumeClaim>) -> Self {
        let namespace = set.namespace().unwrap_or_default();
        let mut claims = Self { missing: Vec::new(), there: Vec::new() };
        for template in claim_templates(set) {
            match known.get(&Key::new(&*namespace, name(set, template, ordinal))) {
                Some(claim) => claims.there.push(claim),
                None => claims.missing.push(make(set, template, ordinal)),
            }
        }
        claims
    }

    /// One that has to go before its name can be used again.
    pub(super) fn leaving(&self) -> Option<&PersistentVolumeClaim> {
        self.there.iter().find(|claim| claim.metadata.deletion_timestamp.is_some()).map(|claim| &**claim)
    }
}

fn make(set: &StatefulSet, template: &PersistentVolumeClaim, ordinal: i32) -> PersistentVolumeClaim {
    let selected = set.spec.as_ref().and_then(|spec| spec.selector.match_labels.clone());
    let mut labels = template.metadata.labels.clone().unwrap_or_default();
    labels.extend(selected.unwrap_or_default());
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(name(set, template, ordinal)),
            namespace: set.namespace(),
            labels: Some(labels).filter(|labels| !labels.is_empty()),
            annotations: template.metadata.annotations.clone(),
            finalizers: template.metadata.finalizers.clone(),
            owner_references: retention::of_new(set),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}
