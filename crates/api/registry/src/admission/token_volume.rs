//! Every pod that may speak gets the means to: a volume with its account's token, the authority's certificate and its
//! namespace, mounted where clients look for them. Also the account's image pull secrets, where the pod names none.

use kedge_kinds::Status;
use serde_json::{Value, json};

use super::View;
use crate::{metadata, object};

const MIRROR: &str = "kubernetes.io/config.mirror";
const PREFIX: &str = "kube-api-access-";
const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// What clients that never read the token again are forgiven.
const LIFE_SECONDS: i64 = 3607;

/// Gives a new pod what its account has for it; leaves everything else alone.
pub(crate) fn mount(view: &View<'_>, pod: &mut Value) -> Result<(), Status> {
    let mirrors = object::meta(pod, "annotations").is_some_and(|all| all.get(MIRROR).is_some());
    if !view.creates("", "Pod") || mirrors {
        return Ok(());
    }
    let named = object::text(pod, &["spec", "serviceAccountName"]);
    let account = if named.is_empty() { "default" } else { named };
    let namespace = view.at.namespace.as_deref().unwrap_or_default();
    let account = view.other("serviceaccounts", &format!("{namespace}/{account}"))?.unwrap_or_default();
    let says = |value: &Value| value.get("automountServiceAccountToken").and_then(Value::as_bool);
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    if says(spec).or_else(|| says(&account)).unwrap_or(true) {
        mount_token(pod);
    }
    let spec = object::map_mut(pod, "spec");
    let names_some =
        spec.get("imagePullSecrets").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    if let Some(secrets) = account.get("imagePullSecrets").filter(|_| !names_some) {
        spec.insert("imagePullSecrets".to_owned(), secrets.clone());
    }
    Ok(())
}

fn mount_token(pod: &mut Value) {
    let spec = object::map_mut(pod, "spec");
    let volumes = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let mut names = volumes.map(|volume| object::text(volume, &["name"]));
    let known = names.find(|name| name.starts_with(PREFIX)).map(str::to_owned);
    let name = known.clone().unwrap_or_else(|| metadata::generate(PREFIX));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let mounts = container.entry("volumeMounts").or_insert_with(|| json!([]));
            if mounts.is_null() {
                *mounts = json!([]);
            }
            let Some(mounts) = mounts.as_array_mut() else { continue };
            // Whoever mounts something there means it.
            if mounts.iter().any(|mount| object::text(mount, &["mountPath"]) == PATH) {
                continue;
            }
            mounts.push(json!({ "name": name, "readOnly": true, "mountPath": PATH }));
            needed = true;
        }
    }
    if !needed || known.is_some() {
        return;
    }
    let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
    if volumes.is_null() {
        *volumes = json!([]);
    }
    if let Some(volumes) = volumes.as_array_mut() {
        volumes.push(volume(&name));
    }
}

fn volume(name: &str) -> Value {
    let namespace = json!({ "apiVersion": "v1", "fieldPath": "metadata.namespace" });
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                { "serviceAccountToken": { "expirationSeconds": LIFE_SECONDS, "path": "token" } },
                { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
                { "downwardAPI": { "items": [{ "path": "namespace", "fieldRef": namespace }] } },
            ],
        },
    })
}

#[cfg(test)]
mod tests;
