//! Whatever host and path a client sends, looking up its route ends, and what is passed on is a path.
#![no_main]

use std::sync::LazyLock;

use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kedge_client::{Revision, Watched, World};
use kedge_gateway::{DnsRecord, Routes, TlsSecret};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static ROUTES: LazyLock<Routes> = LazyLock::new(|| {
    let world = World::by_hand();
    hold::<IngressClass>(
        &world,
        json!([{"metadata": {"name": "kedge"}, "spec": {"controller": kedge_gateway::CONTROLLER}}]),
    );
    let path = |path: &str, kind: &str| {
        json!({
            "path": path, "pathType": kind, "backend": {"service": {"name": "s", "port": {"number": 80}}},
        })
    };
    hold::<Ingress>(
        &world,
        json!([{"metadata": {"name": "i", "namespace": "n"}, "spec": {"ingressClassName": "kedge", "rules": [
            {"host": "a.io", "http": {"paths": [path("/", "Prefix"), path("/a/b", "Exact"), path("/a", "Prefix")]}},
            {"host": "*.b.io", "http": {"paths": [path("/a/b/c", "Prefix")]}},
            {"http": {"paths": [path("/any", "Prefix")]}},
        ]}}]),
    );
    hold::<DnsRecord>(
        &world,
        json!([{"metadata": {"name": "r", "namespace": "n"}, "spec": {"host": "c.io", "paths": [
            {"pathName": "p", "service": "s", "port": 80}, {"pathName": "p/q", "service": "t", "port": 80},
        ]}}]),
    );
    hold::<kedge_facts::Service>(&world, json!([]));
    hold::<kedge_facts::Slice>(&world, json!([]));
    hold::<TlsSecret>(&world, json!([]));
    Routes::of(&world, None).expect("everything is there")
});

fn hold<K: Watched + serde::de::DeserializeOwned>(world: &World, objects: Value) {
    let objects: Vec<K> = serde_json::from_value(objects).expect("objects");
    world.feed::<K>().replace(objects, Revision(1));
}

fuzz_target!(|data: &str| {
    let Some((host, path)) = data.split_once(' ') else { return };
    for host in [host, "a.io", "x.b.io", "c.io", ""] {
        let Some(passed) = ROUTES.passed_on(host, path) else { continue };
        // What a record leads to sees a path of its own; all others see what was asked.
        assert!(passed.starts_with('/') || passed == path || path.is_empty(), "{host} {path} {passed}");
    }
});
