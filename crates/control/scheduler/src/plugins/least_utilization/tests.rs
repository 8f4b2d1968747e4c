use serde_json::json;

use super::*;
use crate::node::NodeFacts;
use crate::plugins::testing::*;

fn used(name: &str, usage: &str) -> NodeFacts {
    node(name, |node| node["metadata"]["annotations"] = json!({USAGE: usage}))
}

#[test]
fn measured_use_decides() {
    let cluster = cluster(
        [
            used("a", r#"{"cpu": "4", "memory": "8Gi"}"#),
            used("b", r#"{"cpu": "1", "memory": "2Gi"}"#),
            used("c", r#"{}"#),
        ],
        [],
    );
    assert_eq!(scored(&LeastUtilization, &pod("p", |_| ()), &cluster), "a=0 b=75 c=100");
}

#[test]
fn what_has_not_begun_will_be_used_as_well() {
    let asks = |pod: &mut serde_json::Value| {
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "4", "memory": "8Gi"}});
    };
    let waiting = on("a", &pod("q", asks));
    let running = on(
        "b",
        &pod("r", |pod| {
            asks(pod);
            pod["status"] = json!({"startTime": "2030-01-01T00:00:00Z"});
        }),
    );
    let cluster = cluster([used("a", "{}"), used("b", "{}")], [waiting, running]);
    assert_eq!(scored(&LeastUtilization, &pod("p", |_| ()), &cluster), "a=0 b=100");
}

#[test]
fn without_measurements_requests_decide() {
    let asks = on(
        "a",
        &pod("q", |pod| {
            pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "2"}});
        }),
    );
    let cluster = cluster([used("a", "what?"), node("b", |_| ())], [asks]);
    assert_eq!(scored(&LeastUtilization, &pod("p", |_| ()), &cluster), "a=0 b=100");
}
