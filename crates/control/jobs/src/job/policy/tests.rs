use kedge_children::testing::object;
use serde_json::{Value, json};

use super::*;

fn pod(status: Value) -> Pod {
    object(json!({"metadata": {"name": "p", "namespace": "n"}, "status": status}))
}

fn ended(name: &str, code: i32) -> Value {
    json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code}}})
}

#[test]
fn the_first_rule_that_fits_decides() {
    let rule = |action: &str, rest: Value| {
        let mut rule = json!({"action": action});
        json_patch::merge(&mut rule, &rest);
        rule
    };
    let codes =
        |operator: &str, values: &[i32]| json!({"onExitCodes": {"operator": operator, "values": values}});
    let of = |name: &str, values: &[i32]| json!({"onExitCodes": {"operator": "In", "values": values, "containerName": name}});
    let condition = |type_: &str| json!({"onPodConditions": [{"type": type_, "status": "True"}]});
    let failed = json!({"containerStatuses": [ended("a", 0), ended("b", 5)]});
    let disrupted = json!({"conditions": [{"type": "DisruptionTarget", "status": "True"}]});
    let because = |why: &str| Meaning::FailsJob(why.to_owned());
    for (case, rules, status, expected) in [
        ("no rule", vec![], failed.clone(), Meaning::Counts),
        ("none fits", vec![rule("Ignore", codes("In", &[4]))], failed.clone(), Meaning::Counts),
        ("in", vec![rule("Ignore", codes("In", &[4, 5]))], failed.clone(), Meaning::Ignored),
        ("not in", vec![rule("Ignore", codes("NotIn", &[4]))], failed.clone(), Meaning::Ignored),
        ("success never fits", vec![rule("Ignore", codes("NotIn", &[5]))], failed.clone(), Meaning::Counts),
        ("another container", vec![rule("Ignore", of("a", &[5]))], failed.clone(), Meaning::Counts),
        ("that container", vec![rule("FailIndex", of("b", &[5]))], failed.clone(), Meaning::FailsIndex),
        (
            "the first counts",
            vec![rule("Count", codes("In", &[5])), rule("Ignore", codes("In", &[5]))],
            failed.clone(),
            Meaning::Counts,
        ),
        (
            "an init container",
            vec![rule("Ignore", codes("In", &[7]))],
            json!({"initContainerStatuses": [ended("i", 7)]}),
            Meaning::Ignored,
        ),
        (
            "a condition",
            vec![rule("Ignore", condition("DisruptionTarget"))],
            disrupted.clone(),
            Meaning::Ignored,
        ),
        ("another condition", vec![rule("Ignore", condition("Other"))], disrupted.clone(), Meaning::Counts),
        (
            "a condition that fails the job",
            vec![rule("Ignore", condition("Other")), rule("FailJob", condition("DisruptionTarget"))],
            disrupted,
            because("Pod n/p has condition DisruptionTarget matching FailJob rule at index 1"),
        ),
        (
            "a code that fails the job",
            vec![rule("FailJob", codes("In", &[5]))],
            failed,
            because("Container b for pod n/p failed with exit code 5 matching FailJob rule at index 0"),
        ),
    ] {
        let policy: PodFailurePolicy = serde_json::from_value(json!({"rules": rules})).unwrap();
        assert_eq!(meaning(Some(&policy), &pod(status)), expected, "{case}");
    }
    assert_eq!(meaning(None, &pod(json!({}))), Meaning::Counts);
}
