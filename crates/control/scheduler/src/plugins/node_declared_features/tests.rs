use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

const REASON: &str = "! node(s) didn't match Pod's required features";

fn declaring(name: &str, features: Value) -> NodeFacts {
    node(name, |node| node["status"]["declaredFeatures"] = features)
}

#[test]
fn what_is_new_runs_where_it_is_declared() {
    let cluster =
        cluster([declaring("a", json!(["UserNamespacesHostNetworkSupport"])), declaring("b", json!([]))], []);
    let users = |host_users: bool| {
        pod("p", move |pod| {
            pod["spec"]["hostNetwork"] = true.into();
            pod["spec"]["hostUsers"] = host_users.into();
        })
    };
    let restarts = pod("p", |pod| {
        pod["spec"]["containers"][0]["restartPolicyRules"] = json!([{"action": "RestartAllContainers"}]);
    });
    for (case, pod, out) in [
        ("nothing new", pod("p", |_| ()), vec![]),
        ("own users on the node's network", users(false), vec![format!("b: {REASON}")]),
        ("the node's users", users(true), vec![]),
        ("restarting all containers", restarts, vec![format!("a: {REASON}"), format!("b: {REASON}")]),
    ] {
        assert_eq!(rejected(&NodeDeclaredFeatures, &pod, &cluster), out, "{case}");
    }
}
