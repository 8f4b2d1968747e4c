use kedge_children::testing::object;
use serde_json::{Value, json};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_900_000_000 + seconds).unwrap()
}

fn shown(name: &str, uid: &str, edit: impl FnOnce(&mut Value)) -> Pod {
    let mut value = json!({
        "metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": "1"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    });
    edit(&mut value);
    object(value)
}

fn pod(name: &str, uid: &str, edit: impl FnOnce(&mut Value)) -> PodView {
    PodView::of(&shown(name, uid, edit))
}

fn node(name: &str, cpu: &str) -> NodeObject {
    object(json!({"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "pods": "9"}}}))
}

fn state() -> State {
    let config = Config::default();
    let mut state = State::new(World::by_hand(), &config, config.made().unwrap());
    state.put_node(&node("a", "4"), at(0));
    state
}

fn used(state: &State) -> i64 {
    state.cluster.node("a").map_or(0, |node| node.requested.milli_cpu)
}

#[test]
fn what_is_assumed_holds_until_the_watch_shows_otherwise() {
    let seen = |edit: fn(&mut Value)| Some(pod("p", "1", edit));
    for (case, seen, uses, queued) in [
        ("nothing new", None, 1000, false),
        ("something older", seen(|pod| pod["metadata"]["labels"] = json!({"a": "b"})), 1000, false),
        ("the binding", seen(|pod| pod["spec"]["nodeName"] = "a".into()), 1000, false),
        ("another node", seen(|pod| pod["spec"]["nodeName"] = "b".into()), 0, false),
        (
            "its deletion",
            seen(|pod| pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into()),
            0,
            false,
        ),
    ] {
        let mut state = state();
        state.saw_pod(None, Some(pod("p", "1", |_| ())), at(0));
        let turn = state.queue.take(at(0)).unwrap();
        state.assume(&turn.pod, &"a".into(), at(0));
        if seen.is_some() {
            state.saw_pod(Some("1"), seen, at(1));
        }
        assert_eq!(used(&state), uses, "{case}");
        assert_eq!(state.queue.take(at(1000)).is_some(), queued, "{case}");
    }
}

#[test]
fn a_binding_that_failed_gives_the_room_back_and_is_tried_again() {
    for (case, now, again) in [
        ("still there", Some(shown("p", "1", |_| ())), true),
        ("gone", None, false),
        ("another of its name", Some(shown("p", "2", |_| ())), false),
    ] {
        let mut state = state();
        state.saw_pod(None, Some(pod("p", "1", |_| ())), at(0));
        let turn = state.queue.take(at(0)).unwrap();
        state.assume(&turn.pod, &"a".into(), at(0));
        state.forget(&turn.pod, now.as_ref(), at(0));
        assert_eq!(used(&state), 0, "{case}");
        assert!(state.queue.take(at(0)).is_none(), "{case}: not at once");
        assert_eq!(state.queue.take(at(2)).is_some(), again, "{case}");
    }
}

#[test]
fn whoever_goes_makes_room_for_those_who_wait() {
    let runs = |edit: fn(&mut Value)| {
        pod("runs", "r", |pod| {
            pod["spec"]["nodeName"] = "a".into();
            edit(pod);
        })
    };
    let before = runs(|_| ());
    for (case, now, helped) in [
        ("it goes", None, true),
        ("it ends", Some(runs(|pod| pod["status"] = json!({"phase": "Succeeded"}))), true),
        (
            "it leaves, and is still there",
            Some(runs(|pod| pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into())),
            false,
        ),
        ("it begins", Some(runs(|pod| pod["status"] = json!({"phase": "Running"}))), false),
        (
            "another takes its name",
            Some(pod("runs", "other", |pod| pod["spec"]["schedulerName"] = "x".into())),
            true,
        ),
    ] {
        let mut state = state();
        state.saw_pod(None, Some(before.clone()), at(0));
        state.saw_pod(None, Some(pod("waits", "w", |_| ())), at(0));
        let turn = state.queue.take(at(0)).unwrap();
        state.queue.wait(&turn.pod.uid, ["NodeResourcesFit"].into(), at(0));
        assert_eq!(state.saw_pod(Some("r"), now, at(5)), helped, "{case}");
        assert_eq!(state.queue.take(at(5)).is_some(), helped, "{case}");
    }
}

#[test]
fn a_node_that_comes_back_still_has_its_pods() {
    let mut state = state();
    state.saw_pod(None, Some(pod("p", "1", |pod| pod["spec"]["nodeName"] = "a".into())), at(0));
    state.cluster.remove_node("a");
    state.saw_pod(None, Some(pod("q", "2", |pod| pod["spec"]["nodeName"] = "a".into())), at(0));
    assert_eq!(state.cluster.len(), 0);
    state.put_node(&node("a", "8"), at(0));
    assert_eq!((used(&state), state.cluster.nodes().count()), (2000, 1));
}

#[test]
fn a_heartbeat_wakes_nobody() {
    let mut state = state();
    state.saw_pod(None, Some(pod("p", "1", |_| ())), at(0));
    let turn = state.queue.take(at(0)).unwrap();
    state.queue.wait(&turn.pod.uid, ["NodeResourcesFit"].into(), at(0));
    let mut beating = node("a", "4");
    let ready = json!({"type": "Ready", "status": "True", "lastHeartbeatTime": "2030-01-01T00:00:10Z"});
    beating.status.as_mut().unwrap().conditions = Some(vec![serde_json::from_value(ready).unwrap()]);
    assert!(!state.put_node(&beating, at(5)));
    assert!(state.put_node(&node("a", "8"), at(5)));
}

#[test]
fn claims_that_change_wake_who_waits_for_them() {
    let mut state = state();
    let with_claim = pod("p", "1", |pod| {
        pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    });
    state.saw_pod(None, Some(with_claim), at(0));
    let turn = state.queue.take(at(0)).unwrap();
    state.queue.wait(&turn.pod.uid, ["VolumeBinding"].into(), at(0));
    let change = Change::Storage { kind: "PersistentVolumeClaim", namespace: "n", name: "c" };
    assert!(state.wake(&change, at(5)));
}
