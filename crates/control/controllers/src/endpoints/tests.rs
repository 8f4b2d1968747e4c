use serde_json::{Value, json};

use super::*;
use kedge_children::testing::{hold, noon, object, pod};

fn service(edit: impl FnOnce(&mut Value)) -> Service {
    let mut value = json!({
        "metadata": {"name": "web", "namespace": "n", "uid": "svc", "resourceVersion": "3", "labels": {"tier": "front"}},
        "spec": {
            "clusterIP": "10.96.0.7", "ipFamilies": ["IPv4"], "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}],
        },
    });
    edit(&mut value);
    object(value)
}

fn behind(name: &str, ip: &str, edit: impl FnOnce(&mut Value)) -> Pod {
    pod(name, "", |pod| {
        pod["status"]["podIPs"] = json!([{"ip": ip}]);
        pod["spec"]["containers"][0]["ports"] =
            json!([{"name": "web", "containerPort": 8080, "protocol": "TCP"}]);
        edit(pod);
    })
}

fn world(pods: Vec<Pod>, slices: Vec<EndpointSlice>) -> World {
    let world = World::by_hand();
    hold(&world, pods);
    hold(&world, slices);
    hold(&world, Vec::<Node>::new());
    hold(&world, Vec::<Endpoints>::new());
    hold(&world, Vec::<Service>::new());
    world
}

fn created(plan: &Plan) -> Vec<Value> {
    let made = plan.actions.iter().filter_map(|action| match action {
        Action::Create { object, .. } => Some(object.clone()),
        _ => None,
    });
    made.collect()
}

fn planned(service: &Service, pods: Vec<Pod>, slices: Vec<EndpointSlice>) -> Plan {
    EndpointSlices.plan(service, &world(pods, slices), noon()).unwrap()
}

/// What the API would store.
fn stored(plan: &Plan) -> Vec<EndpointSlice> {
    let uid = |mut slice: Value| {
        slice["metadata"]["uid"] = slice["metadata"]["name"].clone();
        object(slice)
    };
    created(plan).into_iter().map(uid).collect()
}

#[test]
fn says_how_each_pod_is() {
    let leaving = json!("2030-01-01T11:59:00Z");
    let unready = json!([{"type": "Ready", "status": "False"}]);
    for (case, edit, shows, expected) in [
        ("ready", json!({}), false, Some((true, true, false))),
        ("not ready", json!({"status": {"conditions": unready}}), false, Some((false, false, false))),
        ("not ready and shown", json!({"status": {"conditions": unready}}), true, Some((true, false, false))),
        ("leaving", json!({"metadata": {"deletionTimestamp": leaving}}), false, Some((false, true, true))),
        ("ended", json!({"status": {"phase": "Failed"}}), false, None),
        ("without an address", json!({"status": {"podIPs": []}}), false, None),
    ] {
        let service = service(|service| service["spec"]["publishNotReadyAddresses"] = json!(shows));
        let pod = behind("a", "10.0.0.1", |pod| {
            for (part, fields) in edit.as_object().unwrap() {
                for (field, value) in fields.as_object().unwrap() {
                    pod[part][field] = value.clone();
                }
            }
        });
        let slices = created(&planned(&service, vec![pod], vec![]));
        assert_eq!(slices.len(), 1, "{case}");
        let found = slices[0]["endpoints"].get(0).map(|endpoint| {
            let is = |name: &str| endpoint["conditions"][name].as_bool().unwrap();
            (is("ready"), is("serving"), is("terminating"))
        });
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn a_slice_names_its_service_and_its_ports() {
    let slices = created(&planned(&service(|_| {}), vec![behind("a", "10.0.0.1", |_| {})], vec![]));
    let slice = &slices[0];
    assert_eq!(
        slice["metadata"]["labels"],
        json!({
            "tier": "front", "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        })
    );
    assert_eq!(slice["ports"], json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    assert_eq!(slice["endpoints"][0]["targetRef"]["name"], "a");
    assert_eq!(slice["metadata"]["ownerReferences"][0]["uid"], "svc");
}

#[test]
fn endpoints_stay_where_they_are() {
    let service = service(|_| {});
    let many = |count: usize| -> Vec<Pod> {
        (0..count)
            .map(|n| behind(&format!("p{n:03}"), &format!("10.0.{}.{}", n / 200, n % 200), |_| {}))
            .collect()
    };
    let first = planned(&service, many(150), vec![]);
    let slices = stored(&first);
    let sizes: Vec<usize> = slices.iter().map(|slice| slice.endpoints.iter().flatten().count()).collect();
    assert_eq!(sizes, [100, 50]);
    assert_eq!(planned(&service, many(150), slices.clone()), Plan::default(), "nothing is left to do");
    let grown = planned(&service, many(160), slices.clone());
    assert_eq!(grown.actions.len(), 1, "only the slice with room changes: {grown:?}");
    let shrunk = planned(&service, many(100), slices.clone());
    assert_eq!(
        shrunk.actions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!("delete EndpointSlice n/{}", slices[1].name_any())]
    );
}

#[test]
fn pods_with_other_ports_have_another_slice() {
    let other = behind("b", "10.0.0.2", |pod| {
        pod["spec"]["containers"][0]["ports"][0]["containerPort"] = json!(9090)
    });
    let slices = created(&planned(&service(|_| {}), vec![behind("a", "10.0.0.1", |_| {}), other], vec![]));
    assert_eq!(
        slices.iter().map(|slice| slice["ports"][0]["port"].as_i64().unwrap()).collect::<Vec<_>>(),
        [8080, 9090]
    );
}

#[test]
fn a_service_that_selects_nothing_has_no_slices_of_ours() {
    let slices = stored(&planned(&service(|_| {}), vec![behind("a", "10.0.0.1", |_| {})], vec![]));
    let plan = planned(
        &service(|service| drop(service["spec"].as_object_mut().unwrap().remove("selector"))),
        vec![],
        slices,
    );
    assert!(plan.actions.iter().all(Action::is_deletion) && plan.actions.len() == 1, "{plan:?}");
}

#[test]
fn endpoints_tell_ready_from_unready() {
    let unready = behind("b", "10.0.0.2", |pod| pod["status"]["conditions"][0]["status"] = json!("False"));
    let world = world(vec![behind("a", "10.0.0.1", |_| {}), unready], vec![]);
    let made = created(&EndpointsOfServices.plan(&service(|_| {}), &world, noon()).unwrap());
    let subset = &made[0]["subsets"][0];
    assert_eq!(subset["addresses"][0]["ip"], "10.0.0.1");
    assert_eq!(subset["notReadyAddresses"][0]["ip"], "10.0.0.2");
    assert_eq!(subset["ports"], json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    hold::<Endpoints>(&world, vec![object(made[0].clone())]);
    assert_eq!(EndpointsOfServices.plan(&service(|_| {}), &world, noon()).unwrap(), Plan::default());
}

#[test]
fn endpoints_go_with_their_service() {
    let world = world(Vec::new(), Vec::new());
    let [made] = &created(&EndpointsOfServices.plan(&service(|_| {}), &world, noon()).unwrap())[..] else {
        panic!("no Endpoints")
    };
    let ours: Endpoints = object(made.clone());
    let mut by_hand = ours.clone();
    by_hand.metadata.labels = None;
    for (case, endpoints, services, goes) in [
        ("the Service is there", &ours, vec![service(|_| {})], false),
        ("the Service is gone", &ours, vec![], true),
        ("somebody else's", &by_hand, vec![], false),
    ] {
        hold(&world, services);
        let plan = EndpointsLeftOver.plan(endpoints, &world, noon()).unwrap();
        assert_eq!(!plan.actions.is_empty(), goes, "{case}");
    }
}

#[test]
fn endpoints_by_hand_are_mirrored() {
    let endpoints: Endpoints = object(json!({
        "metadata": {"name": "web", "namespace": "n", "uid": "e", "resourceVersion": "1", "labels": {"x": "y"}},
        "subsets": [{
            "addresses": [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}],
            "notReadyAddresses": [{"ip": "10.1.0.2"}],
            "ports": [{"port": 80, "protocol": "TCP"}],
        }],
    }));
    let by_hand = |edit: fn(&mut Value)| {
        let world = world(vec![], vec![]);
        let service = service(|service| {
            service["spec"].as_object_mut().unwrap().remove("selector");
            edit(service);
        });
        hold(&world, vec![service]);
        created(&EndpointSliceMirrors.plan(&endpoints, &world, noon()).unwrap())
    };
    let slices = by_hand(|_| {});
    let shown: Vec<_> = slices
        .iter()
        .map(|slice| (slice["addressType"].as_str().unwrap(), slice["endpoints"].as_array().unwrap().len()))
        .collect();
    assert_eq!(shown, [("IPv4", 2), ("IPv6", 1)]);
    assert_eq!(slices[0]["endpoints"][1]["conditions"], json!({"ready": false}));
    assert!(by_hand(|service| service["spec"]["selector"] = json!({"app": "web"})).is_empty());
}
