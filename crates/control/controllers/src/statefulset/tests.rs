use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use kedge_children::testing::{Stage, hold, noon, object, status, summary};

fn set(wanted: u32, edit: impl FnOnce(&mut Value)) -> StatefulSet {
    let mut value = json!({
        "metadata": {"name": "web", "namespace": "n", "uid": "set", "resourceVersion": "5", "generation": 1},
        "spec": {
            "replicas": wanted,
            "serviceName": "peers",
            "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "template": template("new"),
        },
        "status": {"replicas": 0, "currentRevision": "web-old"},
    });
    edit(&mut value);
    object(value)
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": if kind == "Pod" { "v1" } else { "apps/v1" },
        "kind": kind, "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true,
    })
}

fn revision(name: &str, number: i64) -> ControllerRevision {
    object(json!({
        "metadata": {
            "name": format!("web-{name}"), "namespace": "n", "uid": name, "resourceVersion": "1",
            "labels": {"app": "web"}, "ownerReferences": [owner("StatefulSet", "web", "set")],
        },
        "revision": number,
        "data": {"spec": {"template": template(name)}},
    }))
}

fn pod_at(ordinal: i32, revision: &str, edit: impl FnOnce(&mut Value)) -> Pod {
    let name = format!("web-{ordinal}");
    kedge_children::testing::pod(&name, "", |pod| {
        pod["metadata"]["ownerReferences"] = json!([owner("StatefulSet", "web", "set")]);
        pod["metadata"]["labels"] = json!({
            "app": "web", "controller-revision-hash": format!("web-{revision}"),
            "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": ordinal.to_string(),
        });
        edit(pod);
    })
}

fn new(ordinal: i32) -> Pod {
    pod_at(ordinal, "new", |_| {})
}

fn old(ordinal: i32) -> Pod {
    pod_at(ordinal, "old", |_| {})
}

fn starting(ordinal: i32) -> Pod {
    pod_at(ordinal, "new", |pod| pod["status"] = json!({"phase": "Pending"}))
}

fn broken(ordinal: i32, revision: &str) -> Pod {
    pod_at(ordinal, revision, |pod| pod["status"]["conditions"][0]["status"] = json!("False"))
}

fn leaving(ordinal: i32) -> Pod {
    pod_at(ordinal, "new", |pod| pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T11:59:00Z"))
}

fn ended(ordinal: i32, phase: &str) -> Pod {
    pod_at(ordinal, "new", |pod| pod["status"] = json!({"phase": phase}))
}

fn world(set: &StatefulSet, pods: Vec<Pod>, claims: Vec<PersistentVolumeClaim>) -> World {
    let world = World::by_hand();
    hold(&world, vec![set.clone()]);
    hold(&world, pods);
    hold(&world, claims);
    hold(&world, vec![revision("old", 1), revision("new", 2)]);
    world
}

fn planned(set: &StatefulSet, pods: Vec<Pod>) -> Plan {
    StatefulSets.plan(set, &world(set, pods, vec![]), noon()).unwrap()
}

/// `+web-0 -web-1 ~data-web-2`
fn steps(plan: &Plan) -> String {
    let words = plan.actions.iter().filter_map(|action| match action {
        Action::Create { object, .. } => Some(format!("+{}", object["metadata"]["name"].as_str().unwrap())),
        Action::Delete { target, .. } => Some(format!("-{}", target.key.name)),
        Action::Change { target, subresource: "", .. } => Some(format!("~{}", target.key.name)),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

fn parallel(value: &mut Value) {
    value["spec"]["podManagementPolicy"] = json!("Parallel");
}

#[test]
fn fills_and_empties_its_places_in_order() {
    for (case, wanted, pods, expected) in [
        ("the first", 3, vec![], "+web-0"),
        ("not before the first works", 3, vec![starting(0)], ""),
        ("nor while it is broken", 3, vec![broken(0, "new")], ""),
        ("the next", 3, vec![new(0)], "+web-1"),
        ("a gap", 3, vec![new(0), new(2)], "+web-1"),
        ("full", 2, vec![new(0), new(1)], ""),
        ("the last goes first", 1, vec![new(0), new(1), new(2)], "-web-2"),
        ("one at a time", 1, vec![new(0), new(1), leaving(2)], ""),
        ("not while a wanted one is missing", 1, vec![new(1), new(2)], "+web-0"),
        ("a broken one that nobody wants is no reason to wait", 1, vec![new(0), broken(1, "new")], "-web-1"),
        ("but a broken one before it is", 0, vec![broken(0, "new"), new(1), broken(2, "new")], ""),
        ("a failed one is made again", 2, vec![new(0), ended(1, "Failed")], "-web-1"),
        ("and so is one that succeeded", 2, vec![ended(0, "Succeeded"), new(1)], "-web-0"),
        ("the place of a leaving one is not free", 2, vec![leaving(0), new(1)], ""),
        ("none", 0, vec![new(0)], "-web-0"),
    ] {
        assert_eq!(steps(&planned(&set(wanted, |_| {}), pods)), expected, "{case}");
    }
}

#[test]
fn fills_and_empties_all_places_at_once_if_it_may() {
    for (case, wanted, pods, expected) in [
        ("all", 3, vec![], "+web-0 +web-1 +web-2"),
        ("whatever is missing", 3, vec![starting(1)], "+web-0 +web-2"),
        ("whatever is too many", 1, vec![starting(0), new(1), broken(2, "new")], "-web-2 -web-1"),
        ("what failed", 2, vec![ended(0, "Failed")], "-web-0 +web-1"),
    ] {
        assert_eq!(steps(&planned(&set(wanted, parallel), pods)), expected, "{case}");
    }
}

#[test]
fn updates_from_the_last_to_the_first() {
    let partition =
        |value: &mut Value| value["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(2);
    let on_delete = |value: &mut Value| value["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    let two =
        |value: &mut Value| value["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(2);
    let start = |value: &mut Value| {
        value["spec"]["ordinals"] = json!({"start": 5});
        partition(value);
    };
    let set = |edit: &dyn Fn(&mut Value)| set(3, edit);
    for (case, set, pods, expected) in [
        ("the last", set(&|_| {}), vec![old(0), old(1), old(2)], "-web-2"),
        ("comes back new", set(&|_| {}), vec![old(0), old(1)], "+web-2"),
        ("has to work", set(&|_| {}), vec![old(0), old(1), starting(2)], ""),
        ("then the one before", set(&|_| {}), vec![old(0), old(1), new(2)], "-web-1"),
        ("done", set(&|_| {}), vec![new(0), new(1), new(2)], ""),
        ("up to the partition", set(&partition), vec![old(0), old(1), new(2)], ""),
        ("the partition counts from the first", set(&start), vec![old(5), old(6), old(7)], "-web-7"),
        ("on demand only", set(&on_delete), vec![old(0), old(1), old(2)], ""),
        ("as many as may be missing", set(&two), vec![old(0), old(1), old(2)], "-web-2 -web-1"),
        (
            "but not more",
            set(&|value| {
                two(value);
                parallel(value);
            }),
            vec![old(0), old(1), starting(2)],
            "-web-1",
        ),
        (
            "an update that broke can be taken back at once where order does not matter",
            set(&parallel),
            vec![old(0), broken(1, "old"), broken(2, "old")],
            "-web-2",
        ),
        ("in order a broken one must go by hand", set(&|_| {}), vec![old(0), old(1), broken(2, "old")], ""),
    ] {
        assert_eq!(steps(&planned(&set, pods)), expected, "{case}");
    }
}

#[test]
fn a_pod_before_the_partition_comes_back_as_it_was() {
    let set = set(2, |value| value["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(1));
    let made = |pods| {
        let plan = planned(&set, pods);
        let made = plan.actions.into_iter().find_map(|action| match action {
            Action::Create { object, .. } => Some(object),
            _ => None,
        });
        made.unwrap()
    };
    assert_eq!(made(vec![])["spec"]["containers"][0]["image"], "old");
    let second = made(vec![old(0)]);
    assert_eq!(second["spec"]["containers"][0]["image"], "new");
    assert_eq!(
        second["metadata"]["labels"],
        json!({
            "app": "web", "controller-revision-hash": "web-new",
            "statefulset.kubernetes.io/pod-name": "web-1", "apps.kubernetes.io/pod-index": "1",
        })
    );
    assert_eq!(
        (&second["spec"]["hostname"], &second["spec"]["subdomain"]),
        (&json!("web-1"), &json!("peers"))
    );
}

#[test]
fn takes_in_only_what_has_one_of_its_names() {
    let orphan = |name: &str| kedge_children::testing::pod(name, "", |_| {});
    let mine = planned(&set(1, |_| {}), vec![orphan("web-0"), orphan("db-0"), orphan("web-x")]);
    assert_eq!(
        steps(&mine),
        "~web-0 ~web-0 -web-0",
        "it gets an owner and labels, and is none of this template"
    );
    let others = pod_at(0, "new", |pod| pod["metadata"]["ownerReferences"][0]["uid"] = json!("other"));
    let plan = planned(&set(1, |_| {}), vec![others]);
    assert_eq!(steps(&plan), "");
    let said = plan.actions.last().unwrap().to_string();
    assert_eq!(
        said,
        "Warning FailedCreate: Create Pod web-0 in StatefulSet web failed error: pods \"web-0\" already exists"
    );
    let strange = pod_at(0, "new", |pod| pod["metadata"]["labels"]["app"] = json!("other"));
    assert_eq!(steps(&planned(&set(1, |_| {}), vec![strange])), "~web-0", "one with other labels is let go");
}

fn with_claims(deleted: &str, scaled: &str) -> impl Fn(&mut Value) {
    let policy = json!({"whenDeleted": deleted, "whenScaled": scaled});
    move |value: &mut Value| {
        value["spec"]["persistentVolumeClaimRetentionPolicy"] = policy.clone();
        value["spec"]["volumeClaimTemplates"] =
            json!([{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]);
    }
}

fn claim(ordinal: i32, owners: Value, edit: impl FnOnce(&mut Value)) -> PersistentVolumeClaim {
    let mut value = json!({"metadata": {
        "name": format!("data-web-{ordinal}"), "namespace": "n", "uid": "claim", "resourceVersion": "1",
        "ownerReferences": owners,
    }});
    edit(&mut value);
    object(value)
}

#[test]
fn a_claim_comes_before_its_pod() {
    let set = set(1, with_claims("Delete", "Retain"));
    let plan = planned(&set, vec![]);
    assert_eq!(steps(&plan), "+data-web-0 +web-0");
    let positions = |word: &str| plan.actions.iter().position(|action| action.to_string().contains(word));
    assert!(
        positions("Create Claim data-web-0 Pod web-0 in StatefulSet web success") < positions("create Pod")
    );
    let Some(Action::Create { object, .. }) = plan.actions.iter().find(|action| action.is_creation()) else {
        panic!("{plan:?}")
    };
    assert_eq!(object["metadata"]["ownerReferences"], json!([owner("StatefulSet", "web", "set")]));
    assert_eq!(object["metadata"]["labels"], json!({"app": "web"}));
    let there = |claim| StatefulSets.plan(&set, &world(&set, vec![], vec![claim]), noon()).unwrap();
    assert_eq!(steps(&there(claim(0, json!([]), |_| {}))), "+web-0", "an old volume is used again");
    let going = claim(0, json!([]), |claim| {
        claim["metadata"]["deletionTimestamp"] = json!("2030-01-01T11:59:00Z");
    });
    let plan = there(going);
    assert_eq!(steps(&plan), "");
    assert!(
        plan.actions.last().unwrap().to_string().ends_with("pvc data-web-0 is being deleted"),
        "{plan:?}"
    );
}

#[test]
fn volumes_go_with_whom_the_policy_says() {
    let web = || owner("StatefulSet", "web", "set");
    let pod = |ordinal: i32| owner("Pod", &format!("web-{ordinal}"), &format!("web-{ordinal}"));
    let other = || owner("Backup", "b", "b");
    for (case, policy, ordinal, has, expected) in [
        ("nobody", ("Retain", "Retain"), 0, json!([]), None),
        ("the set no more", ("Retain", "Retain"), 0, json!([web()]), Some(Value::Null)),
        ("the set", ("Delete", "Retain"), 0, json!([]), Some(json!([web()]))),
        ("the set still", ("Delete", "Retain"), 1, json!([web()]), None),
        ("nobody yet", ("Retain", "Delete"), 0, json!([]), None),
        ("the pod", ("Retain", "Delete"), 1, json!([]), Some(json!([pod(1)]))),
        ("the pod instead of the set", ("Delete", "Delete"), 1, json!([web()]), Some(json!([pod(1)]))),
        ("the pod still", ("Delete", "Delete"), 1, json!([pod(1)]), None),
        ("a pod that is wanted again", ("Delete", "Delete"), 0, json!([pod(0)]), Some(json!([web()]))),
        ("another's", ("Delete", "Delete"), 0, json!([other()]), None),
        ("another's and ours", ("Delete", "Delete"), 0, json!([other(), web()]), Some(json!([other()]))),
        ("a former set's", ("Delete", "Delete"), 0, json!([owner("StatefulSet", "web", "former")]), None),
    ] {
        let set = set(1, with_claims(policy.0, policy.1));
        let pods = vec![new(0), new(1)];
        let plan =
            StatefulSets.plan(&set, &world(&set, pods, vec![claim(ordinal, has, |_| {})]), noon()).unwrap();
        let changed = plan.actions.iter().find_map(|action| match action {
            Action::Change { target, patch, .. } if target.uid == "claim" => {
                Some(patch["metadata"]["ownerReferences"].clone())
            }
            _ => None,
        });
        assert_eq!(changed, expected, "{case}");
        assert!(steps(&plan).ends_with("-web-1"), "{case}");
    }
}

#[test]
fn a_volume_that_follows_a_former_pod_is_waited_for() {
    let set = set(1, with_claims("Retain", "Delete"));
    let stale = claim(0, json!([owner("Pod", "web-0", "former")]), |_| {});
    assert_eq!(steps(&StatefulSets.plan(&set, &world(&set, vec![], vec![stale]), noon()).unwrap()), "");
}

#[test]
fn says_how_its_pods_are() {
    let set = set(3, |value| value["spec"]["minReadySeconds"] = json!(10));
    let young = pod_at(1, "new", |pod| {
        pod["status"]["conditions"][0]["lastTransitionTime"] = json!("2030-01-01T11:59:55Z");
    });
    let plan = planned(&set, vec![old(0), young]);
    assert_eq!(
        status(&plan),
        json!({
            "replicas": 2, "readyReplicas": 2, "availableReplicas": 1, "currentReplicas": 1, "updatedReplicas": 1,
            "updateRevision": "web-new", "collisionCount": 0, "observedGeneration": 1,
        })
    );
    assert_eq!(plan.look_again, Some("2030-01-01T12:00:05Z".parse().unwrap()));
    let plan = planned(&set, vec![new(0), new(1), new(2)]);
    assert_eq!(status(&plan)["currentRevision"], "web-new", "the update is complete");
}

#[test]
fn a_leaving_set_only_says_how_it_is() {
    let set = set(3, |value| value["metadata"]["deletionTimestamp"] = json!("2030-01-01T11:59:00Z"));
    let plan = planned(&set, vec![new(0)]);
    assert_eq!((steps(&plan), &status(&plan)["replicas"]), (String::new(), &json!(1)));
}

#[test]
fn a_refusal_is_said() {
    let set = set(1, with_claims("Retain", "Retain"));
    let refusals: Vec<Refusal> = planned(&set, vec![])
        .actions
        .into_iter()
        .filter(Action::is_creation)
        .map(|action| Refusal { action, code: 403, reason: "Forbidden".into(), message: "no".into() })
        .collect();
    let said: Vec<String> =
        StatefulSets.refused(&set, &refusals, noon()).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "Warning FailedCreate: Create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: no",
            "Warning FailedCreate: Create Pod web-0 in StatefulSet web failed error: no",
        ]
    );
}

fn stage(writes: usize) -> Stage {
    Stage::breaking_off_after(writes)
        .with::<StatefulSet>()
        .with::<Pod>()
        .with::<PersistentVolumeClaim>()
        .with::<ControllerRevision>()
}

fn images(stage: &Stage) -> Vec<String> {
    let image = |pod: Pod| pod.spec.unwrap().containers[0].image.clone().unwrap();
    stage.all::<Pod>().into_iter().map(image).collect()
}

/// Places pods on a node, so that their deletion takes a while.
fn run(stage: &mut Stage) {
    for pod in stage.all::<Pod>().into_iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.is_none()) {
        stage.edit::<Pod>(&pod.name_any(), |pod| pod["spec"]["nodeName"] = json!("n1"));
    }
    stage.nodes_act(|pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() != Some("broken"));
}

#[test]
fn comes_to_rest_whatever_happens_between_two_writes() {
    for (writes, policy) in [1, 2, usize::MAX].into_iter().zip(["OrderedReady", "Parallel", "OrderedReady"]) {
        let mut stage = stage(writes);
        stage.put(&set(3, |value| {
            with_claims("Delete", "Delete")(value);
            value["spec"]["podManagementPolicy"] = json!(policy);
            value["spec"]["revisionHistoryLimit"] = json!(1);
            value["spec"]["minReadySeconds"] = json!(5);
            value.as_object_mut().unwrap().remove("status");
        }));
        stage.settle(&StatefulSets, "web", run);
        assert_eq!(images(&stage), ["new"; 3]);
        assert_eq!(stage.all::<PersistentVolumeClaim>().len(), 3);
        let before: BTreeSet<_> = stage.all::<Pod>().iter().map(|pod| pod.uid()).collect();
        for image in ["v2", "v3", "new"] {
            stage.edit::<StatefulSet>("web", |set| set["spec"]["template"] = template(image));
            stage.settle(&StatefulSets, "web", run);
            assert_eq!(images(&stage), [image; 3], "{writes} writes at a time");
        }
        assert!(stage.all::<Pod>().iter().all(|pod| !before.contains(&pod.uid())), "every pod is another");
        let status = stage.get::<StatefulSet>("web").unwrap().status.unwrap();
        assert_eq!(status.current_revision, status.update_revision);
        assert_eq!(
            (status.replicas, status.updated_replicas, status.available_replicas, status.observed_generation),
            (3, Some(3), Some(3), Some(4))
        );
        let revisions: Vec<i64> = stage.all::<ControllerRevision>().iter().map(|one| one.revision).collect();
        assert_eq!(revisions.iter().max(), Some(&4), "an old template is the newest again");
        assert_eq!(revisions.len(), 2, "one old template is remembered: {revisions:?}");
        stage.edit::<StatefulSet>("web", |set| set["spec"]["replicas"] = json!(1));
        stage.settle(&StatefulSets, "web", run);
        let owned = stage.all::<PersistentVolumeClaim>();
        let owners: Vec<&str> =
            owned.iter().map(|claim| &*claim.metadata.owner_references.as_ref().unwrap()[0].kind).collect();
        assert_eq!(owners, ["StatefulSet", "Pod", "Pod"], "{writes} writes at a time");
    }
}

#[test]
fn a_broken_update_can_be_taken_back() {
    let mut stage = stage(usize::MAX);
    stage.put(&set(3, |value| drop(value.as_object_mut().unwrap().remove("status"))));
    stage.settle(&StatefulSets, "web", run);
    stage.edit::<StatefulSet>("web", |set| set["spec"]["template"] = template("broken"));
    stage.settle(&StatefulSets, "web", run);
    assert_eq!(images(&stage), ["new", "new", "broken"], "no more than one is lost");
    stage.edit::<StatefulSet>("web", |set| set["spec"]["template"] = template("new"));
    stage.settle(&StatefulSets, "web", run);
    assert_eq!(images(&stage), ["new", "new", "broken"]);
    stage.remove::<Pod>("web-2");
    stage.settle(&StatefulSets, "web", run);
    assert_eq!(images(&stage), ["new"; 3]);
    assert!(summary(&planned_now(&stage)).is_empty());
}

fn planned_now(stage: &Stage) -> Plan {
    StatefulSets.plan(&stage.get::<StatefulSet>("web").unwrap(), &stage.world, stage.now).unwrap()
}

#[test]
fn a_quota_is_named_and_outlived() {
    let mut stage = stage(usize::MAX);
    stage.quota = 2;
    stage.put(&set(3, |value| drop(value.as_object_mut().unwrap().remove("status"))));
    stage.settle(&StatefulSets, "web", run);
    let status = stage.get::<StatefulSet>("web").unwrap().status.unwrap();
    assert_eq!(
        (status.ready_replicas, status.observed_generation),
        (Some(2), Some(1)),
        "what is there is said"
    );
    let said = "FailedCreate: Create Pod web-2 in StatefulSet web failed error: exceeded quota".to_owned();
    assert!(stage.said.contains(&said), "{:?}", stage.said);
    stage.quota = usize::MAX;
    stage.settle(&StatefulSets, "web", run);
    assert_eq!(images(&stage), ["new"; 3]);
}
