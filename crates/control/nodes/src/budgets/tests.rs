use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kedge_children::testing::{hold, noon, object, pod, status};
use serde_json::{Value, json};

use super::expected::Share;
use super::*;
use crate::testing::noon_and;

fn budget(status: Value) -> PodDisruptionBudget {
    object(json!({
        "metadata": {"name": "b", "namespace": "n", "uid": "b", "resourceVersion": "1", "generation": 2},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
        "status": status,
    }))
}

fn unready(name: &str) -> Arc<Pod> {
    Arc::new(pod(name, "set", |pod| pod["status"]["conditions"][0]["status"] = json!("False")))
}

fn ready(name: &str) -> Arc<Pod> {
    Arc::new(pod(name, "set", |_| {}))
}

fn leaving(name: &str) -> Arc<Pod> {
    Arc::new(pod(name, "set", |pod| pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T12:00:00Z")))
}

fn asks(pods: i32, healthy: i32) -> Result<Expected, String> {
    Ok(Expected { pods, healthy, unmanaged: false })
}

#[test]
fn counts_who_is_well_and_who_may_go() {
    for (case, pods, expected, counts, allowed) in [
        (
            "one to spare",
            vec![ready("a"), ready("b"), ready("c")],
            asks(3, 2),
            [3, 2, 3, 1],
            "SufficientPods",
        ),
        (
            "just enough",
            vec![ready("a"), ready("b"), unready("c")],
            asks(3, 2),
            [2, 2, 3, 0],
            "InsufficientPods",
        ),
        ("too few", vec![ready("a"), unready("b")], asks(3, 2), [1, 2, 3, 0], "InsufficientPods"),
        (
            "a leaving one is not well",
            vec![ready("a"), ready("b"), leaving("c")],
            asks(3, 1),
            [2, 1, 3, 1],
            "SufficientPods",
        ),
        ("none at all", vec![], asks(0, 0), [0, 0, 0, 0], "InsufficientPods"),
        (
            "more than expected",
            vec![ready("a"), ready("b"), ready("c")],
            asks(0, 0),
            [3, 0, 0, 0],
            "InsufficientPods",
        ),
    ] {
        let plan = status::plan(&budget(json!({})), &pods, expected, noon());
        let found = status(&plan);
        let found_counts = ["currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"]
            .map(|field| found[field].as_i64().unwrap());
        assert_eq!(found_counts, counts, "{case}");
        let condition = &found["conditions"][0];
        assert_eq!(
            (&condition["type"], &condition["reason"]),
            (&json!("DisruptionAllowed"), &json!(allowed)),
            "{case}"
        );
        assert_eq!(
            (&condition["observedGeneration"], &found["observedGeneration"]),
            (&json!(2), &json!(2)),
            "{case}"
        );
        let counted = budget(found);
        let again = status::plan(&counted, &pods, asks(counts[2] as i32, counts[1] as i32), noon_and(5));
        assert_eq!(again, Plan::default(), "{case}: counted once");
    }
}

#[test]
fn a_promised_pod_is_as_good_as_gone_for_a_while() {
    let promised = json!({"disruptedPods": {
        "a": "2030-01-01T11:59:00Z", "b": "2030-01-01T11:50:00Z", "gone": "2030-01-01T11:59:00Z",
        "c": "2030-01-01T11:59:30Z",
    }});
    let pods = vec![ready("a"), ready("b"), leaving("c"), ready("d")];
    let plan = status::plan(&budget(promised), &pods, asks(4, 1), noon());
    let patch = status(&plan);
    assert_eq!(patch["currentHealthy"], 2, "b and d");
    assert_eq!(patch["disruptedPods"], json!({"b": null, "c": null, "gone": null}), "only a may still go");
    assert_eq!(plan.look_again, Some(noon_and(60)));
    let told: Vec<String> = plan.actions.iter().skip(1).map(ToString::to_string).collect();
    assert_eq!(told, ["Warning NotDeleted: Pod was expected by PDB n/b to be deleted but it wasn't"]);
}

#[test]
fn who_can_not_count_allows_nothing() {
    let before = json!({"disruptionsAllowed": 3, "currentHealthy": 5, "desiredHealthy": 2, "expectedPods": 5, "observedGeneration": 1});
    let plan =
        status::plan(&budget(before), &[], Err("found no controllers for pod \"a\"".to_owned()), noon());
    let found = status(&plan);
    assert_eq!((&found["disruptionsAllowed"], &found["currentHealthy"]), (&json!(0), &Value::Null));
    let condition = &found["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"], &condition["message"]),
        (&json!("False"), &json!("SyncFailed"), &json!("found no controllers for pod \"a\""))
    );
    assert_eq!(
        plan.actions[1].to_string(),
        "Warning CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: found no controllers for pod \"a\""
    );
}

#[test]
fn shares_are_rounded_up() {
    let percent = |text: &str| IntOrString::String(text.to_owned());
    for (case, share, scale, healthy) in [
        ("half of three", Share::Available(percent("50%")), 3, Ok(2)),
        ("all", Share::Available(percent("100%")), 7, Ok(7)),
        ("none", Share::Available(percent("0%")), 7, Ok(0)),
        ("a third may be missed, and that is two of four", Share::Unavailable(percent("34%")), 4, Ok(2)),
        ("one may be missed", Share::Unavailable(IntOrString::Int(1)), 3, Ok(2)),
        ("more than there are may be missed", Share::Unavailable(IntOrString::Int(9)), 3, Ok(0)),
        ("nonsense", Share::Available(percent("many")), 3, Err(())),
    ] {
        assert_eq!(share.of(scale, false).map(|expected| expected.healthy).map_err(drop), healthy, "{case}");
    }
}

#[test]
fn a_budget_says_what_it_can_not_do() {
    let told = |pods: &[Arc<Pod>], unmanaged| -> Vec<String> {
        let expected = Expected { pods: 3, healthy: 1, unmanaged };
        let plan = status::plan(&budget(json!({})), pods, Ok(expected), noon());
        plan.actions.iter().skip(1).map(ToString::to_string).collect()
    };
    assert_eq!(told(&[], false), ["Normal NoPods: No matching pods found"]);
    assert_eq!(told(&[ready("a")], false), [""; 0]);
    let unmanaged = told(&[ready("a")], true);
    assert!(
        unmanaged[0].starts_with(
            "Warning UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:\
             map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. \
             As a result, the status of the PDB cannot be calculated correctly"
        ),
        "{unmanaged:?}"
    );
}

#[test]
fn what_a_budget_selects() {
    let world = World::by_hand();
    hold(
        &world,
        vec![pod("a", "", |_| {}), pod("b", "", |pod| pod["metadata"]["labels"] = json!({"app": "other"}))],
    );
    for (case, selector, expected) in [
        ("by label", json!({"matchLabels": {"app": "web"}}), 1),
        ("everything", json!({}), 2),
        ("no selector, nothing", Value::Null, 0),
        ("by expression", json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}), 2),
    ] {
        let mut budget = budget(json!({}));
        budget.spec.as_mut().unwrap().selector = serde_json::from_value(selector).unwrap();
        assert_eq!(selected(&budget, &world).unwrap().len(), expected, "{case}");
    }
}
