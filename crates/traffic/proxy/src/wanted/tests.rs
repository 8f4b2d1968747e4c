use serde_json::{Value, json};

use super::*;

fn service(edit: impl FnOnce(&mut Value)) -> Service {
    let mut value = json!({
        "metadata": {"name": "web", "namespace": "n", "creationTimestamp": "2030-01-01T00:00:00Z"},
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"],
            "ports": [{"name": "http", "port": 80, "nodePort": 30080}],
        },
    });
    edit(&mut value["spec"]);
    if let Some(status) = value["spec"].as_object_mut().and_then(|spec| spec.remove("status")) {
        value["status"] = status;
    }
    serde_json::from_value(value).unwrap()
}

fn slice(family: &str, endpoints: &[(&str, &str)]) -> Slice {
    let endpoints: Vec<Value> =
        endpoints.iter().map(|(address, node)| json!({"addresses": [address], "nodeName": node})).collect();
    serde_json::from_value(json!({
        "metadata": {}, "addressType": family, "endpoints": endpoints,
        "ports": [{"name": "http", "port": 8080}, {"name": "tls", "port": 8443}],
    }))
    .unwrap()
}

/// `10.96.0.7:80 inside W`, then pools: `W=1,2`.
fn shown(wanted: &Wanted) -> Vec<String> {
    let reach = |id: &PoolId| match id.reach {
        Reach::Wide => "W",
        Reach::Inner => "I",
        Reach::Near => "N",
    };
    let front = |front: &Front| {
        let at = front.door.at.map_or("node".to_owned(), |at| at.to_string());
        let way = match &front.way {
            Way::Inside(id) => format!("inside {}", reach(id)),
            Way::Outside(id) => format!("outside {}", reach(id)),
            Way::Near { wide, near } => format!("near {}{}", reach(wide), reach(near)),
        };
        let only =
            front.only_from.as_ref().map(|ranges| format!(" from {}", ranges.len())).unwrap_or_default();
        format!("{at} {} {way}{only}", front.door.port)
    };
    let pool = |pool: &Pool| {
        let targets = pool.targets.iter().map(|target| format!("{}:{}", target.address, target.port));
        let targets: Vec<String> = targets.map(|target| target.replace("10.0.0.", "")).collect();
        let targets = match (targets.is_empty(), pool.if_empty) {
            (false, _) => targets.join(","),
            (true, Empty::Refuse) => "refuse".to_owned(),
            (true, Empty::Discard) => "discard".to_owned(),
        };
        let stays = pool.stays.map(|seconds| format!(" for {seconds}")).unwrap_or_default();
        format!("{}={targets}{stays}", reach(&pool.id))
    };
    wanted.fronts.iter().map(front).chain(wanted.pools.iter().map(pool)).collect()
}

#[test]
fn what_a_service_wants() {
    let here = Here { node: "here".to_owned(), zone: None };
    let both = || vec![slice("IPv4", &[("10.0.0.1", "here"), ("10.0.0.2", "there")])];
    let there = || vec![slice("IPv4", &[("10.0.0.2", "there")])];
    for (case, edit, slices, expected) in [
        ("inside only", json!({}), both(), vec!["10.96.0.7 80 inside W", "W=1:8080,2:8080"]),
        ("no endpoints", json!({}), vec![], vec!["10.96.0.7 80 inside W", "W=refuse"]),
        ("headless", json!({"clusterIP": "None", "clusterIPs": ["None"]}), both(), vec![]),
        ("a name elsewhere", json!({"type": "ExternalName", "clusterIPs": []}), both(), vec![]),
        (
            "stays inside on this node",
            json!({"internalTrafficPolicy": "Local"}),
            both(),
            vec!["10.96.0.7 80 inside I", "I=1:8080"],
        ),
        (
            "stays inside where none is",
            json!({"internalTrafficPolicy": "Local"}),
            there(),
            vec!["10.96.0.7 80 inside I", "I=discard"],
        ),
        (
            "stays inside and there is none anywhere",
            json!({"internalTrafficPolicy": "Local"}),
            vec![],
            vec!["10.96.0.7 80 inside I", "I=refuse"],
        ),
        (
            "at the node",
            json!({"type": "NodePort"}),
            both(),
            vec!["10.96.0.7 80 inside W", "node 30080 outside W", "W=1:8080,2:8080"],
        ),
        (
            "at the node, kept near",
            json!({"type": "NodePort", "externalTrafficPolicy": "Local"}),
            both(),
            vec!["10.96.0.7 80 inside W", "node 30080 near WN", "W=1:8080,2:8080", "N=1:8080"],
        ),
        (
            "kept near where none is",
            json!({"type": "NodePort", "externalTrafficPolicy": "Local"}),
            there(),
            vec!["10.96.0.7 80 inside W", "node 30080 near WN", "W=2:8080", "N=discard"],
        ),
        (
            "both policies local",
            json!({"type": "NodePort", "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local"}),
            both(),
            vec!["10.96.0.7 80 inside I", "node 30080 near WN", "I=1:8080", "W=1:8080,2:8080", "N=1:8080"],
        ),
        (
            "at other addresses",
            json!({"externalIPs": ["192.0.2.1", "fd00::9"]}),
            both(),
            vec!["10.96.0.7 80 inside W", "192.0.2.1 80 outside W", "W=1:8080,2:8080"],
        ),
        (
            "balanced, for some",
            json!({
                "type": "LoadBalancer", "externalIPs": ["192.0.2.1"],
                "loadBalancerSourceRanges": ["192.0.2.0/24", "192.0.2.0/25", "fd00::/8", "nobody"],
                "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}, {"ip": "192.0.2.1"}]}},
            }),
            both(),
            vec![
                "10.96.0.7 80 inside W",
                "192.0.2.1 80 outside W from 1",
                "192.0.2.9 80 outside W from 1",
                "node 30080 outside W",
                "W=1:8080,2:8080",
            ],
        ),
        (
            "clients stay",
            json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 7}}}),
            both(),
            vec!["10.96.0.7 80 inside W", "W=1:8080,2:8080 for 7"],
        ),
        (
            "several ports",
            json!({"ports": [{"name": "http", "port": 80}, {"name": "tls", "port": 443}]}),
            there(),
            vec!["10.96.0.7 80 inside W", "10.96.0.7 443 inside W", "W=2:8080", "W=2:8443"],
        ),
        (
            "two families",
            json!({"clusterIPs": ["10.96.0.7", "fd00::7"]}),
            vec![slice("IPv4", &[("10.0.0.1", "here")]), slice("IPv6", &[("fd01::1", "here")])],
            vec!["10.96.0.7 80 inside W", "fd00::7 80 inside W", "W=1:8080", "W=fd01::1:8080"],
        ),
    ] {
        let service = service(|spec| {
            for (key, value) in edit.as_object().unwrap() {
                spec[key] = value.clone();
            }
        });
        let slices: Vec<&Slice> = slices.iter().collect();
        assert_eq!(shown(&wanted(&service, &slices, &here)), expected, "{case}");
    }
}

#[test]
fn another_may_carry_it() {
    let mut service = service(|_| ());
    let label = ("service.kubernetes.io/service-proxy-name".to_owned(), "other".to_owned());
    service.metadata.labels = Some([label].into());
    assert!(wanted(&service, &[], &Here::default()).is_nothing());
}

#[test]
fn a_balancer_learns_whether_endpoints_are_here() {
    let here = Here { node: "here".to_owned(), zone: None };
    let balanced = service(|spec| {
        spec["type"] = json!("LoadBalancer");
        spec["externalTrafficPolicy"] = json!("Local");
        spec["healthCheckNodePort"] = json!(31000);
    });
    for (case, endpoints, expected) in [
        ("two here", vec![("10.0.0.1", "here"), ("10.0.0.3", "here"), ("10.0.0.2", "there")], 2),
        ("none here", vec![("10.0.0.2", "there")], 0),
    ] {
        let slice = slice("IPv4", &endpoints);
        let health = wanted(&balanced, &[&slice], &here).health;
        assert_eq!(health, Some(Health { port: 31000, endpoints: expected }), "{case}");
    }
    let plain = service(|spec| spec["healthCheckNodePort"] = json!(31000));
    assert_eq!(wanted(&plain, &[], &here).health, None);
}
