//! Nobody gets more than they have by writing roles, bindings or selectors.

use serde_json::{Value, json};

use super::access::reader;
use super::{Server, call, user};

#[tokio::test]
async fn nobody_grants_what_they_do_not_hold() {
    let server = Server::start().await;
    reader(&server).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let editor = json!({ "metadata": { "name": "role-editor" }, "rules": [{ "verbs": ["create", "patch", "get"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"] }] });
    call(&server.admin, "POST", roles, editor.to_string()).await;
    let binding = json!({
        "metadata": { "name": "role-editor" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role-editor" },
        "subjects": [{ "kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io" }],
    });
    call(
        &server.admin,
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
        binding.to_string(),
    )
    .await;
    let ann = server.stranger.acting_as(user("ann", &["system:authenticated"]));
    let role = |name: &str, verb: &str| {
        json!({ "metadata": { "name": name }, "rules": [{ "verbs": [verb], "apiGroups": [""], "resources": ["configmaps"] }] }).to_string()
    };
    assert_eq!(call(&ann, "POST", roles, role("held", "get")).await.code, 201);
    let refused = call(&ann, "POST", roles, role("more", "delete")).await.failure();
    assert!(refused.contains("is attempting to grant RBAC permissions not currently held"), "{refused}");
    let patch = r#"{"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}"#;
    assert_eq!(call(&ann, "PATCH", &format!("{roles}/held"), patch).await.code, 403);
    assert_eq!(
        call(&ann, "PATCH", &format!("{roles}/held"), r#"{"metadata":{"labels":{"a":"b"}}}"#).await.code,
        200
    );
}

async fn give(server: &Server, name: &str, rules: Value) {
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = json!({ "metadata": { "name": name }, "rules": rules }).to_string();
    let made = call(&server.admin, "POST", roles, role).await;
    assert_eq!(made.code, 201, "{}", made.text());
    bind(server, name, name).await;
}

async fn bind(server: &Server, name: &str, role: &str) {
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io" }],
    });
    let made = call(&server.admin, "POST", bindings, binding.to_string()).await;
    assert_eq!(made.code, 201, "{}", made.text());
}

#[tokio::test]
async fn no_null_hides_what_a_role_grants() {
    let server = Server::start().await;
    let rule = json!([{ "verbs": ["create", "update", "get"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"] }]);
    give(&server, "maker", rule).await;
    let eve = server.stranger.acting_as(user("eve", &["system:authenticated"]));
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let all = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] });
    let urls = json!({ "verbs": ["*"], "nonResourceURLs": ["*"] });
    for (case, rule, field) in [
        ("names", &all, "resourceNames"),
        ("urls", &all, "nonResourceURLs"),
        ("groups", &urls, "apiGroups"),
        ("resources", &urls, "resources"),
        ("something unknown", &all, "unknown"),
    ] {
        let mut rule = rule.clone();
        rule[field] = Value::Null;
        for (rules, how) in [(json!([rule]), "alone"), (json!([null, rule]), "after a null")] {
            let body = json!({ "metadata": { "name": "evil" }, "rules": rules }).to_string();
            let got = call(&eve, "POST", roles, body).await;
            assert!(matches!(got.code, 400 | 403 | 422), "{case}, {how}: {} {}", got.code, got.text());
            assert_eq!(
                call(&server.admin, "GET", &format!("{roles}/evil"), "").await.code,
                404,
                "{case}, {how}"
            );
        }
    }
}

#[tokio::test]
async fn a_label_does_not_bring_a_strong_role_into_a_weak_one() {
    let server = Server::start().await;
    let rule = json!([{ "verbs": ["patch", "get"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"] }]);
    give(&server, "labeller", rule).await;
    bind(&server, "viewer", "view").await;
    let eve = server.stranger.acting_as(user("eve", &["system:authenticated"]));
    let strong = "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin";
    let label = r#"{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}"#;
    let got = call(&eve, "PATCH", strong, label).await;
    assert_eq!(got.code, 403, "{}", got.text());
    let finalizer = r#"{"metadata":{"finalizers":["acme.example/tidy"]}}"#;
    let got = call(&eve, "PATCH", strong, finalizer).await;
    assert_eq!(got.code, 200, "what the collector needs grants nothing: {}", got.text());
}

#[tokio::test]
async fn a_selector_names_nothing_for_a_create() {
    let server = Server::start().await;
    let rule =
        json!([{ "verbs": ["*"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"] }]);
    give(&server, "own-secret", rule).await;
    let eve = server.stranger.acting_as(user("eve", &["system:authenticated"]));
    let path = "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dmine";
    let other = r#"{"metadata":{"name":"other"}}"#;
    assert_eq!(call(&eve, "POST", path, other).await.code, 403);
    assert_eq!(call(&eve, "GET", path, "").await.code, 200);
    assert_eq!(call(&eve, "GET", &format!("{path},metadata.namespace%3Ddefault"), "").await.code, 403);
}

#[tokio::test]
async fn who_may_bind_a_role_gives_it_without_having_it() {
    let server = Server::start().await;
    let rules = json!([{ "verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"] }]);
    give(&server, "binder", rules).await;
    let eve = server.stranger.acting_as(user("eve", &["system:authenticated"]));
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    let binding = |role: &str| {
        json!({
            "metadata": { "name": format!("to-{role}") },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io" }],
        })
        .to_string()
    };
    let refused = call(&eve, "POST", bindings, binding("view")).await.failure();
    assert!(refused.contains("is attempting to grant RBAC permissions not currently held"), "{refused}");
    let rules = json!([{ "verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["view"] }]);
    give(&server, "may-bind-view", rules).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    assert_eq!(call(&eve, "GET", maps, "").await.code, 403, "to bind is not to have");
    let made = call(&eve, "POST", bindings, binding("view")).await;
    assert_eq!(made.code, 201, "{}", made.text());
    assert_eq!(call(&eve, "GET", maps, "").await.code, 200);
    let refused = call(&eve, "POST", bindings, binding("edit")).await;
    assert_eq!(refused.code, 403, "only the role that was named: {}", refused.text());
}
