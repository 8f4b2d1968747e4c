//! Where the revision goes, and what is the same.

use serde_json::{Value, json};

use super::{MAX_DEPTH, encode, is_deeper};

#[test]
fn leaves_the_revision_open() {
    for (case, object) in [
        (
            "a whole object",
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "uid": "u"}, "spec": {"b": [1]}}),
        ),
        ("a revision that was there", json!({"metadata": {"resourceVersion": "7", "name": "a"}})),
        ("no metadata", json!({"kind": "A"})),
        ("keys that need quoting", json!({"we\"ird": 1, "metadata": {}})),
    ] {
        let encoded = encode(&object);
        let mut filled: Value = serde_json::from_slice(&encoded.with_revision(12345)).expect(case);
        assert_eq!(filled["metadata"]["resourceVersion"], "12345", "{case}");
        let mut bare: Value = serde_json::from_slice(&encoded.without_revision()).expect(case);
        for value in [&mut filled, &mut bare] {
            value["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        }
        assert_eq!(filled, bare, "{case}");
        assert_eq!(filled.get("spec"), object.get("spec"), "{case}");
    }
}

#[test]
fn knows_what_is_stored_already() {
    let encoded = encode(&json!({"kind": "A", "metadata": {"name": "a"}}));
    let stored = encoded.with_revision(99);
    assert!(encoded.equals(&stored, 99));
    assert!(!encoded.equals(&stored, 98));
    let other = encode(&json!({"kind": "A", "metadata": {"name": "b"}}));
    assert!(!other.equals(&stored, 99));
    assert!(!encoded.equals(b"", 99));
}

#[test]
fn what_may_be_stored_can_be_read() {
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"a": inner}));
    assert!(!is_deeper(&nested(MAX_DEPTH - 1), MAX_DEPTH));
    assert!(is_deeper(&nested(MAX_DEPTH), MAX_DEPTH));
    assert!(serde_json::from_slice::<Value>(&encode(&nested(MAX_DEPTH)).bytes).is_ok());
    assert!(is_deeper(&json!({"a": [[1]], "b": 1}), 2));
    assert!(!is_deeper(&json!({"a": [[1]], "b": 1}), 3));
}
