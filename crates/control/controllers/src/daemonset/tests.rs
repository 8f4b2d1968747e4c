use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use kedge_children::testing::{Stage, hold, noon, object, status};

fn set(edit: impl FnOnce(&mut Value)) -> DaemonSet {
    let mut value = json!({
        "metadata": {"name": "web", "namespace": "n", "uid": "set", "resourceVersion": "5", "generation": 1},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
            "template": template("new"),
        },
    });
    edit(&mut value);
    object(value)
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn owner() -> Value {
    json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web", "uid": "set", "controller": true}])
}

fn revision(name: &str, number: i64) -> ControllerRevision {
    object(json!({
        "metadata": {
            "name": format!("web-{name}"), "namespace": "n", "uid": name, "resourceVersion": "1",
            "labels": {"app": "web", "controller-revision-hash": name}, "ownerReferences": owner(),
        },
        "revision": number,
        "data": {"spec": {"template": template(name)}},
    }))
}

fn node(name: &str) -> Node {
    edited_node(name, |_| {})
}

fn edited_node(name: &str, edit: impl FnOnce(&mut Value)) -> Node {
    let mut value = json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"}});
    edit(&mut value);
    object(value)
}

fn tainted(name: &str, key: &str, effect: &str) -> Node {
    edited_node(name, |node| node["spec"]["taints"] = json!([{"key": key, "effect": effect}]))
}

/// A pod on a node, named for its template and its node: `new@n1`.
fn pod_on(name: &str, edit: impl FnOnce(&mut Value)) -> Pod {
    let (revision, node) = name.split_once('@').unwrap();
    kedge_children::testing::pod(name, "", |pod| {
        pod["metadata"]["ownerReferences"] = owner();
        pod["metadata"]["labels"] =
            json!({"app": "web", "controller-revision-hash": revision.trim_end_matches('\'')});
        pod["spec"]["nodeName"] = json!(node);
        edit(pod);
    })
}

fn ready(name: &str) -> Pod {
    pod_on(name, |_| {})
}

fn starting(name: &str) -> Pod {
    pod_on(name, |pod| pod["status"] = json!({"phase": "Pending"}))
}

fn leaving(name: &str) -> Pod {
    pod_on(name, |pod| pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T11:59:00Z"))
}

fn ended(name: &str, phase: &str, before: u32) -> Pod {
    pod_on(name, |pod| {
        pod["status"] = json!({"phase": phase});
        pod["metadata"]["annotations"] = json!({"kedge.dev/ended-before": before.to_string()});
        pod["metadata"]["creationTimestamp"] = json!("2030-01-01T11:59:58Z");
    })
}

fn younger(name: &str) -> Pod {
    pod_on(name, |pod| pod["metadata"]["creationTimestamp"] = json!("2030-01-01T11:30:00Z"))
}

/// Made for a node and not placed yet.
fn waiting(name: &str) -> Pod {
    pod_on(name, |pod| {
        let node = pod["spec"]["nodeName"].take();
        pod["spec"].as_object_mut().unwrap().remove("nodeName");
        pod["status"] = json!({"phase": "Pending"});
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!({
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]},
            ],
        });
    })
}

fn planned(set: &DaemonSet, nodes: Vec<Node>, pods: Vec<Pod>) -> Plan {
    let world = World::by_hand();
    hold(&world, vec![set.clone()]);
    hold(&world, pods);
    hold(&world, nodes);
    hold(&world, vec![revision("old", 1), revision("new", 2)]);
    DaemonSets.plan(set, &world, noon()).unwrap()
}

/// `+n1 -old@n2`: nodes that get a pod and pods that go.
fn steps(plan: &Plan) -> String {
    let words = plan.actions.iter().filter_map(|action| match action {
        Action::Create { resource, object, .. } if resource.kind == "Pod" => {
            let affinity = &object["spec"]["affinity"]["nodeAffinity"];
            let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
            let field = &required["nodeSelectorTerms"][0]["matchFields"][0];
            Some(format!("+{}", field["values"][0].as_str().unwrap()))
        }
        Action::Delete { target, .. } => Some(format!("-{}", target.key.name)),
        Action::Change { target, subresource: "", .. } => Some(format!("~{}", target.key.name)),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

fn three() -> Vec<Node> {
    vec![node("n1"), node("n2"), node("n3")]
}

#[test]
fn keeps_one_pod_on_every_node_that_is_meant() {
    let with_label =
        |set: &mut Value| set["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    let labelled = edited_node("n1", |node| node["metadata"]["labels"] = json!({"disk": "ssd"}));
    let plain = set(|_| {});
    let picky = set(with_label);
    let named = set(|set| set["spec"]["template"]["spec"]["nodeName"] = json!("n2"));
    for (case, set, nodes, pods, expected) in [
        ("all of them", &plain, three(), vec![], "+n1 +n2 +n3"),
        ("the missing one", &plain, three(), vec![ready("new@n1"), starting("new@n3")], "+n2"),
        ("one on its way counts", &plain, vec![node("n1")], vec![waiting("new@n1")], ""),
        ("a leaving one is waited for", &plain, vec![node("n1")], vec![leaving("new@n1")], ""),
        ("the oldest stays", &plain, vec![node("n1")], vec![younger("new@n1"), ready("new'@n1")], "-new@n1"),
        (
            "a placed one stays",
            &plain,
            vec![node("n1")],
            vec![younger("new@n1"), waiting("new'@n1")],
            "-new'@n1",
        ),
        ("by label", &picky, vec![labelled, node("n2")], vec![ready("new@n2")], "-new@n2 +n1"),
        ("by name", &named, three(), vec![], "+n2"),
        ("not on tainted ones", &plain, vec![tainted("n1", "x", "NoSchedule")], vec![], ""),
        ("but it may stay there", &plain, vec![tainted("n1", "x", "NoSchedule")], vec![ready("new@n1")], ""),
        (
            "unless it must not",
            &plain,
            vec![tainted("n1", "x", "NoExecute")],
            vec![ready("new@n1")],
            "-new@n1",
        ),
        (
            "on cordoned ones",
            &plain,
            vec![tainted("n1", "node.kubernetes.io/unschedulable", "NoSchedule")],
            vec![],
            "+n1",
        ),
        (
            "on silent ones",
            &plain,
            vec![tainted("n1", "node.kubernetes.io/unreachable", "NoExecute")],
            vec![],
            "+n1",
        ),
        ("a node that is gone has no use for one", &plain, vec![], vec![waiting("new@n1")], "-new@n1"),
        ("a placed one is others' business then", &plain, vec![], vec![ready("new@n1")], ""),
        (
            "a failed one is replaced",
            &plain,
            vec![node("n1")],
            vec![ended("new@n1", "Failed", 0)],
            "-new@n1 +n1",
        ),
        (
            "a succeeded one, too",
            &plain,
            vec![node("n1")],
            vec![ended("new@n1", "Succeeded", 0)],
            "-new@n1 +n1",
        ),
        ("not at once again", &plain, vec![node("n1")], vec![ended("new@n1", "Failed", 3)], ""),
        (
            "where another runs it only goes",
            &plain,
            vec![node("n1")],
            vec![ended("new@n1", "Failed", 0), ready("new'@n1")],
            "-new@n1",
        ),
        (
            "an old template's failures are forgotten",
            &plain,
            vec![node("n1")],
            vec![ended("old@n1", "Failed", 9)],
            "-old@n1 +n1",
        ),
    ] {
        assert_eq!(steps(&planned(set, nodes, pods)), expected, "{case}");
    }
}

#[test]
fn pods_that_end_again_and_again_are_replaced_ever_later() {
    let again = |before| planned(&set(|_| {}), vec![node("n1")], vec![ended("new@n1", "Failed", before)]);
    let plan = again(3);
    assert_eq!(plan.look_again, Some("2030-01-01T12:00:02Z".parse().unwrap()));
    assert_eq!(again(30).look_again, Some("2030-01-01T12:14:58Z".parse().unwrap()));
    let plan = again(1);
    let said: Vec<String> = plan.actions.iter().map(ToString::to_string).collect();
    assert!(
        said.contains(
            &"Warning FailedDaemonPod: Found failed daemon pod n/new@n1 on node n1, will try to kill it"
                .to_owned()
        ),
        "{said:?}"
    );
    let made = plan.actions.iter().find_map(|action| match action {
        Action::Create { object, .. } => Some(object),
        _ => None,
    });
    assert_eq!(made.unwrap()["metadata"]["annotations"]["kedge.dev/ended-before"], "2");
}

#[test]
fn a_pod_is_made_for_its_node_and_bears_what_befalls_it() {
    let set = set(|set| {
        set["metadata"]["annotations"] = json!({"deprecated.daemonset.template.generation": "7"});
        set["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
        set["spec"]["template"]["spec"]["tolerations"] = json!([
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            {"key": "mine", "operator": "Exists"},
        ]);
    });
    let plan = planned(&set, vec![node("n1")], vec![]);
    let pod = plan.actions.iter().find_map(|action| match action {
        Action::Create { object, resource, .. } if resource.kind == "Pod" => Some(object),
        _ => None,
    });
    let pod = pod.unwrap();
    assert_eq!(pod["metadata"]["labels"]["pod-template-generation"], "7");
    assert_eq!(pod["metadata"]["generateName"], "web-");
    assert_eq!(
        pod["spec"]["tolerations"],
        json!([
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
            {"key": "mine", "operator": "Exists"},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
            {"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/pid-pressure", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"},
        ])
    );
    assert!(pod["spec"]["nodeName"].is_null(), "the scheduler places it");
}

#[test]
fn rolls_within_what_the_strategy_allows() {
    let missing = |count: Value| {
        set(|set| {
            set["spec"]["updateStrategy"]["rollingUpdate"] = json!({"maxUnavailable": count, "maxSurge": 0})
        })
    };
    let surge = |count: Value| {
        set(|set| {
            set["spec"]["updateStrategy"]["rollingUpdate"] = json!({"maxUnavailable": 0, "maxSurge": count})
        })
    };
    let on_delete = set(|set| set["spec"]["updateStrategy"] = json!({"type": "OnDelete"}));
    let old = || vec![ready("old@n1"), ready("old@n2"), ready("old@n3")];
    for (case, set, pods, expected) in [
        ("one", missing(json!(1)), old(), "-old@n1"),
        ("a share, rounded up", missing(json!("34%")), old(), "-old@n1 -old@n2"),
        (
            "not while one is missing",
            missing(json!(1)),
            vec![leaving("old@n1"), ready("old@n2"), ready("old@n3")],
            "",
        ),
        (
            "nor before the new one works",
            missing(json!(1)),
            vec![starting("new@n1"), ready("old@n2"), ready("old@n3")],
            "",
        ),
        (
            "then the next",
            missing(json!(1)),
            vec![ready("new@n1"), ready("old@n2"), ready("old@n3")],
            "-old@n2",
        ),
        (
            "one that does not work goes at once",
            missing(json!(1)),
            vec![ready("old@n1"), starting("old@n2"), starting("old@n3")],
            "-old@n2 -old@n3",
        ),
        ("on demand only", on_delete, old(), ""),
        ("a new one beside the old", surge(json!(1)), old(), "+n1"),
        (
            "one at a time",
            surge(json!(1)),
            vec![ready("old@n1"), starting("new@n1"), ready("old@n2"), ready("old@n3")],
            "",
        ),
        (
            "the old one goes when the new one works",
            surge(json!(1)),
            vec![ready("old@n1"), ready("new@n1"), ready("old@n2"), ready("old@n3")],
            "-old@n1",
        ),
        (
            "and when it does not work itself",
            surge(json!(1)),
            vec![starting("old@n1"), starting("new@n1"), ready("old@n2"), ready("old@n3")],
            "-old@n1",
        ),
        (
            "where the old one does not work, at once",
            surge(json!(1)),
            vec![starting("old@n1"), starting("old@n2"), ready("old@n3")],
            "+n1 +n2 +n3",
        ),
    ] {
        assert_eq!(steps(&planned(&set, three(), pods)), expected, "{case}");
    }
}

#[test]
fn a_pod_of_the_same_template_by_another_name_is_no_old_one() {
    let set =
        set(|set| set["metadata"]["annotations"] = json!({"deprecated.daemonset.template.generation": "7"}));
    let pod = pod_on("lost@n1", |pod| pod["metadata"]["labels"]["pod-template-generation"] = json!("7"));
    assert_eq!(steps(&planned(&set, vec![node("n1")], vec![pod])), "");
    assert_eq!(steps(&planned(&set, vec![node("n1")], vec![ready("lost@n1")])), "-lost@n1");
}

#[test]
fn says_how_its_nodes_are() {
    let set = set(|set| set["spec"]["minReadySeconds"] = json!(10));
    let young = pod_on("new@n2", |pod| {
        pod["status"]["conditions"][0]["lastTransitionTime"] = json!("2030-01-01T11:59:55Z");
    });
    let nodes = vec![node("n1"), node("n2"), node("n3"), tainted("n4", "x", "NoSchedule")];
    let plan = planned(&set, nodes, vec![ready("old@n1"), young, ready("new@n4")]);
    assert_eq!(
        status(&plan),
        json!({
            "desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 2, "numberAvailable": 1,
            "numberUnavailable": 2, "numberMisscheduled": 1, "updatedNumberScheduled": 1, "observedGeneration": 1,
        })
    );
    assert_eq!(plan.look_again, Some("2030-01-01T12:00:05Z".parse().unwrap()));
}

#[test]
fn a_leaving_set_changes_nothing() {
    let set = set(|set| set["metadata"]["deletionTimestamp"] = json!("2030-01-01T11:59:00Z"));
    assert_eq!(planned(&set, three(), vec![]), Plan::default());
}

#[test]
fn takes_in_what_belongs_to_nobody() {
    let orphan = pod_on("new@n1", |pod| pod["metadata"]["ownerReferences"] = json!([]));
    assert_eq!(steps(&planned(&set(|_| {}), vec![node("n1")], vec![orphan])), "~new@n1");
    let other = pod_on("new@n1", |pod| pod["metadata"]["ownerReferences"][0]["uid"] = json!("other"));
    assert_eq!(steps(&planned(&set(|_| {}), vec![node("n1")], vec![other])), "+n1");
}

fn stage(writes: usize) -> Stage {
    let mut stage = Stage::breaking_off_after(writes)
        .with::<DaemonSet>()
        .with::<Pod>()
        .with::<Node>()
        .with::<ControllerRevision>();
    three().iter().for_each(|node| stage.put(node));
    stage
}

/// What the scheduler and the nodes do.
fn run(stage: &mut Stage) {
    let nodes: BTreeSet<String> = stage.all::<Node>().iter().map(|node| node.name_any()).collect();
    for pod in stage.all::<Pod>().into_iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.is_none()) {
        stage.edit::<Pod>(&pod.name_any(), |pod| {
            let affinity = &pod["spec"]["affinity"]["nodeAffinity"];
            let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
            let node =
                required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0].as_str().unwrap().to_owned();
            if nodes.contains(&node) {
                pod["spec"]["nodeName"] = json!(node);
            }
        });
    }
    stage.nodes_act(|pod| pod.spec.as_ref().unwrap().node_name.is_some());
}

fn found(stage: &Stage) -> Vec<(String, String)> {
    let mut found: Vec<_> = stage
        .all::<Pod>()
        .into_iter()
        .map(|pod| pod.spec.unwrap())
        .map(|spec| (spec.node_name.unwrap(), spec.containers[0].image.clone().unwrap()))
        .collect();
    found.sort();
    found
}

fn everywhere(nodes: &[&str], image: &str) -> Vec<(String, String)> {
    nodes.iter().map(|node| ((*node).to_owned(), image.to_owned())).collect()
}

#[test]
fn comes_to_rest_whatever_happens_between_two_writes() {
    for (writes, limits) in [
        (usize::MAX, json!({"maxUnavailable": 1, "maxSurge": 0})),
        (1, json!({"maxUnavailable": 2, "maxSurge": 0})),
        (1, json!({"maxUnavailable": 0, "maxSurge": 1})),
        (2, json!({"maxUnavailable": 0, "maxSurge": "50%"})),
    ] {
        let mut stage = stage(writes);
        stage.put(&set(|set| {
            set["spec"]["updateStrategy"]["rollingUpdate"] = limits.clone();
            set["spec"]["minReadySeconds"] = json!(3);
            set["spec"]["revisionHistoryLimit"] = json!(1);
        }));
        stage.settle(&DaemonSets, "web", run);
        assert_eq!(found(&stage), everywhere(&["n1", "n2", "n3"], "new"), "{limits}");
        for image in ["v2", "v3", "new"] {
            stage.edit::<DaemonSet>("web", |set| set["spec"]["template"] = template(image));
            stage.settle(&DaemonSets, "web", run);
            assert_eq!(found(&stage), everywhere(&["n1", "n2", "n3"], image), "{limits}");
        }
        let revisions: Vec<i64> = stage.all::<ControllerRevision>().iter().map(|one| one.revision).collect();
        assert_eq!((revisions.len(), revisions.iter().max()), (2, Some(&4)), "{revisions:?}");
        stage.put(&node("n4"));
        stage
            .edit::<Node>("n1", |node| node["spec"]["taints"] = json!([{"key": "x", "effect": "NoExecute"}]));
        stage.settle(&DaemonSets, "web", run);
        assert_eq!(found(&stage), everywhere(&["n2", "n3", "n4"], "new"), "{limits}");
        let status = stage.get::<DaemonSet>("web").unwrap().status.unwrap();
        assert_eq!(
            (status.desired_number_scheduled, status.number_available, status.updated_number_scheduled),
            (3, Some(3), Some(3))
        );
        assert_eq!((status.number_misscheduled, status.observed_generation), (0, Some(4)));
    }
}

#[test]
fn a_replacement_never_has_the_name_of_what_it_replaces() {
    let mut stage = stage(usize::MAX);
    stage.put(&set(|_| {}));
    let mut names = BTreeSet::new();
    for _ in 0..5 {
        stage.settle(&DaemonSets, "web", run);
        for pod in stage.all::<Pod>() {
            assert!(names.insert(pod.name_any()), "{} came back", pod.name_any());
            stage.edit::<Pod>(&pod.name_any(), |pod| pod["status"] = json!({"phase": "Failed"}));
        }
    }
}

#[test]
fn a_quota_is_named_and_outlived() {
    let mut stage = stage(usize::MAX);
    stage.quota = 2;
    stage.put(&set(|_| {}));
    stage.settle(&DaemonSets, "web", run);
    let status = stage.get::<DaemonSet>("web").unwrap().status.unwrap();
    assert_eq!(
        (status.desired_number_scheduled, status.number_ready, status.number_unavailable),
        (3, 2, Some(1))
    );
    assert!(
        stage.said.contains(&"FailedCreate: Error creating: exceeded quota".to_owned()),
        "{:?}",
        stage.said
    );
    stage.quota = usize::MAX;
    stage.settle(&DaemonSets, "web", run);
    assert_eq!(found(&stage), everywhere(&["n1", "n2", "n3"], "new"));
}
