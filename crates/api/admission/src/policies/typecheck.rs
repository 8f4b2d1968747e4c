//! Looks whether a policy's expressions fit the kinds that it is about, and says where not. Warns only: a policy can be meant
//! for kinds that look different.

use std::collections::BTreeMap;
use std::sync::Arc;

use kedge_cel::{Decl, Program};
use kedge_kinds::Kind;
use kedge_registry::Catalog;
use kedge_registry::expressions::{ExpressionError, Known, Language, Uses, Yields};
use serde_json::{Value, json};

use super::params::ParamKind;

/// Of each rule's kinds this many are looked at.
const MOST_KINDS: usize = 10;

/// `expressionWarnings`, in the order of the expressions.
pub(super) fn warnings(policy: &Value, catalog: &Catalog) -> Vec<Value> {
    let param_kind = ParamKind::of(policy);
    let params = param_kind.as_ref().and_then(|kind| kind.among(catalog)).map(|kind| decl(&kind));
    let uses = Uses { params: param_kind.is_some(), authorizer: true, patches: false };
    let languages: Vec<(String, Language)> = kinds(policy, catalog)
        .iter()
        .map(|kind| {
            let known = Known { object: Some(decl(kind)), params: params.clone() };
            let gvk = format!("{}/{}, Kind={}", kind.gv.group, kind.gv.version, kind.kind);
            (gvk, language(policy, known, uses))
        })
        .collect();
    let check = |source: &str| {
        let said = languages.iter().filter_map(|(gvk, language)| {
            match language.compile(source, uses, Yields::Anything) {
                Err(ExpressionError::Wrong(issues)) => Some(format!("{gvk}: {issues}\n")),
                _ => None,
            }
        });
        said.collect::<Vec<_>>().join("\n")
    };
    let mut warnings = Vec::new();
    for (i, validation) in items(policy, "/spec/validations").enumerate() {
        for field in ["expression", "messageExpression"] {
            let source = validation.get(field).and_then(Value::as_str).unwrap_or_default();
            let warning = if source.is_empty() { String::new() } else { check(source) };
            if !warning.is_empty() {
                let place = format!("spec.validations[{i}].{field}");
                warnings.push(json!({"fieldRef": place, "warning": warning}));
            }
        }
    }
    warnings
}

fn language(policy: &Value, known: Known, uses: Uses) -> Language {
    let mut language = Language::with_variables(known);
    for variable in items(policy, "/spec/variables") {
        let text = |field: &str| variable.get(field).and_then(Value::as_str).unwrap_or_default();
        let program = language.compile(text("expression"), uses, Yields::Anything);
        language.declare(text("name"), program.as_ref().ok().map(Program::output));
    }
    language
}

/// The kinds that rules name without wildcards, by group, version and name.
fn kinds(policy: &Value, catalog: &Catalog) -> Vec<Arc<Kind>> {
    let mut found = BTreeMap::new();
    for rule in items(policy, "/spec/matchConstraints/resourceRules") {
        let texts = |field: &str| {
            let mut texts: Vec<&str> = items(rule, &format!("/{field}")).filter_map(Value::as_str).collect();
            texts.sort_unstable();
            texts
        };
        let (groups, versions, mut resources) =
            (texts("apiGroups"), texts("apiVersions"), texts("resources"));
        if groups.iter().chain(&versions).any(|text| text.contains('*')) {
            continue;
        }
        resources.retain(|resource| !resource.contains(['*', '/']));
        let named = groups.iter().flat_map(|group| {
            let pairs = versions.iter().flat_map(|version| resources.iter().map(move |one| (version, one)));
            pairs.map(move |(version, resource)| (*group, *version, *resource))
        });
        let kinds = named.filter_map(|(group, version, resource)| catalog.kind(group, version, resource));
        for kind in kinds.take(MOST_KINDS) {
            found.insert((kind.gv.clone(), kind.kind.clone()), kind.clone());
        }
    }
    found.into_values().collect()
}

fn decl(kind: &Kind) -> Decl {
    Decl::from_schemas(&kind.schemas, kind.schema)
}

fn items<'v>(of: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    of.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
