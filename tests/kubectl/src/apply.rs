//! Applying manifests again and again, from the client's side and from the server's.

use serde_json::json;

use crate::cluster::{Cluster, assert_has, error, text};

const FIRST: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a: one, b: two}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: 'registry.example/main:1'}
      - {name: side, image: 'registry.example/side:1'}
";

/// One label and one container fewer, another image, no word about replicas.
const SECOND: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a: one}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: 'registry.example/main:2'}
";

#[test]
fn what_a_manifest_no_longer_says_goes_away() {
    for side in ["--server-side=false", "--server-side=true"] {
        let cluster = Cluster::start();
        cluster.kubectl_with(FIRST, ["apply", side, "--filename=-"]);
        // Somebody else's label must survive.
        cluster.kubectl(["label", "deployment", "web", "mine=yes"]);
        cluster.kubectl_with(SECOND, ["apply", side, "--filename=-"]);
        let web = cluster.object("deployment", "web");
        assert_eq!(web["metadata"]["labels"], json!({"a": "one", "mine": "yes"}), "{side}");
        let containers = web["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        assert_eq!(containers.len(), 1, "{side}: {containers:?}");
        assert_eq!(containers[0]["image"], "registry.example/main:2", "{side}");
        assert_eq!(web["spec"]["replicas"], 1, "{side}: back to the default");
    }
}

#[test]
fn two_appliers_get_into_each_others_way_only_where_they_say_otherwise() {
    let cluster = Cluster::start();
    cluster.kubectl_with(FIRST, ["apply", "--server-side", "--field-manager=one", "--filename=-"]);
    let same = cluster.output_with(FIRST, ["apply", "--server-side", "--field-manager=two", "--filename=-"]);
    assert!(same.status.success(), "the same words are no conflict: {}", error(&same));
    let other = FIRST.replace("replicas: 2", "replicas: 3");
    let conflict =
        cluster.output_with(&other, ["apply", "--server-side", "--field-manager=two", "--filename=-"]);
    assert!(!conflict.status.success());
    assert_has(&error(&conflict), &["conflict with \"one\"", ".spec.replicas"]);
    cluster.kubectl_with(
        &other,
        ["apply", "--server-side", "--field-manager=two", "--force-conflicts", "--filename=-"],
    );
    let web = cluster.object("deployment", "web");
    assert_eq!(web["spec"]["replicas"], 3);
    let managers: Vec<&str> = web["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["manager"].as_str())
        .collect();
    assert!(managers.contains(&"one") && managers.contains(&"two"), "{managers:?}");
}

#[test]
fn a_rehearsal_changes_nothing() {
    let cluster = Cluster::start();
    let said = cluster.kubectl_with(FIRST, ["apply", "--dry-run=server", "--filename=-"]);
    assert_has(&said, &["deployment.apps/web created (server dry run)"]);
    assert_has(&cluster.refused(["get", "deployment", "web"]), &["(NotFound)"]);
    cluster.kubectl_with(FIRST, ["apply", "--filename=-"]);
    let other = FIRST.replace("replicas: 2", "replicas: 7");
    cluster.kubectl_with(
        &other,
        ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename=-"],
    );
    assert_eq!(cluster.object("deployment", "web")["spec"]["replicas"], 2);
    cluster.kubectl(["delete", "deployment", "web", "--dry-run=server"]);
    assert_eq!(cluster.object("deployment", "web")["spec"]["replicas"], 2);
}

#[test]
fn diff_shows_what_apply_would_change() {
    let cluster = Cluster::start();
    let before = cluster.output_with(FIRST, ["diff", "--filename=-"]);
    assert_eq!(before.status.code(), Some(1), "{}", error(&before));
    cluster.kubectl_with(FIRST, ["apply", "--filename=-"]);
    let same = cluster.output_with(FIRST, ["diff", "--filename=-"]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
    let changed = cluster.output_with(SECOND, ["diff", "--filename=-"]);
    assert_eq!(changed.status.code(), Some(1), "{}", error(&changed));
    assert_has(
        &text(&changed.stdout),
        &["-      - image: registry.example/main:1", "+      - image: registry.example/main:2"],
    );
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let cluster = Cluster::start();
    for (case, manifest, said) in [
        ("an unknown field", FIRST.replace("replicas:", "replicaz:"), "unknown field \"spec.replicaz\""),
        ("a number for a word", FIRST.replace("name: web,", "name: 7,"), "metadata.name"),
        (
            "a bad image",
            FIRST.replace("'registry.example/main:1'", "''"),
            "spec.template.spec.containers[0].image: Required value",
        ),
        (
            "a selector that misses",
            FIRST.replace("matchLabels: {app: web}", "matchLabels: {app: other}"),
            "`selector` does not match template `labels`",
        ),
    ] {
        let output = cluster.output_with(&manifest, ["apply", "--filename=-"]);
        assert!(!output.status.success(), "{case}");
        assert_has(&error(&output), &[said]);
        assert_eq!(cluster.kubectl(["get", "deployments", "--output=name"]), "", "{case}");
    }
    let lax = FIRST.replace("replicas:", "replicaz:");
    let output = cluster.output_with(&lax, ["apply", "--validate=warn", "--filename=-"]);
    assert!(output.status.success());
    assert_has(&error(&output), &["Warning: unknown field \"spec.replicaz\""]);
}
