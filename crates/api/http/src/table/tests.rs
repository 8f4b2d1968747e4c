use jiff::Timestamp;
use kedge_kinds::builtin;
use serde_json::{Value, json};

use super::{IncludeObject, ListMeta, MetaVersion, Table, printer};

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

/// The cells of one object, the ages left out where they are the same everywhere.
fn cells(group: &str, kind: &str, object: &Value) -> Vec<Value> {
    (printer(group, kind).cells)(object, noon())
}

#[test]
fn every_kind_fills_every_column_even_of_an_empty_object() {
    for kind in &builtin().kinds {
        let printer = printer(&kind.gv.group, &kind.kind);
        let cells = (printer.cells)(&json!({}), noon());
        // An IPAddress has one cell more than columns, as upstream has it.
        let extra = usize::from(&*kind.kind == "IPAddress");
        assert_eq!(cells.len(), printer.columns.len() + extra, "{} {}", kind.gv, kind.kind);
    }
}

#[test]
fn a_pods_story_is_told_in_one_word() {
    let container = |state: Value| json!({"name": "c", "restartCount": 0, "ready": false, "state": state});
    let running = json!({"name": "c", "restartCount": 2, "ready": true, "state": {"running": {}},
        "lastState": {"terminated": {"finishedAt": "2030-01-01T11:55:00Z"}}});
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let spec = json!({"containers": [{"name": "c"}], "initContainers": [{"name": "i"}, {"name": "j"}]});
    for (case, pod, told) in [
        ("new", json!({"status": {"phase": "Pending"}}), "0/1 Pending 0"),
        (
            "waiting for its image",
            json!({"status": {"phase": "Pending", "containerStatuses": [container(json!({"waiting": {"reason": "ImagePullBackOff"}}))]}}),
            "0/1 ImagePullBackOff 0",
        ),
        (
            "running, restarted before",
            json!({"status": {"phase": "Running", "conditions": ready, "containerStatuses": [running]}}),
            "1/1 Running 2 (5m ago)",
        ),
        (
            "initialising",
            json!({"status": {"phase": "Pending", "initContainerStatuses": [
                {"name": "i", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}},
                {"name": "j", "restartCount": 0, "state": {"waiting": {"reason": "PodInitializing"}}}]}}),
            "0/1 Init:1/2 0",
        ),
        (
            "an init container keeps crashing",
            json!({"status": {"phase": "Pending", "initContainerStatuses": [
                {"name": "i", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}),
            "0/1 Init:CrashLoopBackOff 3",
        ),
        (
            "an init container failed without a reason",
            json!({"status": {"phase": "Pending", "initContainerStatuses": [
                {"name": "i", "restartCount": 0, "state": {"terminated": {"exitCode": 2}}}]}}),
            "0/1 Init:ExitCode:2 0",
        ),
        (
            "killed",
            json!({"status": {"phase": "Failed", "containerStatuses": [container(json!({"terminated": {"exitCode": 137, "signal": 9}}))]}}),
            "0/1 Signal:9 0",
        ),
        (
            "done",
            json!({"status": {"phase": "Succeeded", "containerStatuses": [container(json!({"terminated": {"exitCode": 0, "reason": "Completed"}}))]}}),
            "0/1 Completed 0",
        ),
        (
            "one of two is done",
            json!({"status": {"phase": "Running", "conditions": ready, "containerStatuses": [
                container(json!({"terminated": {"exitCode": 0, "reason": "Completed"}})), running]}}),
            "1/1 Running 2 (5m ago)",
        ),
        ("evicted", json!({"status": {"phase": "Failed", "reason": "Evicted"}}), "0/1 Evicted 0"),
        (
            "held at the gate",
            json!({"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}}),
            "0/1 SchedulingGated 0",
        ),
        (
            "leaving",
            json!({"metadata": {"deletionTimestamp": "2030-01-01T12:00:00Z"}, "status": {"phase": "Running"}}),
            "0/1 Terminating 0",
        ),
        (
            "leaving a lost node",
            json!({"metadata": {"deletionTimestamp": "2030-01-01T12:00:00Z"}, "status": {"phase": "Running", "reason": "NodeLost"}}),
            "0/1 Unknown 0",
        ),
        (
            "leaving after its end",
            json!({"metadata": {"deletionTimestamp": "2030-01-01T12:00:00Z"}, "status": {"phase": "Failed"}}),
            "0/1 Failed 0",
        ),
    ] {
        let mut pod = pod;
        pod["spec"] = spec.clone();
        let cells = cells("", "Pod", &pod);
        let seen: Vec<&str> = cells[1..4].iter().map(|cell| cell.as_str().unwrap()).collect();
        assert_eq!(seen.join(" "), told, "{case}");
    }
}

#[test]
fn a_sidecar_counts_as_a_container() {
    let pod = json!({
        "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]},
        "status": {"phase": "Running",
            "initContainerStatuses": [{"name": "s", "restartCount": 1, "started": true, "ready": true, "state": {"running": {}}}],
            "containerStatuses": [{"name": "c", "restartCount": 0, "ready": true, "state": {"running": {}}}]}});
    assert_eq!(cells("", "Pod", &pod)[1..4], [json!("2/2"), json!("Running"), json!("1")]);
}

#[test]
fn rows_read_as_kubectl_users_know_them() {
    let made = json!({"name": "x", "creationTimestamp": "2030-01-01T09:00:00Z"});
    for (group, kind, object, row) in [
        (
            "",
            "Service",
            json!({"spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "externalIPs": ["1.1.1.1"], "selector": {"b": "2", "a": "1"},
                "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]},
                "status": {"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "lb"}]}}}),
            r#"["x","LoadBalancer","10.0.0.1","9.9.9.9,lb,1.1.1.1","80:30080/TCP,53/UDP","3h","a=1,b=2"]"#,
        ),
        (
            "apps",
            "Deployment",
            json!({"spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "aa", "operator": "NotIn", "values": ["z", "y"]}]},
                "template": {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]}}},
                "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}}),
            r#"["x","1/3",2,1,"3h","a,b","i,j","aa notin (y,z),app=x"]"#,
        ),
        (
            "batch",
            "Job",
            json!({"spec": {"completions": 2}, "status": {"succeeded": 2, "startTime": "2030-01-01T09:00:00Z", "completionTime": "2030-01-01T09:02:05Z",
                "conditions": [{"type": "Complete", "status": "True"}]}}),
            r#"["x","Complete","2/2","2m5s","3h","","","<none>"]"#,
        ),
        (
            "",
            "Node",
            json!({"metadata": {"name": "x", "creationTimestamp": "2030-01-01T09:00:00Z", "labels": {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge"}},
                "spec": {"unschedulable": true},
                "status": {"conditions": [{"type": "Ready", "status": "Unknown"}], "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
                "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6.1", "architecture": "amd64"}}}),
            r#"["x","NotReady,SchedulingDisabled","control-plane,edge","3h","v1","10.1.1.1","<none>","<unknown>","6.1 (amd64)","<unknown>"]"#,
        ),
        (
            "",
            "Endpoints",
            json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}, {"port": 443}]}]}),
            r#"["x","10.0.0.1:80,[fd00::1]:80,10.0.0.1:443 + 1 more...","3h"]"#,
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5, "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},
                {"type": "Pods", "pods": {"target": {"averageValue": "10"}}},
                {"type": "External", "external": {"target": {"value": "1"}}}]},
                "status": {"currentReplicas": 2, "currentMetrics": [{"type": "Resource", "resource": {"current": {"averageUtilization": 7}}}]}}),
            r#"["x","Deployment/web","cpu: 7%/80%, <unknown>/10 + 1 more...","<unset>",5,2,"3h"]"#,
        ),
        (
            "events.k8s.io",
            "Event",
            json!({"eventTime": "2030-01-01T11:59:30.000000Z", "type": "Normal", "reason": "Started", "regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
                "reportingController": "agent", "reportingInstance": "n1", "note": " up \n"}),
            r#"["30s","Normal","Started","pod/p","spec","agent, n1","up","30s",1,"x"]"#,
        ),
        (
            "",
            "PersistentVolumeClaim",
            json!({"spec": {"volumeName": "pv", "storageClassName": "fast", "volumeMode": "Block"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}}),
            r#"["x","Bound","pv","1Gi","RWO,RWX","fast","<unset>","3h","Block"]"#,
        ),
        (
            "",
            "ResourceQuota",
            json!({"status": {"hard": {"pods": "4", "limits.cpu": "2", "configmaps": "9"}, "used": {"pods": "1"}}}),
            r#"["x","configmaps: 0/9, pods: 1/4","limits.cpu: 0/2","3h"]"#,
        ),
        ("", "LimitRange", json!({}), r#"["x","2030-01-01T09:00:00Z"]"#),
        (
            "networking.k8s.io",
            "IPAddress",
            json!({"spec": {"parentRef": {"resource": "services", "namespace": "d", "name": "k"}}}),
            r#"["x","services/d/k","3h"]"#,
        ),
    ] {
        let mut object = object;
        if object["metadata"].is_null() {
            object["metadata"] = made.clone();
        }
        assert_eq!(Value::from(cells(group, kind, &object)).to_string(), row, "{kind}");
    }
}

#[test]
fn a_row_carries_as_much_of_the_object_as_was_asked_for() {
    let kind = builtin().kind("", "v1", "configmaps").unwrap();
    let object = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"5"},"data":{"a":"b"}}"#;
    for (include, carried) in [
        (IncludeObject::None, json!(null)),
        (
            IncludeObject::Metadata,
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "x", "resourceVersion": "5"}}),
        ),
        (IncludeObject::Object, serde_json::from_slice(object).unwrap()),
    ] {
        let table = Table::new(kind, include, MetaVersion::V1, noon());
        let one: Value = serde_json::from_slice(&table.one(object).unwrap()).unwrap();
        assert_eq!(one["rows"][0]["object"], carried, "{include:?}");
        assert_eq!(one["metadata"], json!({"resourceVersion": "5"}));
        assert_eq!(one["columnDefinitions"][0]["format"], "name");
        let later: Value = serde_json::from_slice(&table.event(object, false, noon()).unwrap()).unwrap();
        assert_eq!(later["columnDefinitions"], json!([]), "only a watch's first event names the columns");
    }
}

#[test]
fn a_subresource_is_shown_as_what_it_speaks() {
    let kind = builtin().kind("apps", "v1", "deployments").unwrap();
    let table = Table::new(kind, IncludeObject::None, MetaVersion::V1, noon());
    let scale = br#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":3},"status":{"replicas":1}}"#;
    let shown: Value = serde_json::from_slice(&table.one(scale).unwrap()).unwrap();
    assert_eq!(shown["rows"][0]["cells"], json!(["x", 3, 1, "<unknown>"]));
    assert_eq!(shown["columnDefinitions"][1]["name"], "Desired");
}

#[test]
fn a_watch_grows_older_than_its_request() {
    let kind = builtin().kind("", "v1", "configmaps").unwrap();
    let table = Table::new(kind, IncludeObject::None, MetaVersion::V1, noon());
    let object =
        br#"{"metadata":{"name":"x","resourceVersion":"5","creationTimestamp":"2030-01-01T12:10:00Z"}}"#;
    let later = "2030-01-01T12:10:05Z".parse().unwrap();
    let event: Value = serde_json::from_slice(&table.event(object, false, later).unwrap()).unwrap();
    assert_eq!(event["rows"][0]["cells"][2], "5s");
}

#[test]
fn a_list_is_one_table() {
    let kind = builtin().kind("", "v1", "configmaps").unwrap();
    let object = br#"{"metadata":{"name":"x","resourceVersion":"5"}}"#;
    let meta = ListMeta { resource_version: "9".into(), ..ListMeta::default() };
    let table = Table::new(kind, IncludeObject::Metadata, MetaVersion::V1, noon());
    let whole: Vec<u8> = table
        .list(std::iter::repeat_n(object, 700), &meta)
        .flat_map(|chunk| chunk.unwrap().to_vec())
        .collect();
    let whole: Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(whole["rows"].as_array().unwrap().len(), 700);
    assert_eq!(whole["metadata"]["resourceVersion"], "9");
}
