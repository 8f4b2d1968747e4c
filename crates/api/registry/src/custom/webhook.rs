//! Conversion by webhook: a `ConversionReview` goes out with many objects, and what comes back is believed only as far
//! as a conversion may go.

mod review;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::Full;
use kedge_kinds::kind::Conversion;
use kedge_kinds::{GroupVersion, Kind, Status};
use kedge_reach::{Place, Target};
use serde_json::Value;

use crate::registry::Registry;
use crate::{failure, metadata, object};

/// Objects of a kind in another version. Their failures name the version that they were in.
pub(super) async fn convert(
    registry: &Registry,
    kind: &Kind,
    to: &GroupVersion,
    objects: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    let first = objects.first().map(|object| object::text(object, &["apiVersion"])).unwrap_or_default();
    let many = objects.len() > 1;
    let called = if many { &kind.list_kind } else { &kind.kind };
    let about = format!("conversion webhook for {first}, Kind={called}");
    let failed = |why: String| failure::bare(format!("{about} failed: {why}"));
    let Some(Conversion::Webhook(webhook)) = kind.rules.as_ref().map(|rules| rules.conversion()) else {
        return Err(failed("no webhook is defined".to_owned()));
    };
    let Some(version) = review::version(webhook) else {
        return Err(failed("it speaks no version of ConversionReview that is known here".to_owned()));
    };
    let uid = metadata::uid();
    let body = review::ask(version, &uid, to, &objects);
    let request = http::Request::post("/")
        .header("content-type", "application/json")
        .header("accept", "application/json, */*")
        .body(Full::new(Bytes::from(body.to_string())))
        .map_err(|error| failed(error.to_string()))?;
    let target = target(webhook);
    let answer = registry.reach().send(&target, request, registry.options().conversion_patience).await;
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    if !answer.status().is_success() {
        let text = String::from_utf8_lossy(answer.body()).trim().chars().take(512).collect::<String>();
        return Err(failed(if text.is_empty() { answer.status().to_string() } else { text }));
    }
    let answer: Value = serde_json::from_slice(answer.body()).map_err(|error| failed(error.to_string()))?;
    let converted = review::converted(version, &uid, &answer).map_err(failed)?;
    review::believe(&about, many, to, objects, converted).map_err(failure::bare)
}

/// Whom to ask: `clientConfig` of the definition's webhook.
fn target(webhook: &Value) -> Target {
    let config = webhook.get("clientConfig").unwrap_or(&Value::Null);
    let text = |path: &[&str]| object::text(config, path).to_owned();
    let place = match config.get("service").filter(|service| !service.is_null()) {
        Some(service) => Place::Service {
            namespace: text(&["service", "namespace"]),
            name: text(&["service", "name"]),
            port: service
                .get("port")
                .and_then(Value::as_u64)
                .and_then(|port| u16::try_from(port).ok())
                .unwrap_or(443),
            path: text(&["service", "path"]),
        },
        None => Place::Url(text(&["url"])),
    };
    let bundle = base64::engine::general_purpose::STANDARD.decode(text(&["caBundle"])).unwrap_or_default();
    let ca_bundle = Some(Bytes::from(bundle)).filter(|bundle| !bundle.is_empty());
    Target { place, ca_bundle, identity: None, insecure_skip_verify: false }
}
