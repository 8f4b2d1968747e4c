//! Compares our OpenAPI v2 with upstream's where that lies beside the project: every path, operation and property. What it says
//! is kept here as digests, so that a clone without it finds out too that something differs, if not what.
//! `UPDATE_DIGEST=1 cargo test -p kedge-http oracle` writes them anew.

use std::collections::{BTreeMap, BTreeSet};

use kedge_kinds::builtin;
use serde_json::Value;

use super::OpenApi;

fn reference() -> Option<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../../shared/reference/kubernetes-v1.36.4-openapi.json");
    match std::fs::read(&path) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Err(error) => {
            eprintln!("nothing to compare with: {}: {error}", path.display());
            None
        }
    }
}

fn ours() -> Value {
    let openapi = OpenApi::new(&builtin().kinds);
    serde_json::from_slice(&openapi.v2().unwrap().plain().unwrap()).unwrap()
}

const DIGEST: &str = include_str!("digest.txt");

/// FNV-1a over facts in order: it only has to be the same everywhere.
fn hash(facts: &BTreeSet<String>) -> String {
    let bytes = facts.iter().flat_map(|fact| fact.bytes().chain([b'\n']));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// One line for each path and each definition of a document that is named in `ours`.
fn digest(document: &Value, ours: &Value) -> String {
    let mut lines = BTreeMap::new();
    for path in ours["paths"].as_object().unwrap().keys() {
        let mut facts = BTreeSet::new();
        for method in METHODS {
            let operation = &document["paths"][path][method];
            for fact in ["operationId", "x-kubernetes-action", "x-kubernetes-group-version-kind", "tags"] {
                facts.insert(format!("{method} {fact} {}", operation[fact]));
            }
            let answers = operation["responses"].as_object().into_iter().flatten();
            facts.extend(answers.map(|(code, _)| format!("{method} {code}")));
            facts.insert(format!("{method} {}", operation["responses"]["200"]["schema"]));
        }
        lines.insert(path.clone(), hash(&facts));
    }
    for name in ours["definitions"].as_object().unwrap().keys() {
        let known = &document["definitions"][name];
        let required = known["required"].as_array().into_iter().flatten();
        let mut facts: BTreeSet<String> = required.map(|field| format!("requires {field}")).collect();
        for (field, property) in known["properties"].as_object().into_iter().flatten() {
            for fact in FACTS {
                // A list that says nothing is atomic and a map granular; upstream says so in some places.
                let said = match (fact, property[fact].as_str()) {
                    ("x-kubernetes-list-type", Some("atomic"))
                    | ("x-kubernetes-map-type", Some("granular")) => &Value::Null,
                    _ => &property[fact],
                };
                facts.insert(format!("{field} {fact} {said}"));
            }
        }
        lines.insert(name.clone(), hash(&facts));
    }
    lines.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect()
}

#[test]
fn our_document_is_what_upstreams_was_digested_to() {
    let ours = ours();
    let digest = digest(&ours, &ours);
    let (own, kept): (BTreeSet<&str>, BTreeSet<&str>) = (digest.lines().collect(), DIGEST.lines().collect());
    let wrong: Vec<_> = own.symmetric_difference(&kept).collect();
    assert!(wrong.is_empty(), "these are not as upstream describes them: {wrong:#?}");
    assert!(kept.len() > 700, "only {} paths and definitions were compared", kept.len());
}

#[test]
fn the_digest_is_of_upstreams_document() {
    let Some(reference) = reference() else { return };
    let digest = digest(&reference, &ours());
    if std::env::var_os("UPDATE_DIGEST").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/openapi/digest.txt"), &digest).unwrap();
        return;
    }
    assert!(digest == DIGEST, "the digest is not of this document");
}

/// What is compared of a property.
const FACTS: [&str; 6] = [
    "type",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
];

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

#[test]
fn every_operation_is_upstreams() {
    let Some(reference) = reference() else { return };
    let ours = ours();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (path, item) in ours["paths"].as_object().unwrap() {
        for method in METHODS {
            let (own, known) = (&item[method], &reference["paths"][path][method]);
            for fact in ["operationId", "x-kubernetes-action", "x-kubernetes-group-version-kind", "tags"] {
                compared += 1;
                if own[fact] != known[fact] {
                    wrong.push(format!("{method} {path} {fact}: {} instead of {}", own[fact], known[fact]));
                }
            }
            let codes = |of: &Value| {
                of["responses"].as_object().map(|codes| codes.keys().cloned().collect::<BTreeSet<_>>())
            };
            let answer = |of: &Value| of["responses"]["200"]["schema"].clone();
            if codes(own) != codes(known) || answer(own) != answer(known) {
                wrong.push(format!("{method} {path}: answers {own} instead of {}", known["responses"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 2_000, "only {compared} facts");
}

#[test]
fn every_path_of_upstream_is_ours() {
    let Some(reference) = reference() else { return };
    let ours = ours();
    let served: BTreeSet<String> = builtin().kinds.iter().map(|kind| super::root(&kind.gv)).collect();
    let missing: Vec<&String> = reference["paths"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|path| {
            let root = served.iter().find(|root| path.starts_with(&format!("{root}/")));
            // Not ours: documents about the API itself, the old watch paths, and a proxy's inner paths.
            root.is_some_and(|root| path.len() > root.len() + 1 && !path[root.len()..].starts_with("/watch/"))
                && !path.ends_with("/proxy/{path}")
        })
        .filter(|path| ours["paths"][path.as_str()].is_null())
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_definition_is_upstreams() {
    let Some(reference) = reference() else { return };
    let mut wrong = Vec::new();
    for (name, own) in ours()["definitions"].as_object().unwrap() {
        let known = &reference["definitions"][name];
        let keys =
            |of: &Value| of["properties"].as_object().map(|all| all.keys().cloned().collect::<BTreeSet<_>>());
        let required = |of: &Value| -> BTreeSet<String> {
            of["required"].as_array().into_iter().flatten().map(Value::to_string).collect()
        };
        if keys(own) != keys(known) || required(own) != required(known) {
            wrong.push(format!(
                "{name}: {:?} instead of {:?}",
                (keys(own), required(own)),
                (keys(known), required(known))
            ));
            continue;
        }
        for (field, property) in own["properties"].as_object().into_iter().flatten() {
            let known = &known["properties"][field];
            for fact in FACTS {
                // A list that says nothing is atomic and a map granular; upstream says so in some places.
                let implied = property[fact].is_null()
                    && (fact == "x-kubernetes-list-type" && known[fact] == "atomic"
                        || fact == "x-kubernetes-map-type" && known[fact] == "granular");
                if property[fact] != known[fact] && !implied {
                    wrong.push(format!(
                        "{name}.{field} {fact}: {} instead of {}",
                        property[fact], known[fact]
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
