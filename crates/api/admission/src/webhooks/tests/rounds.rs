//! Changes: their order, what they leave, and who is asked again.

use serde_json::json;

use crate::testing::{Server, World, config_map, patch, rule, write};

/// A patch that notes that somebody was here, in the order of their visits.
fn note(request: &serde_json::Value, who: &str) -> serde_json::Value {
    let seen = request["object"]["data"]["seen"].as_str().unwrap_or_default().to_owned();
    patch(&json!([{"op": "add", "path": "/data", "value": {"seen": format!("{seen}{who}")}}]))
}

#[tokio::test]
async fn webhooks_change_one_after_the_other_in_the_order_of_their_names() {
    let server = Server::start().await;
    let world = World::new().await;
    for name in ["one", "two", "three"] {
        server.says(&format!("/{name}"), move |request| note(request, name));
    }
    let maps = json!({"rules": [rule(&["CREATE"], "", "v1", "configmaps")]});
    world.configure("Mutating", "b", &[server.hook("three", maps.clone())]).await;
    let both = [server.hook("one", maps.clone()), server.hook("two", maps)];
    world.configure("Mutating", "a", &both).await;
    let created = world.create("configmaps", "shop", config_map("x")).await.unwrap();
    assert_eq!(created["data"]["seen"], "onetwothree");
}

#[tokio::test]
async fn who_wishes_it_is_asked_again_after_others_changed_the_object() {
    for (case, wishes, expected) in [
        ("nobody", [false, false], "ab"),
        ("the first", [true, false], "aba"),
        ("the last, after whom nobody changed anything", [false, true], "ab"),
        ("both, and nobody a third time", [true, true], "abab"),
    ] {
        let server = Server::start().await;
        let world = World::new().await;
        server.says("/a", |request| note(request, "a"));
        server.says("/b", |request| note(request, "b"));
        let hooks: Vec<_> = ["a", "b"]
            .into_iter()
            .zip(wishes)
            .map(|(name, again)| {
                let policy = if again { "IfNeeded" } else { "Never" };
                let rules = json!([rule(&["CREATE"], "", "v1", "configmaps")]);
                server.hook(name, json!({"reinvocationPolicy": policy, "rules": rules}))
            })
            .collect();
        world.configure("Mutating", "c", &hooks).await;
        let created = world.create("configmaps", "shop", config_map("x")).await.unwrap();
        let seen = created["data"]["seen"].as_str().unwrap();
        assert_eq!(seen, expected, "{case}");
    }
}

#[tokio::test]
async fn what_a_webhook_leaves_is_defaulted_checked_and_validated() {
    let server = Server::start().await;
    let world = World::new().await;
    let pods = json!({"rules": [rule(&["CREATE"], "", "v1", "pods")]});
    world.configure("Mutating", "c", &[server.hook("inject", pods)]).await;
    server.says("/inject", |_| {
        let container = json!({"name": "side", "image": "side", "colour": "red"});
        patch(&json!([{"op": "add", "path": "/spec/containers/-", "value": container}]))
    });
    let pod = world.create("pods", "shop", crate::testing::pod("x")).await.unwrap();
    let side = &pod["spec"]["containers"][1];
    assert_eq!(side["imagePullPolicy"], "Always");
    assert_eq!(side.get("colour"), None);

    server.says("/inject", |_| {
        patch(
            &json!([{"op": "add", "path": "/spec/containers/-", "value": {"name": "Bad!", "image": "side"}}]),
        )
    });
    let status = world.create("pods", "shop", crate::testing::pod("y")).await.unwrap_err();
    assert_eq!((status.code, status.reason), (422, kedge_kinds::Reason::Invalid), "{status}");

    server.says("/inject", |_| patch(&json!([{"op": "add", "path": "/spec/a/b", "value": 1}])));
    let status = world.create("pods", "shop", crate::testing::pod("y")).await.unwrap_err();
    assert!(status.message.starts_with("Internal error occurred: "), "{status}");
    assert_eq!(status.code, 500);

    server.says("/inject", |_| patch(&json!([{"op": "replace", "path": "/spec/containers", "value": 7}])));
    let status = world.create("pods", "shop", crate::testing::pod("y")).await.unwrap_err();
    assert_eq!(status.code, 500, "{status}");
}

#[tokio::test]
async fn what_happened_is_noted_for_the_audit_log() {
    let server = Server::start().await;
    let world = World::new().await;
    server.says("/a", |request| {
        let mut answer = note(request, "a");
        answer["auditAnnotations"] = json!({"why": "because"});
        answer["warnings"] = json!(["mind the gap"]);
        answer
    });
    let maps = |more: serde_json::Value| {
        let mut hook = json!({"rules": [rule(&["CREATE"], "", "v1", "configmaps")]});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook
    };
    let down = maps(json!({"failurePolicy": "Ignore", "clientConfig": {"url": "https://localhost:1/"}}));
    let hooks = [server.hook("a", maps(json!({}))), server.hook("down", down.clone())];
    world.configure("Mutating", "c", &hooks).await;
    world.configure("Validating", "c", &[server.hook("down", down)]).await;
    let options = write();
    world.create_with("configmaps", "shop", config_map("x"), &options).await.unwrap();
    assert_eq!(options.remarks.take_warnings(), ["mind the gap"]);
    let noted = options.remarks.annotations();
    let keys: Vec<&str> = noted.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "a.example.com/why",
            "failed-open.mutation.webhook.admission.k8s.io/round_0_index_1",
            "failed-open.validating.webhook.admission.k8s.io/round_0_index_0",
            "mutation.webhook.admission.k8s.io/round_0_index_0",
            "mutation.webhook.admission.k8s.io/round_0_index_1",
            "patch.webhook.admission.k8s.io/round_0_index_0",
        ]
    );
    assert_eq!(
        noted["mutation.webhook.admission.k8s.io/round_0_index_0"],
        r#"{"configuration":"c","mutated":true,"webhook":"a.example.com"}"#
    );
}

#[tokio::test]
async fn a_warning_is_heard_also_if_the_answer_is_no() {
    let server = Server::start().await;
    let world = World::new().await;
    server.says("/no", |_| json!({"allowed": false, "warnings": ["I told you"]}));
    world.configure("Validating", "c", &[server.hook("no", json!({}))]).await;
    let options = write();
    world.create_with("configmaps", "shop", config_map("x"), &options).await.unwrap_err();
    assert_eq!(options.remarks.take_warnings(), ["I told you"]);
}
