//! Pages as people read them. That they are the same as kubectl's is compared with the real one, in `tests/kubectl`.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::shown::Now;
use super::{Related, describe};

fn noon() -> Now {
    Now { at: "2024-05-01T12:00:00Z".parse().unwrap(), zone: TimeZone::UTC }
}

/// The lines of a page that say this, without what columns are filled up with.
fn told(object: &Value, related: &Related, events: Option<&[Value]>, about: &str) -> Vec<String> {
    let page = describe(object, related, events, &noon());
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    page.lines().filter(|line| line.contains(about)).map(squeezed).collect()
}

#[test]
fn a_pod_has_its_page() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "walk", "labels": {"app": "web", "tier": "front"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5d", "uid": "1", "controller": true}]},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "web:1", "args": ["a\nb"],
            "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}],
            "env": [{"name": "ME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
            "resources": {"requests": {"memory": "1Gi", "cpu": "250m"}}}],
            "tolerations": [{"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]},
        "status": {"phase": "Running", "hostIP": "10.0.0.1", "podIP": "10.1.0.2", "podIPs": [{"ip": "10.1.0.2"}],
            "qosClass": "Burstable", "startTime": "2024-05-01T11:00:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "main", "ready": true, "restartCount": 2,
                "state": {"running": {"startedAt": "2024-05-01T11:00:01Z"}}}]}});
    let page = describe(&pod, &Related::default(), Some(&[]), &noon());
    let wanted = "\
Name:         web
Namespace:    walk
Node:         n1/10.0.0.1
Start Time:   Wed, 01 May 2024 11:00:00 +0000
Labels:       app=web
              tier=front
Annotations:  <none>
Status:       Running
IP:           10.1.0.2
IPs:
  IP:           10.1.0.2
Controlled By:  ReplicaSet/web-5d
Containers:
  main:
    Container ID:  \n    Image:         web:1
    Image ID:      \n    Port:          80/TCP (http)
    Host Port:     0/TCP (http)
    Args:
      a
      b
    State:          Running
      Started:      Wed, 01 May 2024 11:00:01 +0000
    Ready:          True
    Restart Count:  2
    Requests:
      cpu:     250m
      memory:  1Gi
    Environment:
      ME:    web (v1:metadata.name)
    Mounts:  <none>
Conditions:
  Type           Status
  Ready          True \nVolumes:         <none>
QoS Class:       Burstable
Node-Selectors:  <none>
Tolerations:     x:NoExecute op=Exists for 300s
Events:          <none>
";
    assert_eq!(page, wanted, "{page}");
}

#[test]
fn events_say_when_and_how_often() {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}});
    let event = |more: Value| {
        let mut event = json!({"type": "Normal", "reason": "Began", "message": " it began\n",
            "source": {"component": "kubelet"}});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    for (case, more, line) in [
        ("once", json!({"firstTimestamp": "2024-05-01T11:59:30Z"}), "Normal Began 30s kubelet it began"),
        (
            "often",
            json!({"firstTimestamp": "2024-05-01T11:50:00Z", "lastTimestamp": "2024-05-01T11:59:59Z", "count": 3}),
            "Normal Began 1s (x3 over 10m) kubelet it began",
        ),
        (
            "a newer reporter",
            json!({"eventTime": "2024-05-01T11:58:00.000000Z", "source": {}, "reportingComponent": "me",
                "series": {"count": 9, "lastObservedTime": "2024-05-01T11:59:00.000000Z"}}),
            "Normal Began 60s (x9 over 2m) me it began",
        ),
        (
            "of a container",
            json!({"firstTimestamp": "2024-05-01T11:59:30Z", "involvedObject": {"fieldPath": "spec.containers{a}"}}),
            "Normal Began 30s kubelet spec.containers{a}: it began",
        ),
    ] {
        let shown = told(&object, &Related::default(), Some(&[event(more)]), "Began");
        assert_eq!(shown, [line], "{case}");
    }
}

#[test]
fn what_pods_take_of_a_node_is_counted() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "example.com/gpu": "4"}}});
    let pod = |spec: Value| json!({"metadata": {"name": "p", "namespace": "x", "creationTimestamp": "2024-05-01T11:00:00Z"}, "spec": spec});
    let asks = |cpu: &str| json!({"requests": {"cpu": cpu}});
    for (case, spec, cpu) in [
        ("nothing", json!({"containers": [{"name": "a"}]}), "cpu 0 (0%) 0 (0%)"),
        (
            "together",
            json!({"containers": [{"name": "a", "resources": asks("500m")}, {"name": "b", "resources": asks("250m")}]}),
            "cpu 750m (37%) 0 (0%)",
        ),
        (
            "a larger one before the others",
            json!({"initContainers": [{"name": "i", "resources": asks("1")}], "containers": [{"name": "a", "resources": asks("500m")}]}),
            "cpu 1 (50%) 0 (0%)",
        ),
        (
            "one that stays beside them",
            json!({"initContainers": [{"name": "s", "restartPolicy": "Always", "resources": asks("100m")}, {"name": "i", "resources": asks("1")}], "containers": [{"name": "a", "resources": asks("500m")}]}),
            "cpu 1100m (55%) 0 (0%)",
        ),
        (
            "the pod as a whole, and what running it costs",
            json!({"resources": asks("1500m"), "overhead": {"cpu": "100m"}, "containers": [{"name": "a", "resources": asks("500m")}]}),
            "cpu 1600m (80%) 0 (0%)",
        ),
    ] {
        let related = Related { pods: Some(vec![pod(spec)]), ..Related::default() };
        assert_eq!(told(&node, &related, None, "  cpu  ").last().map(String::as_str), Some(cpu), "{case}");
    }
}

#[test]
fn rules_are_taken_apart_and_put_together() {
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": [
        {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "resourceNames": ["a"], "verbs": ["*"]},
        {"nonResourceURLs": ["/healthz"], "verbs": ["get"]},
    ]});
    let lines = told(&role, &Related::default(), Some(&[]), "[");
    assert_eq!(
        lines,
        [
            "deployments.apps/scale [] [a] [*]",
            "pods [] [] [get list]",
            "[/healthz] [] [get]",
            "pods/log [] [] [get]"
        ]
    );
}

#[test]
fn only_ready_addresses_stand_behind_a_service() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]}});
    let slice = |ready: &[Value]| {
        let endpoints: Vec<Value> = ready
            .iter()
            .enumerate()
            .map(|(n, ready)| json!({"addresses": [format!("10.0.0.{n}")], "conditions": {"ready": ready}}))
            .collect();
        json!({"ports": [{"name": "http", "port": 8080}, {"name": "other", "port": 1}], "endpoints": endpoints})
    };
    let (yes, no) = (json!(true), json!(false));
    for (case, slices, line) in [
        ("no slice", vec![], "Endpoints: <none>"),
        ("one of two", vec![slice(&[yes.clone(), no])], "Endpoints: 10.0.0.0:8080"),
        ("nobody knows", vec![slice(&[Value::Null])], "Endpoints: 10.0.0.0:8080"),
        (
            "too many to name",
            vec![slice(&[yes.clone(), yes.clone(), yes.clone(), yes.clone(), yes])],
            "Endpoints: 10.0.0.0:8080,10.0.0.1:8080,10.0.0.2:8080 + 2 more...",
        ),
    ] {
        let related = Related { slices, ..Related::default() };
        assert_eq!(told(&service, &related, None, "Endpoints"), [line], "{case}");
    }
}

#[test]
fn a_kind_that_nobody_knows_is_told_field_by_field() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Dataset", "metadata": {"name": "d", "namespace": "x", "uid": "u", "managedFields": []},
        "spec": {"dataURL": "x", "parts": [{"size": 1}, {"size": 2}], "tags": ["a", "b"], "off": null}});
    let page = describe(&object, &Related::default(), None, &noon());
    let wanted = "\
Name:         d
Namespace:    x
Labels:       <none>
Annotations:  <none>
API Version:  example.com/v1
Kind:         Dataset
Metadata:
  UID:  u
Spec:
  Data URL:  x
  Off:       <nil>
  Parts:
    Size:  1
    Size:  2
  Tags:
    a
    b
";
    assert_eq!(page, wanted, "{page}");
}
