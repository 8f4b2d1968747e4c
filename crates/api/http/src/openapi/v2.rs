//! OpenAPI v2 of everything in one document. Knows how v2 is written, not what there is to say.

use std::io::{self, Write};

use kedge_kinds::Kind;
use serde_json::{Map, Value, json};

use super::operations::{Operation, Path, paths};
use super::parameters::Parameter;
use super::schema::{Definitions, Style, reference};
use super::v3::{reason, strategic};
use super::{info, write_map};

pub(super) fn write(kinds: &[&Kind], out: &mut impl Write) -> io::Result<()> {
    write!(out, r#"{{"swagger":"2.0","info":{},"#, info())?;
    write_map(out, "paths", paths(kinds).iter().map(|one| (one.template.clone(), path(one))))?;
    out.write_all(b",")?;
    write_map(out, "definitions", Definitions::of(kinds).written(Style::V2))?;
    let token = json!({"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}});
    write!(out, r#","securityDefinitions":{token},"security":[{{"BearerToken":[]}}]}}"#)
}

pub(super) fn path(path: &Path) -> Value {
    let mut item: Map<String, Value> =
        path.operations.iter().map(|one| (one.method.to_owned(), operation(one))).collect();
    item.insert("parameters".to_owned(), path.parameters.iter().map(parameter).collect());
    item.into()
}

fn parameter(parameter: &Parameter) -> Value {
    let mut written =
        json!({"name": parameter.name, "in": parameter.place, "type": parameter.kind, "uniqueItems": true});
    if parameter.place == "path" {
        written["required"] = true.into();
    }
    written
}

fn operation(operation: &Operation) -> Value {
    let (group, version, kind) = &operation.gvk;
    // kubectl sends a strategic patch wherever it is said to be understood.
    let consumes: &[&str] = if operation.is_patch() && strategic(operation) {
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ]
    } else if operation.is_patch() {
        &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
    } else {
        &["*/*"]
    };
    let produces: &[&str] = match (&operation.answer, operation.is_list()) {
        (None, _) => &["*/*"],
        (Some(_), true) => &["application/json", "application/json;stream=watch"],
        (Some(_), false) => &["application/json"],
    };
    let body = operation.body.as_ref().map(|body| {
        let mut written = json!({"name": "body", "in": "body", "schema": reference(&body.of, Style::V2)});
        if body.required {
            written["required"] = true.into();
        }
        written
    });
    let parameters: Vec<Value> = body.into_iter().chain(operation.parameters.iter().map(parameter)).collect();
    let mut written = json!({
        "tags": [operation.tag],
        "operationId": operation.id,
        "consumes": consumes,
        "produces": produces,
        "schemes": ["https"],
        "responses": responses(operation),
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    });
    if !parameters.is_empty() {
        written["parameters"] = parameters.into();
    }
    written
}

fn responses(operation: &Operation) -> Value {
    let schema = match &operation.answer {
        Some(name) => reference(name, Style::V2),
        None => json!({"type": "string"}),
    };
    let mut responses: Map<String, Value> = operation
        .codes
        .iter()
        .map(|code| ((*code).to_owned(), json!({"description": reason(code), "schema": schema})))
        .collect();
    responses.insert("401".to_owned(), json!({"description": reason("401")}));
    responses.into()
}
