//! Objects of a custom kind: what is stored of them, and what is refused.

use serde_json::{Value, json};

use super::{WIDGETS, api, define, definition, widget};
use crate::testing::{strictly, told, write};
use crate::{FieldValidation, ListQuery, Patch, WatchQuery, WriteOptions};

#[tokio::test]
async fn an_object_is_pruned_filled_in_and_judged() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    let mut sent = widget("a", "red");
    sent["spec"]["bogus"] = json!(1);
    sent["status"] = json!({"replicas": 9});
    let at = api.at(WIDGETS, "default", "");
    let written = api.registry.create(&at, sent.clone(), &write()).await.unwrap();
    let stored: Value = serde_json::from_slice(&written.bytes).unwrap();
    assert_eq!(stored["spec"], json!({"colour": "red", "replicas": 3}));
    assert_eq!(stored["status"], Value::Null, "a status has its own path");
    assert_eq!(stored["metadata"]["generation"], 1);
    assert_eq!(written.warnings, ["unknown field \"spec.bogus\""]);
    let ignoring = WriteOptions { validation: FieldValidation::Ignore, ..write() };
    sent["metadata"]["name"] = json!("b");
    assert!(api.registry.create(&at, sent.clone(), &ignoring).await.unwrap().warnings.is_empty());
    sent["metadata"]["name"] = json!("c");
    let duplicates = vec!["duplicate field \"spec.colour\"".to_owned()];
    let strict = WriteOptions { duplicates, ..strictly() };
    assert_eq!(
        api.registry.create(&at, sent, &strict).await.unwrap_err().message,
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: \
         duplicate field \"spec.colour\", unknown field \"spec.bogus\""
    );
}

#[tokio::test]
async fn what_is_no_such_object_is_refused_in_kubernetes_words() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    let object = |edit: &dyn Fn(&mut Value)| {
        let mut object = widget("x", "red");
        edit(&mut object);
        object
    };
    for (case, sent, code, message) in [
        (
            "another version",
            object(&|o| o["apiVersion"] = json!("example.com/v2")),
            400,
            "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
        ),
        (
            "another kind",
            object(&|o| o["kind"] = json!("Gadget")),
            422,
            "Gadget.example.com \"x\" is invalid: kind: Invalid value: \"Gadget\": must be Widget",
        ),
        (
            "metadata of another type",
            object(&|o| o["metadata"]["labels"] = json!({"a": 1})),
            400,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field \
             ObjectMeta.labels of type string",
        ),
        (
            "a value that is none of those allowed",
            object(&|o| o["spec"]["colour"] = json!("green")),
            422,
            "Widget.example.com \"x\" is invalid: spec.colour: Unsupported value: \"green\": supported values: \"red\", \"blue\"",
        ),
        (
            "too many",
            object(&|o| o["spec"]["replicas"] = json!(11)),
            422,
            "Widget.example.com \"x\" is invalid: spec.replicas: Invalid value: 11: spec.replicas in body should be less \
             than or equal to 10",
        ),
    ] {
        let refused = api.create(WIDGETS, "default", sent).await.unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (code, message), "{case}");
    }
    let mut unkind = widget("x", "red");
    unkind.as_object_mut().unwrap().remove("kind");
    let refused = api.create(WIDGETS, "default", unkind).await.unwrap_err();
    assert!(
        refused.message.starts_with(
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '"
        ),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn status_and_the_rest_are_written_apart_and_only_the_rest_counts() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    api.create(WIDGETS, "default", widget("a", "red")).await.unwrap();
    let merged = |patch: Value| api.merge(WIDGETS, "default", "a", patch);
    let after = merged(json!({"spec": {"replicas": 5}, "status": {"replicas": 1}})).await.unwrap();
    assert_eq!((&after["metadata"]["generation"], &after["status"]), (&json!(2), &Value::Null));
    let after = merged(json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap();
    assert_eq!(after["metadata"]["generation"], 2);
    let status = "example.com/v1/widgets/status";
    let patch =
        json!({"metadata": {"labels": {"q": "r"}}, "spec": {"replicas": 7}, "status": {"replicas": 2}});
    let after = api.merge(status, "default", "a", patch).await.unwrap();
    assert_eq!(after["status"]["replicas"], 2);
    assert_eq!((&after["spec"]["replicas"], &after["metadata"]["generation"]), (&json!(5), &json!(2)));
    assert_eq!(after["metadata"]["labels"], json!({"a": "b"}), "nor does a status change labels");
    let refused =
        api.merge(status, "default", "a", json!({"status": {"replicas": "two"}})).await.unwrap_err();
    assert_eq!(refused.code, 422);
    let refused = api.update(WIDGETS, "default", widget("a", "blue")).await.unwrap_err();
    assert!(
        refused
            .message
            .contains("metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    );
}

#[tokio::test]
async fn scale_reads_and_writes_where_the_definition_says() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    api.create(WIDGETS, "default", widget("a", "red")).await.unwrap();
    let status = json!({"status": {"replicas": 2, "selector": "a=b"}});
    api.merge("example.com/v1/widgets/status", "default", "a", status).await.unwrap();
    let scale = "example.com/v1/widgets/scale";
    let found = api.get(scale, "default", "a").await.unwrap();
    assert_eq!(
        (&found["spec"]["replicas"], &found["status"]),
        (&json!(3), &json!({"replicas": 2, "selector": "a=b"}))
    );
    let scaled = api.merge(scale, "default", "a", json!({"spec": {"replicas": 8}})).await.unwrap();
    assert_eq!(scaled["spec"]["replicas"], 8);
    let found = api.get(WIDGETS, "default", "a").await.unwrap();
    assert_eq!((&found["spec"]["replicas"], &found["metadata"]["generation"]), (&json!(8), &json!(2)));
    for (replicas, said) in [
        (90, "spec.replicas: Invalid value: 90: spec.replicas in body should be less than or equal to 10"),
        (-1, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
    ] {
        let patch = json!({"spec": {"replicas": replicas}});
        let refused = api.merge(scale, "default", "a", patch).await.unwrap_err();
        assert!(refused.message.ends_with(said), "{}", refused.message);
    }
}

#[tokio::test]
async fn selectors_may_use_the_fields_that_the_definition_names() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        api.create(WIDGETS, "default", widget(name, colour)).await.unwrap();
    }
    let asking = |fields: &str| ListQuery { fields: fields.to_owned(), ..ListQuery::default() };
    assert_eq!(api.names(WIDGETS, "default", asking("spec.colour=red")).await.unwrap(), ["a", "c"]);
    assert_eq!(api.names(WIDGETS, "default", asking("spec.colour!=red")).await.unwrap(), ["b"]);
    let refused = api.names(WIDGETS, "default", asking("spec.replicas=3")).await.unwrap_err();
    assert_eq!((refused.code, &*refused.message), (400, "field label not supported: spec.replicas"));
    let query = WatchQuery { fields: "spec.colour=red".to_owned(), ..WatchQuery::default() };
    let mut watching = api.watch(WIDGETS, "default", query).await.unwrap();
    assert_eq!(told(&mut watching), "+a +c");
    api.merge(WIDGETS, "default", "b", json!({"spec": {"colour": "red"}})).await.unwrap();
    api.merge(WIDGETS, "default", "a", json!({"spec": {"colour": "blue"}})).await.unwrap();
    assert_eq!(told(&mut watching), "+b -a");
}

#[tokio::test]
async fn apply_merges_lists_by_the_keys_that_the_definition_names() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    let applied = async |manager: &str, spec: Value| {
        let config = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "s"}, "spec": spec});
        let options = WriteOptions { manager: manager.to_owned(), ..write() };
        let patch = Patch::Apply { config, force: false };
        let written = api.registry.patch(&api.at(WIDGETS, "default", "s"), patch, &options).await?;
        Ok::<Value, kedge_kinds::Status>(serde_json::from_slice(&written.bytes).unwrap())
    };
    applied("m", json!({"colour": "red", "parts": [{"name": "p", "size": 1}]})).await.unwrap();
    let both = applied("n", json!({"parts": [{"name": "q", "size": 1}]})).await.unwrap();
    assert_eq!(both["spec"]["parts"], json!([{"name": "p", "size": 1}, {"name": "q", "size": 1}]));
    assert_eq!(both["spec"]["replicas"], 3);
    let refused = applied("n", json!({"colour": "blue"})).await.unwrap_err();
    assert_eq!(refused.code, 409);
    let refused = applied("n", json!({"zz": 1})).await.unwrap_err();
    assert_eq!(
        refused.message,
        "failed to create typed patch object (/s; example.com/v1, Kind=Widget): .spec.zz: field not declared in schema"
    );
}
