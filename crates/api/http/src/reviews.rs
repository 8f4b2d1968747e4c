//! Questions that are asked by creating an object and answered in its status: who am I, may they, is this token good.
//! Nothing is stored.

mod access;
mod request;

use bytes::Bytes;
use kedge_kinds::Status;
use kedge_registry::{At, User};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::call::Call;
use crate::{content, who};

pub(crate) fn is_review(at: &At) -> bool {
    let token = &*at.kind.plural == "serviceaccounts" && at.subresource.as_deref() == Some("token");
    token || matches!(&*at.kind.gv.group, "authentication.k8s.io" | "authorization.k8s.io")
}

pub(crate) async fn create(api: &Api, call: &Call, body: Bytes) -> Result<Answer, Status> {
    let mut options = call.write_options("CreateOptions")?;
    let mut object = content::object(call, &body, &mut options)?;
    api.registry().admit_sent(&call.at, &mut object, &options).await?;
    let status = match &*call.at.kind.kind {
        "ServiceAccount" => request::token(api, call, &mut object, options.dry_run).await?,
        "TokenReview" => token_review(api, &object).await?,
        "SelfSubjectReview" => json!({ "userInfo": user_info(&call.user) }),
        "SelfSubjectAccessReview" => access::own(api, call, &object)?,
        "SubjectAccessReview" | "LocalSubjectAccessReview" => access::others(api, call, &object)?,
        "SelfSubjectRulesReview" => access::rules(api, call, &object)?,
        _ => return Err(crate::verbs::method_not_allowed()),
    };
    let mut made = Map::new();
    let (kind, version) = match call.at.subresource.as_deref() {
        Some(_) => ("TokenRequest", "authentication.k8s.io/v1".to_owned()),
        None => (&*call.at.kind.kind, call.at.kind.gv.to_string()),
    };
    made.insert("kind".to_owned(), kind.into());
    made.insert("apiVersion".to_owned(), version.into());
    let mut metadata =
        object.get("metadata").filter(|metadata| metadata.is_object()).cloned().unwrap_or_else(|| json!({}));
    if kind == "SelfSubjectReview" {
        metadata["creationTimestamp"] = json!(api.clock().now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    made.insert("metadata".to_owned(), metadata);
    if let Some(spec) = object.get("spec") {
        made.insert("spec".to_owned(), spec.clone());
    }
    made.insert("status".to_owned(), status);
    Ok(answer::document(201, &Value::Object(made), call.output.format, call.pretty))
}

/// A part of the object as a type; the message names where it went wrong.
fn part<T: DeserializeOwned + Default>(object: &Value, field: &str) -> Result<T, Status> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => {
            T::deserialize(value).map_err(|error| Status::bad_request(format!("{field}: {error}")))
        }
    }
}

fn user_info(user: &User) -> Value {
    let mut info = json!({ "username": user.name, "groups": user.groups });
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct TokenSpec {
    token: String,
    audiences: Vec<String>,
}

async fn token_review(api: &Api, object: &Value) -> Result<Value, Status> {
    let spec: TokenSpec = part(object, "spec")?;
    if spec.token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let own = [api.tokens().issuer().to_owned()];
    let audiences = if spec.audiences.is_empty() { &own[..] } else { &spec.audiences[..] };
    Ok(match who::bearer(api, &spec.token, audiences).await {
        Ok((user, good_for)) => {
            json!({ "authenticated": true, "user": user_info(&user), "audiences": good_for })
        }
        Err(error) => json!({ "user": {}, "error": error }),
    })
}
