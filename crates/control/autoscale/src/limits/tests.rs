use serde_json::{Value, json};

use super::*;

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

fn before(seconds: i64) -> Timestamp {
    noon() - SignedDuration::from_secs(seconds)
}

fn spec(behavior: Value) -> Spec {
    serde_json::from_value(json!({"minReplicas": 2, "maxReplicas": 20, "behavior": behavior})).unwrap()
}

struct Case {
    said: &'static str,
    behavior: Value,
    /// Seconds ago, and how many.
    recommended: &'static [(i64, i32)],
    /// Seconds ago, and by how many.
    scaled: &'static [(i64, i32)],
    /// From and to.
    asked: (i32, i32),
    expected: (i32, &'static str, &'static str),
}

#[test]
fn what_is_asked_for_is_limited() {
    let pods = |value: i32, period: i64| json!({"type": "Pods", "value": value, "periodSeconds": period});
    let percent =
        |value: i32, period: i64| json!({"type": "Percent", "value": value, "periodSeconds": period});
    let up =
        |policies: Value, select: &str| json!({"scaleUp": {"policies": policies, "selectPolicy": select}});
    let down = |policies: Value, select: &str| json!({"scaleDown": {"policies": policies, "selectPolicy": select, "stabilizationWindowSeconds": 0}});
    let case = |said, behavior: &Value, recommended, scaled, asked, expected| Case {
        said,
        behavior: behavior.clone(),
        recommended,
        scaled,
        asked,
        expected,
    };
    let usual = &Value::Null;
    let (ready, within) = ("ReadyForNewScale", "DesiredWithinRange");
    for Case { said, behavior, recommended, scaled, asked: (current, wanted), expected } in [
        case("nothing is against it", usual, &[], &[], (3, 5), (5, ready, within)),
        case("no more than the most", usual, &[], &[], (18, 25), (20, ready, "TooManyReplicas")),
        case("no fewer than the least", usual, &[], &[], (3, 1), (2, ready, "TooFewReplicas")),
        case("not too fast", usual, &[], &[], (3, 15), (6, ready, "ScaleUpLimit")),
        case("from one to four at once", usual, &[], &[], (1, 15), (4, ready, "ScaleUpLimit")),
        case("the rate is that of a period", usual, &[], &[(5, 3)], (6, 15), (6, ready, "ScaleUpLimit")),
        case("then the next one begins", usual, &[], &[(16, 3)], (6, 15), (12, ready, "ScaleUpLimit")),
        case(
            "the highest of five minutes",
            usual,
            &[(299, 6), (100, 4), (400, 9)],
            &[],
            (6, 3),
            (6, "ScaleDownStabilized", within),
        ),
        case("until they are over", usual, &[(301, 6)], &[], (6, 3), (3, ready, within)),
        case("growing needs no patience", usual, &[(10, 1)], &[], (3, 5), (5, ready, within)),
        case(
            "some pods in a time",
            &up(json!([pods(2, 60)]), "Max"),
            &[],
            &[],
            (3, 9),
            (5, ready, "ScaleUpLimit"),
        ),
        case(
            "and no more until it is over",
            &up(json!([pods(2, 60)]), "Max"),
            &[],
            &[(59, 2)],
            (5, 9),
            (5, ready, "ScaleUpLimit"),
        ),
        case(
            "what went makes room",
            &up(json!([pods(2, 60)]), "Max"),
            &[],
            &[(50, -3)],
            (5, 19),
            (10, ready, "ScaleUpLimit"),
        ),
        case(
            "a part, rounded up",
            &up(json!([percent(10, 60)]), "Max"),
            &[],
            &[],
            (3, 9),
            (4, ready, "ScaleUpLimit"),
        ),
        case(
            "the larger of two",
            &up(json!([pods(2, 60), percent(300, 60)]), "Max"),
            &[],
            &[],
            (3, 19),
            (12, ready, "ScaleUpLimit"),
        ),
        case(
            "the smaller of two",
            &up(json!([pods(2, 60), percent(300, 60)]), "Min"),
            &[],
            &[],
            (3, 19),
            (5, ready, "ScaleUpLimit"),
        ),
        case(
            "never up",
            &up(json!([pods(2, 60)]), "Disabled"),
            &[],
            &[],
            (3, 19),
            (3, ready, "ScaleUpLimit"),
        ),
        case(
            "who says nothing of growing grows as usual",
            &down(json!([pods(1, 60)]), "Max"),
            &[],
            &[],
            (3, 19),
            (7, ready, "ScaleUpLimit"),
        ),
        case(
            "one at a time",
            &down(json!([pods(1, 60)]), "Max"),
            &[],
            &[],
            (9, 3),
            (8, ready, "ScaleDownLimit"),
        ),
        case(
            "one was",
            &down(json!([pods(1, 60)]), "Max"),
            &[],
            &[(30, -1)],
            (8, 3),
            (8, ready, "ScaleDownLimit"),
        ),
        case(
            "a part, rounded down",
            &down(json!([percent(50, 60)]), "Max"),
            &[],
            &[],
            (9, 3),
            (4, ready, "ScaleDownLimit"),
        ),
        case(
            "the larger change",
            &down(json!([pods(1, 60), percent(50, 60)]), "Max"),
            &[],
            &[],
            (9, 3),
            (4, ready, "ScaleDownLimit"),
        ),
        case(
            "the smaller change",
            &down(json!([pods(1, 60), percent(50, 60)]), "Min"),
            &[],
            &[],
            (9, 3),
            (8, ready, "ScaleDownLimit"),
        ),
        case(
            "never down",
            &down(json!([pods(1, 60)]), "Disabled"),
            &[],
            &[],
            (9, 3),
            (9, ready, "ScaleDownLimit"),
        ),
        case(
            "and never below the least",
            &down(json!([pods(9, 60)]), "Max"),
            &[],
            &[],
            (9, 1),
            (2, ready, "TooFewReplicas"),
        ),
        case(
            "growing may need patience",
            &json!({"scaleUp": {"stabilizationWindowSeconds": 60}}),
            &[(30, 4), (70, 1)],
            &[],
            (3, 6),
            (4, "ScaleUpStabilized", within),
        ),
        case(
            "and never shrinks for it",
            &json!({"scaleUp": {"stabilizationWindowSeconds": 60}}),
            &[(30, 1)],
            &[],
            (3, 6),
            (3, "ScaleUpStabilized", within),
        ),
        case(
            "shrinking may need less",
            &json!({"scaleDown": {"stabilizationWindowSeconds": 30}}),
            &[(20, 5), (40, 9)],
            &[],
            (9, 3),
            (5, "ScaleDownStabilized", within),
        ),
        case(
            "a behavior that says nothing is the usual",
            &json!({}),
            &[(200, 8)],
            &[],
            (9, 3),
            (8, "ScaleDownStabilized", within),
        ),
    ] {
        let mut history = History::default();
        recommended.iter().for_each(|(ago, replicas)| history.recommend(*replicas, before(*ago)));
        scaled.iter().for_each(|(ago, by)| history.scaled(*by, before(*ago)));
        let settings = Settings::default();
        let past = Past { history: &history, settings: &settings, now: noon() };
        let limited = past.limit(&spec(behavior), current, wanted);
        assert_eq!((limited.replicas, limited.able.0, limited.limited.1), expected, "{said}");
        assert_eq!(limited.limited.0, limited.limited.1 != within, "{said}");
    }
}
