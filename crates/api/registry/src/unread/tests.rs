//! What is left as text comes back as it was, and nothing else is.

use serde_json::{Value, json};

use super::{FIELDS, TEXT, expand, is_in, parse, whole};
use crate::encode::encode;

fn owned() -> Value {
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "a", "managedFields": [
            {"apiVersion": "v1", "fieldsType": "FieldsV1", FIELDS: {"f:spec": {"k:{\"a\":1}": {}}}, "manager": "m", "operation": "Update"},
            {"apiVersion": "v1", "fieldsType": "FieldsV1", "manager": "n", "operation": "Update"},
        ]},
        "spec": {"metadata": {"managedFields": [{FIELDS: {"f:not": {}}}]}, "managedFields": [1]},
    })
}

#[test]
fn only_the_fields_of_owners_are_text() {
    let read = parse(owned().to_string().as_bytes()).unwrap();
    assert!(is_in(&read));
    assert!(!is_in(&owned()));
    let first = &read["metadata"]["managedFields"][0];
    assert_eq!((first.get(FIELDS), &first[&**TEXT]), (None, &json!(r#"{"f:spec":{"k:{\"a\":1}":{}}}"#)));
    assert_eq!(read["spec"], owned()["spec"]);
    assert_eq!(whole(read), owned());
}

#[test]
fn it_is_written_as_if_it_had_been_read() {
    let (bytes, read) = (encode(&owned()).with_revision(7), parse(owned().to_string().as_bytes()).unwrap());
    assert_eq!(encode(&read).with_revision(7), bytes);
    assert_eq!(encode(&whole(read)).with_revision(7), bytes);
}

#[test]
fn whatever_stands_there_is_read() {
    for object in [
        json!({}),
        json!([1]),
        json!("text"),
        json!({"metadata": null}),
        json!({"metadata": [{}]}),
        json!({"metadata": {"managedFields": null}}),
        json!({"metadata": {"managedFields": {"a": 1}}}),
        json!({"metadata": {"managedFields": [1, null, {FIELDS: null}, {FIELDS: "text"}]}}),
        json!({"metadata": {"managedFields": [{"manager": "m"}]}}),
    ] {
        let mut read = parse(object.to_string().as_bytes()).unwrap();
        assert!(!is_in(&read), "{object}");
        expand(&mut read);
        assert_eq!(read, object);
    }
    for broken in ["", "{", "{}{}", r#"{"metadata":{"managedFields":[{"fieldsV1":{"#] {
        assert!(parse(broken.as_bytes()).is_err(), "{broken}");
    }
}

#[test]
fn a_field_that_looks_like_it_is_only_a_field() {
    let sent =
        json!({"metadata": {"managedFields": [{"fieldsV1 as text": "{}}", "fieldsV1 ": "\"", FIELDS: {}}]}});
    let read = parse(sent.to_string().as_bytes()).unwrap();
    let written: Value = serde_json::from_slice(&encode(&read).with_revision(1)).unwrap();
    assert_eq!(written["metadata"]["managedFields"], sent["metadata"]["managedFields"]);
}
