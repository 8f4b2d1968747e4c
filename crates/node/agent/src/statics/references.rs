//! What of the API a pod refers to. One that a file tells of has to run without an API, so it may refer to nothing there. Pure.

use k8s_openapi::api::core::v1::{PodSpec, Volume};

use crate::sources::Names;

/// The first thing that it refers to, by the name that Kubernetes has for it.
pub(super) fn first(spec: &PodSpec) -> Option<&'static str> {
    if spec.service_account_name.as_ref().is_some_and(|name| !name.is_empty()) {
        return Some("serviceaccounts");
    }
    let names = Names::of(spec);
    if !names.secrets.is_empty() || spec.image_pull_secrets.as_ref().is_some_and(|all| !all.is_empty()) {
        return Some("secrets");
    }
    if !names.maps.is_empty() {
        return Some("configmaps");
    }
    if spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty()) {
        return Some("resourceclaims");
    }
    spec.volumes.iter().flatten().find_map(of_volume)
}

fn of_volume(volume: &Volume) -> Option<&'static str> {
    match volume {
        Volume { config_map: Some(_), .. } => Some("configmaps (via configmap volumes)"),
        Volume { secret: Some(_), .. } => Some("secrets (via secret volumes)"),
        Volume { csi: Some(_), .. } => Some("csidrivers (via CSI volumes)"),
        Volume { persistent_volume_claim: Some(_), .. } => Some("persistentvolumeclaims"),
        Volume { ephemeral: Some(_), .. } => Some("persistentvolumeclaims (via ephemeral volumes)"),
        Volume { projected: Some(projected), .. } => projected.sources.iter().flatten().find_map(|source| {
            [
                (source.config_map.is_some(), "configmaps (via projected volumes)"),
                (source.secret.is_some(), "secrets (via projected volumes)"),
                (source.service_account_token.is_some(), "serviceaccounts (via projected volumes)"),
                (source.cluster_trust_bundle.is_some(), "clustertrustbundles"),
                (source.pod_certificate.is_some(), "podcertificates"),
            ]
            .into_iter()
            .find_map(|(refers, name)| refers.then_some(name))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_lives_in_the_api_is_found() {
        let env =
            |source| json!({"containers": [{"name": "c", "env": [{"name": "V", "valueFrom": source}]}]});
        let volume = |source| json!({"containers": [], "volumes": [source]});
        for (spec, found) in [
            (json!({"containers": [{"name": "c"}]}), None),
            (json!({"containers": [], "serviceAccountName": "a"}), Some("serviceaccounts")),
            (json!({"containers": [], "imagePullSecrets": [{"name": "s"}]}), Some("secrets")),
            (env(json!({"configMapKeyRef": {"name": "m", "key": "k"}})), Some("configmaps")),
            (env(json!({"fieldRef": {"fieldPath": "metadata.name"}})), None),
            (volume(json!({"name": "v", "hostPath": {"path": "/"}})), None),
            (
                volume(json!({"name": "v", "secret": {"secretName": "s"}})),
                Some("secrets (via secret volumes)"),
            ),
            (
                volume(json!({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})),
                Some("persistentvolumeclaims"),
            ),
            (
                volume(
                    json!({"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}),
                ),
                Some("serviceaccounts (via projected volumes)"),
            ),
            (volume(json!({"name": "v", "projected": {"sources": [{"downwardAPI": {}}]}})), None),
        ] {
            assert_eq!(first(&serde_json::from_value(spec.clone()).unwrap()), found, "{spec}");
        }
    }
}
