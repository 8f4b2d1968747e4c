use serde_json::json;

use super::reading::Reading;
use super::*;
use crate::connect::tests::scene::Scene;
use crate::tests::{call, request, send};

const GROUP: &str = "/apis/metrics.k8s.io/v1beta1";

#[tokio::test]
async fn nodes_and_pods_are_measured_when_somebody_asks() {
    let scene = Scene::start().await;
    let node = scene.get(&format!("{GROUP}/nodes/n1")).await.json();
    assert_eq!(node["usage"], json!({"cpu": "250m", "memory": "1Gi"}), "{node}");
    assert_eq!((&node["kind"], &node["timestamp"]), (&"NodeMetrics".into(), &"2030-01-01T12:00:00Z".into()));
    assert_eq!(node["metadata"]["labels"]["zone"], "a");
    let pods = scene.get(&format!("{GROUP}/pods?labelSelector=app%3Dweb")).await.json();
    assert_eq!(pods["kind"], "PodMetricsList");
    assert_eq!(
        pods["items"][0]["containers"],
        json!([
            {"name": "a", "usage": {"cpu": "1500u", "memory": "3Mi"}},
            {"name": "b", "usage": {"cpu": "1500001n", "memory": "1k"}},
        ])
    );
    assert_eq!(pods["items"].as_array().unwrap().len(), 1, "{pods}");
    assert_eq!(scene.node.asked(), 1, "one answer does for all");
}

#[tokio::test]
async fn what_is_not_measured_is_left_out() {
    let scene = Scene::start().await;
    scene.make("/api/v1/nodes", json!({"metadata": {"name": "silent"}})).await;
    let nodes = scene.get(&format!("{GROUP}/nodes")).await.json();
    let names: Vec<&Value> =
        nodes["items"].as_array().unwrap().iter().map(|one| &one["metadata"]["name"]).collect();
    assert_eq!(names, ["n1"]);
    for (path, wanted) in [
        ("nodes/none", "404 NotFound: nodes.metrics.k8s.io \"none\" not found"),
        ("nodes/silent", "404 NotFound: nodemetrics.metrics.k8s.io \"silent\" not found"),
        ("namespaces/default/pods/none", "404 NotFound: pods.metrics.k8s.io \"none\" not found"),
        (
            "namespaces/default/pods/waiting",
            "404 NotFound: podmetrics.metrics.k8s.io \"default/waiting\" not found",
        ),
    ] {
        assert_eq!(scene.get(&format!("{GROUP}/{path}")).await.failure(), wanted);
    }
    for (method, path) in [("POST", "nodes"), ("DELETE", "nodes/n1"), ("GET", "pods?watch=1")] {
        let got = call(&scene.admin, method, &format!("{GROUP}/{path}"), "{}").await;
        assert_eq!(got.code, 405, "{method} {path}: {}", got.text());
    }
}

#[tokio::test]
async fn people_see_them_as_a_table_and_find_them_listed() {
    let scene = Scene::start().await;
    let accept = [("accept", "application/json;as=Table;g=meta.k8s.io;v=v1")];
    let row = async |path: &str| {
        let table = send(&scene.admin, request("GET", &format!("{GROUP}/{path}"), &accept, "")).await.json();
        let heads: Vec<&str> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        format!("{} | {}", heads.join(" "), table["rows"][0]["cells"])
    };
    assert_eq!(row("nodes").await, r#"Name cpu memory Window | ["n1","250m","1Gi","10s"]"#);
    assert_eq!(
        row("namespaces/default/pods").await,
        r#"Name cpu memory Window | ["web","3000001n","3146728","10s"]"#
    );
    assert_eq!(
        row("namespaces/default/pods/web").await,
        r#"Name cpu memory Window | ["web","3000001n","3146728","10s"]"#
    );
    let listed = scene.get(GROUP).await.json();
    let verbs: Vec<String> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["name"], one["verbs"]))
        .collect();
    assert_eq!(verbs, [r#""nodes" ["get","list"]"#, r#""pods" ["get","list"]"#]);
}

#[tokio::test]
async fn a_server_of_the_users_own_takes_its_place() {
    let scene = Scene::start().await;
    assert_eq!(scene.get(&format!("{GROUP}/nodes")).await.code, 200);
    let service = json!({
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": {"namespace": "kube-system", "name": "metrics-server"},
        },
    });
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    scene.make(services, service).await;
    assert_eq!(scene.get(&format!("{GROUP}/nodes")).await.code, 503, "it is asked, and it isn't there");
    let gone = call(&scene.admin, "DELETE", &format!("{services}/v1beta1.metrics.k8s.io"), "").await;
    assert_eq!(gone.code, 200, "{}", gone.text());
    assert_eq!(scene.get(&format!("{GROUP}/nodes")).await.code, 200);
}

#[test]
fn the_time_is_told_over_which_was_measured() {
    let node = |window: Value| {
        let cpu = json!({"time": "2030-01-01T12:00:00Z", "usageNanoCores": 7, "windowNanoSeconds": window});
        let text = json!({"node": {"cpu": cpu, "memory": {"workingSetBytes": 9}}});
        let reading = Reading::read(text.to_string().as_bytes()).unwrap();
        objects::of_node(&json!({"metadata": {"name": "n"}}), &reading, jiff::Timestamp::UNIX_EPOCH)
    };
    for (window, told) in [(json!(12_345_678_901_u64), "12.345s"), (json!(null), "10s")] {
        assert_eq!(node(window).unwrap()["window"], told);
    }
}

#[test]
fn half_a_measure_is_none() {
    let cpu = json!({"time": "2030-01-01T12:00:00Z", "usageNanoCores": 7});
    let memory = json!({"workingSetBytes": 9});
    for (case, node, measured) in [
        ("both", json!({"cpu": cpu, "memory": memory}), true),
        ("no rate yet", json!({"cpu": {"time": "2030-01-01T12:00:00Z"}, "memory": memory}), false),
        ("no memory", json!({"cpu": cpu}), false),
    ] {
        let reading = Reading::read(json!({"node": node}).to_string().as_bytes()).unwrap();
        assert_eq!(reading.node.is_some(), measured, "{case}");
    }
    assert_eq!(Reading::read(b"<html>"), None);
}

#[test]
fn a_pod_is_measured_as_a_whole_or_not_at_all() {
    let used = |name: &str| json!({"name": name, "cpu": {"time": "2030-01-01T12:00:00Z", "usageNanoCores": 1}, "memory": {"workingSetBytes": 1}});
    let text = json!({"node": {}, "pods": [{"podRef": {"name": "p", "namespace": "d", "uid": "1"}, "containers": [used("a")]}]});
    let reading = Reading::read(text.to_string().as_bytes()).unwrap();
    let running = |name: &str| json!({"name": name, "state": {"running": {}}});
    let ended = |name: &str| json!({"name": name, "state": {"terminated": {}}});
    for (case, uid, statuses, measured) in [
        ("all of it", "1", json!([running("a")]), true),
        ("what has ended uses nothing", "1", json!([running("a"), ended("b")]), true),
        ("one is missing", "1", json!([running("a"), running("b")]), false),
        ("another pod of the same name", "2", json!([running("a")]), false),
    ] {
        let pod = json!({"metadata": {"name": "p", "namespace": "d", "uid": uid}, "status": {"containerStatuses": statuses}});
        assert_eq!(
            objects::of_pod(&pod, &reading, jiff::Timestamp::UNIX_EPOCH).is_some(),
            measured,
            "{case}"
        );
    }
}
