//! Whether what was sent can be what the path says: version, kind, namespace, name, known fields, right types.
//! Knows the schema and nothing about what the fields mean.

mod custom;

use kedge_kinds::check::{Mode, check};
use kedge_kinds::decode::{Media, strict_issues};
use kedge_kinds::{Kind, Status};
use serde_json::{Value, json};

use crate::request::{At, FieldValidation, WriteOptions};
use crate::{object, unread};

/// Checks a whole object and leaves it in the form of the kind's schema: unknown fields and nulls are gone.
pub(crate) fn accept(
    at: &At,
    mut object: Value,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    if at.kind.rules.is_some() {
        custom::version(&at.kind, &object, options)?;
    } else {
        version(&at.kind, &mut object)?;
    }
    let refuse = |why: &str| Status::bad_request(handled_as(&at.kind, &object_kind(&at.kind), why));
    shape(&at.kind, &mut object, options, warnings, &refuse)?;
    namespace(at, &mut object)?;
    Ok(object)
}

fn object_kind(kind: &Kind) -> (String, String) {
    (kind.kind.to_string(), kind.gv.version.to_string())
}

fn handled_as(kind: &Kind, (sent, version): &(String, String), why: &str) -> String {
    format!("{sent} in version {version:?} cannot be handled as a {}: {why}", kind.kind)
}

/// What the body says that it is must be what the path asks for; what it leaves out is the path's.
fn version(kind: &Kind, object: &mut Value) -> Result<(), Status> {
    if !object.is_object() {
        let why = "couldn't get version/kind; json parse error: json: cannot unmarshal into an object";
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why}",
            kind.kind
        )));
    }
    let Some(other) = stranger(kind, object) else {
        name_it(kind, object);
        return Ok(());
    };
    if other.same_kind {
        return Err(Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            other.version, kind.gv
        )));
    }
    let version = other.version.rsplit('/').next().unwrap_or_default().to_owned();
    Err(Status::bad_request(handled_as(kind, &(other.kind, version), &other.why)))
}

/// A patch must leave the object what it was.
pub(crate) fn version_of_patched(kind: &Kind, object: &mut Value) -> Result<(), Status> {
    match stranger(kind, object) {
        None => {
            name_it(kind, object);
            Ok(())
        }
        Some(other) => {
            unread::expand(object);
            Err(crate::patch::refused(&object.to_string(), &other.why))
        }
    }
}

/// An applied configuration belongs where the path says; what it is, is checked with its fields. It stays as it was
/// sent, because messages show it so.
pub(crate) fn applied(at: &At, config: &Value) -> Result<(), Status> {
    namespace(at, &mut json!({"metadata": {"namespace": object::meta_text(config, "namespace")}}))?;
    match object::meta_text(config, "name") {
        "" => Ok(()),
        _ => name(at, config),
    }
}

/// Puts an object where the path says.
pub(crate) fn placed(at: &At, object: &mut Value) -> Result<(), Status> {
    if object::meta_text(object, "name").is_empty() {
        object::set_meta(object, "name", at.name.as_deref().unwrap_or_default());
    }
    namespace(at, object)
}

fn name_it(kind: &Kind, object: &mut Value) {
    let fields = object::as_map(object);
    fields.insert("apiVersion".to_owned(), kind.gv.to_string().into());
    fields.insert("kind".to_owned(), (*kind.kind).into());
}

/// An object that says it is something else than `kind`.
struct Stranger {
    version: String,
    kind: String,
    /// Another version of the same kind.
    same_kind: bool,
    why: String,
}

fn stranger(kind: &Kind, object: &Value) -> Option<Stranger> {
    let or = |sent: &str, own: &dyn ToString| if sent.is_empty() { own.to_string() } else { sent.to_owned() };
    let version = or(object::text(object, &["apiVersion"]), &kind.gv);
    let name = or(object::text(object, &["kind"]), &kind.kind);
    if version == kind.gv.to_string() && *name == *kind.kind {
        return None;
    }
    let (group, short) = version.split_once('/').unwrap_or(("", &version));
    let known = kedge_kinds::builtin::builtin().by_kind(group, short, &name);
    let own_group =
        if kind.gv.group.is_empty() { "core" } else { kind.gv.group.split('.').next().unwrap_or_default() };
    let why = match known {
        None => format!("no kind {name:?} is registered for version {version:?}"),
        Some(_) => format!("converting ({short}.{name}) to ({own_group}.{}): unknown conversion", kind.kind),
    };
    let same_kind = known.is_some_and(|known| known.kind == kind.kind && known.prefix == kind.prefix);
    Some(Stranger { kind: name, same_kind, why, version })
}

/// Checks against the schema; `refuse` words what can't be accepted.
pub(crate) fn shape(
    kind: &Kind,
    object: &mut Value,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
    refuse: &dyn Fn(&str) -> Status,
) -> Result<(), Status> {
    let said = if let Some(rules) = &kind.rules {
        custom::shape(&**rules, object, options).map_err(|why| refuse(&why))?
    } else {
        let Some(node) = kind.node() else { return Ok(()) };
        let found = check(node, object, Mode::Whole);
        if let Some(wrong) = found.errors.first() {
            return Err(refuse(&wrong.message));
        }
        complaints(&found.unknown, options)
    };
    match options.validation {
        FieldValidation::Strict if !said.is_empty() => {
            Err(refuse(&format!("strict decoding error: {}", said.join(", "))))
        }
        FieldValidation::Warn => {
            warnings.extend(said);
            Ok(())
        }
        FieldValidation::Strict | FieldValidation::Ignore => Ok(()),
    }
}

fn complaints(unknown: &[String], options: &WriteOptions) -> Vec<String> {
    if unknown.is_empty() && options.duplicates.is_empty() {
        return Vec::new();
    }
    // YAML and patches have no order that both kinds of complaint could be put in.
    let (bytes, media) = options.body.as_deref().map_or((&[][..], Media::Yaml), |body| (body, Media::Json));
    strict_issues(bytes, media, options.duplicates.clone(), unknown)
}

/// The namespace of the path is the object's; one that differs is refused.
pub(crate) fn namespace(at: &At, object: &mut Value) -> Result<(), Status> {
    let sent = object::meta_text(object, "namespace");
    match at.namespace.as_deref().filter(|_| at.kind.namespaced) {
        Some(namespace) if sent.is_empty() => object::set_meta(object, "namespace", namespace),
        Some(namespace) if sent != namespace => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Some(_) => {}
        None => {
            object::meta_mut(object).remove("namespace");
        }
    }
    Ok(())
}

/// The name in the path of an update is the object's.
pub(crate) fn name(at: &At, object: &Value) -> Result<(), Status> {
    let Some(name) = at.name.as_deref() else { return Ok(()) };
    match object::meta_text(object, "name") {
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        sent if sent != name => Err(Status::bad_request(format!(
            "the name of the object ({sent}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}
