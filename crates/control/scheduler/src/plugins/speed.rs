//! How many decisions a second, in a large cluster with terms and constraints on every pod. A measurement, not a test:
//! `cargo test --release -p kedge-scheduler speed -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ReplicationController, Service};
use kedge_children::testing::{hold, object};
use kedge_engine::World;
use serde_json::{Value, json};

use super::testing::{cluster_in, node, pod};
use super::{DEFAULT, make};
use crate::decide::{Decision, Profile, decide};
use crate::pod::PodView;

const NODES: usize = 5_000;
const APPS: usize = 1_000;

fn profile() -> Profile {
    let parts: Vec<_> =
        DEFAULT.iter().map(|(name, weight)| (make(name, &Value::Null).unwrap(), *weight)).collect();
    Profile {
        scheduler: "default-scheduler".to_owned(),
        filters: parts.iter().filter_map(|(parts, _)| parts.filter.clone()).collect(),
        scores: parts.iter().filter_map(|(parts, weight)| Some((parts.score.clone()?, *weight))).collect(),
        pre_binds: Vec::new(),
        percentage: 0,
        preempts: false,
    }
}

fn one_of(app: usize, number: usize, spec: impl FnOnce(&mut Value, &str)) -> PodView {
    let name = format!("app{app}");
    pod(&format!("{name}-{number}"), |pod| {
        pod["metadata"]["labels"] = json!({"app": name, "pod-template-hash": "x"});
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "u", "controller": true}]);
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "10m", "memory": "16Mi"}});
        spec(&mut pod["spec"], &name);
    })
}

fn plain(_: &mut Value, _: &str) {}

fn spread(spec: &mut Value, app: &str) {
    let over = |key: &str, skew: i32| {
        json!({
            "maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
        })
    };
    spec["topologySpreadConstraints"] =
        json!([over("topology.kubernetes.io/zone", 1), over("kubernetes.io/hostname", 3)]);
}

fn apart(spec: &mut Value, app: &str) {
    let term = |key: &str| json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key});
    spec["affinity"]["podAntiAffinity"] = json!({
        "requiredDuringSchedulingIgnoredDuringExecution": [term("kubernetes.io/hostname")],
        "preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 10, "podAffinityTerm": term("topology.kubernetes.io/zone")}],
    });
}

fn both(spec: &mut Value, app: &str) {
    spread(spec, app);
    apart(spec, app);
}

fn world() -> World {
    let world = World::by_hand();
    let names = || (0..APPS).map(|app| format!("app{app}"));
    hold::<Service>(
        &world,
        names()
            .map(|name| {
                object(json!({
                    "metadata": {"name": name, "namespace": "n"}, "spec": {"selector": {"app": name}},
                }))
            })
            .collect(),
    );
    hold::<ReplicaSet>(&world, names().map(|name| object(json!({
        "metadata": {"name": name, "namespace": "n"}, "spec": {"selector": {"matchLabels": {"app": name}}},
    }))).collect());
    hold::<StatefulSet>(&world, vec![]);
    hold::<ReplicationController>(&world, vec![]);
    world
}

#[test]
#[ignore = "a measurement"]
fn decisions_a_second() {
    let profile = profile();
    for (case, spec, apps) in [
        ("plain, one app", plain as fn(&mut Value, &str), 1),
        ("plain, 1,000 apps", plain, APPS),
        ("spread, one app", spread, 1),
        ("spread, 1,000 apps", spread, APPS),
        ("apart, one app", apart, 1),
        ("apart, 1,000 apps", apart, APPS),
        ("both, 1,000 apps", both, APPS),
    ] {
        let nodes = (0..NODES).map(|number| {
            node(&format!("node{number}"), |node| {
                node["metadata"]["labels"]["topology.kubernetes.io/zone"] =
                    format!("zone{}", number % 10).into();
                node["status"]["allocatable"]["pods"] = "110".into();
            })
        });
        let there = (0..4_000_usize).map(|number| {
            let pod = one_of(number % APPS, number, both);
            Arc::new(pod.placed_on(&format!("node{}", number * 7 % NODES)))
        });
        let mut cluster = cluster_in(world(), nodes, there);
        let pods: Vec<_> =
            (0..2_000_usize).map(|number| one_of(number % apps, 10_000 + number, spec)).collect();
        let (mut start, mut nowhere) = (0, 0);
        let began = Instant::now();
        for pod in &pods {
            match decide(&profile, pod, &cluster, &mut start, 7) {
                Decision::Place(slot) => {
                    let name = cluster.at(slot).unwrap().name.clone();
                    cluster.put_pod(Arc::new(pod.placed_on(&name)));
                }
                _ => nowhere += 1,
            }
        }
        let took = began.elapsed().as_secs_f64();
        eprintln!("{case}: {:.0} decisions/s, {nowhere} nowhere", pods.len() as f64 / took);
    }
}
