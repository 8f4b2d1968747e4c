//! Who is counted among the servers, and what `default/kubernetes` leads to.

use serde_json::Value;

use super::*;
use crate::testing::{Api, with};
use crate::{ListQuery, Options};

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A server whose store others share.
async fn shared() -> Api {
    let options = Options {
        namespace_worker: false,
        quota_worker: false,
        event_ttl: None,
        api_address: Some((at("10.0.0.1:6443").ip(), 6443)),
        has_peers: true,
        ..Options::default()
    };
    with(options).await
}

/// All that the Service leads to, by its slices; its Endpoints have to say the same.
async fn reached(api: &Api) -> String {
    const SLICES: &str = "discovery.k8s.io/v1/endpointslices";
    let texts = |list: &Value, field: &str| -> Vec<String> {
        let all = list.as_array().into_iter().flatten();
        all.map(|one| one[field].to_string().replace(['"', '[', ']'], "")).collect()
    };
    let mut by_slices = Vec::new();
    for name in api.names(SLICES, "default", ListQuery::default()).await.unwrap() {
        let slice = api.get(SLICES, "default", &name).await.unwrap();
        let port = slice["ports"][0]["port"].clone();
        by_slices.extend(texts(&slice["endpoints"], "addresses").iter().map(|at| format!("{at} {port}")));
    }
    let endpoints = api.get("endpoints", "default", "kubernetes").await;
    let subsets = endpoints.map(|found| found["subsets"].clone()).unwrap_or_default();
    let mut by_subsets = Vec::new();
    for subset in subsets.as_array().into_iter().flatten() {
        let port = &subset["ports"][0]["port"];
        by_subsets.extend(texts(&subset["addresses"], "ip").iter().map(|at| format!("{at} {port}")));
    }
    by_slices.sort();
    by_subsets.sort();
    assert_eq!(by_slices, by_subsets);
    by_slices.join(", ")
}

#[tokio::test]
async fn the_service_leads_to_everybody_who_lives() {
    let api = shared().await;
    assert_eq!(reached(&api).await, "", "whoever counts says it first");
    let (mut one, mut other) = (Count::new(at("10.0.0.1:6443")), Count::new(at("10.0.0.2:6443")));
    one.turn(&api.registry).await.unwrap();
    assert_eq!(reached(&api).await, "10.0.0.1 6443");
    other.turn(&api.registry).await.unwrap();
    assert_eq!(reached(&api).await, "10.0.0.1 6443, 10.0.0.2 6443");
    one.turn(&api.registry).await.unwrap();

    // One dies; the other goes on.
    for _ in 0..3 {
        api.clock.advance(RENEWAL);
        other.turn(&api.registry).await.unwrap();
    }
    assert_eq!(reached(&api).await, "10.0.0.1 6443, 10.0.0.2 6443", "not seen to be old for long enough");
    api.clock.advance(RENEWAL);
    other.turn(&api.registry).await.unwrap();
    assert_eq!(reached(&api).await, "10.0.0.2 6443");

    // It comes again, somewhere else and at another port, and stops as it should.
    let mut again = Count::new(at("[fd00::1]:7443"));
    again.turn(&api.registry).await.unwrap();
    assert_eq!(reached(&api).await, "10.0.0.2 6443, fd00::1 7443");
    again.leave(&api.registry).await.unwrap();
    assert_eq!(reached(&api).await, "10.0.0.2 6443");
    other.leave(&api.registry).await.unwrap();
    assert_eq!(reached(&api).await, "10.0.0.2 6443", "the last one's address stays");
}

#[tokio::test]
async fn what_is_right_is_not_written_again() {
    let api = shared().await;
    let mut count = Count::new(at("10.0.0.1:6443"));
    count.turn(&api.registry).await.unwrap();
    let slice = async || {
        let slice = api.get("discovery.k8s.io/v1/endpointslices", "default", "kubernetes").await.unwrap();
        slice["metadata"]["resourceVersion"].clone()
    };
    let before = slice().await;
    count.turn(&api.registry).await.unwrap();
    assert_eq!(slice().await, before);
}

#[tokio::test]
async fn a_server_is_announced_until_it_stops() {
    let api = shared().await;
    let (stop, stopped) = watch::channel(false);
    let announced = tokio::spawn(api.registry.clone().announce(stopped));
    for _ in 0..1000 {
        if reached(&api).await == "10.0.0.1 6443" {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(reached(&api).await, "10.0.0.1 6443");
    stop.send_replace(true);
    announced.await.unwrap();
    assert_eq!(records(&api.registry.store().snapshot()), []);
}
