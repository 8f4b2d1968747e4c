//! Looking: output formats, selectors, waiting and watching.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use crate::cluster::{Cluster, assert_has};

fn with_three() -> Cluster {
    let cluster = Cluster::start();
    for (name, tier) in [("a", "front"), ("b", "back"), ("c", "back")] {
        cluster.kubectl(["create", "configmap", name, &format!("--from-literal=order={name}")]);
        cluster.kubectl(["label", "configmap", name, &format!("tier={tier}")]);
    }
    cluster
}

#[test]
fn what_is_selected_and_how_it_is_shown() {
    let cluster = with_three();
    for (arguments, shown) in [
        ("get configmaps --selector=tier=back --output=name", "configmap/b\nconfigmap/c\n"),
        ("get configmaps --selector=tier!=back,tier --output=name", "configmap/a\n"),
        ("get configmaps --selector=tier_in_(front) --output=name", "configmap/a\n"),
        ("get configmaps --field-selector=metadata.name=b --output=name", "configmap/b\n"),
        ("get configmaps a b --output=jsonpath={.items[*].data.order}", "a b"),
        (
            "get configmaps --chunk-size=1 --selector=tier --output=name",
            "configmap/a\nconfigmap/b\nconfigmap/c\n",
        ),
        (
            "get configmaps --selector=tier --no-headers --output=custom-columns=N:.metadata.name,T:.metadata.labels.tier",
            "a front\nb back\nc back\n",
        ),
        (
            "get configmaps --selector=tier --sort-by={.metadata.labels.tier} --output=name",
            "configmap/b\nconfigmap/c\nconfigmap/a\n",
        ),
    ] {
        let arguments: Vec<String> = arguments.split(' ').map(|one| one.replace('_', " ")).collect();
        let mut seen = cluster.kubectl(arguments.iter().map(String::as_str));
        while seen.contains("  ") {
            seen = seen.replace("  ", " ");
        }
        assert_eq!(seen, shown, "{arguments:?}");
    }
    assert_has(&cluster.kubectl(["get", "configmaps", "--all-namespaces"]), &["NAMESPACE", "walk"]);
    assert_has(&cluster.kubectl(["get", "configmaps", "--show-labels"]), &["LABELS", "tier=back"]);
    assert_has(&cluster.kubectl(["get", "configmaps", "--label-columns=tier"]), &["TIER", "front"]);
    assert_has(
        &cluster.kubectl(["get", "configmap", "a", "--output=yaml"]),
        &["kind: ConfigMap", "order: a"],
    );
    assert_has(&cluster.kubectl(["get", "all,configmaps"]), &["configmap/a"]);
    assert_has(
        &cluster.refused(["get", "nothings"]),
        &["the server doesn't have a resource type \"nothings\""],
    );
}

#[test]
fn a_watch_tells_what_happens() {
    let cluster = with_three();
    let mut watching = cluster
        .command(["get", "configmaps", "--watch", "--selector=tier", "--no-headers", "--output-watch-events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (tell, told) = mpsc::channel();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let reading = std::thread::spawn(move || lines.map_while(Result::ok).all(|line| tell.send(line).is_ok()));
    let next = || {
        let line = told.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(!line.contains("<invalid>"), "an age from before its time: {line}");
        line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!([next(), next(), next()], ["ADDED a", "ADDED b", "ADDED c"]);
    cluster.kubectl(["label", "configmap", "b", "more=yes"]);
    assert_eq!(next(), "MODIFIED b");
    cluster.kubectl(["label", "configmap", "a", "tier-"]);
    assert_eq!(next(), "DELETED a", "what no longer matches is gone for the watcher");
    cluster.kubectl(["delete", "configmap", "c"]);
    assert_eq!(next(), "DELETED c");
    cluster.kubectl(["create", "configmap", "d"]);
    cluster.kubectl(["label", "configmap", "d", "tier=front"]);
    assert_eq!(next(), "ADDED d");
    watching.kill().unwrap();
    watching.wait().unwrap();
    reading.join().unwrap();
}

#[test]
fn waiting_ends_when_it_holds() {
    let cluster = with_three();
    cluster.kubectl(["wait", "configmap/a", "--for=jsonpath={.data.order}=a", "--timeout=30s"]);
    assert_has(
        &cluster.refused(["wait", "configmap/a", "--for=jsonpath={.data.order}=z", "--timeout=1s"]),
        &["timed out waiting"],
    );
    let mut waiting =
        cluster.command(["wait", "configmap/b", "--for=delete", "--timeout=30s"]).spawn().unwrap();
    cluster.kubectl(["delete", "configmap", "b"]);
    assert!(waiting.wait().unwrap().success());
}
