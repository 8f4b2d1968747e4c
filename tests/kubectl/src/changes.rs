//! Changing what is there: edit, patch, label, annotate, scale, set, taint, replace, delete.

use serde_json::json;

use crate::cluster::{Cluster, assert_has};

fn with_settings() -> Cluster {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "configmap", "settings", "--from-literal=colour=blue"]);
    cluster
}

#[test]
fn an_editor_changes_an_object() {
    let cluster = with_settings();
    let mut edit = cluster.command(["edit", "configmap", "settings"]);
    let output = edit.env("KUBE_EDITOR", "sed -i s/blue/red/").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(cluster.object("configmap", "settings")["data"]["colour"], "red");
}

#[test]
fn the_three_patches_change_what_they_say() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "deployment", "web", "--image=registry.example/web:1"]);
    let patch = |kind: &str, patch: &str| {
        cluster.kubectl(["patch", "deployment", "web", &format!("--type={kind}"), "--patch", patch])
    };
    patch("json", r#"[{"op":"replace","path":"/spec/replicas","value":4}]"#);
    patch("merge", r#"{"metadata":{"annotations":{"a":"b"}}}"#);
    patch(
        "strategic",
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"registry.example/side:1"}]}}}}"#,
    );
    let web = cluster.object("deployment", "web");
    assert_eq!(web["spec"]["replicas"], 4);
    assert_eq!(web["metadata"]["annotations"]["a"], "b");
    let images: Vec<_> = web["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["image"])
        .collect();
    assert_eq!(images.len(), 2, "the strategic patch added to the list: {images:?}");
    assert_has(
        &cluster.refused([
            "patch",
            "deployment",
            "web",
            "--type=json",
            "--patch",
            r#"[{"op":"test","path":"/spec/replicas","value":9}]"#,
        ]),
        &["error"],
    );
    assert_has(
        &cluster.refused([
            "patch",
            "deployment",
            "web",
            "--type=merge",
            "--patch",
            r#"{"spec":{"selector":{"matchLabels":{"app":"other"}}}}"#,
        ]),
        &["Invalid", "spec.selector", "field is immutable"],
    );
    let said = cluster.kubectl([
        "patch",
        "deployment",
        "web",
        "--subresource=status",
        "--type=merge",
        "--patch",
        r#"{"status":{"conditions":[{"type":"Seen","status":"True"}]},"spec":{"replicas":9}}"#,
    ]);
    assert_has(&said, &["patched"]);
    let web = cluster.object("deployment", "web");
    let conditions = web["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|condition| condition["type"] == "Seen"), "{conditions:?}");
    assert_eq!(web["spec"]["replicas"], 4, "status and spec are apart");
}

#[test]
fn labels_and_annotations_come_and_go() {
    let cluster = with_settings();
    cluster.kubectl(["label", "configmap", "settings", "tier=back", "app=web"]);
    assert_has(&cluster.refused(["label", "configmap", "settings", "tier=front"]), &["already has a value"]);
    cluster.kubectl(["label", "configmap", "settings", "tier=front", "--overwrite"]);
    cluster.kubectl(["label", "configmap", "settings", "app-"]);
    assert_eq!(cluster.object("configmap", "settings")["metadata"]["labels"], json!({"tier": "front"}));
    cluster.kubectl(["annotate", "configmap", "settings", "note=x"]);
    cluster.kubectl(["annotate", "configmap", "settings", "note-"]);
    assert!(cluster.object("configmap", "settings")["metadata"]["annotations"].is_null());
    assert_has(&cluster.refused(["label", "configmap", "settings", "bad/key/again=x"]), &["bad/key/again"]);
}

#[test]
fn scaling_goes_through_the_scale_subresource() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "deployment", "web", "--image=registry.example/web:1"]);
    assert_has(&cluster.kubectl(["scale", "deployment", "web", "--replicas=5"]), &["scaled"]);
    assert_eq!(cluster.object("deployment", "web")["spec"]["replicas"], 5);
    assert_has(
        &cluster.refused(["scale", "deployment", "web", "--current-replicas=2", "--replicas=3"]),
        &["Expected replicas to be 2, was 5"],
    );
    let table = cluster.kubectl(["get", "deployment", "web", "--subresource=scale"]);
    assert_has(&table, &["NAME   DESIRED   AVAILABLE   AGE", "web    5         "]);
    let scale = cluster.kubectl(["get", "deployment", "web", "--subresource=scale", "--output=json"]);
    assert_has(&scale, &[r#""kind": "Scale""#, r#""replicas": 5"#]);
}

#[test]
fn images_taints_and_cordons_are_set() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "deployment", "web", "--image=registry.example/web:1"]);
    cluster.kubectl(["set", "image", "deployment/web", "web=registry.example/web:2"]);
    cluster.kubectl(["set", "env", "deployment/web", "A=b"]);
    cluster.kubectl(["rollout", "pause", "deployment/web"]);
    let web = cluster.object("deployment", "web");
    let container = &web["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example/web:2");
    assert_eq!(container["env"], json!([{"name": "A", "value": "b"}]));
    assert_eq!(web["spec"]["paused"], true);

    cluster.kubectl_with(
        r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"kubectl-test"}}"#,
        ["create", "--filename=-"],
    );
    cluster.kubectl(["cordon", "kubectl-test"]);
    cluster.kubectl(["taint", "nodes", "kubectl-test", "only=me:NoSchedule"]);
    let node = cluster.object("node", "kubectl-test");
    assert_eq!(node["spec"]["unschedulable"], true);
    assert!(node["spec"]["taints"].as_array().unwrap().iter().any(|taint| taint["key"] == "only"), "{node}");
}

#[test]
fn replacing_needs_the_newest_revision() {
    let cluster = with_settings();
    let old = cluster.kubectl(["get", "configmap", "settings", "--output=json"]);
    let new = old.replace("blue", "green");
    cluster.kubectl_with(&new, ["replace", "--filename=-"]);
    assert_eq!(cluster.object("configmap", "settings")["data"]["colour"], "green");
    let late = cluster.output_with(&old, ["replace", "--filename=-"]);
    assert_has(&crate::cluster::error(&late), &["(Conflict)", "the object has been modified"]);
}

#[test]
fn deletion_by_name_label_and_whole() {
    let cluster = Cluster::start();
    for name in ["a", "b", "c"] {
        cluster.kubectl(["create", "configmap", name]);
    }
    cluster.kubectl(["label", "configmap", "a", "b", "set=one"]);
    assert_has(
        &cluster.kubectl(["delete", "configmap", "--selector=set=one"]),
        &["\"a\" deleted", "\"b\" deleted"],
    );
    assert_has(&cluster.refused(["get", "configmap", "a"]), &["(NotFound)", r#"configmaps "a" not found"#]);
    cluster.kubectl(["delete", "configmap", "--all"]);
    assert_eq!(cluster.kubectl(["get", "configmap", "c", "--ignore-not-found"]), "");
    assert_has(&cluster.refused(["delete", "configmap", "c"]), &["(NotFound)"]);
}
