use k8s_pb::api::apps::v1 as apps;
use k8s_pb::api::core::v1 as core;
use k8s_pb::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_pb::apimachinery::pkg::util::intstr::IntOrString;
use prost::Message;
use serde_json::json;

use super::*;
use crate::check::{Mode, check};

fn envelope(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let unknown = k8s_pb::apimachinery::pkg::runtime::Unknown {
        type_meta: Some(k8s_pb::apimachinery::pkg::runtime::TypeMeta {
            api_version: Some(version.into()),
            kind: Some(kind.into()),
        }),
        raw: Some(raw.to_vec()),
        content_encoding: Some(String::new()),
        content_type: Some(String::new()),
    };
    [MAGIC, &unknown.encode_to_vec()].concat()
}

fn read_whole(version: &str, kind: &str, message: &impl Message) -> Value {
    let mut value = read(&envelope(version, kind, &message.encode_to_vec())).unwrap();
    let (group, bare) = version.split_once('/').unwrap_or(("", version));
    let outcome = check(builtin().schema_of(group, bare, kind).unwrap(), &mut value, Mode::Whole);
    assert!(outcome.is_clean(), "{outcome:?}");
    value
}

#[test]
fn a_pod_reads_as_its_json_would() {
    let pod = core::Pod {
        metadata: Some(meta::ObjectMeta {
            name: Some("a".into()),
            namespace: Some(String::new()),
            labels: [("app".to_owned(), "web".to_owned()), ("empty".to_owned(), String::new())].into(),
            creation_timestamp: Some(meta::Time::default()),
            ..Default::default()
        }),
        spec: Some(core::PodSpec {
            containers: vec![core::Container {
                name: Some("c".into()),
                image: Some("i".into()),
                stdin: Some(false),
                ports: vec![core::ContainerPort {
                    container_port: Some(80),
                    host_port: Some(0),
                    ..Default::default()
                }],
                env: vec![core::EnvVar {
                    name: Some("E".into()),
                    value_from: Some(core::EnvVarSource {
                        config_map_key_ref: Some(core::ConfigMapKeySelector {
                            local_object_reference: Some(core::LocalObjectReference {
                                name: Some("cm".into()),
                            }),
                            key: Some("k".into()),
                            optional: Some(false),
                        }),
                        ..Default::default()
                    }),
                    ..Default::default()
                }],
                resources: Some(core::ResourceRequirements {
                    limits: [(
                        "cpu".to_owned(),
                        k8s_pb::apimachinery::pkg::api::resource::Quantity { string: Some("1000m".into()) },
                    )]
                    .into(),
                    ..Default::default()
                }),
                liveness_probe: Some(core::Probe {
                    handler: Some(core::ProbeHandler {
                        http_get: Some(core::HttpGetAction {
                            port: Some(IntOrString {
                                r#type: Some(1),
                                int_val: Some(0),
                                str_val: Some("http".into()),
                            }),
                            ..Default::default()
                        }),
                        ..Default::default()
                    }),
                    timeout_seconds: Some(-1),
                    ..Default::default()
                }),
                ..Default::default()
            }],
            volumes: vec![core::Volume {
                name: Some("v".into()),
                volume_source: Some(core::VolumeSource {
                    host_path: Some(core::HostPathVolumeSource { path: Some("/x".into()), r#type: None }),
                    ..Default::default()
                }),
            }],
            termination_grace_period_seconds: Some(0),
            ..Default::default()
        }),
        status: Some(core::PodStatus::default()),
    };
    assert_eq!(
        read_whole("v1", "Pod", &pod),
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "labels": {"app": "web", "empty": ""}},
            "spec": {
                "containers": [{
                    "name": "c", "image": "i", "ports": [{"containerPort": 80}],
                    "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k", "optional": false}}}],
                    "resources": {"limits": {"cpu": "1"}},
                    "livenessProbe": {"httpGet": {"port": "http"}, "timeoutSeconds": -1},
                }],
                "volumes": [{"name": "v", "hostPath": {"path": "/x"}}],
                "terminationGracePeriodSeconds": 0,
            },
            "status": {},
        })
    );
}

#[test]
fn special_types_read_as_their_json_would() {
    let revision = apps::ControllerRevision {
        metadata: None,
        data: Some(k8s_pb::apimachinery::pkg::runtime::RawExtension {
            raw: Some(br#"{"spec":{"a":[1]}}"#.to_vec()),
        }),
        revision: Some(7),
    };
    assert_eq!(
        read_whole("apps/v1", "ControllerRevision", &revision),
        json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {}, "data": {"spec": {"a": [1]}}, "revision": 7})
    );
    let lease = k8s_pb::api::coordination::v1::LeaseSpec {
        renew_time: Some(meta::MicroTime { seconds: Some(1_700_000_000), nanos: Some(123_456_789) }),
        lease_duration_seconds: Some(15),
        ..Default::default()
    };
    let lease = k8s_pb::api::coordination::v1::Lease { metadata: None, spec: Some(lease) };
    assert_eq!(
        read_whole("coordination.k8s.io/v1", "Lease", &lease)["spec"],
        json!({"renewTime": "2023-11-14T22:13:20.123456Z", "leaseDurationSeconds": 15})
    );
    let secret = core::Secret { data: [("k".to_owned(), vec![0, 255])].into(), ..Default::default() };
    assert_eq!(read_whole("v1", "Secret", &secret)["data"], json!({"k": "AP8="}));
    let review = k8s_pb::api::authorization::v1::SubjectAccessReview {
        metadata: None,
        spec: Some(k8s_pb::api::authorization::v1::SubjectAccessReviewSpec {
            user: Some("u".into()),
            extra: [(
                "scopes".to_owned(),
                k8s_pb::api::authorization::v1::ExtraValue { items: vec!["a".into(), "b".into()] },
            )]
            .into(),
            ..Default::default()
        }),
        status: None,
    };
    assert_eq!(
        read_whole("authorization.k8s.io/v1", "SubjectAccessReview", &review)["spec"],
        json!({"user": "u", "extra": {"scopes": ["a", "b"]}})
    );
    let options = meta::DeleteOptions {
        grace_period_seconds: Some(0),
        propagation_policy: Some("Foreground".into()),
        ..Default::default()
    };
    let expected = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Foreground"});
    assert_eq!(read_whole("v1", "DeleteOptions", &options), expected);
    assert_eq!(read_whole("apps/v1", "DeleteOptions", &options)["gracePeriodSeconds"], 0);
}

#[test]
fn schemas_of_custom_kinds_read_as_their_json_would() {
    use k8s_pb::apiextensions_apiserver::pkg::apis::apiextensions::v1 as crd;
    let text = || crd::JsonSchemaProps { r#type: Some("string".into()), ..Default::default() };
    let schema = crd::JsonSchemaProps {
        r#type: Some("object".into()),
        items: Some(Box::new(crd::JsonSchemaPropsOrArray {
            schema: Some(Box::new(text())),
            j_son_schemas: vec![],
        })),
        additional_properties: Some(Box::new(crd::JsonSchemaPropsOrBool {
            allows: Some(true),
            schema: None,
        })),
        dependencies: [(
            "d".to_owned(),
            crd::JsonSchemaPropsOrStringArray { schema: None, property: vec!["e".into()] },
        )]
        .into(),
        default: Some(crd::Json { raw: Some(b"{\"x\":1}".to_vec()) }),
        minimum: Some(1.5),
        x_kubernetes_preserve_unknown_fields: Some(true),
        ..Default::default()
    };
    let validation = crd::CustomResourceValidation { open_apiv3_schema: Some(schema) };
    let version = crd::CustomResourceDefinitionVersion {
        name: Some("v1".into()),
        schema: Some(validation),
        ..Default::default()
    };
    let spec = crd::CustomResourceDefinitionSpec {
        group: Some("g".into()),
        versions: vec![version],
        ..Default::default()
    };
    let object = crd::CustomResourceDefinition { metadata: None, spec: Some(spec), status: None };
    let value = read_whole("apiextensions.k8s.io/v1", "CustomResourceDefinition", &object);
    assert_eq!(
        value["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
        json!({"type": "object", "items": {"type": "string"}, "additionalProperties": true, "dependencies": {"d": ["e"]},
            "default": {"x": 1}, "minimum": 1.5, "x-kubernetes-preserve-unknown-fields": true})
    );
}

#[test]
fn refuses_what_it_does_not_know() {
    assert_eq!(read(b"k8s"), Err(DecodeError::NoProtobuf));
    let error = read(&envelope("v1", "Frob", b"")).unwrap_err();
    assert_eq!(error.to_string(), r#"no kind "Frob" is registered for version "v1""#);
    assert!(matches!(read(&envelope("v1", "Pod", &[0x0a, 0xff])), Err(DecodeError::Protobuf(_))));
}

proptest::proptest! {
    #[test]
    fn no_message_makes_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..120), kind in "(Pod|Secret|ConfigMap|Event|Service)") {
        let _ = read(&envelope("v1", &kind, &bytes));
    }
}

#[test]
fn what_kubectl_sends_reads_as_what_it_prints() {
    let samples = include_str!("kubectl.txt").lines().filter_map(|line| line.split_once(" {"));
    let mut compared = 0;
    for (hex, printed) in samples {
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let mut sent = read(&bytes).unwrap();
        let mut printed: Value = serde_json::from_str(&format!("{{{printed}")).unwrap();
        let (group, version) = crate::object::group_version(&sent);
        let node = builtin().schema_of(group, version, sent["kind"].as_str().unwrap()).unwrap();
        for value in [&mut sent, &mut printed] {
            let outcome = check(node, value, Mode::Whole);
            assert!(outcome.is_clean(), "{outcome:?}");
        }
        // The one is written for a namespace, the other for no particular one.
        for value in [&mut sent, &mut printed] {
            value["metadata"].as_object_mut().unwrap().remove("namespace");
        }
        assert_eq!(sent, printed);
        compared += 1;
    }
    assert!(compared >= 16, "only {compared} samples");
}
