use super::*;
use crate::schema::{ListType, Shape, Wire, Zero};

#[test]
fn every_line_of_the_table_is_understood() {
    let table = include_str!("table.txt");
    let count = |prefix: &str| table.lines().filter(|line| line.starts_with(prefix)).count();
    assert_eq!(builtin().kinds.len(), count("K "));
    let lists = builtin()
        .schemas
        .types()
        .filter(|(_, object)| object.fields.len() == 4 && object.name.ends_with("List"))
        .count();
    assert!(lists >= builtin().kinds.len(), "each kind has its list type");
    for (_, object) in builtin().schemas.types() {
        assert!(object.fields.is_sorted_by(|a, b| a.name < b.name), "{}", object.name);
    }
}

#[test]
fn finds_kinds_by_both_names() {
    for (group, version, plural, kind, namespaced) in [
        ("", "v1", "pods", "Pod", true),
        ("", "v1", "nodes", "Node", false),
        ("apps", "v1", "deployments", "Deployment", true),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false),
        ("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false),
    ] {
        let found = builtin().kind(group, version, plural).unwrap();
        assert_eq!((&*found.kind, found.namespaced), (kind, namespaced), "{plural}");
        assert!(Arc::ptr_eq(found, builtin().by_kind(group, version, kind).unwrap()), "{kind}");
        assert!(found.node().is_some(), "{kind}");
    }
    assert!(builtin().kind("apps", "v1", "pods").is_none());
}

#[test]
fn versions_of_a_kind_share_their_place() {
    let old = builtin().kind("autoscaling", "v1", "horizontalpodautoscalers").unwrap();
    let new = builtin().kind("autoscaling", "v2", "horizontalpodautoscalers").unwrap();
    assert_eq!((&old.stored_as, &old.prefix), (&new.gv, &new.prefix));
    let events = builtin().kind("events.k8s.io", "v1", "events").unwrap();
    assert_eq!(events.stored_as, builtin().kind("", "v1", "events").unwrap().gv);
}

#[test]
fn knows_the_fine_print_of_fields() {
    let pod = builtin().kind("", "v1", "pods").unwrap().node().unwrap();
    let spec = pod.key("spec").unwrap();
    let ports = spec.key("containers").unwrap().item().unwrap().key("ports").unwrap();
    assert_eq!(*ports.list_type(), ListType::Map(vec!["containerPort".into(), "protocol".into()]));
    assert_eq!(ports.patch().merge_key.as_deref(), Some("containerPort"));
    let replicas = builtin()
        .kind("apps", "v1", "deployments")
        .unwrap()
        .node()
        .unwrap()
        .key("spec")
        .unwrap()
        .key("replicas")
        .unwrap();
    assert_eq!(
        replicas.entered_by().map(|field| (&field.shape, field.zero, field.tag)),
        Some((&Shape::Int32, Zero::Keep, 1))
    );
    let host_path = spec.key("volumes").unwrap().item().unwrap().key("hostPath").unwrap();
    assert_eq!(
        host_path.entered_by().map(|field| (field.tag, &field.wire)),
        Some((1, &Wire::Within([2].into())))
    );
    assert!(spec.key("nodeSelector").unwrap().is_atomic());
}
