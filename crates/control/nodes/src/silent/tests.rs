use kedge_children::testing::{hold, noon, pod, status, summary};
use serde_json::json;

use super::*;
use crate::testing::{lease, node, noon_and};

fn unknown() -> Node {
    node("n1", "Unknown", |node| node["status"]["conditions"][0]["reason"] = json!("NodeStatusUnknown"))
}

#[test]
fn pods_of_a_silent_node_are_not_ready() {
    let unready = |pod: &mut serde_json::Value| pod["status"]["conditions"][0]["status"] = json!("False");
    for (case, node, pod, expected) in [
        ("its node is silent", unknown(), pod("p", "", |_| {}), "False"),
        ("it says so itself", unknown(), pod("p", "", unready), ""),
        ("its node speaks for it", node("n1", "False", |_| {}), pod("p", "", |_| {}), ""),
        ("all is well", node("n1", "True", |_| {}), pod("p", "", |_| {}), ""),
        ("another's node is silent", node("n2", "Unknown", |_| {}), pod("p", "", |_| {}), ""),
    ] {
        let world = World::by_hand();
        hold(&world, vec![node]);
        hold(&world, vec![pod.clone()]);
        hold(&world, Vec::<Lease>::new());
        let plan = SilentPods(Arc::default()).plan(&pod, &world, noon()).unwrap();
        let ready = status(&plan)["conditions"][0]["status"].as_str().unwrap_or_default().to_owned();
        assert_eq!(ready, expected, "{case}");
        assert_eq!(summary(&plan), "", "{case}");
    }
}

#[test]
fn a_node_that_is_heard_again_speaks_for_its_pods() {
    let world = World::by_hand();
    hold(&world, vec![unknown()]);
    hold(&world, vec![lease("n1", -100)]);
    let pod = pod("p", "", |_| {});
    let pods = SilentPods(Arc::default());
    assert_eq!(pods.plan(&pod, &world, noon()).unwrap().actions.len(), 2, "silent still");
    world.feed::<Lease>().put(lease("n1", 5));
    let plan = pods.plan(&pod, &world, noon_and(5)).unwrap();
    assert_eq!((plan.actions.len(), plan.look_again), (0, Some(noon_and(55))), "heard, but not well yet");
    assert_eq!(pods.plan(&pod, &world, noon_and(55)).unwrap().actions.len(), 2, "silent again");
}
