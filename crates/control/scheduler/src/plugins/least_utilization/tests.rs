use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::amounts::{Amounts, List};
use crate::plugins::testing::*;

/// Two nodes or more, and how much of them is in use.
fn measured(usage: &[(&str, Value)], pods: impl IntoIterator<Item = Arc<PodView>>) -> Cluster {
    let mut cluster = cluster(usage.iter().map(|(name, _)| node(name, |_| ())), pods);
    let amounts = |usage: &Value| Amounts::of_list(&serde_json::from_value::<List>(usage.clone()).unwrap());
    cluster.measure(usage.iter().map(|(name, usage)| ((*name).to_owned(), amounts(usage))).collect());
    cluster
}

#[test]
fn measured_use_decides() {
    let usage = [
        ("a", json!({"cpu": "4", "memory": "8Gi"})),
        ("b", json!({"cpu": "1", "memory": "2Gi"})),
        ("c", json!({})),
    ];
    assert_eq!(scored(&LeastUtilization, &pod("p", |_| ()), &measured(&usage, [])), "a=0 b=75 c=100");
}

#[test]
fn what_has_not_begun_will_be_used_as_well() {
    let asks = |pod: &mut Value| {
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
    let cluster = measured(&[("a", json!({})), ("b", json!({}))], [waiting, running]);
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
    let cluster = cluster([node("a", |_| ()), node("b", |_| ())], [asks]);
    assert_eq!(scored(&LeastUtilization, &pod("p", |_| ()), &cluster), "a=0 b=100");
}
