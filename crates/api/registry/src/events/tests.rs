//! How long events stay.

use std::time::Duration;

use serde_json::{Value, json};

use crate::testing::{Api, with};
use crate::{ListQuery, Options};

const LIFE: Duration = Duration::from_secs(3600);

async fn api() -> Api {
    with(Options {
        namespace_worker: false,
        quota_worker: false,
        event_ttl: Some(LIFE),
        ..Options::default()
    })
    .await
}

fn event(name: &str) -> Value {
    json!({
        "metadata": {"name": name}, "reason": "Tested", "type": "Normal", "count": 1,
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    })
}

/// Waits, but not for ever, until these events are there.
async fn until(api: &Api, wanted: &[&str]) {
    let mut names = Vec::new();
    for _ in 0..1000 {
        names = api.names("events", "default", ListQuery::default()).await.unwrap();
        if names == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{names:?} are there");
}

/// Lets the worker hear of what was written before the clock moves on.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn events_go_an_hour_after_they_were_last_written() {
    let api = api().await;
    for name in ["a", "b"] {
        api.create("events", "default", event(name)).await.unwrap();
    }
    settle().await;
    api.clock.advance(LIFE / 2);
    api.merge("events", "default", "b", json!({"count": 2})).await.unwrap();
    api.create("events.k8s.io/v1/events", "default", json!({
        "metadata": {"name": "c"}, "eventTime": "2026-01-01T12:30:00.000000Z", "reason": "r", "action": "a", "type": "Normal",
        "reportingController": "example.test/c", "reportingInstance": "i", "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
    }))
    .await
    .unwrap();
    settle().await;
    api.clock.advance(LIFE / 2 + LIFE / 30);
    until(&api, &["b", "c"]).await;
    let revision = api.registry.store().revision();
    settle().await;
    assert_eq!(api.registry.store().revision(), revision, "nothing is written while nothing is over");
    api.clock.advance(LIFE);
    until(&api, &[]).await;
}

#[tokio::test]
async fn what_is_over_when_a_server_starts_goes_at_once() {
    let before = with(Options { namespace_worker: false, event_ttl: None, ..Options::default() }).await;
    before.create("events", "default", event("old")).await.unwrap();
    before.clock.advance(LIFE);
    before.create("events", "default", event("young")).await.unwrap();
    let options = Options { namespace_worker: false, event_ttl: Some(LIFE), ..Options::default() };
    let store = before.registry.store().clone();
    let registry = crate::Registry::start(store, before.clock.clone(), options).await.unwrap();
    let after = Api { registry, clock: before.clock.clone() };
    after.clock.advance(LIFE / 30);
    until(&after, &["young"]).await;
}
