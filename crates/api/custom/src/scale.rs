//! What a kind that can be scaled must have where its definition says that the numbers are.

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::kind::ScalePaths;
use serde_json::Value;

use crate::read::text;
use crate::validate::float;

/// `.spec.replicas` as a JSON pointer.
fn pointer(path: &str) -> String {
    path.strip_prefix('.').unwrap_or(path).split('.').map(|step| format!("/{step}")).collect()
}

fn dotted(pointer: &str) -> String {
    pointer.replace('/', ".")
}

pub(crate) fn paths(scale: &Value) -> ScalePaths {
    let selector = text(scale, "labelSelectorPath");
    ScalePaths {
        spec_replicas: pointer(text(scale, "specReplicasPath")),
        status_replicas: pointer(text(scale, "statusReplicasPath")),
        selector: (!selector.is_empty()).then(|| pointer(selector)),
    }
}

pub(crate) fn check(paths: &ScalePaths, object: &Value, errors: &mut Errors) {
    check_count(&paths.spec_replicas, object, errors);
    check_status(paths, object, errors);
}

/// What a write of the status alone can get wrong.
pub(crate) fn check_status(paths: &ScalePaths, object: &Value, errors: &mut Errors) {
    check_count(&paths.status_replicas, object, errors);
    if let Some(pointer) = &paths.selector {
        let said = match find(object, pointer) {
            Err(said) => said,
            Ok(Some(value)) if !value.is_string() => unexpected(pointer, value, "string"),
            Ok(_) => return,
        };
        errors.invalid(&Path::root(&dotted(pointer)), &"".into(), &said);
    }
}

fn check_count(pointer: &str, object: &Value, errors: &mut Errors) {
    let (shown, said) = match find(object, pointer) {
        Err(said) => (0, said),
        Ok(None) => return,
        Ok(Some(value)) => match value.as_i64() {
            None => (0, unexpected(pointer, value, "int64")),
            Some(count @ ..0) => (count, "should be a non-negative integer".to_owned()),
            Some(count) if count > i64::from(i32::MAX) => {
                (count, format!("should be less than or equal to {}", i32::MAX))
            }
            Some(_) => return,
        },
    };
    errors.invalid(&Path::root(&dotted(pointer)), &shown.into(), &said);
}

/// The value, or what stands in the way.
fn find<'o>(object: &'o Value, pointer: &str) -> Result<Option<&'o Value>, String> {
    let mut at = object;
    for step in pointer.split('/').skip(1) {
        let Value::Object(fields) = at else {
            return Err(unexpected(pointer, at, "map[string]interface{}"));
        };
        match fields.get(step) {
            Some(below) => at = below,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

fn unexpected(pointer: &str, value: &Value, wanted: &str) -> String {
    let shown = go(value);
    let path = dotted(pointer);
    format!("{path} accessor error: {shown} is of the type {}, expected {wanted}", go_type(value))
}

/// A value as Go prints it.
fn go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) if number.is_i64() => number.to_string(),
        Value::Number(number) => float(number.as_f64().unwrap_or_default()),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, field)| format!("{name}:{}", go(field))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
