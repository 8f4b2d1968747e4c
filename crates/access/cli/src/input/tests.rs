//! How texts come apart.

use serde_json::{Value, json};

use super::{documents, flatten, read};

fn all(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for document in documents(text) {
        flatten(read(document, "x").unwrap(), "x", true, &mut found).unwrap();
    }
    found
}

#[test]
fn every_document_and_every_item_counts() {
    let one = json!({"apiVersion": "v1", "kind": "A"});
    let two = json!({"apiVersion": "v1", "kind": "B"});
    for (case, text) in [
        ("yaml", "---\n# nothing\n---\napiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n--- # end\n"),
        ("json", "{\"apiVersion\":\"v1\",\"kind\":\"A\"}\n{\"apiVersion\":\"v1\",\"kind\":\"B\"}"),
        (
            "list",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: B}\n",
        ),
    ] {
        assert_eq!(all(text), [one.clone(), two.clone()], "{case}");
    }
    assert_eq!(all("apiVersion: v1\nkind: AList\nitems:\n- {}\n"), [one]);
}

#[test]
fn a_marker_inside_a_text_block_is_no_end() {
    let found = all("apiVersion: v1\nkind: A\ndata: |\n  ---\n  x\n");
    assert_eq!(found[0]["data"], "---\nx\n");
}

#[test]
fn what_is_no_object_is_refused() {
    let mut found = Vec::new();
    let error = flatten(json!({"kind": "A"}), "x", true, &mut found).unwrap_err().to_string();
    assert_eq!(
        error,
        "error validating \"x\": error validating data: apiVersion not set; if you choose to ignore these errors, turn validation off \
         with --validate=false"
    );
    let error = flatten(json!({"a": 1}), "x", false, &mut found).unwrap_err().to_string();
    assert_eq!(error, "unable to decode \"x\": Object 'Kind' is missing in '{\"a\":1}'");
    assert!(
        read("a: [", "x")
            .unwrap_err()
            .to_string()
            .starts_with("error parsing x: error converting YAML to JSON: yaml: ")
    );
}
