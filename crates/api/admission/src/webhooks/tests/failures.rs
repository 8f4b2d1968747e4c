//! Webhooks that are down, slow or talk nonsense, and those that say no.

use serde_json::{Value, json};

use crate::testing::{Server, World, config_map, patch, rule};

const WAY: [&str; 2] = ["Mutating", "Validating"];

/// The message with what differs from run to run taken out.
fn told(message: &str, server: &Server) -> String {
    let asked = server.asked();
    let uid =
        asked.last().and_then(|(_, review)| review["request"]["uid"].as_str()).unwrap_or("nobody asked");
    message.replace(&server.port.to_string(), "PORT").replace(uid, "UID")
}

#[tokio::test]
async fn a_webhook_that_cannot_be_heard_fails_or_is_ignored() {
    let server = Server::start().await;
    let world = World::new().await;
    server.raw("/slow", |_| std::future::pending());
    server.raw("/broken", |_| std::future::ready((500, "out of order".to_owned())));
    server.raw("/rude", |_| std::future::ready((200, "hello".to_owned())));
    server.raw("/empty", |_| {
        let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
        std::future::ready((200, answer.to_string()))
    });
    server.raw("/another", |_| {
        let answer = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": "mine", "allowed": true},
        });
        std::future::ready((200, answer.to_string()))
    });
    server.raw("/old", |review| {
        let answer = json!({
            "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview",
            "response": {"uid": review["request"]["uid"], "allowed": true},
        });
        std::future::ready((200, answer.to_string()))
    });
    let service = json!({"clientConfig": {"service": {"namespace": "shop", "name": "none"}}});
    let closed = json!({"clientConfig": {"url": "https://localhost:1/"}});
    for (case, more, why) in [
        ("absent", json!({}), "failed to call webhook: the server could not find the requested resource"),
        (
            "slow",
            json!({"timeoutSeconds": 1}),
            "failed to call webhook: Post \"https://localhost:PORT/slow?timeout=1s\": context deadline exceeded",
        ),
        (
            "broken",
            json!({}),
            "failed to call webhook: an error on the server (\"out of order\") has prevented the request from succeeding",
        ),
        (
            "rude",
            json!({}),
            "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value \
             of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
        ),
        ("empty", json!({}), "received invalid webhook response: webhook response was absent"),
        (
            "another",
            json!({}),
            "received invalid webhook response: expected response.uid=\"UID\", got \"mine\"",
        ),
        (
            "old",
            json!({}),
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, \
             Kind=AdmissionReview, got admission.k8s.io/v1beta1, Kind=AdmissionReview",
        ),
        (
            "service",
            service,
            "failed to call webhook: Post \"https://none.shop.svc:443/?timeout=10s\": service \"none\" not found",
        ),
        (
            "closed",
            closed,
            "failed to call webhook: Post \"https://localhost:1/?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused",
        ),
    ] {
        for way in WAY {
            for policy in ["Fail", "Ignore"] {
                let mut more = more.clone();
                more["failurePolicy"] = policy.into();
                let name = if case == "service" || case == "closed" { "slow" } else { case };
                world.configure(way, "c", &[server.hook(name, more)]).await;
                let created = world.create("configmaps", "shop", config_map("a")).await;
                let expected =
                    format!("Internal error occurred: failed calling webhook \"{name}.example.com\": {why}");
                match created {
                    Ok(_) if policy == "Ignore" => world.delete_unheard(way).await,
                    Err(status) if policy == "Fail" => {
                        assert_eq!(told(&status.message, &server), expected, "{case} {way}");
                        assert_eq!(status.code, 500, "{case} {way}");
                    }
                    other => panic!("{case} {way} {policy}: {other:?}"),
                }
                world.forget_if_there(way).await;
            }
        }
    }
}

impl World {
    async fn delete_unheard(&self, way: &str) {
        self.forget(way, "c").await;
        self.delete("configmaps", "shop", "a").await.unwrap();
    }

    async fn forget_if_there(&self, way: &str) {
        let resource = format!("admissionregistration.k8s.io/v1/{}webhookconfigurations", way.to_lowercase());
        let _ = self.delete(&resource, "", "c").await;
    }
}

#[tokio::test]
async fn nonsense_is_told_apart() {
    let server = Server::start().await;
    let world = World::new().await;
    let bad = |way: &str| {
        let mut answer = patch(&json!([{"op": "add", "path": "/data", "value": {}}]));
        match way {
            "type" => answer["patch"] = Value::Null,
            "patch" => answer["patchType"] = Value::Null,
            _ => answer["patchType"] = "Merge".into(),
        }
        answer
    };
    for (case, way, response, why) in [
        (
            "a patch of a validating one",
            "Validating",
            patch(&json!([])),
            "validating webhook may not return response.patch",
        ),
        ("no type", "Mutating", bad("patch"), "webhook returned response.patch but not response.patchType"),
        ("no patch", "Mutating", bad("type"), "webhook returned response.patchType but not response.patch"),
        ("another type", "Mutating", bad("merge"), "unsupported patch type \"Merge\""),
    ] {
        server.says("/odd", move |_| response.clone());
        world.configure(way, "c", &[server.hook("odd", json!({}))]).await;
        let status = world.create("configmaps", "shop", config_map("a")).await.unwrap_err();
        let expected = format!(
            "Internal error occurred: failed calling webhook \"odd.example.com\": received invalid webhook response: {why}"
        );
        assert_eq!(status.message, expected, "{case}");
        world.forget(way, "c").await;
    }
}

#[tokio::test]
async fn a_no_is_passed_on_in_its_words() {
    let server = Server::start().await;
    let world = World::new().await;
    for (result, code, reason, message) in [
        (Value::Null, 400, Value::Null, "denied the request without explanation"),
        (json!({"message": "too red"}), 400, Value::Null, "denied the request: too red"),
        (json!({"reason": "Forbidden"}), 400, json!("Forbidden"), "denied the request: Forbidden"),
        (json!({"code": 200, "message": "hm"}), 400, Value::Null, "denied the request: hm"),
        (
            json!({"code": 403, "reason": "no reds here", "message": "too red"}),
            403,
            json!("no reds here"),
            "denied the request: too red",
        ),
    ] {
        for way in WAY {
            let status = result.clone();
            server.says("/no", move |_| json!({"allowed": false, "status": status}));
            // Who says no is heard, whatever becomes of those who say nothing.
            world.configure(way, "c", &[server.hook("no", json!({"failurePolicy": "Ignore"}))]).await;
            let status = world.create("configmaps", "shop", config_map("a")).await.unwrap_err();
            assert_eq!(status.message, format!("admission webhook \"no.example.com\" {message}"));
            assert_eq!(status.code, code, "{message}");
            assert_eq!(status.to_object()["reason"], reason, "{message}");
            world.forget(way, "c").await;
        }
    }
}

#[tokio::test]
async fn a_webhook_cannot_move_an_object_to_another_namespace() {
    let server = Server::start().await;
    let world = World::new().await;
    let moved = json!([{"op": "replace", "path": "/metadata/namespace", "value": "default"}]);
    server.says("/m", move |_| patch(&moved));
    let rules = json!([rule(&["CREATE"], "*", "*", "configmaps")]);
    world.configure("Mutating", "m", &[server.hook("m", json!({"rules": rules}))]).await;
    let refused = world.create("configmaps", "shop", config_map("a")).await.unwrap_err();
    let why = "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!((refused.code, refused.message.as_str()), (400, why));
}
