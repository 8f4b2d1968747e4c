//! The duties at work, through the API.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kedge_pki::Authority;
use serde_json::{Value, json};

use super::signing::tests::pem;
use crate::Router;
use crate::tests::{Server, call, request, send, user};

struct Tended {
    server: Server,
    authority: Arc<Authority>,
    _folder: tempfile::TempDir,
}

async fn tended() -> Tended {
    let server = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let authority = Arc::new(Authority::open(folder.path(), "ca", &server.clock).unwrap());
    tokio::spawn(server.stranger.clone().upkeep(authority.clone()));
    Tended { server, authority, _folder: folder }
}

/// Reads until what is read is as wanted.
async fn until(router: &Router, path: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    for _ in 0..5000 {
        last = call(router, "GET", path, "").await.json();
        if wanted(&last) {
            return last;
        }
        tokio::task::yield_now().await;
    }
    panic!("{path}: {what} is still untrue: {last}");
}

async fn make(router: &Router, path: &str, object: Value) -> Value {
    let made = call(router, "POST", path, object.to_string()).await;
    assert_eq!(made.code, 201, "{}", made.text());
    made.json()
}

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

fn signing_request(name: &str, signer: &str, pem: &str) -> Value {
    let usages = ["digital signature", "key encipherment", "client auth"];
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": { "name": name },
        "spec": { "signerName": signer, "usages": usages, "request": STANDARD.encode(pem), "username": "somebody else" },
    })
}

#[tokio::test]
async fn a_machine_joins_with_a_token() {
    let Tended { server, authority, .. } = tended().await;
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    let token = json!({
        "metadata": { "name": "bootstrap-token-abcdef" }, "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": "2030-01-01T13:00:00Z",
            "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
        },
    });
    make(&server.admin, secrets, token).await;
    let info = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
    let info = until(&server.stranger, info, "it is signed with the token", |map| {
        map["data"]["jws-kubeconfig-abcdef"].is_string()
    })
    .await;
    assert!(info["data"]["kubeconfig"].as_str().unwrap().contains(&STANDARD.encode(authority.pem())));

    let asked = signing_request(
        "node-n1",
        "kubernetes.io/kube-apiserver-client-kubelet",
        &pem("system:node:n1", "system:nodes", &[]),
    );
    let headers = [("authorization", "Bearer abcdef.0123456789abcdef"), ("content-type", "application/json")];
    let made = send(&server.stranger, request("POST", REQUESTS, &headers, asked.to_string())).await;
    assert_eq!(made.code, 201, "{}", made.text());
    assert_eq!(made.json()["spec"]["username"], "system:bootstrap:abcdef", "whoever asks is named");
    assert_eq!(made.json()["spec"]["groups"], json!(["system:bootstrappers", "system:authenticated"]));
    let path = format!("{REQUESTS}/node-n1");
    let signed =
        until(&server.admin, &path, "it is signed", |one| one["status"]["certificate"].is_string()).await;
    assert_eq!(signed["status"]["conditions"][0]["reason"], "AutoApproved", "{signed}");
    assert_eq!(signed["status"]["conditions"][0]["lastUpdateTime"], "2030-01-01T12:00:00Z");
    let pem = STANDARD.decode(signed["status"]["certificate"].as_str().unwrap()).unwrap();
    assert!(kedge_pki::not_after(&pem).is_some());

    server.clock.advance(std::time::Duration::from_secs(3601));
    let path = format!("{secrets}/bootstrap-token-abcdef");
    until(&server.admin, &path, "the token is gone", |one| one["code"] == 404).await;
    let path = format!("{REQUESTS}/node-n1");
    until(&server.admin, &path, "the request is gone", |one| one["code"] == 404).await;
}

#[tokio::test]
async fn a_signer_answers_only_those_who_may_ask() {
    let Tended { server, .. } = tended().await;
    let client = "kubernetes.io/kube-apiserver-client";
    let masters = signing_request("evil", client, &pem("eve", "system:masters", &[])).to_string();
    let got = call(&server.admin, "POST", REQUESTS, masters).await;
    assert_eq!(
        got.failure(),
        "403 Forbidden: certificatesigningrequests.certificates.k8s.io \"evil\" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    );
    make(&server.admin, REQUESTS, signing_request("ann", client, &pem("ann", "developers", &[]))).await;
    let role = json!({ "metadata": { "name": "half" }, "rules": [
        { "verbs": ["get", "update", "patch"], "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests", "certificatesigningrequests/approval", "certificatesigningrequests/status"] },
    ] });
    make(&server.admin, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
    let binding = json!({
        "metadata": { "name": "half" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "half" },
        "subjects": [{ "kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io" }],
    });
    make(&server.admin, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).await;
    let eve = server.stranger.acting_as(user("eve", &["system:authenticated"]));
    let approve = json!({ "status": { "conditions": [{ "type": "Approved", "status": "True", "reason": "x", "message": "y" }] } }).to_string();
    let sign =
        json!({ "status": { "certificate": STANDARD.encode("-----BEGIN CERTIFICATE-----\n") } }).to_string();
    for (part, body, verb) in [("approval", &approve, "approve"), ("status", &sign, "sign")] {
        let got = call(&eve, "PATCH", &format!("{REQUESTS}/ann/{part}"), body.clone()).await;
        let expected = format!(
            "403 Forbidden: certificatesigningrequests.certificates.k8s.io \"ann\" is forbidden: user not permitted to {verb} requests with signerName {client:?}"
        );
        assert_eq!(got.failure(), expected);
    }
    // Neither way may give the other's part, whoever asks.
    let got = call(&server.admin, "PATCH", &format!("{REQUESTS}/ann/status"), approve.clone()).await;
    assert!(got.failure().contains("updates may not add a condition of type \"Approved\""), "{}", got.text());
    let got = call(&server.admin, "PATCH", &format!("{REQUESTS}/ann/approval"), sign).await;
    assert_eq!(got.json()["status"].get("certificate"), None, "{}", got.text());
    assert_eq!(call(&server.admin, "PATCH", &format!("{REQUESTS}/ann/approval"), approve).await.code, 200);
    until(&server.admin, &format!("{REQUESTS}/ann"), "it is signed", |one| {
        one["status"]["certificate"].is_string()
    })
    .await;
}

#[tokio::test]
async fn a_secret_gets_its_accounts_token_and_goes_with_it() {
    let Tended { server, .. } = tended().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    make(&server.admin, accounts, json!({ "metadata": { "name": "bot" } })).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = |name: &str, account: &str| {
        json!({
            "metadata": { "name": name, "annotations": { "kubernetes.io/service-account.name": account } },
            "type": "kubernetes.io/service-account-token",
        })
    };
    make(&server.admin, secrets, secret("bot-token", "bot")).await;
    make(&server.admin, secrets, secret("nobody-token", "nobody")).await;
    let path = format!("{secrets}/bot-token");
    let filled = until(&server.admin, &path, "it is filled", |one| one["data"]["token"].is_string()).await;
    assert_eq!(filled["data"]["namespace"], STANDARD.encode("default"));
    let token = STANDARD.decode(filled["data"]["token"].as_str().unwrap()).unwrap();
    let bearer = format!("Bearer {}", String::from_utf8(token).unwrap());
    let ask = async || {
        send(&server.stranger, request("GET", "/apis", &[("authorization", &bearer)], "")).await.code
    };
    assert_eq!(ask().await, 200);
    until(&server.admin, &format!("{secrets}/nobody-token"), "it is gone", |one| one["code"] == 404).await;
    let other = json!({ "data": { "token": STANDARD.encode("another") } }).to_string();
    assert_eq!(call(&server.admin, "PATCH", &path, other).await.code, 200);
    assert_eq!(ask().await, 401, "the secret holds another token now");
    assert_eq!(
        call(
            &server.admin,
            "PATCH",
            &path,
            json!({ "data": { "token": filled["data"]["token"] } }).to_string()
        )
        .await
        .code,
        200
    );
    assert_eq!(ask().await, 200);
    assert_eq!(call(&server.admin, "DELETE", &format!("{accounts}/bot"), "").await.code, 200);
    assert_eq!(ask().await, 401, "the account is gone");
    until(&server.admin, &path, "the secret is gone", |one| one["code"] == 404).await;
}

#[tokio::test]
async fn every_namespace_knows_the_authority() {
    let Tended { server, authority, .. } = tended().await;
    make(&server.admin, "/api/v1/namespaces", json!({ "metadata": { "name": "n" } })).await;
    for namespace in ["default", "n"] {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt");
        let right = |one: &Value| one["data"]["ca.crt"] == authority.pem();
        until(&server.admin, &path, "it holds the certificate", right).await;
        assert_eq!(call(&server.admin, "PATCH", &path, r#"{"data":{"ca.crt":"x"}}"#).await.code, 200);
        until(&server.admin, &path, "it holds it again", right).await;
        assert_eq!(call(&server.admin, "DELETE", &path, "").await.code, 200);
        until(&server.admin, &path, "it is there again", right).await;
    }
}

#[tokio::test]
async fn a_role_says_what_it_gathers() {
    let Tended { server, .. } = tended().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let all = json!({ "metadata": { "name": "all" }, "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "part": "true" } }] }, "rules": [] });
    make(&server.admin, roles, all).await;
    let rule = json!({ "verbs": ["get"], "apiGroups": ["acme.example"], "resources": ["anvils"] });
    make(
        &server.admin,
        roles,
        json!({ "metadata": { "name": "part", "labels": { "part": "true" } }, "rules": [rule] }),
    )
    .await;
    let path = format!("{roles}/all");
    until(&server.admin, &path, "it has the part's rule", |one| one["rules"] == json!([rule])).await;
    assert_eq!(call(&server.admin, "DELETE", &format!("{roles}/part"), "").await.code, 200);
    until(&server.admin, &path, "it has no rule", |one| one["rules"].as_array().is_none_or(Vec::is_empty))
        .await;
    let before = server.registry.store().revision();
    let view = call(&server.admin, "GET", &format!("{roles}/admin"), "").await.json();
    assert!(view["rules"].as_array().unwrap().len() > 10);
    assert_eq!(server.registry.store().revision(), before);
}
