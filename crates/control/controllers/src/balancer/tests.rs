use kedge_children::testing::{hold, noon, object, status};
use serde_json::{Value, json};

use super::*;

fn node(name: &str, addresses: &[&str], is_ready: bool) -> Node {
    let addresses: Vec<Value> =
        addresses.iter().map(|address| json!({"type": "InternalIP", "address": address})).collect();
    object(json!({
        "metadata": {"name": name},
        "status": {
            "addresses": addresses,
            "conditions": [{"type": "Ready", "status": if is_ready { "True" } else { "False" }}],
        },
    }))
}

fn service(name: &str, since: u8, edit: impl FnOnce(&mut Value)) -> Service {
    let mut value = json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": name, "resourceVersion": "3",
            "creationTimestamp": format!("2030-01-01T00:00:{since:02}Z"),
        },
        "spec": {"type": "LoadBalancer", "ipFamilies": ["IPv4"], "ports": [{"port": 80, "protocol": "TCP"}]},
        "status": {"loadBalancer": {}},
    });
    edit(&mut value);
    object(value)
}

fn slice(node: &str, is_ready: bool) -> EndpointSlice {
    object(json!({
        "metadata": {"name": node, "namespace": "n", "labels": {SERVICE: "web"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "nodeName": node, "conditions": {"ready": is_ready}}],
    }))
}

fn world(nodes: Vec<Node>, services: Vec<Service>, slices: Vec<EndpointSlice>) -> World {
    let world = World::by_hand();
    hold(&world, nodes);
    hold(&world, services);
    hold(&world, slices);
    world
}

/// The addresses that a plan gives, in one line; `-` if it changes nothing.
fn given(plan: &Plan) -> String {
    if plan.actions.is_empty() {
        return "-".to_owned();
    }
    let status = status(plan);
    let ingress = status["loadBalancer"]["ingress"].as_array().cloned().unwrap_or_default();
    let ips: Vec<&str> = ingress.iter().filter_map(|point| point["ip"].as_str()).collect();
    let problem = status["conditions"][0]["message"].as_str().unwrap_or_default();
    format!("{} {problem}", ips.join(",")).trim().to_owned()
}

#[test]
fn who_gets_which_addresses() {
    let usual = || vec![node("a", &["192.0.2.1", "fd00::1"], true), node("b", &["192.0.2.2"], true)];
    let web = |edit: &dyn Fn(&mut Value)| service("web", 5, |value| edit(value));
    let older = || service("older", 1, |_| ());
    for (case, nodes, root, others, slices, expected) in [
        ("all that are ready", usual(), web(&|_| ()), vec![], vec![], "192.0.2.1,192.0.2.2"),
        (
            "one is not",
            vec![node("a", &["192.0.2.1"], false), node("b", &["192.0.2.2"], true)],
            web(&|_| ()),
            vec![],
            vec![],
            "192.0.2.2",
        ),
        ("nobody can call a loop", vec![node("a", &["127.0.0.1"], true)], web(&|_| ()), vec![], vec![], "-"),
        (
            "both families",
            usual(),
            web(&|value| value["spec"]["ipFamilies"] = json!(["IPv6", "IPv4"])),
            vec![],
            vec![],
            "fd00::1,192.0.2.1,192.0.2.2",
        ),
        (
            "another kind",
            usual(),
            web(&|value| value["spec"]["type"] = json!("NodePort")),
            vec![],
            vec![],
            "-",
        ),
        (
            "another's",
            usual(),
            web(&|value| value["spec"]["loadBalancerClass"] = json!("acme.com/lb")),
            vec![],
            vec![],
            "-",
        ),
        (
            "where its endpoints are",
            usual(),
            web(&|value| value["spec"]["externalTrafficPolicy"] = json!("Local")),
            vec![],
            vec![slice("a", false), slice("b", true)],
            "192.0.2.2",
        ),
        (
            "the port is an older one's",
            usual(),
            web(&|_| ()),
            vec![older()],
            vec![],
            "port 80/TCP of the nodes is in use by the Service n/older",
        ),
        (
            "by another protocol",
            usual(),
            web(&|value| value["spec"]["ports"][0]["protocol"] = json!("UDP")),
            vec![older()],
            vec![],
            "192.0.2.1,192.0.2.2",
        ),
        (
            "the cluster's own port",
            usual(),
            web(&|value| value["spec"]["ports"][0]["port"] = json!(6443)),
            vec![],
            vec![],
            "port 6443/TCP of the nodes is in use by the cluster itself",
        ),
        (
            "no longer of this kind",
            usual(),
            web(&|value| {
                value["spec"]["type"] = json!("ClusterIP");
                value["status"] =
                    json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}});
            }),
            vec![],
            vec![],
            "",
        ),
    ] {
        let services = others.into_iter().chain([root.clone()]).collect();
        let world = world(nodes, services, slices);
        let balancers = Balancers { taken: [6443].into() };
        let plan = balancers.plan(&root, &world, noon()).unwrap();
        assert_eq!(given(&plan), expected, "{case}");
    }
}

#[test]
fn a_plan_that_was_carried_out_is_not_made_again() {
    let root = service("web", 5, |value| {
        value["status"] = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}});
    });
    let world = world(vec![node("a", &["192.0.2.1"], true)], vec![root.clone()], vec![]);
    assert_eq!(Balancers::default().plan(&root, &world, noon()).unwrap(), Plan::default());
}
