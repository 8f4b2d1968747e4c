//! A range is used as long as it is there, and there as long as it is used.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::testing::{Api, with};
use crate::{ListQuery, Options};

const CIDRS: &str = "networking.k8s.io/v1/servicecidrs";

fn stored(name: &str, cidr: (&str, u8), edit: impl FnOnce(&mut Value)) -> Stored {
    let mut object = json!({"metadata": {"name": name, "finalizers": [FINALIZER]}, "status": {"conditions": [
        {"type": "Ready", "status": "True"},
    ]}});
    edit(&mut object);
    let ranges = vec![Range::new(cidr.0.parse().unwrap(), cidr.1)];
    Stored { name: name.to_owned(), revision: kedge_store::Revision::ZERO, object, ranges }
}

#[test]
fn what_each_lacks() {
    let leaves = |object: &mut Value| object["metadata"]["deletionTimestamp"] = json!("2026-01-01T12:00:00Z");
    let said = |object: &mut Value| {
        leaves(object);
        object["status"]["conditions"][0]["status"] = json!("False");
    };
    let unkept = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    let other = |cidr| vec![stored("other", cidr, |_| {})];
    let a = ("10.1.0.0", 24);
    for (case, one, others, used, expected) in [
        ("all is there", stored("a", a, |_| {}), vec![], vec![], Verdict::Fine),
        ("new", stored("a", a, unkept), vec![], vec![], Verdict::Lacks(Step::Keep)),
        (
            "nothing is said",
            stored("a", a, |a| a["status"] = json!({})),
            vec![],
            vec![],
            Verdict::Lacks(Step::SayReady),
        ),
        ("leaves unused", stored("a", a, leaves), vec![], vec!["10.2.0.1"], Verdict::Lacks(Step::LetGo)),
        ("leaves in use", stored("a", a, leaves), vec![], vec!["10.1.0.1"], Verdict::Lacks(Step::SayLeaving)),
        ("said so", stored("a", a, said), vec![], vec!["10.1.0.1"], Verdict::Waits),
        (
            "another covers it",
            stored("a", a, said),
            other(("10.1.0.0", 16)),
            vec!["10.1.0.1"],
            Verdict::Lacks(Step::LetGo),
        ),
        (
            "another covers the same",
            stored("a", a, said),
            other(a),
            vec!["10.1.0.1"],
            Verdict::Lacks(Step::LetGo),
        ),
        (
            "another covers one of two",
            stored("a", a, said),
            other(("10.1.0.0", 30)),
            vec!["10.1.0.1", "10.1.0.99"],
            Verdict::Waits,
        ),
        (
            "the other leaves, too",
            stored("a", a, said),
            vec![stored("other", a, leaves)],
            vec!["10.1.0.1"],
            Verdict::Waits,
        ),
        (
            "somebody else holds it",
            stored("a", a, |a| {
                leaves(a);
                a["metadata"]["finalizers"] = json!(["example.test/mine"]);
            }),
            vec![],
            vec![],
            Verdict::Fine,
        ),
    ] {
        let used: Vec<IpAddr> = used.iter().map(|address: &&str| address.parse().unwrap()).collect();
        let all: Vec<Stored> = [one.clone()].into_iter().chain(others).collect();
        assert_eq!(verdict(&one, &all, &used), expected, "{case}");
    }
}

fn small() -> Options {
    Options {
        service_cidrs: vec![("10.0.0.0".parse().unwrap(), 30)],
        namespace_worker: false,
        quota_worker: false,
        event_ttl: None,
        ..Options::default()
    }
}

fn service(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["ports"] = json!([{"port": 80}]);
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

async fn made(api: &Api, name: &str, spec: Value) -> Result<String, String> {
    let made = api.create("services", "default", service(name, spec)).await;
    made.map(|made| made["spec"]["clusterIP"].as_str().unwrap().to_owned())
        .map_err(|status| status.message.to_string())
}

async fn add(api: &Api, name: &str, cidrs: Value) {
    api.create(CIDRS, "", json!({"metadata": {"name": name}, "spec": {"cidrs": cidrs}})).await.unwrap();
    until(api, name, "is ready", |one| ready(one) == ["True", ""]).await;
}

fn ready(one: Option<&Value>) -> [&str; 2] {
    let ready = one.map_or(&Value::Null, |one| &one["status"]["conditions"][0]);
    ["status", "reason"].map(|field| ready[field].as_str().unwrap_or_default())
}

/// Waits for what is looked after beside us.
async fn until(api: &Api, name: &str, what: &str, is: impl Fn(Option<&Value>) -> bool) {
    let mut last = None;
    for _ in 0..5000 {
        last = api.get(CIDRS, "", name).await.ok();
        if is(last.as_ref()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("still not true that {name} {what}: {last:?}");
}

#[tokio::test]
async fn a_further_range_gives_addresses_until_it_is_to_leave() {
    let api = with(small()).await;
    assert_eq!(made(&api, "a", json!({})).await.unwrap(), "10.0.0.2", "the last that the first range has");
    assert!(made(&api, "b", json!({})).await.unwrap_err().contains("range is full"));
    let outside = "the provided network does not match the current range";
    assert!(made(&api, "b", json!({"clusterIP": "10.7.0.2"})).await.unwrap_err().contains(outside));
    add(&api, "more", json!(["10.7.0.0/29"])).await;
    let kept = api.get(CIDRS, "", "more").await.unwrap();
    assert_eq!(kept["metadata"]["finalizers"], json!([FINALIZER]));

    assert_eq!(made(&api, "b", json!({"clusterIP": "10.7.0.2"})).await.unwrap(), "10.7.0.2");
    let c = made(&api, "c", json!({})).await.unwrap();
    assert!(c.starts_with("10.7.0."), "{c}");
    let address = api.get("networking.k8s.io/v1/ipaddresses", "", &c).await.unwrap();
    assert_eq!(address["spec"]["parentRef"]["name"], "c");

    api.delete(CIDRS, "", "more").await.unwrap();
    assert!(made(&api, "d", json!({})).await.unwrap_err().contains("range is full"), "at once");
    assert!(made(&api, "d", json!({"clusterIP": "10.7.0.3"})).await.unwrap_err().contains(outside));
    until(&api, "more", "says that it is in use", |one| ready(one) == ["False", "Terminating"]).await;
    let same =
        api.merge("services", "default", "b", json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap();
    assert_eq!(same["spec"]["clusterIP"], "10.7.0.2", "who has an address keeps it");
    api.delete("services", "default", "b").await.unwrap();
    api.delete("services", "default", "c").await.unwrap();
    until(&api, "more", "is gone", |one| one.is_none()).await;
}

#[tokio::test]
async fn one_that_another_covers_may_leave() {
    let api = with(small()).await;
    add(&api, "more", json!(["10.7.0.0/29"])).await;
    let used = made(&api, "a", json!({"clusterIP": "10.7.0.2"})).await.unwrap();
    api.delete(CIDRS, "", "more").await.unwrap();
    until(&api, "more", "says that it is in use", |one| ready(one) == ["False", "Terminating"]).await;
    add(&api, "wider", json!(["10.7.0.0/24"])).await;
    until(&api, "more", "is gone", |one| one.is_none()).await;
    api.delete(CIDRS, "", "wider").await.unwrap();
    until(&api, "wider", "says that it is in use", |one| ready(one) == ["False", "Terminating"]).await;
    assert!(api.get("networking.k8s.io/v1/ipaddresses", "", &used).await.is_ok());
}

#[tokio::test]
async fn the_cluster_s_own_stays_while_the_cluster_has_an_address_of_it() {
    let api = with(Options { service_cidrs: vec![("10.0.0.0".parse().unwrap(), 24)], ..small() }).await;
    add(&api, "next", json!(["10.7.0.0/24"])).await;
    assert!(made(&api, "a", json!({})).await.unwrap().starts_with("10.0.0."), "the first comes first");
    api.delete(CIDRS, "", DEFAULT).await.unwrap();
    until(&api, DEFAULT, "says that it is in use", |one| ready(one) == ["False", "Terminating"]).await;
    assert!(made(&api, "b", json!({})).await.unwrap().starts_with("10.7.0."), "and the next takes over");
}

#[tokio::test]
async fn both_families() {
    let options = Options {
        service_cidrs: vec![("10.0.0.0".parse().unwrap(), 30), ("fd00::".parse().unwrap(), 126)],
        ..small()
    };
    let api = with(options).await;
    let dual = || json!({"ipFamilyPolicy": "RequireDualStack"});
    made(&api, "a", dual()).await.unwrap();
    add(&api, "more", json!(["10.7.0.0/24", "fd07::/64"])).await;
    let made = api.create("services", "default", service("b", dual())).await.unwrap();
    assert!(made["spec"]["clusterIPs"][0].as_str().unwrap().starts_with("10.7.0."), "{made}");
    let far = json!({"ipFamilies": ["IPv6"], "clusterIP": "fd07::1:2:3:4"});
    let made = api.create("services", "default", service("c", far)).await.unwrap();
    assert_eq!(made["spec"]["clusterIP"], "fd07::1:2:3:4", "however wide the range is");
}

#[tokio::test]
async fn a_range_from_before_there_were_finalizers() {
    let api = with(small()).await;
    let store = api.registry.store();
    let mut one = api.get(CIDRS, "", DEFAULT).await.unwrap();
    object::meta_mut(&mut one).remove("finalizers");
    let encoded = encode(&one);
    let draft = Draft::with_revision_at(encoded.bytes, encoded.hole);
    store.commit(Txn::new().put(format!("{RANGES}{DEFAULT}"), Expect::Any, draft)).await.unwrap();
    everything(&api.registry).await.unwrap();
    let one = api.get(CIDRS, "", DEFAULT).await.unwrap();
    assert_eq!(one["metadata"]["finalizers"], json!([FINALIZER]));
    let before = store.snapshot().revision();
    everything(&api.registry).await.unwrap();
    assert_eq!(store.snapshot().revision(), before, "nothing is left to do");
}

#[tokio::test]
async fn the_cluster_s_own_follows_the_second_family_and_nothing_else() {
    let api = with(small()).await;
    let again = |cidrs: Vec<(&str, u8)>| {
        let service_cidrs =
            cidrs.into_iter().map(|(address, bits)| (address.parse().unwrap(), bits)).collect();
        Registry::start(api.registry.store().clone(), api.clock.clone(), Options { service_cidrs, ..small() })
    };
    let _dual = again(vec![("10.0.0.0", 30), ("fd00::", 112)]).await.unwrap();
    let has = |cidrs: Value| move |one: Option<&Value>| one.is_some_and(|one| one["spec"]["cidrs"] == cidrs);
    until(&api, DEFAULT, "has both", has(json!(["10.0.0.0/30", "fd00::/112"]))).await;
    let _other = again(vec![("10.9.0.0", 24)]).await.unwrap();
    for _ in 0..5000 {
        let events = api.names("events", "default", ListQuery::default()).await.unwrap();
        if events.iter().any(|name| name.starts_with(DEFAULT)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let events = api.names("events", "default", ListQuery::default()).await.unwrap();
    let told = events.iter().find(|name| name.starts_with(DEFAULT)).expect("somebody is told");
    let event = api.get("events", "default", told).await.unwrap();
    assert_eq!(event["reason"], "KubernetesDefaultServiceCIDRInconsistent");
    assert!(has(json!(["10.0.0.0/30", "fd00::/112"]))(api.get(CIDRS, "", DEFAULT).await.ok().as_ref()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_outlives_its_range() {
    let api = Arc::new(with(small()).await);
    for round in 0..8 {
        add(&api, "more", json!(["10.7.0.0/24"])).await;
        let takers: Vec<_> = (0..20)
            .map(|at| {
                let api = api.clone();
                tokio::spawn(async move {
                    let _ = made(
                        &api,
                        &format!("s{round}-{at}"),
                        json!({"clusterIP": format!("10.7.0.{}", at + 1)}),
                    )
                    .await;
                    let _ = api.delete("services", "default", &format!("s{round}-{at}")).await;
                    made(
                        &api,
                        &format!("t{round}-{at}"),
                        json!({"clusterIP": format!("10.7.0.{}", at + 101)}),
                    )
                    .await
                })
            })
            .collect();
        api.delete(CIDRS, "", "more").await.unwrap();
        for taker in takers {
            let _ = taker.await.unwrap();
        }
        let names = api.names("services", "default", ListQuery::default()).await.unwrap();
        let held = names.iter().filter(|name| name.starts_with('t')).count();
        let is_there = api.get(CIDRS, "", "more").await.is_ok();
        assert!(is_there || held == 0, "{held} have addresses of a range that is gone");
        for name in names.iter().filter(|name| *name != "kubernetes") {
            api.delete("services", "default", name).await.unwrap();
        }
        until(&api, "more", "is gone", |one| one.is_none()).await;
    }
}
