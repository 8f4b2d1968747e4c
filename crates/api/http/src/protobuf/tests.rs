use serde_json::json;

use super::*;

#[test]
fn objects_are_known_by_the_names_they_bear() {
    for (json, found) in [
        (r#"{"kind":"Pod","apiVersion":"v1","metadata":{}}"#, "v1 Pod"),
        (r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#, "apps/v1 Deployment"),
        (r#"{"metadata":{}}"#, " "),
    ] {
        let (version, kind) = names(json.as_bytes()).unwrap();
        assert_eq!(format!("{version} {kind}"), found, "{json}");
    }
    assert!(matches!(names(b"{"), Err(ProtobufError::Encode(EncodeError::Json(_)))));
}

#[test]
fn only_what_has_a_message_is_written() {
    for (version, kind, has) in [
        ("v1", "Pod", true),
        ("v1", "PodList", true),
        ("v1", "Status", true),
        ("autoscaling/v1", "Scale", true),
        ("policy/v1", "Eviction", true),
        ("authentication.k8s.io/v1", "TokenRequest", true),
        ("meta.k8s.io/v1beta1", "PartialObjectMetadata", true),
        ("", "APIVersions", true),
        ("v1", "APIGroupList", true),
        ("example.com/v1", "Thing", false),
        ("meta.k8s.io/v1", "Table", false),
    ] {
        let made = document(&json!({"apiVersion": version, "kind": kind}));
        assert_eq!(made.is_ok(), has, "{version} {kind}: {made:?}");
    }
}
