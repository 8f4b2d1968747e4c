//! Whatever host and path a client sends, looking up its route ends, and what is passed on is a path. Whatever it sends as a whole
//! request, an endpoint sees one, for one host, without a body.
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

fn is_one_request(head: &[u8]) -> bool {
    let text = std::str::from_utf8(head).expect("what is not plain text is not plain");
    let mut lines = text.strip_suffix("\r\n\r\n").expect("a head ends").split("\r\n");
    let first = lines.next().unwrap_or_default();
    let is_asked = ["GET /", "HEAD /"].iter().any(|start| first.starts_with(start));
    let names: Vec<String> =
        lines.map(|line| line.split(':').next().unwrap_or_default().to_ascii_lowercase()).collect();
    let count = |name: &str| names.iter().filter(|seen| *seen == name).count();
    let framing = count("content-length") + count("transfer-encoding") + count("connection") + count("");
    is_asked
        && first.ends_with(" HTTP/1.1")
        && first.split(' ').count() == 3
        && count("host") == 1
        && framing == 0
}

fuzz_target!(|data: &str| {
    if let Some(head) = kedge_gateway::passed_plainly(data.as_bytes()) {
        assert!(is_one_request(&head), "{data:?}");
    }
    let Some((host, path)) = data.split_once(' ') else { return };
    for host in [host, "a.io", "x.b.io", "c.io", ""] {
        let Some(passed) = ROUTES.passed_on(host, path) else { continue };
        // What a record leads to sees a path of its own; all others see what was asked.
        assert!(passed.starts_with('/') || passed == path || path.is_empty(), "{host} {path} {passed}");
    }
});
