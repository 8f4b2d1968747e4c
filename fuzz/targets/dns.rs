//! Anything as a question to the cluster's DNS, and anything as another server's answer to it: what we say can be read, answers what was
//! asked and fits into the room that there is; never a panic. The first octet says which of the two it is.
#![no_main]

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use kedge_client::{Revision, World};
use kedge_clock::Clock;
use kedge_dns::wire::{Foreign, Query, Section, bare, skim};
use kedge_dns::{Dns, Hosts, Settings, Upstreams, start};
use kedge_facts::{Namespace, Pod, Service, Slice};
use kedge_range::Range;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static DNS: LazyLock<Dns> = LazyLock::new(|| {
    let (world, hosts) = (World::by_hand(), Hosts::default());
    let addresses: Vec<IpAddr> = vec![[10, 96, 0, 10].into()];
    let settings = Settings {
        zone: "cluster.local".to_owned(),
        ranges: Range::new(addresses[0], 16).into_iter().collect(),
        addresses,
        port: 53,
        note: PathBuf::new(),
        memory: None,
        upstreams: Upstreams::These(Vec::new()),
        stubs: Vec::new(),
    };
    let dns =
        start(&settings, world.clone(), hosts.clone(), None, Clock::system()).expect("the zone is a name");
    hosts.set(["shop.example"]);
    let service = |name: &str, spec: Value| -> Service {
        serde_json::from_value(json!({"metadata": {"namespace": "default", "name": name}, "spec": spec}))
            .expect("a Service")
    };
    let slice: Slice = serde_json::from_value(json!({
        "metadata": {"namespace": "default", "name": "db", "labels": {"kubernetes.io/service-name": "db"}},
        "addressType": "IPv4", "ports": [{"name": "sql", "port": 1}],
        "endpoints": (0..200).map(|last| json!({"addresses": [format!("10.244.0.{last}")]})).collect::<Vec<_>>(),
    }))
    .expect("a slice");
    let namespace: Namespace =
        serde_json::from_value(json!({"metadata": {"name": "default"}})).expect("a namespace");
    world.feed::<Service>().replace(
        vec![
            service(
                "web",
                json!({"clusterIPs": ["10.96.0.7", "fd00::7"], "ports": [{"name": "http", "port": 80}]}),
            ),
            service("db", json!({"clusterIP": "None"})),
            service("out", json!({"type": "ExternalName", "externalName": "example.org"})),
        ],
        Revision(1),
    );
    world.feed::<Slice>().replace(vec![slice], Revision(1));
    world.feed::<Namespace>().replace(vec![namespace], Revision(1));
    world.feed::<Pod>().replace(Vec::new(), Revision(1));
    dns.fill().expect("everything was read");
    dns
});

fuzz_target!(|input: &[u8]| {
    let Some((which, message)) = input.split_first() else { return };
    if which % 2 == 0 { question(message) } else { answer(message) }
});

fn question(packet: &[u8]) {
    match Query::read(packet) {
        Ok(query) => {
            let Some(answer) = DNS.quick(&query, [10, 244, 0, 9].into(), query.room()) else { return };
            fits(&query, &answer);
        }
        Err(bad) => assert!(bare(bad).is_none_or(|answer| answer.len() <= packet.len())),
    }
}

fn answer(message: &[u8]) {
    let Some(foreign) = Foreign::new(message.to_vec()) else { return };
    let begin = foreign.skim().begin;
    let packet = [&[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &message[12..begin]].concat();
    let query = Query::read(&packet).expect("its question is one");
    let _ = foreign.lifetime();
    let _ = foreign.records(Section::Answer, 1).len() + foreign.records(Section::Authority, u32::MAX).len();
    fits(&query, &foreign.encode(&query, 7, query.room()));
}

fn fits(query: &Query, answer: &[u8]) {
    assert!(answer.len() <= query.room());
    let found = skim(answer).expect("our answer can be read");
    assert!(
        found.is_response() && found.id == query.id && found.name == query.name && found.kind == query.kind
    );
}
