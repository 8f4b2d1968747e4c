//! What holds for all kinds: recorded objects of a stock server need nothing more and are found good.
//! Below, the tools that the tables of single kinds are written with.

use kedge_kinds::builtin;
use kedge_kinds::field::Errors;
use serde_json::{Value, json};

use super::*;

/// The strategy of an object, by what it says it is.
pub(super) fn of(object: &Value) -> &'static dyn Strategy {
    let (version, kind) = (fields::text(object, "apiVersion"), fields::text(object, "kind"));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    strategy(builtin().by_kind(group, version, kind).unwrap_or_else(|| panic!("{group}/{version} {kind}")))
}

/// The object as it would be stored when a user creates it.
pub(super) fn created(mut object: Value) -> Value {
    let strategy = of(&object);
    strategy.default(&mut object);
    object["metadata"]["uid"] = json!("11111111-2222-4333-8444-555555555555");
    object["metadata"]["generation"] = json!(1);
    strategy.prepare_create(&mut object);
    object
}

fn said(errors: Errors) -> Vec<String> {
    errors.into_causes().into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

/// What is wrong with a new object.
pub(super) fn complaints(object: Value) -> Vec<String> {
    let object = created(object);
    let mut errors = Errors::default();
    of(&object).validate(&object, &mut errors);
    said(errors)
}

/// What is wrong with a change: `patch` is merged over the object as it was created.
pub(super) fn update_complaints(object: Value, patch: Value) -> Vec<String> {
    let old = created(object);
    let mut new = old.clone();
    json_patch::merge(&mut new, &patch);
    let strategy = of(&new);
    strategy.default(&mut new);
    strategy.prepare_update(&mut new, &old);
    let mut errors = Errors::default();
    strategy.validate(&new, &mut errors);
    strategy.validate_update(&new, &old, &mut errors);
    said(errors)
}

/// A case, the object as a user writes it, and what stands where when it is read back.
type Defaults<'a> = (&'a str, Value, &'a [(&'a str, Value)]);

pub(super) fn defaults_are(table: &[Defaults<'_>]) {
    for (case, object, expected) in table {
        let made = created(object.clone());
        for (pointer, value) in *expected {
            assert_eq!(made.pointer(pointer).unwrap_or(&Value::Null), value, "{case}: {pointer}");
        }
    }
}

pub(super) fn refused_with(table: &[(&str, Value, &[&str])]) {
    for (case, object, expected) in table {
        assert_eq!(complaints(object.clone()), *expected, "{case}");
    }
}

pub(super) fn changes_refused_with(object: &Value, table: &[(&str, Value, &[&str])]) {
    for (case, patch, expected) in table {
        assert_eq!(update_complaints(object.clone(), patch.clone()), *expected, "{case}");
    }
}

/// Objects that a stock server answered with, in the stored version, by the name of their case.
fn recorded() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/agreement/answers");
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let answers: Vec<Value> =
            serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        for answer in answers.into_iter().filter(|answer| answer["status"] == 201) {
            let body = &answer["body"];
            let version = fields::text(body, "apiVersion");
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let kind = builtin().by_kind(group, version, fields::text(body, "kind"));
            if kind.is_some_and(|kind| kind.gv == kind.stored_as && kind.verbs.len() > 1) {
                found.push((answer["name"].to_string(), body.clone()));
            }
        }
    }
    assert!(found.len() > 80, "only {} recorded objects", found.len());
    found
}

#[test]
fn what_a_stock_server_stored_needs_nothing_more() {
    for (case, object) in recorded() {
        let mut filled = object.clone();
        of(&object).default(&mut filled);
        assert_eq!(filled, object, "{case}");
    }
}

#[test]
fn what_a_stock_server_stored_is_found_good() {
    for (case, object) in recorded() {
        // The recorder puts words in brackets where values differ from run to run.
        if object.to_string().contains("<clusterIP>") || object.to_string().contains("<nodePort>") {
            continue;
        }
        let mut object: Value = serde_json::from_str(&object.to_string().replace("<uid>", "uid")).unwrap();
        object["metadata"]["uid"] = json!("uid");
        let mut errors = Errors::default();
        of(&object).validate(&object, &mut errors);
        assert_eq!(said(errors), Vec::<String>::new(), "{case}");
    }
}

#[test]
fn defaulting_twice_changes_nothing() {
    for kind in builtin().kinds.iter().filter(|kind| kind.gv == kind.stored_as) {
        let mut once =
            json!({"apiVersion": kind.gv.to_string(), "kind": &*kind.kind, "metadata": {"name": "a"}});
        strategy(kind).default(&mut once);
        let mut twice = once.clone();
        strategy(kind).default(&mut twice);
        assert_eq!(once, twice, "{}", kind.kind);
    }
}

#[test]
fn an_empty_or_odd_object_is_never_a_panic() {
    for kind in builtin().kinds.iter().filter(|kind| kind.gv == kind.stored_as) {
        for odd in
            [json!({}), json!({"spec": [], "metadata": 1}), json!({"spec": {"containers": {}}, "status": ""})]
        {
            let strategy = strategy(kind);
            let mut object = odd.clone();
            strategy.default(&mut object);
            strategy.prepare_create(&mut object);
            strategy.prepare_update(&mut object, &odd);
            strategy.prepare_status(&mut object, &odd);
            strategy.validate(&object, &mut Errors::default());
            strategy.validate_update(&object, &odd, &mut Errors::default());
            strategy.validate_status(&object, &odd, &mut Errors::default());
            strategy.warnings(&object);
            strategy.grace_seconds(&object, None);
        }
    }
}
