use kedge_store::{Draft, Expect, Txn};
use serde_json::json;

use super::*;

async fn put(store: &Store, key: &str, object: Value) {
    store.commit(Txn::new().put(key, Expect::Any, Draft::new(object.to_string()))).await.unwrap();
}

fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..User::default()
    }
}

fn ask<'a>(verb: &'a str, namespace: &'a str, resource: &'a str, name: &'a str) -> Ask<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Ask { verb, what: What::Resource { group: "", resource, subresource, namespace, name } }
}

async fn bind(store: &Store, key: &str, role: (&str, &str), subjects: Value) {
    let object = json!({ "roleRef": { "kind": role.0, "name": role.1 }, "subjects": subjects });
    put(store, key, object).await;
}

#[tokio::test]
async fn a_decision_follows_roles_and_bindings() {
    let store = Store::memory();
    put(
        &store,
        "/registry/clusterroles/reader",
        json!({ "rules": [
        { "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log", "*/scale"] },
        { "verbs": ["get"], "nonResourceURLs": ["/healthz", "/api/*"] },
    ] }),
    )
    .await;
    put(
        &store,
        "/registry/roles/a/one",
        json!({ "rules": [
        { "verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["this"] },
    ] }),
    )
    .await;
    bind(
        &store,
        "/registry/clusterrolebindings/all",
        ("ClusterRole", "reader"),
        json!([{ "kind": "User", "name": "wide" }, { "kind": "Group", "name": "team" }]),
    )
    .await;
    bind(
        &store,
        "/registry/rolebindings/a/here",
        ("ClusterRole", "reader"),
        json!([{ "kind": "ServiceAccount", "name": "bot" }]),
    )
    .await;
    bind(
        &store,
        "/registry/rolebindings/a/one",
        ("Role", "one"),
        json!([{ "kind": "User", "name": "narrow" }]),
    )
    .await;
    let rbac = Rbac::new(store.clone());

    for (case, who, asked, allowed) in [
        ("a cluster-wide binding holds everywhere", user("wide", &[]), ask("get", "b", "pods", "x"), true),
        ("and for the cluster", user("wide", &[]), ask("list", "", "pods", ""), true),
        ("a verb that is not named", user("wide", &[]), ask("delete", "b", "pods", "x"), false),
        ("a resource that is not named", user("wide", &[]), ask("get", "b", "secrets", "x"), false),
        ("a subresource must be named", user("wide", &[]), ask("get", "b", "pods/status", "x"), false),
        ("a named subresource", user("wide", &[]), ask("get", "b", "pods/log", "x"), true),
        ("a subresource of anything", user("wide", &[]), ask("get", "b", "things/scale", "x"), true),
        ("through a group", user("other", &["team"]), ask("get", "b", "pods", "x"), true),
        (
            "an account, where it is bound",
            user("system:serviceaccount:a:bot", &[]),
            ask("get", "a", "pods", "x"),
            true,
        ),
        (
            "an account, elsewhere",
            user("system:serviceaccount:a:bot", &[]),
            ask("get", "b", "pods", "x"),
            false,
        ),
        (
            "an account of another namespace",
            user("system:serviceaccount:b:bot", &[]),
            ask("get", "a", "pods", "x"),
            false,
        ),
        ("a named object", user("narrow", &[]), ask("patch", "a", "configmaps", "this"), true),
        ("another object", user("narrow", &[]), ask("patch", "a", "configmaps", "that"), false),
        ("creation names no object", user("narrow", &[]), ask("create", "a", "configmaps", ""), false),
        (
            "a role holds in its namespace only",
            user("narrow", &[]),
            ask("patch", "b", "configmaps", "this"),
            false,
        ),
        ("masters may all", user("root", &[MASTERS]), ask("delete", "", "nodes", "x"), true),
        ("a path", user("wide", &[]), Ask { verb: "get", what: What::Path("/healthz") }, true),
        ("a path under another", user("wide", &[]), Ask { verb: "get", what: What::Path("/api/v1") }, true),
        ("another path", user("wide", &[]), Ask { verb: "get", what: What::Path("/metrics") }, false),
    ] {
        assert_eq!(rbac.allows(&who, &asked), allowed, "{case}");
    }
}

#[tokio::test]
async fn a_decision_is_never_older_than_the_store() {
    let store = Store::memory();
    let rbac = Rbac::new(store.clone());
    let who = user("someone", &[]);
    let asked = ask("get", "a", "pods", "x");
    let role = json!({ "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }] });

    assert!(!rbac.allows(&who, &asked));
    bind(
        &store,
        "/registry/rolebindings/a/b",
        ("ClusterRole", "r"),
        json!([{ "kind": "User", "name": "someone" }]),
    )
    .await;
    assert!(!rbac.allows(&who, &asked), "there is no such role yet");
    put(&store, "/registry/clusterroles/r", role.clone()).await;
    assert!(rbac.allows(&who, &asked));
    bind(
        &store,
        "/registry/rolebindings/a/b",
        ("ClusterRole", "r"),
        json!([{ "kind": "User", "name": "else" }]),
    )
    .await;
    assert!(!rbac.allows(&who, &asked), "the binding names somebody else now");
    bind(
        &store,
        "/registry/rolebindings/a/b",
        ("ClusterRole", "r"),
        json!([{ "kind": "User", "name": "someone" }]),
    )
    .await;
    assert!(rbac.allows(&who, &asked));
    store.commit(Txn::new().delete("/registry/rolebindings/a/b", Expect::Present)).await.unwrap();
    assert!(!rbac.allows(&who, &asked), "the binding is gone");
}

#[tokio::test]
async fn aggregated_roles_gather_what_they_select() {
    let store = Store::memory();
    let rbac = Rbac::new(store.clone());
    let rule = |resource: &str| json!([{ "verbs": ["get"], "apiGroups": [""], "resources": [resource] }]);
    let selects = |label: &str| json!({ "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] });
    put(
        &store,
        "/registry/clusterroles/admin",
        json!({ "aggregationRule": selects("to-admin"), "rules": rule("stale") }),
    )
    .await;
    put(
        &store,
        "/registry/clusterroles/view",
        json!({ "metadata": { "labels": { "to-admin": "true" } }, "aggregationRule": selects("to-view") }),
    )
    .await;
    put(
        &store,
        "/registry/clusterroles/pods",
        json!({ "metadata": { "labels": { "to-view": "true" } }, "rules": rule("pods") }),
    )
    .await;
    bind(
        &store,
        "/registry/clusterrolebindings/b",
        ("ClusterRole", "admin"),
        json!([{ "kind": "User", "name": "someone" }]),
    )
    .await;
    let who = user("someone", &[]);
    assert!(rbac.allows(&who, &ask("get", "a", "pods", "x")), "through two aggregations");
    assert!(!rbac.allows(&who, &ask("get", "a", "stale", "x")), "what it says itself does not count");
    put(
        &store,
        "/registry/clusterroles/more",
        json!({ "metadata": { "labels": { "to-admin": "true" } }, "rules": rule("nodes") }),
    )
    .await;
    assert!(rbac.allows(&who, &ask("get", "", "nodes", "x")), "a role that came later");
}

#[tokio::test]
async fn only_what_is_held_is_covered() {
    let store = Store::memory();
    put(
        &store,
        "/registry/clusterroles/r",
        json!({ "rules": [
        { "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "secrets"] },
        { "verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"] },
        { "verbs": ["get"], "apiGroups": [""], "resources": ["nodes"], "resourceNames": ["n1"] },
    ] }),
    )
    .await;
    bind(
        &store,
        "/registry/clusterrolebindings/b",
        ("ClusterRole", "r"),
        json!([{ "kind": "User", "name": "someone" }]),
    )
    .await;
    let rbac = Rbac::new(store);
    for (case, rule, covered) in [
        ("a part of one rule", json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }), true),
        (
            "a verb too many",
            json!({ "verbs": ["get", "watch"], "apiGroups": [""], "resources": ["pods"] }),
            false,
        ),
        (
            "from two rules",
            json!({ "verbs": ["get"], "apiGroups": ["", "apps"], "resources": ["pods"] }),
            true,
        ),
        (
            "everything in one group",
            json!({ "verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"] }),
            true,
        ),
        ("everything", json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }), false),
        (
            "a named one",
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["nodes"], "resourceNames": ["n1"] }),
            true,
        ),
        (
            "all of which one is held",
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["nodes"] }),
            false,
        ),
        ("a path", json!({ "verbs": ["get"], "nonResourceURLs": ["/metrics"] }), false),
    ] {
        let rule: Rule = serde_json::from_value(rule).unwrap();
        assert_eq!(rbac.covers(&user("someone", &[]), "", &[rule]), covered, "{case}");
    }
}
