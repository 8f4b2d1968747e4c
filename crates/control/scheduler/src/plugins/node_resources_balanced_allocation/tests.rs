use serde_json::json;

use super::*;
use crate::plugins::testing::*;

fn asking(name: &str, cpu: &str, memory: &str) -> PodView {
    pod(name, |pod| {
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu, "memory": memory}});
    })
}

#[test]
fn a_pod_that_evens_a_node_out_belongs_there() {
    let plugin = NodeResourcesBalancedAllocation::new(Arguments::default());
    let processors = on("b", &asking("q", "2", "0"));
    let cluster = cluster([node("a", |_| ()), node("b", |_| ())], [processors]);
    for (case, pod, wanted) in [
        ("memory goes where processors are used", asking("p", "0", "4Gi"), "a=62 b=87"),
        ("as much of each changes nothing", asking("p", "1", "2Gi"), "a=75 b=75"),
        ("nothing asked for, nothing to say", asking("p", "0", "0"), "-"),
    ] {
        assert_eq!(scored(&plugin, &pod, &cluster), wanted, "{case}");
    }
}
