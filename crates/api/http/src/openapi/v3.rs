//! OpenAPI v3 of one group and version. Knows how v3 is written, not what there is to say.

use std::io::{self, Write};

use kedge_kinds::Kind;
use serde_json::{Map, Value, json};

use super::operations::{Operation, Path, paths};
use super::parameters::Parameter;
use super::schema::{Definitions, Style, reference};
use super::{info, write_map};

/// What a patch may be written in; clients choose by this list.
const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

pub(super) fn write(kinds: &[&Kind], out: &mut impl Write) -> io::Result<()> {
    write!(out, r#"{{"openapi":"3.0.0","info":{},"#, info())?;
    write_map(out, "paths", paths(kinds).iter().map(|one| (one.template.clone(), path(one))))?;
    out.write_all(br#","components":{"#)?;
    write_map(out, "schemas", Definitions::of(kinds).written(Style::V3))?;
    let token = json!({"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}});
    write!(out, r#","securitySchemes":{token}}}}}"#)
}

fn path(path: &Path) -> Value {
    let mut item: Map<String, Value> =
        path.operations.iter().map(|one| (one.method.to_owned(), operation(one))).collect();
    item.insert("parameters".to_owned(), path.parameters.iter().map(parameter).collect());
    item.into()
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = json!({"type": parameter.kind, "uniqueItems": true});
    if parameter.place == "path" {
        return json!({"name": parameter.name, "in": parameter.place, "required": true, "schema": schema});
    }
    json!({"name": parameter.name, "in": parameter.place, "schema": schema})
}

fn operation(operation: &Operation) -> Value {
    let (group, version, kind) = &operation.gvk;
    let mut written = json!({
        "tags": [operation.tag],
        "operationId": operation.id,
        "responses": responses(operation),
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    });
    if !operation.parameters.is_empty() {
        written["parameters"] = operation.parameters.iter().map(parameter).collect();
    }
    if let Some(body) = &operation.body {
        let types: &[&str] = if operation.is_patch() && strategic(operation) {
            &PATCH_TYPES
        } else if operation.is_patch() {
            &PATCH_TYPES[..3]
        } else {
            &["*/*"]
        };
        let content: Map<String, Value> = types
            .iter()
            .map(|one| ((*one).to_owned(), json!({"schema": reference(&body.of, Style::V3)})))
            .collect();
        written["requestBody"] = json!({ "content": content });
        if body.required {
            written["requestBody"]["required"] = true.into();
        }
    }
    written
}

/// Custom kinds know no strategic merge: their types have no such facts.
pub(super) fn strategic(operation: &Operation) -> bool {
    operation.answer.as_deref().is_some_and(|name| name.starts_with("io.k8s."))
}

fn responses(operation: &Operation) -> Value {
    let content: Value = match &operation.answer {
        Some(name) => {
            let schema = json!({"schema": reference(name, Style::V3)});
            let mut content = json!({"application/json": schema});
            if operation.is_list() {
                content["application/json;stream=watch"] = schema;
            }
            content
        }
        None => json!({"*/*": {"schema": {"type": "string"}}}),
    };
    let mut responses: Map<String, Value> = operation
        .codes
        .iter()
        .map(|code| ((*code).to_owned(), json!({"description": reason(code), "content": content})))
        .collect();
    responses.insert("401".to_owned(), json!({"description": reason("401")}));
    responses.into()
}

/// HTTP's own word for a code; OpenAPI wants some description.
pub(super) fn reason(code: &str) -> &'static str {
    match code {
        "201" => "Created",
        "202" => "Accepted",
        "401" => "Unauthorized",
        _ => "OK",
    }
}
