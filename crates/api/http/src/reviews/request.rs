//! `POST …/serviceaccounts/{name}/token`: a new token for an account, for a time, for an audience, bound to an object.

use jiff::{SignedDuration, Timestamp};
use kedge_kinds::{Cause, Details, Reason, Status};
use kedge_registry::At;
use serde::Deserialize;
use serde_json::{Value, json};

use super::part;
use crate::api::Api;
use crate::call::Call;
use crate::nodes;
use crate::token::{Bound, Claims, Private};

const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;
/// What the kubelet asks for in old pods' stead: their clients may not read the token again, so it is good for longer
/// and its late use is remarked on.
const WARN_ONLY_SECONDS: i64 = 60 * 60 + 7;
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    audiences: Option<Vec<String>>,
    expiration_seconds: Option<i64>,
    bound_object_ref: Option<Reference>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Reference {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
}

/// Returns the status and completes the object's spec and metadata.
pub(super) async fn token(
    api: &Api,
    call: &Call,
    object: &mut Value,
    dry_run: bool,
) -> Result<Value, Status> {
    let spec: Spec = part(object, "spec")?;
    let seconds = spec.expiration_seconds.unwrap_or(DEFAULT_SECONDS);
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        let why = match seconds < MIN_SECONDS {
            true => "may not specify a duration less than 10 minutes",
            false => "may not specify a duration larger than 2^32 seconds",
        };
        return Err(invalid("", "spec.expirationSeconds", &format!("Invalid value: {seconds}: {why}")));
    }
    let audiences = spec.audiences.filter(|audiences| !audiences.is_empty());
    let audiences = audiences.unwrap_or_else(|| vec![api.tokens().issuer().to_owned()]);
    let account = At { subresource: None, ..call.at.clone() };
    let name = account.name.as_deref().unwrap_or("").to_owned();
    let namespace = account.namespace.as_deref().unwrap_or("").to_owned();
    for (field, own) in [("name", &name), ("namespace", &namespace)] {
        let given = object["metadata"][field].as_str().unwrap_or("");
        if !given.is_empty() && given != own {
            let why =
                format!("Invalid value: {given:?}: must match the service account {field} if specified");
            return Err(invalid(&name, &format!("metadata.{field}"), &why));
        }
    }
    let found = find(api, &account).await?;

    let now = api.clock().now();
    let until = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    let mut private = Private {
        namespace: namespace.clone(),
        serviceaccount: Bound { name: name.clone(), uid: uid(&found) },
        ..Private::default()
    };
    if let Some(reference) = &spec.bound_object_ref {
        bind(api, &account, reference, &mut private).await?;
    }
    if let Some(node) = nodes::identity(&call.user) {
        let pod = spec.bound_object_ref.as_ref();
        let pod = pod.filter(|one| one.api_version == "v1" && one.kind == "Pod" && !one.name.is_empty());
        for_node(api, &account, node, pod, &audiences)
            .await?
            .map_or(Ok(()), |why| Err(Status::forbidden(&account.kind, &name, &why)))?;
    }
    let ours = audiences.iter().any(|audience| audience == api.tokens().issuer());
    let extended = private.pod.is_some() && ours && seconds == WARN_ONLY_SECONDS;
    private.warnafter = extended.then(|| until.as_second());
    let lasts = if extended { EXTENDED_SECONDS } else { seconds };
    let claims = Claims {
        aud: audiences.clone(),
        exp: now.as_second().saturating_add(lasts),
        iat: now.as_second(),
        nbf: now.as_second(),
        iss: api.tokens().issuer().to_owned(),
        jti: uuid::Uuid::new_v4().to_string(),
        sub: format!("system:serviceaccount:{namespace}:{name}"),
        private,
    };
    let token = if dry_run { String::new() } else { api.tokens().issue(&claims)? };

    object["spec"] = json!({
        "audiences": audiences,
        "expirationSeconds": seconds,
        "boundObjectRef": object["spec"]["boundObjectRef"],
    });
    let seconds = Timestamp::from_second(until.as_second()).unwrap_or(until);
    object["metadata"] = json!({ "name": name, "namespace": namespace, "creationTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() });
    Ok(json!({ "token": token, "expirationTimestamp": seconds.to_string() }))
}

async fn find(api: &Api, at: &At) -> Result<Value, Status> {
    let found = api.registry().get(at, "").await?;
    serde_json::from_slice(found.served.as_ref()).map_err(|error| Status::internal(error.to_string()))
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or("").to_owned()
}

/// The token dies with the object that it is bound to.
async fn bind(api: &Api, account: &At, reference: &Reference, private: &mut Private) -> Result<(), Status> {
    let plural = match (reference.api_version.as_str(), reference.kind.as_str()) {
        ("v1", "Pod") => "pods",
        ("v1", "Secret") => "secrets",
        ("v1", "Node") => "nodes",
        (version, kind) => {
            let message =
                format!("cannot bind token to object of type {}, Kind={kind}", group_version(version));
            return Err(Status::bad_request(message));
        }
    };
    let catalog = api.registry().catalog();
    let kind = catalog.kind("", "v1", plural).ok_or_else(crate::verbs::not_found)?;
    let at = At {
        kind: kind.clone(),
        namespace: account.namespace.clone().filter(|_| kind.namespaced),
        name: Some(reference.name.as_str().into()),
        subresource: None,
    };
    let object = find(api, &at).await?;
    let bound = Bound { name: reference.name.clone(), uid: uid(&object) };
    if !reference.uid.is_empty() && reference.uid != bound.uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
            reference.uid
        );
        let message = format!("Operation cannot be fulfilled on {} {:?}: {why}", kind.kind, reference.name);
        let (name, kind) = (reference.name.clone(), kind.kind.to_string());
        let details = Details { name, kind, ..Details::default() };
        return Err(Status::new(409, Reason::Conflict, message).with(details));
    }
    match plural {
        "pods" => {
            let runs_as = object["spec"]["serviceAccountName"].as_str().unwrap_or("default");
            if account.name.as_deref() != Some(runs_as) {
                let why = format!(
                    "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                    account.name.as_deref().unwrap_or("")
                );
                return Err(Status::bad_request(why));
            }
            private.pod = Some(bound);
            if let Some(node) = object["spec"]["nodeName"].as_str().filter(|name| !name.is_empty()) {
                private.node = Some(node_of(api, node).await);
            }
        }
        "secrets" => private.secret = Some(bound),
        _ => private.node = Some(bound),
    }
    Ok(())
}

/// Why a node may not have this token; nodes get tokens of the pods that run on them, for audiences that those name.
async fn for_node(
    api: &Api,
    account: &At,
    node: &str,
    pod: Option<&Reference>,
    audiences: &[String],
) -> Result<Option<String>, Status> {
    let Some(reference) = pod else {
        return Ok(Some("node requested token not bound to a pod".to_owned()));
    };
    if reference.uid.is_empty() {
        return Ok(Some("node requested token with a pod binding without a uid".to_owned()));
    }
    let catalog = api.registry().catalog();
    let kind = catalog.kind("", "v1", "pods").ok_or_else(crate::verbs::not_found)?;
    let name = Some(reference.name.as_str().into());
    let pod = At { kind: kind.clone(), name, subresource: None, namespace: account.namespace.clone() };
    let pod = find(api, &pod).await?;
    if pod["spec"]["nodeName"] != node {
        return Ok(Some("node requested token bound to a pod scheduled on a different node".to_owned()));
    }
    let audience = match audiences {
        [one] if one == api.tokens().issuer() => "",
        [one] => one,
        _ => return Ok(Some("node may only request 0 or 1 audiences".to_owned())),
    };
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let sources = volumes.flat_map(|volume| volume["projected"]["sources"].as_array().into_iter().flatten());
    let mut tokens = sources.filter_map(|source| source.get("serviceAccountToken"));
    let is_named = tokens.any(|token| token["audience"].as_str().unwrap_or("") == audience);
    // Without a projected volume a pod may still be given the cluster's own audience.
    Ok((!is_named && !audience.is_empty()).then(|| {
        format!("audience {audience:?} not found in pod spec volume, system:node:{node} is not authorized to request tokens for this audience")
    }))
}

/// A pod's node by name; its uid too where there is such a node.
async fn node_of(api: &Api, name: &str) -> Bound {
    let mut bound = Bound { name: name.to_owned(), uid: String::new() };
    if let Some(kind) = api.registry().catalog().kind("", "v1", "nodes") {
        let at = At { kind: kind.clone(), namespace: None, name: Some(name.into()), subresource: None };
        if let Ok(node) = find(api, &at).await {
            bound.uid = uid(&node);
        }
    }
    bound
}

/// As Go writes the version of a kind of the core group.
fn group_version(version: &str) -> String {
    if version.contains('/') { version.to_owned() } else { format!("/{version}") }
}

fn invalid(name: &str, field: &str, message: &str) -> Status {
    let cause = Cause {
        reason: "FieldValueInvalid".to_owned(),
        message: message.to_owned(),
        field: field.to_owned(),
    };
    let text = format!("TokenRequest.authentication.k8s.io {name:?} is invalid: {field}: {message}");
    Status::new(422, Reason::Invalid, text).with(Details {
        group: "authentication.k8s.io".to_owned(),
        kind: "TokenRequest".to_owned(),
        name: name.to_owned(),
        causes: vec![cause],
        ..Details::default()
    })
}
