//! What is said to a conversion webhook and how far its answer is believed: everything may change but who the object is.

use kedge_kinds::GroupVersion;
use kedge_kinds::check::json_type;
use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value, json};

use crate::object;
use crate::strategies::names as spelling;

/// The first version of the review that the webhook and we both speak.
pub(super) fn version(webhook: &Value) -> Option<&'static str> {
    let known = webhook.get("conversionReviewVersions").and_then(Value::as_array)?;
    known.iter().find_map(|version| match version.as_str() {
        Some("v1") => Some("apiextensions.k8s.io/v1"),
        Some("v1beta1") => Some("apiextensions.k8s.io/v1beta1"),
        _ => None,
    })
}

pub(super) fn ask(version: &str, uid: &str, to: &GroupVersion, objects: &[Value]) -> Value {
    json!({
        "kind": "ConversionReview",
        "apiVersion": version,
        "request": {"uid": uid, "desiredAPIVersion": to.to_string(), "objects": objects},
    })
}

/// The objects of an answer, or what is wrong with it as a whole.
pub(super) fn converted(version: &str, uid: &str, answer: &Value) -> Result<Vec<Value>, String> {
    let (said_kind, said_version) = (object::text(answer, &["kind"]), object::text(answer, &["apiVersion"]));
    // Of the old version one did not have to say what it is.
    let may_be_silent = !version.ends_with("/v1") && said_kind.is_empty() && said_version.is_empty();
    if !may_be_silent && (said_kind != "ConversionReview" || said_version != version) {
        return Err(format!(
            "expected webhook response of {version}, Kind=ConversionReview, got {said_version}, Kind={said_kind}"
        ));
    }
    let Some(response) = answer.get("response").filter(|response| response.is_object()) else {
        return Err("no response provided".to_owned());
    };
    let answered = object::text(response, &["uid"]);
    if version.ends_with("/v1") && answered != uid {
        return Err(format!("expected response.uid={uid:?}, got {answered:?}"));
    }
    let (status, message) =
        (object::text(response, &["result", "status"]), object::text(response, &["result", "message"]));
    match (status, message) {
        ("Success", _) => {}
        (status, "") => return Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => return Err(message.to_owned()),
    }
    Ok(response.get("convertedObjects").and_then(Value::as_array).cloned().unwrap_or_default())
}

/// Takes the converted objects for the ones that were sent, if they are the same ones in the version that was asked for.
pub(super) fn believe(
    about: &str,
    many: bool,
    to: &GroupVersion,
    sent: Vec<Value>,
    converted: Vec<Value>,
) -> Result<Vec<Value>, String> {
    if converted.len() != sent.len() {
        return Err(format!("{about} returned {} objects, expected {}", converted.len(), sent.len()));
    }
    let pairs = sent.into_iter().zip(converted).enumerate();
    pairs
        .map(|(at, (original, mut object))| {
            let place = if many { format!(" converted object at index {at}") } else { " object".to_owned() };
            let indexed = if many { place.clone() } else { " object at index 0".to_owned() };
            let version = object::text(&object, &["apiVersion"]);
            if version != to.to_string() {
                return Err(format!(
                    "{about} returned invalid{indexed}: invalid groupVersion (expected {to}, received {version})"
                ));
            }
            let (was, is) = (object::text(&original, &["kind"]), object::text(&object, &["kind"]));
            if was != is {
                return Err(format!("{about} returned invalid{indexed}: invalid kind (expected {was}, received {is})"));
            }
            same(&original, &object).map_err(|why| format!("{about} returned invalid{place}: {why}"))?;
            restore(&original, &mut object).map_err(|why| {
                let place = if many { format!(" in object at index {at}") } else { String::new() };
                format!("{about} returned invalid metadata{place}: {why}")
            })?;
            Ok(object)
        })
        .collect()
}

fn same(original: &Value, converted: &Value) -> Result<(), String> {
    for (field, called) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (was, is) = (object::meta_text(original, field), object::meta_text(converted, field));
        if was != is {
            return Err(format!("must have the same {called}: {was} != {is}"));
        }
    }
    Ok(())
}

/// Of the metadata only labels and annotations are the webhook's to change.
fn restore(original: &Value, converted: &mut Value) -> Result<(), String> {
    let Some(answered) = converted.get("metadata").cloned() else {
        return Err("missing metadata in converted object".to_owned());
    };
    if !answered.is_object() {
        return Err(format!("invalid metadata of type {} in converted object", json_type(&answered)));
    }
    let mut metadata = original.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in ["labels", "annotations"] {
        match answered.get(field) {
            None | Some(Value::Null) => {
                metadata.remove(field);
            }
            Some(Value::Object(texts)) => {
                check(field, texts)?;
                metadata.insert(field.to_owned(), Value::Object(texts.clone()));
            }
            Some(other) => {
                let found = json_type(other);
                return Err(format!("invalid metadata.{field} of type {found} in converted object"));
            }
        }
    }
    object::as_map(converted).insert("metadata".to_owned(), Value::Object(metadata));
    Ok(())
}

fn check(field: &str, texts: &Map<String, Value>) -> Result<(), String> {
    for (key, value) in texts {
        if !value.is_string() {
            let found = json_type(value);
            return Err(format!(
                "metadata.{field}[{key}] must be a string, but is {found} in converted object"
            ));
        }
    }
    let mut errors = Errors::default();
    let path = Path::root("metadata");
    let metadata = json!({ field: texts });
    match field {
        "labels" => spelling::labels(&mut errors, &path.child(field), &metadata, field),
        _ => spelling::annotations(&mut errors, &path.child(field), &metadata),
    }
    let said: Vec<String> =
        errors.into_causes().iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    match said.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests;
