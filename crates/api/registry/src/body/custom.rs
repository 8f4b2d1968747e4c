//! The same for custom kinds, which are read without a type: more is let through here and judged with the rest.

use std::sync::OnceLock;

use kedge_kinds::check::{Mode, check};
use kedge_kinds::field::{Errors, Path};
use kedge_kinds::schema::Node;
use kedge_kinds::{Details, Kind, Reason, Rules, Status};
use serde_json::Value;

use crate::object;
use crate::request::{FieldValidation, WriteOptions};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Nothing is left to be guessed: the body itself says what it is.
pub(super) fn version(kind: &Kind, object: &Value, options: &WriteOptions) -> Result<(), Status> {
    let (version, called) = (object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
    if called.is_empty() {
        let text = options.body.as_deref().map(String::from_utf8_lossy);
        let text = text.map_or_else(|| object.to_string(), |text| text.into_owned());
        let shown: String = text.chars().take(30).collect();
        let more = if shown.len() < text.len() { " ..." } else { "" };
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{text}' ({shown}{more})",
            kind.kind
        )));
    }
    if version != kind.gv.to_string() {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            kind.gv
        )));
    }
    if called != &*kind.kind {
        let mut errors = Errors::default();
        errors.invalid(&Path::root("kind"), &called.into(), &format!("must be {}", kind.kind));
        return Err(misnamed(kind, called, object::meta_text(object, "name"), errors));
    }
    Ok(())
}

/// Named as it calls itself.
fn misnamed(kind: &Kind, called: &str, name: &str, errors: Errors) -> Status {
    let causes = errors.into_causes();
    let said: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let (group, said) = (&kind.gv.group, said.join(", "));
    let message = format!("{called}.{group} {name:?} is invalid: {said}");
    let (name, group, kind) = (name.to_owned(), group.to_string(), called.to_owned());
    Status::new(422, Reason::Invalid, message).with(Details {
        name,
        group,
        kind,
        causes,
        ..Details::default()
    })
}

/// Brings metadata into its form and takes out what the definition doesn't know; gives the complaints about that.
pub(super) fn shape(
    rules: &dyn Rules,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    if let Some(node) = object_meta()
        && let Some(metadata) = object.get_mut("metadata")
    {
        let found = check(node, metadata, Mode::Whole);
        if let Some(wrong) = found.errors.first() {
            return Err(wrong.message.clone());
        }
        unknown.extend(found.unknown.iter().map(|field| format!("metadata.{field}")));
        if metadata.get("creationTimestamp").is_some_and(Value::is_null) {
            object::as_map(metadata).remove("creationTimestamp");
        }
    }
    unknown.extend(rules.prune(object));
    if options.validation == FieldValidation::Ignore {
        return Ok(Vec::new());
    }
    let unknown = unknown.into_iter().map(|field| format!("unknown field {field:?}"));
    Ok(options.duplicates.iter().cloned().chain(unknown).collect())
}

fn object_meta() -> Option<Node<'static>> {
    static META: OnceLock<Option<Node<'static>>> = OnceLock::new();
    *META.get_or_init(|| kedge_kinds::builtin().schema(OBJECT_META))
}
