use kedge_children::testing::{hold, noon};
use serde_json::json;

use super::*;
use crate::testing::{carry_out, lease, node, noon_and, taint, taints};

fn world(nodes: Vec<Node>, leases: Vec<Lease>) -> World {
    let world = World::by_hand();
    hold(&world, nodes);
    hold(&world, leases);
    world
}

fn turn(health: &Health, world: &World, now: Timestamp) -> Plan {
    let node = world.get::<Node>(&Key::new("", "n")).unwrap().unwrap();
    let plan = health.plan(&node, world, now).unwrap();
    carry_out(world, &plan);
    plan
}

fn now_is(world: &World) -> Arc<Node> {
    world.get::<Node>(&Key::new("", "n")).unwrap().unwrap()
}

fn told(plan: &Plan) -> Vec<String> {
    plan.actions.iter().filter(|action| matches!(action, Action::Tell(_))).map(ToString::to_string).collect()
}

#[test]
fn a_clock_that_is_set_makes_nobody_silent() {
    let world = world(vec![node("n", "True", |_| {})], vec![lease("n", -5)]);
    // What it counts by goes on as ever, while what it shows jumps.
    let clock = kedge_clock::Clock::manual(noon());
    let health = Health::new(Arc::new(Heartbeats::default().by(&clock)));
    for (case, counted, shown) in [("first heard", 0, 0), ("an hour forward", 10, 3610), ("and back", 20, 20)]
    {
        clock.advance(std::time::Duration::from_secs(if counted == 0 { 0 } else { 10 }));
        let plan = turn(&health, &world, noon_and(shown));
        let left = 50 - counted;
        assert_eq!((plan.actions.len(), plan.look_again), (0, Some(noon_and(shown + left))), "{case}");
    }
    clock.advance(std::time::Duration::from_secs(30));
    assert!(!turn(&health, &world, noon_and(3650)).actions.is_empty(), "silent for so long by any clock");
}

#[test]
fn a_silent_node_becomes_unknown_and_heals() {
    let pressure = |node: &mut serde_json::Value| {
        node["status"]["conditions"].as_array_mut().unwrap().push(json!({
            "type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDiskPressure",
        }));
    };
    let world = world(vec![node("n", "True", pressure)], vec![lease("n", -5)]);
    let health = Health::default();
    let plan = turn(&health, &world, noon());
    assert_eq!((plan.actions.len(), plan.look_again), (0, Some(noon_and(50))));

    world.feed::<Lease>().put(lease("n", 10));
    assert_eq!(turn(&health, &world, noon_and(10)).look_again, Some(noon_and(60)), "the lease was renewed");
    assert_eq!(turn(&health, &world, noon_and(50)).actions, [], "the first moment passes without a word");

    let plan = turn(&health, &world, noon_and(60));
    assert_eq!(told(&plan), ["Normal NodeNotReady: Node n status is now: NodeNotReady"]);
    assert_eq!(plan.look_again, None);
    let silent = now_is(&world);
    for (type_, reason) in
        [("Ready", STOPPED), ("DiskPressure", STOPPED), ("MemoryPressure", NEVER), ("PIDPressure", NEVER)]
    {
        let condition = silent.condition(type_).unwrap();
        assert_eq!((&*condition.status, condition.reason.as_deref()), ("Unknown", Some(reason)), "{type_}");
        assert_eq!(condition.last_transition_time.as_ref().unwrap().0, noon_and(60), "{type_}");
    }
    assert_eq!(taints(&silent), "unreachable:NoSchedule");
    assert_eq!(turn(&health, &world, noon_and(100)), Plan::default(), "all is said");

    let mut back = (*silent).clone();
    back.status = node("n", "True", pressure).status;
    world.feed::<Node>().put(back);
    world.feed::<Lease>().put(lease("n", 200));
    let plan = turn(&health, &world, noon_and(200));
    assert_eq!(taints(&now_is(&world)), "");
    assert_eq!(plan.look_again, Some(noon_and(250)));
    assert_eq!(turn(&health, &world, noon_and(200)).actions, []);
}

#[test]
fn a_new_node_has_a_minute() {
    let made = |node: &mut serde_json::Value| {
        node["metadata"]["creationTimestamp"] = json!("2030-01-01T12:00:00Z");
    };
    let world = world(vec![node("n", "-", made)], vec![]);
    let health = Health::default();
    let plan = turn(&health, &world, noon());
    assert_eq!(told(&plan), ["Normal RegisteredNode: Node n event: Registered Node n in Controller"]);
    assert_eq!(plan.look_again, Some(noon_and(60)));
    assert_eq!(told(&turn(&health, &world, noon_and(1))), [""; 0], "one greeting is enough");
    turn(&health, &world, noon_and(60));
    let ready = now_is(&world).condition("Ready").unwrap().clone();
    assert_eq!((&*ready.status, ready.reason.as_deref()), ("Unknown", Some(NEVER)));
    assert_eq!(turn(&health, &world, noon_and(61)), Plan::default(), "our own word is no heartbeat");
    let anew = Health::default();
    assert_eq!(turn(&anew, &world, noon_and(62)), Plan::default(), "nor is it one to a new process");
}

#[test]
fn a_new_process_gives_everyone_time() {
    let world = world(vec![node("n", "True", |_| {})], vec![lease("n", -3600)]);
    let health = Health::default();
    assert_eq!(turn(&health, &world, noon()).look_again, Some(noon_and(50)));
    assert!(now_is(&world).is_ready());
}

#[test]
fn a_nodes_own_clock_does_not_matter() {
    let world = world(vec![node("n", "True", |_| {})], vec![lease("n", 7200)]);
    let health = Health::default();
    turn(&health, &world, noon());
    turn(&health, &world, noon_and(50));
    assert!(!now_is(&world).is_ready(), "a lease of the future does not help a silent node");
}

#[test]
fn what_a_node_says_becomes_taints() {
    let said = |type_: &str, status: &str| json!({"type": type_, "status": status});
    let own = json!({"key": "mine", "effect": "NoSchedule"});
    for (case, conditions, spec, expected) in [
        ("ready", vec![said("Ready", "True")], json!({}), ""),
        ("not ready", vec![said("Ready", "False")], json!({}), "not-ready:NoSchedule"),
        ("unknown", vec![said("Ready", "Unknown")], json!({}), "unreachable:NoSchedule"),
        ("memory", vec![said("MemoryPressure", "True")], json!({}), "memory-pressure:NoSchedule"),
        ("disk", vec![said("DiskPressure", "True")], json!({}), "disk-pressure:NoSchedule"),
        ("processes", vec![said("PIDPressure", "True")], json!({}), "pid-pressure:NoSchedule"),
        ("network", vec![said("NetworkUnavailable", "True")], json!({}), "network-unavailable:NoSchedule"),
        ("unknown pressure is none", vec![said("DiskPressure", "Unknown")], json!({}), ""),
        ("cordoned", vec![said("Ready", "True")], json!({"unschedulable": true}), "unschedulable:NoSchedule"),
        (
            "the old goes, the new comes, others stay",
            vec![said("Ready", "Unknown")],
            json!({"taints": [own, taint("node.kubernetes.io/not-ready", "NoSchedule", 0),
                taint("node.kubernetes.io/not-ready", "NoExecute", 0)]}),
            "mine:NoSchedule not-ready:NoExecute unreachable:NoSchedule",
        ),
        (
            "one that nobody has heard of is let go",
            vec![],
            json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}),
            "",
        ),
        (
            "it is there",
            vec![said("Ready", "False")],
            json!({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}),
            "not-ready:NoSchedule",
        ),
    ] {
        let one = node("n", "-", |node| {
            node["status"]["conditions"] = json!(conditions);
            node["spec"] = spec;
        });
        let world = world(vec![one], vec![lease("n", 0)]);
        let health = Health::default();
        turn(&health, &world, noon());
        assert_eq!(taints(&now_is(&world)), expected, "{case}");
        assert_eq!(turn(&health, &world, noon()).actions, [], "{case}: and stays so");
    }
}

#[test]
fn old_labels_follow_new_ones() {
    let one = node("n", "True", |node| {
        node["metadata"]["labels"] = json!({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "plan9"});
    });
    let world = world(vec![one], vec![]);
    turn(&Health::default(), &world, noon());
    assert_eq!(now_is(&world).labels()["beta.kubernetes.io/os"], "linux");
    assert!(!now_is(&world).labels().contains_key("beta.kubernetes.io/arch"));
}
