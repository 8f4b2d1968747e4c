use serde_json::json;

use super::*;

#[test]
fn what_a_toleration_leaves_out_covers_everything() {
    let taint =
        Taint { key: "k".into(), value: Some("v".into()), effect: NO_SCHEDULE.into(), ..Taint::default() };
    for (case, toleration, covered) in [
        ("equal", json!({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}), true),
        ("equal is the default", json!({"key": "k", "value": "v"}), true),
        ("another value", json!({"key": "k", "operator": "Equal", "value": "w"}), false),
        ("no value", json!({"key": "k", "operator": "Equal"}), false),
        ("exists", json!({"key": "k", "operator": "Exists"}), true),
        ("every key", json!({"operator": "Exists"}), true),
        ("another key", json!({"key": "l", "operator": "Exists"}), false),
        ("another effect", json!({"operator": "Exists", "effect": "NoExecute"}), false),
        ("an operator of later days", json!({"key": "k", "operator": "Gt", "value": "1"}), false),
    ] {
        assert_eq!(tolerated(&taint, &[serde_json::from_value(toleration).unwrap()]), covered, "{case}");
    }
}

#[test]
fn only_taints_that_forbid_keep_away() {
    for (effect, keeps_away) in [(NO_SCHEDULE, true), (NO_EXECUTE, true), (PREFER_NO_SCHEDULE, false)] {
        let taints = [Taint { key: "k".into(), effect: effect.into(), ..Taint::default() }];
        assert_eq!(forbidding(&taints, &[]).is_some(), keeps_away, "{effect}");
    }
}
