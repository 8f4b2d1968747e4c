use serde_json::json;

use super::*;
use crate::builtin;

fn node(group: &str, plural: &str) -> Node<'static> {
    builtin().kind(group, "v1", plural).unwrap().node().unwrap()
}

#[test]
fn normalises_as_a_stock_server_does() {
    let pod =
        |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec});
    for (case, given, expected) in [
        (
            "empty values vanish where they mean nothing",
            json!({"containers": [{"name": "a", "env": [], "args": null, "ports": [{"containerPort": 80, "hostPort": 0}], "tty": false,
                "workingDir": "", "resources": {"limits": {}}}], "nodeSelector": {}, "tolerations": [], "hostNetwork": false}),
            json!({"containers": [{"name": "a", "ports": [{"containerPort": 80}], "resources": {}}]}),
        ),
        (
            "and stay where they mean something",
            json!({"containers": [], "volumes": [{"name": "v", "emptyDir": {}}], "securityContext": {"runAsNonRoot": false},
                "terminationGracePeriodSeconds": 0}),
            json!({"containers": [], "volumes": [{"name": "v", "emptyDir": {}}], "securityContext": {"runAsNonRoot": false},
                "terminationGracePeriodSeconds": 0}),
        ),
        (
            "quantities",
            json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi", "x": 2}}}]}),
            json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi", "x": "2"}}}]}),
        ),
        (
            "null in a map",
            json!({"containers": [], "nodeSelector": {"a": null}}),
            json!({"containers": [], "nodeSelector": {"a": ""}}),
        ),
    ] {
        let mut value = pod(given);
        let outcome = check(node("", "pods"), &mut value, Mode::Whole);
        assert!(outcome.is_clean(), "{case}: {outcome:?}");
        assert_eq!(value["spec"], expected, "{case}");
        assert_eq!(value["status"], json!({}), "{case}");
    }
}

#[test]
fn writes_what_upstream_always_writes() {
    let mut service = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 5}]}});
    check(node("", "services"), &mut service, Mode::Whole);
    assert_eq!(
        service,
        json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 5}]}, "status": {"loadBalancer": {}}})
    );
    let mut set = json!({"spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "c"}]}}}});
    check(node("apps", "statefulsets"), &mut set, Mode::Whole);
    assert_eq!(set["status"], json!({"replicas": 0, "availableReplicas": 0}));
    assert_eq!(
        set["spec"]["template"],
        json!({"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {}}]}})
    );
}

#[test]
fn lists_and_times_that_upstream_always_writes_are_null() {
    assert_eq!(
        empty(node("rbac.authorization.k8s.io", "clusterroles")),
        json!({"metadata": {}, "rules": null})
    );
    let mut pod =
        json!({"spec": {"containers": []}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    check(node("", "pods"), &mut pod, Mode::Whole);
    let condition =
        json!({"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": null});
    assert_eq!(pod["status"]["conditions"], json!([condition]));
}

#[test]
fn a_fragment_keeps_its_nulls_and_empty_values() {
    let mut patch = json!({"metadata": {"labels": {"a": null}, "annotations": null}, "spec": {"replicas": null, "paused": false}, "x": 1});
    let outcome = check(node("apps", "deployments"), &mut patch, Mode::Fragment);
    assert_eq!(outcome.unknown, ["x"]);
    assert_eq!(
        patch,
        json!({"metadata": {"labels": {"a": null}, "annotations": null}, "spec": {"replicas": null, "paused": false}})
    );
}

#[test]
fn names_unknown_fields_as_upstream_does() {
    let mut pod =
        json!({"spec": {"containers": [{"name": "a", "foo": 1}], "x": {"y": 1}, "Containers": []}, "zz": 1});
    let outcome = check(node("", "pods"), &mut pod, Mode::Whole);
    assert_eq!(outcome.unknown, ["spec.Containers", "spec.containers[0].foo", "spec.x", "zz"]);
    assert_eq!(pod["spec"], json!({"containers": [{"name": "a", "resources": {}}]}));
    let mut crd = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"tpye": "x"}}}}}]}});
    let outcome = check(node("apiextensions.k8s.io", "customresourcedefinitions"), &mut crd, Mode::Whole);
    assert_eq!(outcome.unknown, ["spec.versions[0].schema.openAPIV3Schema.properties.a.tpye"]);
}

#[test]
fn says_what_does_not_fit_in_upstreams_words() {
    let unmarshal = "json: cannot unmarshal";
    for (spec, path, message) in [
        (
            json!({"containers": [{"name": 5}]}),
            "spec.containers[0].name",
            "{} number into Go struct field Container.spec.containers.name of type string",
        ),
        (
            json!({"containers": "x"}),
            "spec.containers",
            "{} string into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            json!({"containers": [{"ports": [{"containerPort": "80"}]}]}),
            "spec.containers[0].ports[0].containerPort",
            "{} string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            json!({"containers": [{"ports": [{"containerPort": 80.5}]}]}),
            "spec.containers[0].ports[0].containerPort",
            "{} number 80.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            json!({"containers": [{"ports": [{"containerPort": 99999999999_i64}]}]}),
            "spec.containers[0].ports[0].containerPort",
            "{} number 99999999999 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            json!({"hostNetwork": "yes"}),
            "spec.hostNetwork",
            "{} string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (
            json!({"nodeSelector": {"a": 1}}),
            "spec.nodeSelector.a",
            "{} number into Go struct field PodSpec.spec.nodeSelector of type string",
        ),
        (
            json!({"nodeSelector": [1]}),
            "spec.nodeSelector",
            "{} array into Go struct field PodSpec.spec.nodeSelector of type map[string]string",
        ),
        (json!([]), "spec", "{} array into Go struct field Pod.spec of type v1.PodSpec"),
    ] {
        let mut pod = json!({"spec": spec});
        let outcome = check(node("", "pods"), &mut pod, Mode::Whole);
        let expected = TypeError { path: path.into(), message: message.replace("{}", unmarshal) };
        assert_eq!(outcome.errors, [expected]);
    }
    for (plural, mut value, message) in [
        ("secrets", json!({"data": {"a": "!!"}}), "illegal base64 data at input byte 0"),
        (
            "secrets",
            json!({"data": {"a": 5}}),
            "json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
        ),
        (
            "pods",
            json!({"metadata": {"creationTimestamp": "yesterday"}}),
            r#"parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006""#,
        ),
        ("pods", json!([]), "json: cannot unmarshal array into Go value of type v1.Pod"),
    ] {
        let outcome = check(node("", plural), &mut value, Mode::Whole);
        assert_eq!(outcome.errors.first().map(|error| error.message.as_str()), Some(message));
    }
}

#[test]
fn checking_twice_changes_nothing_more() {
    let mut value = json!({"metadata": {"name": "a", "creationTimestamp": "2024-05-01T10:00:00+02:00"}, "spec": {"containers": [
        {"name": "a", "resources": {"requests": {"cpu": "0.5"}}, "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 0}}]}});
    check(node("", "pods"), &mut value, Mode::Whole);
    let once = value.clone();
    check(node("", "pods"), &mut value, Mode::Whole);
    assert_eq!(value, once);
}
