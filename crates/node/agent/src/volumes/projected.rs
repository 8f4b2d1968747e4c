//! Several sources in one volume, and the pod's own facts as files.

use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, Pod, ProjectedVolumeSource, ServiceAccount, ServiceAccountTokenProjection,
};
use kedge_mounts::Content;
use kube::Api;
use kube::api::PostParams;

use super::{VolumeError, config_map, of_map, of_secret, secret};
use crate::spec::env;
use crate::tools::Tools;

pub(super) async fn files(
    tools: &Tools,
    pod: &Pod,
    source: &ProjectedVolumeSource,
) -> Result<Vec<Content>, VolumeError> {
    let mode = source.default_mode.unwrap_or(0o644);
    let mut files = Vec::new();
    for part in source.sources.iter().flatten() {
        if let Some(wanted) = &part.config_map {
            let optional = wanted.optional == Some(true);
            let found = config_map(tools, pod, &wanted.name).await?;
            files.extend(of_map(&wanted.name, found, wanted.items.as_deref(), mode, optional)?);
        }
        if let Some(wanted) = &part.secret {
            let optional = wanted.optional == Some(true);
            let found = secret(tools, pod, &wanted.name).await?;
            files.extend(of_secret(&wanted.name, found, wanted.items.as_deref(), mode, optional)?);
        }
        if let Some(wanted) = &part.downward_api {
            files.extend(facts(tools, pod, wanted.items.as_deref().unwrap_or_default(), mode)?);
        }
        if let Some(wanted) = &part.service_account_token {
            files.push(token(tools, pod, wanted, mode).await?);
        }
    }
    Ok(files)
}

pub(super) fn facts(
    tools: &Tools,
    pod: &Pod,
    items: &[DownwardAPIVolumeFile],
    mode: i32,
) -> Result<Vec<Content>, VolumeError> {
    let of = |item: &DownwardAPIVolumeFile| {
        let text = match (&item.field_ref, &item.resource_field_ref) {
            (Some(wanted), _) => env::field(wanted, pod, &tools.place)?,
            (_, Some(wanted)) => {
                env::resource(wanted, pod, None, |name| tools.allocatable.get(name).copied())?
            }
            _ => String::new(),
        };
        let mode = item.mode.unwrap_or(mode).cast_unsigned() & 0o777;
        Ok(Content { path: item.path.clone(), mode, bytes: text.into_bytes() })
    };
    items.iter().map(of).collect()
}

/// A token for this pod alone, which ends with it.
async fn token(
    tools: &Tools,
    pod: &Pod,
    wanted: &ServiceAccountTokenProjection,
    mode: i32,
) -> Result<Content, VolumeError> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let account = pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref());
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: wanted.audience.clone().map(|audience| vec![audience]),
            expiration_seconds: wanted.expiration_seconds,
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: pod.metadata.name.clone(),
                uid: pod.metadata.uid.clone(),
            }),
        }),
        ..TokenRequest::default()
    };
    let accounts = Api::<ServiceAccount>::namespaced(tools.client.clone(), namespace);
    let params = PostParams::default();
    let made = accounts.create_token_request(account.unwrap_or("default"), &params, &request).await?;
    let token = made.status.and_then(|status| status.token).unwrap_or_default();
    Ok(Content { path: wanted.path.clone(), mode: mode.cast_unsigned() & 0o777, bytes: token.into_bytes() })
}
