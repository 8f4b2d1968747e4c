use serde_json::{Value, json};

use super::*;
use crate::ReplicaSets;
use kedge_children::testing::{Stage, hold, noon, object, status};

/// A Deployment of template `t`, seen once.
fn deployment(edit: impl FnOnce(&mut Value)) -> Deployment {
    let mut value = json!({
        "metadata": {
            "name": "web", "namespace": "n", "uid": "dep", "resourceVersion": "9", "generation": 2,
            "annotations": {"deployment.kubernetes.io/revision": "2"},
        },
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
            "revisionHistoryLimit": 1,
            "progressDeadlineSeconds": 600,
            "template": template("t"),
        },
    });
    edit(&mut value);
    object(value)
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

/// A set of a template with so many pods, of which so many are available.
fn set(image: &str, revision: u32, pods: i32, available: i32) -> ReplicaSet {
    sized(image, revision, pods, available, (4, 5))
}

fn sized(image: &str, revision: u32, pods: i32, available: i32, (desired, max): (i32, i32)) -> ReplicaSet {
    object(json!({
        "metadata": {
            "name": format!("web-{image}"), "namespace": "n", "uid": image, "resourceVersion": "3", "generation": 1,
            "creationTimestamp": format!("2030-01-01T11:{revision:02}:00Z"),
            "labels": {"app": "web", "pod-template-hash": image},
            "annotations": {
                "deployment.kubernetes.io/revision": revision.to_string(),
                "deployment.kubernetes.io/desired-replicas": desired.to_string(),
                "deployment.kubernetes.io/max-replicas": max.to_string(),
            },
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "dep", "controller": true},
            ],
        },
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": {"app": "web", "pod-template-hash": image}},
            "template": {
                "metadata": {"labels": {"app": "web", "pod-template-hash": image}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
        },
        "status": {
            "replicas": pods, "readyReplicas": available, "availableReplicas": available, "observedGeneration": 1,
        },
    }))
}

fn planned(deployment: &Deployment, sets: Vec<ReplicaSet>) -> Plan {
    let world = World::by_hand();
    hold(&world, sets);
    hold(&world, Vec::<Pod>::new());
    Deployments.plan(deployment, &world, noon()).unwrap()
}

/// `new+5 t=3 -old`: sets that are made, get another size, or go.
fn summary(plan: &Plan) -> String {
    let words = plan.actions.iter().filter_map(|action| match action {
        Action::Create { object, .. } => Some(format!("new+{}", object["spec"]["replicas"])),
        Action::Delete { target, .. } => Some(format!("-{}", target.uid)),
        Action::Change { target, subresource: "", patch } if !patch["spec"]["replicas"].is_null() => {
            Some(format!("{}={}", target.uid, patch["spec"]["replicas"]))
        }
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn rolls_within_what_the_strategy_allows() {
    for (case, sets, expected) in [
        ("the first set", vec![], "new+4"),
        ("a new template gets what room there is", vec![set("old", 1, 4, 4)], "new+1"),
        ("the old one makes room", vec![set("old", 1, 4, 4), set("t", 2, 1, 0)], "old=3"),
        ("not below the minimum", vec![set("old", 1, 3, 3), set("t", 2, 1, 0)], "t=2"),
        ("nothing moves until something is available", vec![set("old", 1, 3, 3), set("t", 2, 2, 0)], ""),
        ("one came", vec![set("old", 1, 3, 3), set("t", 2, 2, 1)], "old=2"),
        ("two at a time", vec![set("old", 1, 3, 3), set("t", 2, 2, 2)], "old=1"),
        ("the useless old ones go first", vec![set("old", 1, 4, 1), set("t", 2, 1, 0)], "old=3"),
        ("the last", vec![set("old", 1, 1, 1), set("t", 2, 4, 3)], "old=0"),
        ("done", vec![set("old", 1, 0, 0), set("t", 2, 4, 4)], ""),
        ("too many new ones", vec![set("t", 2, 6, 6)], "t=4"),
        (
            "history",
            vec![set("a", 1, 0, 0), set("b", 2, 0, 0), set("c", 3, 0, 0), set("t", 4, 4, 4)],
            "-a -b",
        ),
        ("no history goes while rolling", vec![set("a", 1, 0, 0), set("b", 2, 0, 0), set("t", 4, 4, 2)], ""),
    ] {
        assert_eq!(summary(&planned(&deployment(|_| {}), sets)), expected, "{case}");
    }
}

#[test]
fn a_new_number_of_pods_is_shared() {
    let ten = deployment(|value| value["spec"]["replicas"] = json!(10));
    for (case, deployment, sets, expected) in [
        ("the only set takes it all", ten.clone(), vec![set("t", 2, 4, 4)], "t=10"),
        (
            "each by its size",
            ten.clone(),
            vec![sized("old", 1, 3, 3, (4, 5)), sized("t", 2, 2, 2, (4, 5))],
            "old=7 t=4",
        ),
        (
            "fewer",
            deployment(|value| value["spec"]["replicas"] = json!(2)),
            vec![sized("old", 1, 3, 3, (4, 5)), sized("t", 2, 2, 2, (4, 5))],
            "old=2 t=1",
        ),
        ("none", deployment(|value| value["spec"]["replicas"] = json!(0)), vec![set("t", 2, 4, 4)], "t=0"),
    ] {
        assert_eq!(summary(&planned(&deployment, sets)), expected, "{case}");
    }
}

#[test]
fn a_paused_one_is_scaled_and_not_rolled() {
    let paused = |wanted: i32| {
        deployment(|value| {
            value["spec"]["paused"] = json!(true);
            value["spec"]["replicas"] = json!(wanted);
        })
    };
    let plan = planned(&paused(4), vec![set("old", 1, 4, 4)]);
    assert_eq!(summary(&plan), "");
    assert_eq!(status(&plan)["conditions"][1]["reason"], "DeploymentPaused");
    assert_eq!(summary(&planned(&paused(6), vec![set("old", 1, 4, 4)])), "old=6");
}

#[test]
fn recreate_waits_for_the_last_old_pod() {
    let recreate = deployment(|value| value["spec"]["strategy"] = json!({"type": "Recreate"}));
    assert_eq!(summary(&planned(&recreate, vec![set("old", 1, 4, 4)])), "old=0");
    let world = World::by_hand();
    hold(&world, vec![set("old", 1, 0, 0)]);
    let leaving = kedge_children::testing::pod("p", "old", |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T11:59:00Z");
    });
    hold(&world, vec![leaving]);
    assert_eq!(summary(&Deployments.plan(&recreate, &world, noon()).unwrap()), "");
    assert_eq!(summary(&planned(&recreate, vec![set("old", 1, 0, 0)])), "new+4");
}

#[test]
fn an_old_template_that_comes_back_gets_a_new_number() {
    let plan = planned(&deployment(|_| {}), vec![set("t", 1, 0, 0), set("b", 2, 4, 4)]);
    let change = plan.actions.iter().find_map(|action| match action {
        Action::Change { target, subresource: "", patch } if target.uid == "t" => Some(patch.clone()),
        _ => None,
    });
    let annotations = &change.unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
}

#[test]
fn a_taken_name_is_stepped_round() {
    let first = planned(&deployment(|_| {}), vec![]);
    let Some(Action::Create { object: made, .. }) = first.actions.first() else { panic!("{first:?}") };
    let mut stranger: Value = made.clone();
    stranger["metadata"]["ownerReferences"] = json!([]);
    stranger["metadata"]["labels"] = json!({});
    stranger["metadata"]["uid"] = json!("x");
    let plan = planned(&deployment(|_| {}), vec![object(stranger)]);
    assert_eq!(summary(&plan), "");
    let collided = deployment(|value| value["status"] = json!({"collisionCount": 1}));
    let again = planned(&collided, vec![]);
    assert_eq!(summary(&again), "new+4");
    assert_ne!(again.actions.first(), first.actions.first());
}

#[test]
fn says_whether_it_gets_on() {
    let reason = |plan: &Plan, index: usize| status(plan)["conditions"][index]["reason"].clone();
    let plan = planned(&deployment(|_| {}), vec![]);
    assert_eq!(reason(&plan, 1), "NewReplicaSetCreated");
    assert_eq!(plan.look_again, Some("2030-01-01T12:10:00Z".parse().unwrap()));
    let since = |reason: &str, time: &str| {
        json!({"conditions": [{
            "type": "Progressing", "status": "True", "reason": reason, "lastUpdateTime": time, "lastTransitionTime": time,
        }], "updatedReplicas": 2, "replicas": 4, "availableReplicas": 2, "readyReplicas": 2, "observedGeneration": 2})
    };
    let stuck = deployment(|value| value["status"] = since("ReplicaSetUpdated", "2030-01-01T11:49:00Z"));
    let plan = planned(&stuck, vec![set("old", 1, 2, 2), set("t", 2, 2, 0)]);
    assert_eq!(reason(&plan, 0), "ProgressDeadlineExceeded");
    let moving = deployment(|value| value["status"] = since("ReplicaSetUpdated", "2030-01-01T11:49:00Z"));
    let plan = planned(&moving, vec![set("t", 2, 4, 4)]);
    assert_eq!(reason(&plan, 0), "NewReplicaSetAvailable");
}

fn stage(writes: usize) -> Stage {
    Stage::breaking_off_after(writes).with::<Deployment>().with::<ReplicaSet>().with::<Pod>()
}

/// Lets the Deployment, its sets and the nodes act until nothing changes any more.
fn rest(stage: &mut Stage) {
    for _ in 0..500 {
        let before = stage.revision();
        stage.turn(&Deployments, "web");
        for set in stage.all::<ReplicaSet>() {
            stage.turn(&ReplicaSets, &set.name_any());
        }
        stage.nodes_act(|pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() != Some("broken"));
        if stage.revision() == before {
            return;
        }
    }
    panic!("it does not come to rest");
}

fn images(stage: &Stage) -> Vec<String> {
    let mut images: Vec<String> = stage
        .all::<Pod>()
        .into_iter()
        .map(|pod| pod.spec.unwrap().containers[0].image.clone().unwrap())
        .collect();
    images.sort();
    images
}

fn roll_to(stage: &mut Stage, image: &str) {
    stage.edit::<Deployment>("web", |value| {
        value["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    });
}

#[test]
fn comes_to_rest_whatever_happens_between_two_writes() {
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}});
    for (writes, strategy) in
        [(1, rolling.clone()), (1, json!({"type": "Recreate"})), (usize::MAX, rolling.clone()), (2, rolling)]
    {
        let mut stage = stage(writes);
        stage.put(&deployment(|value| {
            value["spec"]["strategy"] = strategy.clone();
            value["metadata"] = json!({"name": "web", "namespace": "n"});
            value.as_object_mut().unwrap().remove("status");
        }));
        rest(&mut stage);
        assert_eq!(images(&stage), ["t"; 4]);
        for image in ["v2", "v3", "t", "v5"] {
            roll_to(&mut stage, image);
            rest(&mut stage);
            assert_eq!(images(&stage), [image; 4], "{strategy}");
        }
        let revision = |stage: &Stage| {
            stage.get::<Deployment>("web").unwrap().annotations()["deployment.kubernetes.io/revision"].clone()
        };
        assert_eq!(revision(&stage), "5");
        assert!(stage.all::<ReplicaSet>().len() <= 2, "one old template is remembered");
        stage.edit::<Deployment>("web", |value| value["spec"]["paused"] = json!(true));
        roll_to(&mut stage, "v6");
        stage.edit::<Deployment>("web", |value| value["spec"]["replicas"] = json!(6));
        rest(&mut stage);
        assert_eq!(images(&stage), ["v5"; 6], "scaled and not rolled");
        stage.edit::<Deployment>("web", |value| value["spec"]["paused"] = json!(false));
        rest(&mut stage);
        assert_eq!(images(&stage), ["v6"; 6]);
    }
}

#[test]
fn a_broken_update_loses_no_more_than_allowed_and_can_be_taken_back() {
    let mut stage = stage(usize::MAX);
    stage.put(&deployment(|value| value["metadata"] = json!({"name": "web", "namespace": "n"})));
    rest(&mut stage);
    roll_to(&mut stage, "broken");
    rest(&mut stage);
    assert_eq!(images(&stage), ["broken", "broken", "t", "t", "t"]);
    roll_to(&mut stage, "t");
    rest(&mut stage);
    assert_eq!(images(&stage), ["t"; 4]);
}

#[test]
fn a_quota_is_named_and_outlived() {
    let mut stage = stage(usize::MAX);
    stage.quota = 2;
    stage.put(&deployment(|value| value["metadata"] = json!({"name": "web", "namespace": "n"})));
    rest(&mut stage);
    let condition = |stage: &Stage| {
        let status = stage.get::<Deployment>("web").unwrap().status.unwrap();
        let failure = status.conditions.unwrap().into_iter().find(|one| one.type_ == "ReplicaFailure");
        (status.ready_replicas, failure.and_then(|one| one.message))
    };
    assert_eq!(condition(&stage), (Some(2), Some("exceeded quota".to_owned())));
    assert!(stage.said.contains(&"FailedCreate: Error creating: exceeded quota".to_owned()));
    stage.quota = usize::MAX;
    rest(&mut stage);
    assert_eq!(condition(&stage), (Some(4), None));
}
