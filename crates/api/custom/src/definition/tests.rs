//! What becomes of a definition.

use kedge_kinds::kind::{Conversion, ScalePaths};
use serde_json::{Value, json};

use super::compile;

fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "default": 1}}}}});
    json!({"spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
                  "shortNames": ["wd"], "categories": ["all"]},
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://example.com"}}},
        "versions": [
            {"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
             "selectableFields": [{"jsonPath": ".spec.size"}],
             "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}],
             "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}},
            {"name": "v1", "served": true, "storage": false, "deprecated": true, "schema": {"openAPIV3Schema": schema}},
            {"name": "v0", "served": false, "storage": false, "schema": {"openAPIV3Schema": schema}},
        ],
    }})
}

#[test]
fn every_served_version_becomes_a_kind() {
    let kinds = compile(&definition());
    let [v2, v1] = &kinds[..] else { panic!("two versions are served, found {}", kinds.len()) };
    assert_eq!((v2.gv.to_string(), v1.gv.to_string()), ("example.com/v2".into(), "example.com/v1".into()));
    assert_eq!(v1.stored_as, v2.gv);
    assert_eq!(&*v1.prefix, "example.com/widgets");
    assert_eq!(v1.verbs.join(","), "delete,deletecollection,get,list,patch,create,update,watch");
    assert_eq!((&*v2.short_names[0], &*v2.categories[0], v2.namespaced), ("wd", "all", true));
    let parts: Vec<&str> = v2.subresources.iter().map(|part| &*part.name).collect();
    assert_eq!((parts, v1.subresources.len()), (vec!["status", "scale"], 0));
}

#[test]
fn a_version_has_its_own_rules() {
    let kinds = compile(&definition());
    let [v2, v1] = [0, 1].map(|at| kinds[at].rules.clone().unwrap());
    let scale = ScalePaths {
        spec_replicas: "/spec/size".into(),
        status_replicas: "/status/size".into(),
        selector: None,
    };
    assert_eq!((v2.scale(), v1.scale()), (Some(&scale), None));
    assert_eq!((v2.selectable().len(), v1.selectable().len()), (1, 0));
    assert_eq!((&*v2.columns()[0].name, v2.columns()[0].priority), ("Size", 1));
    assert_eq!(&*v1.columns()[0].json_path, ".metadata.creationTimestamp");
    assert_eq!(
        (v2.deprecation(), v1.deprecation()),
        (None, Some("example.com/v1 Widget is deprecated; use example.com/v2 Widget"))
    );
    assert!(matches!(v2.conversion(), Conversion::Webhook(webhook) if webhook["clientConfig"].is_object()));
    let mut object = json!({"spec": {"colour": "red"}});
    assert_eq!(v2.prune(&mut object), ["spec.colour"]);
    v2.default(&mut object);
    assert_eq!(object, json!({"spec": {"size": 1}}));
    assert_eq!(v2.openapi_v3()["properties"]["spec"]["properties"]["size"]["default"], 1);
}
