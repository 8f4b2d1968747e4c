use serde_json::json;

use super::*;
use crate::plugins::testing::*;

fn with_port(name: &str, address: &str, protocol: &str, port: i32) -> PodView {
    pod(name, |pod| {
        let ports = json!([{"containerPort": 80, "hostPort": port, "hostIP": address, "protocol": protocol}]);
        pod["spec"]["containers"][0]["ports"] = ports;
    })
}

#[test]
fn a_port_of_a_node_belongs_to_one_pod() {
    let taken = vec!["a: node(s) didn't have free ports for the requested pod ports"];
    for (case, there, wanted, out) in [
        ("free", with_port("q", "", "TCP", 80), with_port("p", "", "TCP", 81), vec![]),
        ("the same", with_port("q", "", "TCP", 80), with_port("p", "", "TCP", 80), taken.clone()),
        ("another protocol", with_port("q", "", "TCP", 80), with_port("p", "", "UDP", 80), vec![]),
        (
            "different addresses",
            with_port("q", "1.1.1.1", "TCP", 80),
            with_port("p", "1.1.1.2", "TCP", 80),
            vec![],
        ),
        (
            "all addresses are wanted",
            with_port("q", "1.1.1.1", "TCP", 80),
            with_port("p", "0.0.0.0", "TCP", 80),
            taken.clone(),
        ),
        (
            "all addresses are taken",
            with_port("q", "", "TCP", 80),
            with_port("p", "1.1.1.2", "TCP", 80),
            taken,
        ),
    ] {
        let cluster = cluster([node("a", |_| ()), node("b", |_| ())], [on("a", &there)]);
        assert_eq!(rejected(&NodePorts, &wanted, &cluster), out, "{case}");
    }
}

#[test]
fn only_the_pod_with_that_port_helps_by_leaving() {
    let waiting = with_port("p", "", "TCP", 80);
    assert!(NodePorts.helped_by(&waiting, &Change::PodGone(&with_port("q", "", "TCP", 80))));
    assert!(!NodePorts.helped_by(&waiting, &Change::PodGone(&with_port("q", "", "TCP", 81))));
    assert!(!NodePorts.helped_by(&waiting, &Change::PodGone(&pod("q", |_| ()))));
}
