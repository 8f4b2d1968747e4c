use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_engine::{Action, Resource};
use serde_json::{Value, json};

use super::graph::Node;
use super::*;

/// `set` of kind Set, owned by nobody; flags after a colon: `l`eaving, `o`rphan, `w`aits.
fn node(text: &str, owners: &[&str]) -> Node {
    let (name, flags) = text.split_once(':').unwrap_or((text, ""));
    let mut finalizers = Vec::new();
    finalizers.extend(flags.contains('o').then_some("orphan"));
    finalizers.extend(flags.contains('w').then_some("foregroundDeletion"));
    let owners: Vec<Value> = owners
        .iter()
        .map(|owner| {
            let (owner, block) = owner.split_once('!').map_or((*owner, false), |(owner, _)| (owner, true));
            json!({"apiVersion": "x/v1", "kind": "Set", "name": owner, "uid": owner, "blockOwnerDeletion": block})
        })
        .collect();
    let mut meta = json!({
        "name": name, "namespace": "n", "uid": name, "resourceVersion": "1", "ownerReferences": owners,
        "finalizers": finalizers,
    });
    if flags.contains('l') {
        meta["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    }
    let meta: ObjectMeta = serde_json::from_value(meta).unwrap();
    let resource =
        Resource { group: "x".into(), version: "v1".into(), kind: "Set".into(), plural: "sets".into() };
    Node::of(&Arc::new(resource), true, &meta)
}

fn graph(nodes: &[(&str, &[&str])]) -> Graph {
    let mut graph = Graph::default();
    for (text, owners) in nodes {
        graph.put(node(text, owners));
    }
    graph
}

fn said(graph: &Graph, uid: &str) -> String {
    match verdict(graph, uid) {
        Verdict::Leave => String::new(),
        Verdict::Find(owners) => {
            let names: Vec<String> = owners.into_iter().map(|(owner, _)| owner.name).collect();
            format!("find {}", names.join(" "))
        }
        Verdict::Do(actions) => {
            let words = actions.iter().map(|action| match action {
                Action::Delete { target, propagation, .. } => format!("-{} {propagation}", target.uid),
                Action::Change { target, patch, .. } => {
                    let meta = &patch["metadata"];
                    let owners = meta["ownerReferences"].as_array().map(|owners| {
                        let shown = |owner: &Value| {
                            let block = if owner["blockOwnerDeletion"] == true { "!" } else { "" };
                            format!("{}{block}", owner["uid"].as_str().unwrap())
                        };
                        owners.iter().map(shown).collect::<Vec<_>>().join(",")
                    });
                    match owners {
                        Some(owners) => format!("{}<{owners}", target.uid),
                        None if meta.get("finalizers").is_some() => format!("{} done", target.uid),
                        None => format!("{}<", target.uid),
                    }
                }
                Action::Tell(note) => note.reason.to_owned(),
                other => panic!("{other}"),
            });
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn what_becomes_of_an_object() {
    for (case, nodes, uid, expected) in [
        ("owned by nobody", &[("a", &[][..])][..], "a", ""),
        ("its owner lives", &[("o", &[]), ("a", &["o"])], "a", ""),
        ("nobody has seen its owner", &[("a", &["o"])], "a", "find o"),
        ("its owner leaves but does not wait", &[("o:l", &[]), ("a", &["o"])], "a", ""),
        ("its owner waits for it", &[("o:lw", &[]), ("a", &["o!"])], "a", "-a Background"),
        (
            "an owner waits and a child is below",
            &[("o:lw", &[]), ("a", &["o!"]), ("c", &["a"])],
            "a",
            "-a Foreground",
        ),
        ("one owner of two waits", &[("o:lw", &[]), ("p", &[]), ("a", &["o!", "p"])], "a", "a<p"),
        ("it leaves already", &[("o:lw", &[]), ("a:l", &["o!"])], "a", ""),
        ("the waiting owner is blocked", &[("o:lw", &[]), ("a:l", &["o!"])], "o", ""),
        ("nothing blocks the waiting owner", &[("o:lw", &[]), ("a", &["o"])], "o", "o done"),
        ("a waiting owner alone", &[("o:lw", &[])], "o", "o done"),
        ("dependents are let go", &[("o:lo", &[]), ("a", &["o", "p"]), ("b", &["o"])], "o", "a<p b< o done"),
        ("a circle that waits is cut", &[("o:lw", &["a!"]), ("a", &["o!"])], "a", "a<o -a Foreground"),
    ] {
        assert_eq!(said(&graph(nodes), uid), expected, "{case}");
    }
}

#[test]
fn an_absent_owner_is_proof() {
    let mut graph = graph(&[("a", &["o"]), ("b", &["o", "p"]), ("p", &[])]);
    let Verdict::Find(owners) = verdict(&graph, "a") else { panic!("the owner is unknown") };
    for (owner, namespace) in owners {
        graph.note_absent(&owner, &namespace);
    }
    assert_eq!(said(&graph, "a"), "-a Background");
    assert_eq!(said(&graph, "b"), "b<p");
}

#[test]
fn a_uid_of_something_else_is_no_owner() {
    let mut graph = graph(&[("a", &["o"])]);
    let mut other = node("o", &[]);
    other.key.name = "another".to_owned();
    graph.put(other);
    assert_eq!(said(&graph, "a"), "-a Background", "the uid is another object's");
}

#[test]
fn a_change_wakes_those_whom_it_concerns() {
    let mut graph = graph(&[("o:lw", &[]), ("a", &["o!"]), ("b", &["a"])]);
    let sorted = |mut woken: Vec<String>| {
        woken.sort();
        woken.join(" ")
    };
    assert_eq!(sorted(graph.put(node("a:l", &["o!"]))), "a b o", "its waiting owner and its dependents");
    assert_eq!(sorted(graph.remove("a")), "b o");
    assert_eq!(sorted(graph.put(node("b", &[]))), "b");
    assert!(graph.dependents("a").is_empty());
}

#[test]
fn an_owner_that_lies_elsewhere_is_none_and_said_so() {
    let mut graph = graph(&[("a", &["o"])]);
    let mut elsewhere = node("o", &[]);
    elsewhere.key.namespace = "m".to_owned();
    graph.put(elsewhere.clone());
    assert_eq!(said(&graph, "a"), "OwnerRefInvalidNamespace -a Background");
    let mut clustered = node("c", &["o"]);
    clustered.key.namespace = String::new();
    clustered.namespaced = false;
    graph.put(clustered.clone());
    assert_eq!(said(&graph, "c"), "OwnerRefInvalidNamespace", "which namespace was meant, nobody knows");
    graph.remove("o");
    let Verdict::Find(owners) = verdict(&graph, "c") else { panic!("the owner is unknown") };
    for (owner, namespace) in owners {
        graph.note_misplaced(&owner, &namespace);
    }
    assert_eq!(said(&graph, "c"), "OwnerRefInvalidNamespace", "nor whether it is there");
}

#[test]
fn a_kind_that_goes_takes_its_objects_along_and_stops_nobody() {
    let graph = Arc::new(Mutex::new(graph(&[("a", &[]), ("b", &["a"])])));
    let resource = graph.lock().get("a").unwrap().resource.clone();
    let (told, heard) = std::sync::mpsc::channel();
    let forgotten = graph.clone();
    std::thread::spawn(move || {
        let wake: Wake = Arc::new(|_| {});
        feed::forget_all(&forgotten, &resource, &wake);
        told.send(()).unwrap();
    });
    heard.recv_timeout(std::time::Duration::from_secs(20)).expect("still untrue: all are forgotten");
    assert!(graph.lock().get("a").is_none() && graph.lock().get("b").is_none());
}
