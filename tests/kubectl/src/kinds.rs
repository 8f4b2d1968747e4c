//! Every manifest's kind through a whole life: made, seen, described, marked, changed, compared, deleted.

use std::path::Path;

use crate::cluster::{Cluster, assert_has, eventually, text};

/// What an older kubectl describes in a version that is no longer served: before 1.33 service ranges and their addresses, before
/// 1.34 classes of volume attributes.
pub(crate) const UNKNOWN: [&str; 3] = ["servicecidr.", "ipaddress.", "volumeattributesclass."];

/// The folder with one small object for each kind.
fn manifests() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests").to_string_lossy().into_owned()
}

/// `deployment.apps/web` for every manifest, as kubectl names what it did.
fn names(cluster: &Cluster) -> Vec<String> {
    let names = cluster.kubectl(["get", "--filename", &manifests(), "--output=name"]);
    names.lines().map(str::to_owned).collect()
}

#[test]
fn there_is_a_manifest_for_every_kind_that_can_be_made() {
    let cluster = Cluster::start();
    let words = ["api-resources", "--verbs=create,get,list,delete", "--no-headers"];
    let served = cluster.kubectl(words);
    // Our own kinds are defined, not built in.
    let built_in = served.lines().filter(|line| !line.contains("kedge.dev/"));
    let mut kinds: Vec<&str> = built_in.filter_map(|line| line.split_whitespace().last()).collect();
    kinds.sort_unstable();
    // Events are served by two groups.
    kinds.dedup();
    let mut written: Vec<String> = Vec::new();
    for file in std::fs::read_dir(manifests()).unwrap() {
        let manifest = std::fs::read_to_string(file.unwrap().path()).unwrap();
        written.extend(manifest.lines().find_map(|line| line.strip_prefix("kind: ")).map(str::to_owned));
    }
    written.sort_unstable();
    assert_eq!(written, kinds);
}

#[test]
fn every_kind_lives_and_dies() {
    let cluster = Cluster::start();
    let manifests = manifests();
    let files = std::fs::read_dir(&manifests).unwrap().count();

    let made = cluster.kubectl(["create", "--filename", &manifests]);
    assert_eq!(made.lines().filter(|line| line.ends_with("created")).count(), files, "{made}");
    let names = names(&cluster);
    assert_eq!(names.len(), files);

    let again = cluster.refused(["create", "--filename", &manifests]);
    assert_eq!(again.matches("(AlreadyExists)").count(), files, "{again}");

    let table = cluster.kubectl(["get", "--filename", &manifests, "--output=wide"]);
    for name in &names {
        let (_, own) = name.split_once('/').unwrap();
        assert!(table.contains(own), "{name} is missing in\n{table}");
    }

    let is_known = |name: &&String| !UNKNOWN.iter().any(|kind| name.starts_with(kind));
    let described: Vec<&String> = names.iter().filter(is_known).collect();
    let shown = cluster.kubectl(["describe"].into_iter().chain(described.iter().map(|name| name.as_str())));
    assert_eq!(shown.lines().filter(|line| line.starts_with("Name:")).count(), described.len(), "{shown}");

    let count = |text: &str, end: &str| text.lines().filter(|line| line.ends_with(end)).count();
    let labelled = cluster.kubectl(["label", "--filename", &manifests, "walk=yes"]);
    assert_eq!(count(&labelled, "labeled"), files, "{labelled}");
    let annotated = cluster.kubectl(["annotate", "--filename", &manifests, "note=long way"]);
    assert_eq!(count(&annotated, "annotated"), files, "{annotated}");

    // Owned by kubectl's create until now; an apply from the same hand takes it over without a conflict.
    let applied = cluster.kubectl(["apply", "--server-side", "--force-conflicts", "--filename", &manifests]);
    assert_eq!(count(&applied, "serverside-applied"), files, "{applied}");
    let difference = cluster
        .command(["diff", "--server-side", "--force-conflicts", "--filename", &manifests])
        .output()
        .unwrap();
    assert!(difference.status.success(), "something differs:\n{}", text(&difference.stdout));

    for name in &names {
        let object = cluster.kubectl(["get", name, "--output=json"]);
        let object: serde_json::Value = serde_json::from_str(&object).unwrap();
        assert_eq!(object["metadata"]["labels"]["walk"], "yes", "{name}");
        assert_eq!(object["metadata"]["annotations"]["note"], "long way", "{name}");
        assert!(object["metadata"]["uid"].is_string(), "{name}");
    }

    // Nobody is here to lift what protects volumes in use.
    for protected in ["persistentvolume/kubectl-test-volume", "persistentvolumeclaim/disk"] {
        cluster.kubectl([
            "patch",
            protected,
            "--type=merge",
            "--patch",
            r#"{"metadata":{"finalizers":null}}"#,
        ]);
    }
    let deleted = cluster.kubectl(["delete", "--filename", &manifests, "--wait=false"]);
    assert_eq!(deleted.lines().filter(|line| line.contains("deleted")).count(), files, "{deleted}");
    eventually("everything is gone", || {
        let left = cluster.kubectl(["get", "--filename", &manifests, "--ignore-not-found", "--output=name"]);
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

#[test]
fn one_walk_through_client_side_apply_for_every_kind() {
    let cluster = Cluster::start();
    let manifests = manifests();
    let files = std::fs::read_dir(&manifests).unwrap().count();
    let made = cluster.kubectl(["apply", "--filename", &manifests]);
    assert_eq!(made.lines().filter(|line| line.ends_with("created")).count(), files, "{made}");
    let revisions = || {
        let path = "--output=jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
        cluster.kubectl(["get", "--filename", &manifests, path])
    };
    let before = revisions();
    assert_eq!(before.lines().count(), files, "{before}");
    cluster.kubectl(["apply", "--filename", &manifests]);
    assert_eq!(revisions(), before, "the same words again are no write");
    let rehearsed = cluster.kubectl(["apply", "--dry-run=server", "--filename", &manifests]);
    assert_eq!(
        rehearsed.lines().filter(|line| line.ends_with("(server dry run)")).count(),
        files,
        "{rehearsed}"
    );
    let difference = cluster.command(["diff", "--filename", &manifests]).output().unwrap();
    assert!(difference.status.success(), "something differs:\n{}", text(&difference.stdout));
}

#[test]
fn tables_have_the_columns_that_users_know() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "--filename", &manifests()]);
    for (kind, narrow, wide) in [
        ("pods", "NAME READY STATUS RESTARTS AGE", "IP NODE NOMINATED NODE READINESS GATES"),
        ("deployments", "NAME READY UP-TO-DATE AVAILABLE AGE", "CONTAINERS IMAGES SELECTOR"),
        ("services", "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE", "SELECTOR"),
        (
            "nodes",
            "NAME STATUS ROLES AGE VERSION",
            "INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME",
        ),
        ("jobs", "NAME STATUS COMPLETIONS DURATION AGE", "CONTAINERS IMAGES SELECTOR"),
        ("cronjobs", "NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE", "CONTAINERS IMAGES SELECTOR"),
        (
            "pvc",
            "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE",
            "VOLUMEMODE",
        ),
        ("hpa", "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE", ""),
        ("events", "LAST SEEN TYPE REASON OBJECT MESSAGE", ""),
    ] {
        let head = |wide: bool| {
            let output = if wide { "--output=wide" } else { "--output=" };
            let table = cluster.kubectl(["get", kind, output]);
            let head = table.lines().next().unwrap_or_default();
            head.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(head(false), narrow, "{kind}");
        assert_has(&head(true), &[wide]);
    }
    let service = cluster.kubectl(["get", "service", "web", "--no-headers"]);
    let cells: Vec<&str> = service.split_whitespace().collect();
    assert_eq!(
        [cells[0], cells[1], cells[3], cells[4]],
        ["web", "ClusterIP", "<none>", "80/TCP"],
        "{service}"
    );
}
