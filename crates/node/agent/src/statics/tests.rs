use std::time::Instant;

use super::*;

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: c
    image: busybox:1
    resources: {limits: {cpu: 1, memory: 64Mi}}
";

#[test]
fn names_are_not_taken_for_answers() {
    for name in ["n", "y", "yes", "no", "on", "off"] {
        let read = pod(&POD.replace("name: web", &format!("name: {name}")), Path::new("/m"), "node", noon());
        assert_eq!(read.unwrap().metadata.name.as_deref(), Some(&*format!("{name}-node")));
    }
    let shared = POD.replace("spec:\n", "spec:\n  hostNetwork: true\n");
    let read = pod(&shared, Path::new("/m"), "node", noon()).unwrap();
    assert_eq!(read.spec.unwrap().host_network, Some(true));
}

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

#[test]
fn a_file_is_a_pod_of_this_node() {
    let read = |text: &str, path: &str, node: &str| pod(text, Path::new(path), node, noon()).unwrap();
    let web = read(POD, "/m/web.yaml", "Node1");
    assert_eq!(web.metadata.name.as_deref(), Some("web-node1"));
    assert_eq!(web.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(web.metadata.uid.as_ref().map(String::len), Some(32));
    assert_eq!(annotation(&web, HASH), web.metadata.uid.as_deref());
    assert_eq!(annotation(&web, SOURCE), Some("file"));
    assert_eq!(annotation(&web, SEEN), Some("2030-01-01T12:00:00Z"));
    assert!(is_static(&web) && !is_mirror(&web));
    let spec = web.spec.as_ref().unwrap();
    assert_eq!(spec.node_name.as_deref(), Some("Node1"));
    assert_eq!(spec.containers[0].image_pull_policy.as_deref(), Some("IfNotPresent"));
    assert_eq!(spec.containers[0].resources.as_ref().unwrap().requests.as_ref().unwrap()["cpu"].0, "1");
    // The same file is the same pod; any other is another.
    let uid = |pod: Pod| pod.metadata.uid.unwrap();
    assert_eq!(uid(web.clone()), uid(read(POD, "/m/web.yaml", "Node1")));
    for other in [
        read(POD, "/m/other.yaml", "Node1"),
        read(POD, "/m/web.yaml", "Node2"),
        read(&POD.replace("busybox:1", "busybox:2"), "/m/web.yaml", "Node1"),
    ] {
        assert_ne!(uid(web.clone()), uid(other));
    }
}

#[test]
fn what_is_no_pod_says_why() {
    for (text, why) in [
        ("{", "neither YAML nor JSON"),
        ("kind: Node\napiVersion: v1\nmetadata: {name: web}", "not a Pod"),
        ("kind: Pod\napiVersion: v1\nmetadata: {}\nspec: {containers: [{name: c}]}", "no name"),
        ("kind: Pod\napiVersion: v1\nmetadata: {name: web}", "no spec"),
        ("kind: Pod\napiVersion: v1\nmetadata: {name: web}\nspec: {containers: []}", "no containers"),
        (
            "kind: Pod\napiVersion: v1\nmetadata: {name: web}\nspec: {containers: [{name: c, envFrom: [{secretRef: {name: s}}]}]}",
            "static pods may not reference secrets",
        ),
    ] {
        let error = pod(text, Path::new("/x"), "n", noon()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_file_that_broke_leaves_its_pod_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut statics = Statics::open(folder.path().join("pods"), "n", Clock::manual(noon()));
    assert!(statics.read().is_empty());
    let path = folder.path().join("pods/web.yaml");
    fs::write(&path, POD).unwrap();
    fs::write(folder.path().join("pods/.hidden.yaml"), POD).unwrap();
    let first = statics.read();
    assert_eq!(first.len(), 1);
    fs::write(&path, "kind: Po").unwrap();
    assert_eq!(statics.read(), first);
    fs::remove_file(&path).unwrap();
    assert!(statics.read().is_empty());
}

#[tokio::test]
async fn changes_are_heard_of() {
    let folder = tempfile::tempdir().unwrap();
    let statics = Statics::open(folder.path().to_owned(), "n", Clock::system());
    let (tell, mut told) = watch::channel(Vec::new());
    let following = tokio::spawn(statics.follow(tell));
    let begun = Instant::now();
    // The first writes may come before anybody listens.
    let writer = {
        let path = folder.path().join("web.yaml");
        tokio::spawn(async move {
            loop {
                fs::write(&path, POD).unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    };
    tokio::time::timeout(Duration::from_secs(30), told.changed()).await.expect("the file is seen").unwrap();
    assert_eq!(told.borrow_and_update().len(), 1);
    assert!(begun.elapsed() < Duration::from_secs(30));
    writer.abort();
    let _gone = writer.await;
    fs::remove_file(folder.path().join("web.yaml")).unwrap();
    tokio::time::timeout(Duration::from_secs(30), told.changed()).await.expect("its end is seen").unwrap();
    assert!(told.borrow().is_empty());
    following.abort();
}
