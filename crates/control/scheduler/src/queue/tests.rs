use super::*;
use crate::plugins::testing;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_900_000_000 + seconds).unwrap()
}

fn pod(name: &str, priority: i32) -> Arc<PodView> {
    Arc::new(testing::pod(name, |pod| pod["spec"]["priority"] = priority.into()))
}

fn queue() -> Queue {
    Queue::new(SignedDuration::from_secs(1), SignedDuration::from_secs(10))
}

fn taken(queue: &mut Queue, now: Timestamp) -> String {
    let names = std::iter::from_fn(|| queue.take(now)).map(|turn| turn.pod.key.name.clone());
    names.collect::<Vec<_>>().join(" ")
}

const FIT: &str = "NodeResourcesFit";

#[test]
fn the_most_important_is_first_and_then_who_came_first() {
    let mut queue = queue();
    queue.put(pod("late", 0), at(3));
    queue.put(pod("early", 0), at(1));
    queue.put(pod("lowly", -5), at(0));
    queue.put(pod("vip", 1000), at(4));
    queue.put(pod("b", 0), at(2));
    queue.put(pod("a", 0), at(2));
    assert_eq!(taken(&mut queue, at(5)), "vip early a b late lowly");
}

#[test]
fn rests_are_longer_after_every_attempt_up_to_the_longest() {
    let mut queue = queue();
    queue.put(pod("p", 0), at(0));
    let mut now = at(0);
    let mut rests = Vec::new();
    for _ in 0..6 {
        assert_eq!(taken(&mut queue, now), "p");
        queue.rest("p");
        let next = queue.next_moment().unwrap();
        rests.push(next.duration_since(now).as_secs());
        assert_eq!(taken(&mut queue, next - SignedDuration::from_millis(1)), "", "not before its time");
        now = next;
    }
    assert_eq!(rests, [1, 2, 4, 8, 10, 10]);
}

#[test]
fn only_what_may_help_ends_the_wait() {
    for (case, rejected_by, change_helps, then) in [
        ("nothing that it cares for", vec![FIT], vec!["NodeAffinity"], ""),
        ("what one of its plugins cares for", vec![FIT, "NodeAffinity"], vec!["NodeAffinity"], "p"),
        ("anything, if there was no node at all", vec![], vec![], "p"),
    ] {
        let mut queue = queue();
        queue.put(pod("p", 0), at(0));
        queue.take(at(0)).unwrap();
        queue.wait("p", rejected_by.into_iter().collect(), at(0));
        let woken =
            queue.wake(at(5), |_, plugins| change_helps.iter().any(|plugin| plugins.contains(plugin)));
        assert_eq!(woken, !then.is_empty(), "{case}");
        assert_eq!(taken(&mut queue, at(5)), then, "{case}");
    }
}

#[test]
fn whoever_is_helped_at_once_still_rests() {
    let mut queue = queue();
    queue.put(pod("p", 0), at(0));
    queue.take(at(0)).unwrap();
    queue.wait("p", [FIT].into(), at(0));
    assert!(queue.wake(at(0), |_, _| true));
    assert_eq!(taken(&mut queue, at(0)), "");
    assert_eq!(queue.next_moment(), Some(at(1)));
    assert_eq!(taken(&mut queue, at(1)), "p");
}

#[test]
fn nobody_waits_for_ever() {
    let mut queue = queue();
    queue.put(pod("p", 0), at(0));
    queue.take(at(0)).unwrap();
    queue.wait("p", [FIT].into(), at(0));
    assert_eq!(queue.next_moment(), Some(at(300)));
    assert_eq!(taken(&mut queue, at(299)), "");
    assert_eq!(taken(&mut queue, at(300)), "p");
}

#[test]
fn a_gated_pod_waits_until_its_last_gate_is_gone() {
    let gated = |gates: &[&str]| {
        Arc::new(testing::pod("p", |pod| {
            pod["spec"]["schedulingGates"] =
                gates.iter().map(|name| serde_json::json!({"name": name})).collect();
        }))
    };
    let mut queue = queue();
    assert!(!queue.put(gated(&["a", "b"]), at(0)));
    assert!(!queue.wake(at(1), |_, _| true));
    assert!(!queue.put(gated(&["a"]), at(2)));
    assert_eq!((taken(&mut queue, at(400)), queue.lengths().gated), (String::new(), 1));
    assert!(queue.put(gated(&[]), at(401)));
    assert_eq!(taken(&mut queue, at(401)), "p");
}

#[test]
fn what_the_scheduler_writes_itself_is_no_reason_to_try_again() {
    let base = || serde_json::json!({"nominatedNodeName": "n1"});
    for (case, edit, then) in [
        (
            "a new revision",
            (|pod| pod["metadata"]["resourceVersion"] = "2".into()) as fn(&mut serde_json::Value),
            "",
        ),
        ("another nomination", |pod| pod["status"]["nominatedNodeName"] = "n2".into(), ""),
        ("no nomination any more", |pod| pod["status"] = serde_json::json!({}), "p"),
        ("a toleration", |pod| pod["spec"]["tolerations"] = serde_json::json!([{"operator": "Exists"}]), "p"),
        ("other labels", |pod| pod["metadata"]["labels"]["a"] = "b".into(), "p"),
    ] {
        let mut queue = queue();
        queue.put(Arc::new(testing::pod("p", |pod| pod["status"] = base())), at(0));
        queue.take(at(0)).unwrap();
        queue.wait("p", [FIT].into(), at(0));
        let changed = testing::pod("p", |pod| {
            pod["status"] = base();
            edit(pod);
        });
        queue.put(Arc::new(changed), at(20));
        assert_eq!(taken(&mut queue, at(20)), then, "{case}");
    }
}

#[test]
fn who_is_gone_is_gone_from_everywhere() {
    for case in ["active", "resting", "waiting", "taken"] {
        let mut queue = queue();
        queue.put(pod("p", 0), at(0));
        if case != "active" {
            queue.take(at(0)).unwrap();
        }
        match case {
            "resting" => queue.rest("p"),
            "waiting" => queue.wait("p", [FIT].into(), at(0)),
            _ => {}
        }
        queue.remove("p");
        queue.rest("p");
        queue.wait("p", [FIT].into(), at(0));
        assert_eq!(taken(&mut queue, at(1000)), "", "{case}");
        assert_eq!((queue.next_moment(), queue.lengths()), (None, Lengths::default()), "{case}");
    }
}

#[test]
fn a_new_pod_of_the_same_name_is_another_pod() {
    let mut queue = queue();
    let named = |uid: &str| Arc::new(testing::pod("p", |pod| pod["metadata"]["uid"] = uid.into()));
    queue.put(named("old"), at(0));
    queue.put(named("new"), at(0));
    queue.remove("old");
    assert_eq!(queue.take(at(0)).map(|turn| turn.pod.uid.clone()).as_deref(), Some("new"));
}
