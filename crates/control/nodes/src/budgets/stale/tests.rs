use kedge_children::testing::{noon, pod, status};
use serde_json::{Value, json};

use super::*;
use crate::testing::noon_and;

fn announced_by(reason: &str, edit: impl FnOnce(&mut Value)) -> Pod {
    pod("p", "", |pod| {
        pod["status"]["conditions"].as_array_mut().unwrap().push(json!({
            "type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": "2030-01-01T12:00:00Z",
        }));
        edit(pod);
    })
}

#[test]
fn an_announcement_that_came_to_nothing_is_taken_back() {
    let world = World::by_hand();
    let pod = announced_by("EvictionByEvictionAPI", |_| {});
    let plan = StaleDisruptions.plan(&pod, &world, noon()).unwrap();
    assert_eq!((plan.actions.len(), plan.look_again), (0, Some(noon_and(120))));
    let plan = StaleDisruptions.plan(&pod, &world, noon_and(120)).unwrap();
    let condition = &status(&plan)["conditions"][1];
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &Value::Null));
    for (case, pod) in [
        ("its node said it", announced_by("TerminationByKubelet", |_| {})),
        ("it has ended", announced_by("x", |pod| pod["status"]["phase"] = json!("Failed"))),
        (
            "it leaves",
            announced_by("x", |pod| pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T12:00:00Z")),
        ),
    ] {
        assert_eq!(StaleDisruptions.plan(&pod, &world, noon_and(500)).unwrap(), Plan::default(), "{case}");
    }
}
