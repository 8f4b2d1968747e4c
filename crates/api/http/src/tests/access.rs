//! Who may what, through the router: certificates, tokens, impersonation, refusals in Kubernetes' words.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Got, Server, call, request, send, user};
use crate::Peer;

pub(super) async fn reader(server: &Server) {
    let role = json!({ "metadata": { "name": "reader" }, "rules": [{ "verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"] }] });
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let made = call(&server.admin, "POST", roles, role.to_string()).await;
    assert_eq!(made.code, 201, "{}", made.text());
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io" }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    let made = call(&server.admin, "POST", bindings, binding.to_string()).await;
    assert_eq!(made.code, 201, "{}", made.text());
}

#[tokio::test]
async fn refusals_say_what_was_refused() {
    let server = Server::start().await;
    reader(&server).await;
    let ann = server.stranger.acting_as(user("ann", &["system:authenticated"]));
    assert_eq!(call(&ann, "GET", "/api/v1/namespaces/default/configmaps", "").await.code, 200);
    assert_eq!(call(&ann, "GET", "/apis", "").await.code, 200);
    for (who, method, path, failure) in [
        (
            &ann,
            "GET",
            "/api/v1/namespaces/default/pods",
            "403 Forbidden: pods is forbidden: User \"ann\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\"",
        ),
        (
            &ann,
            "DELETE",
            "/api/v1/namespaces/default/configmaps/x",
            "403 Forbidden: configmaps \"x\" is forbidden: User \"ann\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"default\"",
        ),
        (
            &ann,
            "GET",
            "/apis/apps/v1/deployments?watch=1",
            "403 Forbidden: deployments.apps is forbidden: User \"ann\" cannot watch resource \"deployments\" in API group \"apps\" at the cluster scope",
        ),
        (
            &ann,
            "GET",
            "/api/v1/namespaces/default/pods/p/log",
            "403 Forbidden: pods \"p\" is forbidden: User \"ann\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"default\"",
        ),
        (
            &server.stranger,
            "GET",
            "/apis",
            "403 Forbidden: forbidden: User \"system:anonymous\" cannot get path \"/apis\"",
        ),
        (
            &server.stranger,
            "GET",
            "/api/v1/nodes",
            "403 Forbidden: nodes is forbidden: User \"system:anonymous\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
        ),
    ] {
        assert_eq!(call(who, method, path, "").await.failure(), failure);
    }
}

#[tokio::test]
async fn certificates_end_while_their_connection_lives() {
    let server = Server::with(|options| {
        options.static_tokens.insert("good".to_owned(), user("boot", &["system:masters"]));
    })
    .await;
    let until: Timestamp = "2030-01-01T12:00:10Z".parse().unwrap();
    let subject = kedge_pki::Subject {
        common_name: "ann".to_owned(),
        organizations: vec!["system:masters".to_owned()],
        not_after: until,
    };
    let ann = server.stranger.for_peer(Peer::certified(subject));
    assert_eq!(call(&ann, "GET", "/api/v1/nodes", "").await.code, 200);
    server.clock.advance(Duration::from_secs(11));
    assert_eq!(call(&ann, "GET", "/api/v1/nodes", "").await.failure(), "401 Unauthorized: Unauthorized");
    let doubtful = server.stranger.for_peer(Peer::Doubtful("foreign".to_owned()));
    assert_eq!(call(&doubtful, "GET", "/healthz", "").await.code, 401);
    // A good token beside it is as good as alone.
    for (token, code) in [("good", 200), ("bad", 401)] {
        let header = format!("Bearer {token}");
        let got = send(&doubtful, request("GET", "/api/v1/nodes", &[("authorization", &header)], "")).await;
        assert_eq!(got.code, code, "{token}");
    }
}

async fn as_bearer(server: &Server, token: &str, path: &str) -> Got {
    send(&server.stranger, request("GET", path, &[("authorization", &format!("Bearer {token}"))], "")).await
}

async fn token_for(server: &Server, spec: Value) -> Got {
    let path = "/api/v1/namespaces/default/serviceaccounts/bot/token";
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec });
    call(&server.admin, "POST", path, body.to_string()).await
}

#[tokio::test]
async fn tokens_speak_for_accounts_that_are_there() {
    let server = Server::with(|options| {
        options.static_tokens.insert("static".to_owned(), user("boot", &["system:masters"]));
    })
    .await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = json!({ "metadata": { "name": "bot" } }).to_string();
    assert_eq!(call(&server.admin, "POST", accounts, account.clone()).await.code, 201);
    let made = token_for(&server, json!({})).await;
    assert_eq!(made.code, 201, "{}", made.text());
    let token = made.json()["status"]["token"].as_str().unwrap().to_owned();

    let who = as_bearer(&server, &token, "/api/v1/nodes").await.failure();
    assert!(who.contains("User \"system:serviceaccount:default:bot\" cannot list"), "{who}");
    assert_eq!(as_bearer(&server, &token, "/apis").await.code, 200, "accounts may discover");
    assert_eq!(as_bearer(&server, "static", "/api/v1/nodes").await.code, 200);

    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
    let review =
        call(&server.admin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review.to_string()).await;
    assert_eq!(review.json()["status"]["authenticated"], true, "{}", review.text());

    let other = token_for(&server, json!({ "audiences": ["elsewhere"] })).await.json();
    let other = other["status"]["token"].as_str().unwrap();
    let review = json!({ "spec": { "token": other, "audiences": ["here", "elsewhere"] } }).to_string();
    let review = call(&server.admin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!(review.json()["status"]["audiences"], json!(["elsewhere"]), "{}", review.text());
    let review = json!({ "spec": { "token": "static", "audiences": ["here"] } }).to_string();
    let review = call(&server.admin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!(review.json()["status"].get("authenticated"), None, "{}", review.text());
    let forged = format!("{}x", &token[..token.len() - 2]);
    for (case, token) in [
        ("rubbish", "rubbish"),
        ("a forged signature", &*forged),
        ("for another audience", other),
        ("empty", ""),
    ] {
        assert_eq!(
            as_bearer(&server, token, "/healthz").await.failure(),
            "401 Unauthorized: Unauthorized",
            "{case}"
        );
    }
    let basic =
        send(&server.stranger, request("GET", "/healthz", &[("authorization", "Basic eDp5")], "")).await;
    assert_eq!(basic.code, 401);
    assert_eq!(token_for(&server, json!({ "expirationSeconds": 5 })).await.code, 422);

    call(&server.admin, "DELETE", &format!("{accounts}/bot"), "").await;
    assert_eq!(as_bearer(&server, &token, "/apis").await.code, 401, "the account is gone");
    call(&server.admin, "POST", accounts, account).await;
    assert_eq!(as_bearer(&server, &token, "/apis").await.code, 401, "another account of that name");
    let fresh = token_for(&server, json!({ "expirationSeconds": 600 })).await.json();
    let fresh = fresh["status"]["token"].as_str().unwrap();
    assert_eq!(as_bearer(&server, fresh, "/apis").await.code, 200);
    server.clock.advance(Duration::from_secs(601));
    assert_eq!(as_bearer(&server, fresh, "/apis").await.code, 401, "its time is over");
}

#[tokio::test]
async fn one_may_act_as_another_if_allowed() {
    let server = Server::start().await;
    reader(&server).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let ann = server.stranger.acting_as(user("ann", &["system:authenticated"]));
    for (case, router, headers, code) in [
        ("admin as ann", &server.admin, vec![("impersonate-user", "ann")], 200),
        ("admin as bob", &server.admin, vec![("impersonate-user", "bob")], 403),
        (
            "admin as bob in a group of masters",
            &server.admin,
            vec![("impersonate-user", "bob"), ("impersonate-group", "system:masters")],
            200,
        ),
        ("ann as admin", &ann, vec![("impersonate-user", "admin")], 403),
        ("nobody's group", &server.admin, vec![("impersonate-group", "x")], 400),
        ("an empty name", &server.admin, vec![("impersonate-user", "")], 400),
        ("nobody's number", &server.admin, vec![("impersonate-uid", "")], 400),
    ] {
        assert_eq!(send(router, request("GET", maps, &headers, "")).await.code, code, "{case}");
    }
    // Whatever is there is read or refused: never is the request carried out as its sender.
    for (value, code) in [(&b"m\xc3\xbcller"[..], 403), (b"m\xfcller", 400)] {
        for header in ["impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-a"] {
            let mut request = request("GET", maps, &[], "");
            request.headers_mut().insert("impersonate-user", "bob".try_into().unwrap());
            request.headers_mut().insert(header, value.try_into().unwrap());
            assert_eq!(send(&server.admin, request).await.code, code, "{header}: {value:?}");
        }
    }
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" }).to_string();
    let headers =
        [("impersonate-user", "bob"), ("impersonate-uid", "7"), ("impersonate-extra-acme%2Fcolour", "red")];
    let got = send(
        &server.admin,
        request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", &headers, review),
    )
    .await
    .json();
    assert_eq!(
        got["status"]["userInfo"],
        json!({ "username": "bob", "uid": "7", "groups": ["system:authenticated"], "extra": { "acme/colour": ["red"] } })
    );
}

#[tokio::test]
async fn reviews_answer_what_requests_would_meet() {
    let server = Server::start().await;
    reader(&server).await;
    let ann = server.stranger.acting_as(user("ann", &["system:authenticated"]));
    for (verb, resource, allowed) in
        [("get", "configmaps", true), ("delete", "configmaps", false), ("get", "secrets", false)]
    {
        let attributes = json!({ "namespace": "default", "verb": verb, "resource": resource });
        let own = json!({ "spec": { "resourceAttributes": attributes } }).to_string();
        let own = call(&ann, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", own).await;
        assert_eq!(
            (own.code, &own.json()["status"]["allowed"]),
            (201, &json!(allowed)),
            "{verb} {resource}: {}",
            own.text()
        );
        let others = json!({ "spec": { "user": "ann", "resourceAttributes": attributes } }).to_string();
        let others =
            call(&server.admin, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", others).await;
        assert_eq!(others.json()["status"]["allowed"], allowed, "{verb} {resource}");
    }
    let rules = json!({ "spec": { "namespace": "default" } }).to_string();
    let rules =
        call(&ann, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", rules).await.json();
    let has = rules["status"]["resourceRules"]
        .as_array()
        .unwrap()
        .iter()
        .any(|rule| rule["resources"] == json!(["configmaps"]));
    assert!(has, "{rules}");
}
