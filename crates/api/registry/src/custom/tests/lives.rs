//! From a definition's creation to its end.

use serde_json::json;

use super::{DEFINITIONS, WIDGETS, api, conditions, define, definition, schema, until, widget};

#[tokio::test]
async fn a_definition_is_served_before_it_says_so() {
    let api = api().await;
    api.create(DEFINITIONS, "", definition()).await.unwrap();
    until("established", async || {
        let said = conditions(&api, "widgets.example.com").await;
        let served = api.registry.catalog().kind("example.com", "v1", "widgets").is_some();
        assert!(served || !said.contains("Established=True"), "told before it was true: {said}");
        said.contains("Established=True")
    })
    .await;
    let found = api.get(DEFINITIONS, "", "widgets.example.com").await.unwrap();
    assert_eq!(
        conditions(&api, "widgets.example.com").await,
        "NamesAccepted=True NoConflicts, Established=True InitialNamesAccepted"
    );
    assert_eq!(found["status"]["acceptedNames"]["listKind"], "WidgetList");
    assert_eq!(found["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(found["metadata"]["generation"], 1);
    let kind = api.registry.catalog().kind("example.com", "v1", "widgets").unwrap().clone();
    assert_eq!((&*kind.singular, kind.short_names.len(), kind.categories.len()), ("widget", 1, 1));
}

#[tokio::test]
async fn names_that_another_definition_has_are_refused_until_it_goes() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    let mut second = definition();
    second["metadata"]["name"] = json!("gadgets.example.com");
    second["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget"});
    api.create(DEFINITIONS, "", second).await.unwrap();
    let refused = "NamesAccepted=False ListKindConflict, Established=False NotAccepted";
    until("refused", async || conditions(&api, "gadgets.example.com").await == refused).await;
    assert!(api.registry.catalog().kind("example.com", "v1", "gadgets").is_none());
    api.delete(DEFINITIONS, "", "widgets.example.com").await.unwrap();
    until("the first is gone", async || conditions(&api, "widgets.example.com").await == "gone").await;
    until("its names are free", async || {
        conditions(&api, "gadgets.example.com").await.contains("Established=True")
    })
    .await;
}

#[tokio::test]
async fn objects_go_before_their_definition_and_it_can_come_again() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    let mut kept = widget("kept", "red");
    kept["metadata"]["finalizers"] = json!(["example.com/hold"]);
    api.create(WIDGETS, "default", kept).await.unwrap();
    api.create(WIDGETS, "default", widget("free", "red")).await.unwrap();
    let at = api.at(WIDGETS, "default", "");
    let marked = api.delete(DEFINITIONS, "", "widgets.example.com").await.unwrap();
    assert_eq!(marked["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    until("it is being emptied", async || {
        conditions(&api, "widgets.example.com").await.contains("Terminating=True InstanceDeletionInProgress")
            && api.get(WIDGETS, "default", "free").await.is_err()
    })
    .await;
    let refused =
        api.registry.create(&at, widget("late", "red"), &crate::testing::write()).await.unwrap_err();
    assert_eq!(
        refused.message,
        "widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating"
    );
    api.merge(WIDGETS, "default", "kept", json!({"metadata": {"finalizers": null}})).await.unwrap();
    until("it is gone", async || conditions(&api, "widgets.example.com").await == "gone").await;
    until("it is served no more", async || {
        api.registry.catalog().kind("example.com", "v1", "widgets").is_none()
    })
    .await;
    define(&api, definition()).await.unwrap();
    assert!(api.get(WIDGETS, "default", "kept").await.is_err(), "nothing of the first one is left");
    api.create(WIDGETS, "default", widget("again", "blue")).await.unwrap();
}

#[tokio::test]
async fn a_change_of_one_definition_leaves_the_kinds_of_others_alone() {
    let api = api().await;
    define(&api, definition()).await.unwrap();
    let mut second = definition();
    second["metadata"]["name"] = json!("gadgets.example.com");
    second["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
    define(&api, second).await.unwrap();
    let kind = |plural: &str| api.registry.catalog().kind("example.com", "v1", plural).cloned();
    let (widgets, gadgets) = (kind("widgets").unwrap(), kind("gadgets").unwrap());
    let mut wider = schema();
    wider["properties"]["spec"]["properties"]["size"] = json!({"type": "integer", "default": 7});
    let version =
        json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": wider}]);
    let at = api.at(DEFINITIONS, "", "widgets.example.com");
    api.create(WIDGETS, "default", widget("old", "red")).await.unwrap();
    api.registry.patch(&at, crate::Patch::Json(version), &crate::testing::write()).await.unwrap();
    until("the new schema is served", async || !std::sync::Arc::ptr_eq(&kind("widgets").unwrap(), &widgets))
        .await;
    assert!(std::sync::Arc::ptr_eq(&kind("gadgets").unwrap(), &gadgets));
    let old = api.get(WIDGETS, "default", "old").await.unwrap();
    assert_eq!(old["spec"]["size"], 7, "a default holds for what was stored before it");
    let listed =
        api.registry.list(&api.at(WIDGETS, "default", ""), &crate::ListQuery::default()).await.unwrap();
    for item in listed.items {
        let item: serde_json::Value = serde_json::from_slice(item.as_ref()).unwrap();
        assert_eq!(item["spec"]["size"], 7);
    }
}

#[tokio::test]
async fn what_every_server_has_cannot_be_defined_anew() {
    let api = api().await;
    let mut taken = definition();
    taken["metadata"]["name"] = json!("ingresses.networking.k8s.io");
    taken["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved"});
    taken["spec"]["group"] = json!("networking.k8s.io");
    taken["spec"]["names"] = json!({"plural": "ingresses", "kind": "Ingress"});
    api.create(DEFINITIONS, "", taken).await.unwrap();
    until("looked at", async || !conditions(&api, "ingresses.networking.k8s.io").await.is_empty()).await;
    assert!(api.registry.catalog().kind("networking.k8s.io", "v1", "ingresses").unwrap().rules.is_none());
}
