//! The same API in protobuf: every verb, lists of any length, watches, failures.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use kedge_kinds::decode::{Media, body};
use kedge_kinds::encode::{Form, protobuf};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Got, Server, call, request, send};
use crate::Router;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const METADATA: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

fn written(value: &Value) -> Vec<u8> {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let form = Form::by_names(text("apiVersion"), text("kind")).unwrap();
    protobuf(&form, value).unwrap()
}

fn read(bytes: &[u8]) -> Value {
    body(bytes, Media::Protobuf).unwrap_or_else(|error| panic!("{error}: {}", bytes.escape_ascii())).value
}

/// Sends and receives nothing but protobuf.
async fn speak(router: &Router, method: &str, path: &str, object: Option<&Value>) -> (Got, Value) {
    let sent = object.map(written).unwrap_or_default();
    let got =
        send(router, request(method, path, &[("accept", PROTOBUF), ("content-type", PROTOBUF)], sent)).await;
    assert_eq!(got.headers["content-type"], PROTOBUF, "{method} {path}: {}", got.text());
    let value = read(&got.body);
    (got, value)
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"serviceAccountName": "default", "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "web:1", "env": [{"name": "A", "value": "é\"\n"}]}]}})
}

#[tokio::test]
async fn an_object_lives_in_protobuf_alone() {
    let server = Server::start().await;
    let admin = &server.admin;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"},
        "data": {"a": "b"}, "binaryData": {"b": "AP8="}});
    let (made, value) = speak(admin, "POST", MAPS, Some(&map)).await;
    assert_eq!(
        (made.code, &value["data"]["a"], &value["binaryData"]["b"]),
        (201, &json!("b"), &json!("AP8="))
    );

    let one = format!("{MAPS}/one");
    let stored = call(admin, "GET", &one, "").await.json();
    let (got, _) = speak(admin, "GET", &one, None).await;
    assert_eq!(got.body, written(&stored), "what a GET in JSON says, byte for byte");
    assert_eq!(got.body, made.body);

    let mut changed = value.clone();
    changed["data"]["a"] = json!("c");
    let (updated, value) = speak(admin, "PUT", &one, Some(&changed)).await;
    assert_eq!((updated.code, &value["data"]["a"]), (200, &json!("c")));
    let patch = [("accept", PROTOBUF), ("content-type", "application/merge-patch+json")];
    let patched = send(admin, request("PATCH", &one, &patch, r#"{"data":{"a":"d"}}"#)).await;
    assert_eq!((patched.code, &read(&patched.body)["data"]["a"]), (200, &json!("d")));

    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}});
    let (refused, value) = speak(admin, "DELETE", &one, Some(&options)).await;
    assert_eq!((refused.code, &value["kind"], &value["reason"]), (409, &json!("Status"), &json!("Conflict")));
    let (deleted, value) = speak(admin, "DELETE", &one, None).await;
    assert_eq!((deleted.code, &value["kind"], &value["status"]), (200, &json!("Status"), &json!("Success")));
    let (gone, value) = speak(admin, "GET", &one, None).await;
    assert_eq!((gone.code, &value["details"]["name"]), (404, &json!("one")));
}

#[tokio::test]
async fn what_only_subresources_speak_is_read_and_answered() {
    let server = Server::start().await;
    let admin = &server.admin;
    let (made, value) = speak(admin, "POST", PODS, Some(&pod("a"))).await;
    assert_eq!(made.code, 201, "{value}");
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": {"replicas": 1,
        "selector": {"matchLabels": {"app": "w"}}, "template": {"metadata": {"labels": {"app": "w"}},
            "spec": {"containers": [{"name": "c", "image": "web:1"}]}}}});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    assert_eq!(speak(admin, "POST", sets, Some(&set)).await.0.code, 201);

    let (got, mut scale) = speak(admin, "GET", &format!("{sets}/r/scale"), None).await;
    assert_eq!((got.code, &scale["kind"], &scale["spec"]["replicas"]), (200, &json!("Scale"), &json!(1)));
    scale["spec"]["replicas"] = json!(3);
    let (put, scaled) = speak(admin, "PUT", &format!("{sets}/r/scale"), Some(&scale)).await;
    assert_eq!((put.code, &scaled["spec"]["replicas"]), (200, &json!(3)), "{scaled}");

    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}});
    let (bound, value) = speak(admin, "POST", &format!("{PODS}/a/binding"), Some(&binding)).await;
    assert_eq!((bound.code, &value["status"]), (201, &json!("Success")), "{value}");
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a", "namespace": "default"},
        "deleteOptions": {"gracePeriodSeconds": 0}});
    let (evicted, value) = speak(admin, "POST", &format!("{PODS}/a/eviction"), Some(&eviction)).await;
    assert_eq!((evicted.code, &value["status"]), (201, &json!("Success")), "{value}");

    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(speak(admin, "POST", accounts, Some(&account)).await.0.code, 201);
    let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600, "audiences": []}});
    let (token, value) = speak(admin, "POST", &format!("{accounts}/robot/token"), Some(&token)).await;
    assert_eq!(token.code, 201, "{value}");
    assert!(value["status"]["token"].as_str().is_some_and(|token| token.len() > 40), "{value}");
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let (asked, value) =
        speak(admin, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Some(&review)).await;
    assert_eq!((asked.code, &value["status"]["allowed"]), (201, &json!(true)), "{value}");
}

#[tokio::test]
async fn lists_of_any_length_are_what_they_are_in_json() {
    let server = Server::start().await;
    let admin = &server.admin;
    // The third is longer than what is held before the first byte leaves.
    for (wanted, size) in [(1, 10), (40, 10), (360, 40_000)] {
        for number in 0..wanted {
            let map = json!({"metadata": {"name": format!("{size}-{wanted}-{number}"), "labels": {"n": number.to_string()}},
                "data": {"value": "x".repeat(size)}});
            assert_eq!(call(admin, "POST", MAPS, map.to_string()).await.code, 201);
        }
        for query in ["", "?limit=2", "?labelSelector=n%3D0"] {
            let path = format!("{MAPS}{query}");
            let json = call(admin, "GET", &path, "").await.json();
            // The second time its length may be known.
            for _ in 0..2 {
                let (got, _) = speak(admin, "GET", &path, None).await;
                assert!(got.body == written(&json), "{path} of {wanted}, {} bytes", got.body.len());
            }
        }
    }
    let metadata =
        send(admin, request("GET", &format!("{MAPS}?limit=1"), &[("accept", METADATA_LIST)], "")).await;
    let list = metadata.text();
    assert!(
        list.contains("PartialObjectMetadataList") && list.contains("10-1-0") && metadata.code == 200,
        "{list}"
    );
    assert!(metadata.body.len() < 1000, "no data is in it: {}", metadata.body.len());
    let one = send(admin, request("GET", &format!("{MAPS}/10-1-0"), &[("accept", METADATA)], "")).await;
    let (json, one) = (call(admin, "GET", &format!("{MAPS}/10-1-0"), "").await.json(), read(&one.body));
    assert_eq!((&one["kind"], &one["metadata"]), (&json!("PartialObjectMetadata"), &json["metadata"]));
}

/// What is left with the objects of a list for the next one goes when they change.
#[tokio::test]
async fn a_list_after_changes_is_what_it_is_in_json() {
    let server = Server::start().await;
    let admin = &server.admin;
    let path = |name: &str| format!("{PODS}/{name}");
    for number in 0..30 {
        assert_eq!(call(admin, "POST", PODS, pod(&format!("p-{number}")).to_string()).await.code, 201);
    }
    let metadata = || send(admin, request("GET", PODS, &[("accept", METADATA_LIST)], ""));
    let agree = async |when: &str| {
        let before = metadata().await;
        let json = call(admin, "GET", PODS, "").await.json();
        for turn in 0..3 {
            let (got, _) = speak(admin, "GET", PODS, None).await;
            assert!(got.body == written(&json), "{when}, {turn}");
        }
        // What one form leaves is not taken for the other.
        assert!(metadata().await.body == before.body, "{when}");
        json["items"].as_array().unwrap().len()
    };
    assert_eq!(agree("new").await, 30);
    for number in 0..10 {
        let label = json!({"metadata": {"labels": {"app": "x".repeat(number * 6)}}}).to_string();
        let name = path(&format!("p-{number}"));
        let merge = [("content-type", "application/merge-patch+json")];
        assert_eq!(send(admin, request("PATCH", &name, &merge, label)).await.code, 200);
    }
    for number in 10..15 {
        let gone = call(admin, "DELETE", &path(&format!("p-{number}")), r#"{"gracePeriodSeconds":0}"#).await;
        assert_eq!(gone.code, 200);
    }
    for number in 30..33 {
        assert_eq!(call(admin, "POST", PODS, pod(&format!("other-{number}")).to_string()).await.code, 201);
    }
    assert_eq!(agree("changed").await, 28);
}

/// The events of a watch as they arrive: what happened, and the object.
struct Frames {
    body: crate::Body,
    held: Vec<u8>,
}

impl Frames {
    async fn open(router: &Router, path: &str, accept: &str) -> Self {
        let answer = router.clone().oneshot(request("GET", path, &[("accept", accept)], "")).await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/vnd.kubernetes.protobuf;stream=watch");
        Self { body: answer.into_body(), held: Vec::new() }
    }

    async fn next(&mut self) -> Option<(String, Bytes)> {
        loop {
            if let Some((length, rest)) = self.held.split_at_checked(4)
                && let Some(event) = rest.get(..u32::from_be_bytes(length.try_into().unwrap()) as usize)
            {
                let event =
                    <k8s_pb::apimachinery::pkg::apis::meta::v1::WatchEvent as prost::Message>::decode(event)
                        .unwrap();
                let length = 4 + u32::from_be_bytes(length.try_into().unwrap()) as usize;
                self.held.drain(..length);
                return Some((event.r#type.unwrap(), event.object.unwrap().raw.unwrap().into()));
            }
            let frame = tokio::time::timeout(Duration::from_secs(20), self.body.frame()).await;
            let frame = frame.expect("nothing came for 20 s")?.unwrap();
            self.held.extend_from_slice(&frame.into_data().unwrap());
        }
    }
}

#[tokio::test]
async fn a_watch_sends_frames() {
    let server = Server::start().await;
    let admin = &server.admin;
    let path = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut whole = Frames::open(admin, &path, &format!("{PROTOBUF};stream=watch")).await;
    let mut second = Frames::open(admin, &path, PROTOBUF).await;
    let mut metadata = Frames::open(admin, &path, METADATA).await;
    for watch in [&mut whole, &mut second, &mut metadata] {
        loop {
            let (kind, object) = watch.next().await.unwrap();
            if kind == "BOOKMARK" {
                assert_eq!(read(&object)["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
                break;
            }
        }
    }
    let map = json!({"metadata": {"name": "seen"}, "data": {"a": "b"}});
    let made = call(admin, "POST", MAPS, map.to_string()).await.json();
    for watch in [&mut whole, &mut second] {
        let (kind, object) = watch.next().await.unwrap();
        assert_eq!((kind.as_str(), object), ("ADDED", Bytes::from(written(&made))));
    }
    let (_, object) = metadata.next().await.unwrap();
    assert_eq!((&read(&object)["kind"], read(&object).get("data")), (&json!("PartialObjectMetadata"), None));
    // The writer was told in protobuf, too, and nobody looked at the watches until several things had happened.
    let seen = format!("{MAPS}/seen");
    let mut told = Vec::new();
    for value in ["c", "d"] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}, "data": {"a": value}});
        let (got, _) = speak(admin, "PUT", &seen, Some(&map)).await;
        told.push(("MODIFIED".to_owned(), got.body));
    }
    call(admin, "DELETE", &seen, "").await;
    for watch in [&mut whole, &mut second] {
        for wanted in &told {
            assert_eq!(watch.next().await.as_ref(), Some(wanted));
        }
        assert_eq!(watch.next().await.unwrap().0, "DELETED");
    }
}

#[tokio::test]
async fn that_a_revision_is_forgotten_is_a_frame() {
    let (server, forgotten, _folder) = super::watch::forgetful().await;
    let path = format!("{MAPS}?watch=1&resourceVersion={forgotten}");
    let mut frames = Frames::open(&server.admin, &path, PROTOBUF).await;
    let (kind, status) = frames.next().await.unwrap();
    let status = read(&status);
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert!(frames.next().await.is_none(), "it is the last one");
}

#[tokio::test]
async fn discovery_and_failures_speak_it_too() {
    let server = Server::start().await;
    let admin = &server.admin;
    for (path, kind) in [
        ("/api", "APIVersions"),
        ("/api/v1", "APIResourceList"),
        ("/apis", "APIGroupList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
        ("/api/v1/nothings", "Status"),
    ] {
        let got = send(admin, request("GET", path, &[("accept", PROTOBUF)], "")).await;
        assert_eq!(got.headers["content-type"], PROTOBUF, "{path}");
        let envelope = got.body.strip_prefix(b"k8s\0").unwrap();
        let envelope =
            <k8s_pb::apimachinery::pkg::runtime::Unknown as prost::Message>::decode(envelope).unwrap();
        assert_eq!(envelope.type_meta.unwrap().kind.as_deref(), Some(kind), "{path}");
    }
    let forbidden = send(&server.stranger, request("GET", MAPS, &[("accept", PROTOBUF)], "")).await;
    assert_eq!((forbidden.code, &read(&forbidden.body)["reason"]), (403, &json!("Forbidden")));
    let broken = [("accept", PROTOBUF), ("content-type", PROTOBUF)];
    for sent in [&b"k8s\0\x0a"[..], b"{}", b"", b"k8s\0\x0a\x08\x0a\x02v1\x12\x02No\x12\0"] {
        let got = send(admin, request("POST", MAPS, &broken, sent.to_vec())).await;
        assert_eq!((got.code, &read(&got.body)["reason"]), (400, &json!("BadRequest")), "{}", got.text());
    }
}
