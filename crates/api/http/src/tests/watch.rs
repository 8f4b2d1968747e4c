//! Watches through the router: what is sent, when, and how they end.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Server, call, request};
use crate::{Body, Router};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The lines of a watch as they arrive.
struct Lines {
    body: Body,
    held: Vec<u8>,
}

impl Lines {
    async fn open(router: &Router, path: &str, accept: &str) -> Self {
        let request: http::Request<Full<Bytes>> = request("GET", path, &[("accept", accept)], "");
        let answer = router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        Self { body: answer.into_body(), held: Vec::new() }
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.held.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = tokio::time::timeout(Duration::from_secs(20), self.body.frame()).await;
            let frame = frame.expect("nothing came for 20 s")?.unwrap();
            self.held.extend_from_slice(&frame.into_data().unwrap());
        }
    }

    /// `ADDED one`
    async fn told(&mut self) -> String {
        match self.next().await {
            Some(event) => {
                let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-");
                format!("{} {name}", event["type"].as_str().unwrap())
            }
            None => "end".to_owned(),
        }
    }
}

fn map(name: &str) -> String {
    json!({ "metadata": { "name": name, "labels": { "app": name } }, "data": {} }).to_string()
}

async fn revision(server: &Server) -> String {
    let list = call(&server.admin, "GET", MAPS, "").await.json();
    list["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_watch_tells_what_happens_once_and_in_order() {
    let server = Server::start().await;
    let path = format!("{MAPS}?watch=true&resourceVersion={}", revision(&server).await);
    let mut lines = Lines::open(&server.admin, &path, "*/*").await;
    call(&server.admin, "POST", MAPS, map("one")).await;
    call(&server.admin, "PATCH", &format!("{MAPS}/one"), r#"{"data":{"a":"b"}}"#).await;
    call(&server.admin, "POST", MAPS, map("two")).await;
    call(&server.admin, "DELETE", &format!("{MAPS}/one"), "").await;
    for told in ["ADDED one", "MODIFIED one", "ADDED two", "DELETED one"] {
        assert_eq!(lines.told().await, told);
    }
    // The old form, of one object, resumed from the beginning.
    let old = path.replace("/api/v1/", "/api/v1/watch/").replace("/configmaps", "/configmaps/two");
    assert_eq!(Lines::open(&server.admin, &old, "*/*").await.told().await, "ADDED two");
    server.admin.stop();
    assert_eq!(lines.told().await, "end", "a server that stops ends its watches");
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let server = Server::start().await;
    call(&server.admin, "POST", MAPS, map("one")).await;
    let path = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=app"
    );
    let mut lines = Lines::open(&server.admin, &path, "*/*").await;
    assert_eq!(lines.told().await, "ADDED one");
    let bookmark = lines.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(bookmark["object"]["kind"], "ConfigMap");

    // A write that this watch doesn't see still moves its bookmarks on.
    call(&server.admin, "POST", "/api/v1/namespaces/default/secrets", map("other")).await;
    tokio::task::yield_now().await;
    server.clock.advance(Duration::from_secs(61));
    let later = lines.next().await.unwrap();
    assert_eq!(later["type"], "BOOKMARK");
    let number = |event: &Value| {
        event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert!(number(&later) > number(&bookmark), "{later}");
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_over() {
    let server = Server::start().await;
    let path = format!("{MAPS}?watch=1&timeoutSeconds=5&resourceVersion={}", revision(&server).await);
    let mut lines = Lines::open(&server.admin, &path, "*/*").await;
    let clock = server.clock.clone();
    let end = tokio::spawn(async move { lines.told().await });
    tokio::task::yield_now().await;
    clock.advance(Duration::from_secs(6));
    assert_eq!(end.await.unwrap(), "end");
}

#[tokio::test]
async fn events_come_in_the_form_that_was_asked_for() {
    let server = Server::start().await;
    call(&server.admin, "POST", MAPS, map("one")).await;
    let path = format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Done");
    for (accept, kind) in [
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "PartialObjectMetadata"),
        ("application/json", "ConfigMap"),
    ] {
        let event = Lines::open(&server.admin, &path, accept).await.next().await.unwrap();
        assert_eq!((&event["type"], &event["object"]["kind"]), (&json!("ADDED"), &json!(kind)));
    }
}

/// A server that remembers eight changes, and a revision that it has forgotten.
pub(super) async fn forgetful() -> (Server, String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let ring = kedge_store::Limits { events: 8, bytes: usize::MAX };
    let options = kedge_store::Options { ring, ..kedge_store::Options::default() };
    let store = kedge_store::Store::open(folder.path(), options).await.unwrap();
    let server = Server::on(store, |_| {}).await;
    let forgotten = revision(&server).await;
    for number in 0..20 {
        assert_eq!(call(&server.admin, "POST", MAPS, map(&format!("m{number}"))).await.code, 201);
    }
    (server, forgotten, folder)
}

#[tokio::test]
async fn that_a_revision_is_forgotten_is_an_event() {
    let (server, forgotten, _folder) = forgetful().await;
    let path = format!("{MAPS}?watch=1&resourceVersion={forgotten}");
    for accept in ["*/*", "application/json;as=Table;v=v1;g=meta.k8s.io"] {
        let mut lines = Lines::open(&server.admin, &path, accept).await;
        let event = lines.next().await.unwrap();
        let status = &event["object"];
        assert_eq!((&event["type"], &status["kind"]), (&json!("ERROR"), &json!("Status")), "{event}");
        assert_eq!((&status["code"], &status["reason"]), (&json!(410), &json!("Expired")), "{event}");
        let message = status["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("too old resource version: {forgotten} (")), "{message}");
        assert_eq!(lines.told().await, "end");
    }
    let remembered = format!("{MAPS}?watch=1&resourceVersion={}", revision(&server).await);
    let mut lines = Lines::open(&server.admin, &remembered, "*/*").await;
    call(&server.admin, "POST", MAPS, map("new")).await;
    assert_eq!(lines.told().await, "ADDED new");
}

#[tokio::test]
async fn a_watch_of_a_custom_kind_ends_when_its_definition_changes_or_goes() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const TOYS: &str = "/apis/example.com/v1/namespaces/default/toys";
    let server = Server::start().await;
    let definition = json!({
        "metadata": { "name": "toys.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "a": { "type": "string" } } } } }],
        },
    });
    call(&server.admin, "POST", DEFINITIONS, definition.to_string()).await;
    let toy =
        json!({ "apiVersion": "example.com/v1", "kind": "Toy", "metadata": { "name": "one" } }).to_string();
    for left in (0..2000).rev() {
        match call(&server.admin, "POST", TOYS, toy.clone()).await.code {
            201 => break,
            other => assert!(left > 0, "the kind is still not served: {other}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let toys = format!("{TOYS}?watch=1");
    let one = format!("{DEFINITIONS}/toys.example.com");

    let mut lines = Lines::open(&server.admin, &toys, "*/*").await;
    assert_eq!(lines.told().await, "ADDED one");
    call(&server.admin, "PATCH", &one, r#"{"metadata":{"labels":{"of":"no concern"}}}"#).await;
    call(&server.admin, "PATCH", &format!("{TOYS}/one"), r#"{"a":"x"}"#).await;
    assert_eq!(lines.told().await, "MODIFIED one", "a label of the definition ends nothing");
    call(&server.admin, "PATCH", &one, r#"{"spec":{"names":{"shortNames":["ty"]}}}"#).await;
    assert_eq!(lines.told().await, "end");

    let mut lines = Lines::open(&server.admin, &toys, "*/*").await;
    assert_eq!(lines.told().await, "ADDED one");
    call(&server.admin, "DELETE", &one, "").await;
    // Objects are marked before they go.
    let mut told = lines.told().await;
    if told == "MODIFIED one" {
        told = lines.told().await;
    }
    assert_eq!(told, "DELETED one");
    assert_eq!(lines.told().await, "end");
}
