//! Tokens of service accounts: what they are bound to, who can check them, what of them is refused.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};

use super::{Got, Server, call, request, send, user};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

async fn make(server: &Server, path: &str, object: Value) -> Value {
    let made = call(&server.admin, "POST", path, object.to_string()).await;
    assert_eq!(made.code, 201, "{}", made.text());
    made.json()
}

async fn ask(server: &Server, spec: Value) -> Got {
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec });
    call(&server.admin, "POST", &format!("{ACCOUNTS}/bot/token"), body.to_string()).await
}

async fn token(server: &Server, spec: Value) -> String {
    let made = ask(server, spec).await;
    assert_eq!(made.code, 201, "{}", made.text());
    made.json()["status"]["token"].as_str().unwrap().to_owned()
}

async fn who(server: &Server, token: &str) -> Result<Value, u16> {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" }).to_string();
    let headers = [("authorization", &*format!("Bearer {token}")), ("content-type", "application/json")];
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let got = send(&server.stranger, request("POST", path, &headers, review)).await;
    if got.code == 201 { Ok(got.json()["status"]["userInfo"].clone()) } else { Err(got.code) }
}

async fn furnished() -> Server {
    let server = Server::start().await;
    make(&server, ACCOUNTS, json!({ "metadata": { "name": "bot" } })).await;
    make(&server, "/api/v1/nodes", json!({ "metadata": { "name": "n1" } })).await;
    make(&server, "/api/v1/namespaces/default/secrets", json!({ "metadata": { "name": "s" } })).await;
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "serviceAccountName": "bot", "nodeName": "n1", "containers": [{ "name": "c", "image": "i" }] },
    });
    make(&server, "/api/v1/namespaces/default/pods", pod).await;
    server
}

#[tokio::test]
async fn a_token_dies_with_what_it_is_bound_to() {
    let server = furnished().await;
    for (kind, name, path) in
        [("Secret", "s", "/api/v1/namespaces/default/secrets"), ("Node", "n1", "/api/v1/nodes")]
    {
        let object = call(&server.admin, "GET", &format!("{path}/{name}"), "").await.json();
        let uid = &object["metadata"]["uid"];
        let token = token(
            &server,
            json!({ "boundObjectRef": { "apiVersion": "v1", "kind": kind, "name": name, "uid": uid } }),
        )
        .await;
        let user = who(&server, &token).await.unwrap();
        assert_eq!(user["username"], "system:serviceaccount:default:bot");
        if kind == "Node" {
            assert_eq!(user["extra"]["authentication.kubernetes.io/node-name"], json!(["n1"]));
            assert_eq!(user["extra"]["authentication.kubernetes.io/node-uid"], json!([uid]));
        }
        call(&server.admin, "DELETE", &format!("{path}/{name}"), "").await;
        assert_eq!(who(&server, &token).await, Err(401), "{kind} is gone");
        make(&server, path, json!({ "metadata": { "name": name } })).await;
        assert_eq!(who(&server, &token).await, Err(401), "another {kind} of that name");
    }
}

#[tokio::test]
async fn a_pods_token_names_its_pod_and_node() {
    let server = furnished().await;
    let token =
        token(&server, json!({ "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "p" } })).await;
    let user = who(&server, &token).await.unwrap();
    let extra = &user["extra"];
    let pods = "/api/v1/namespaces/default/pods/p";
    let pod = call(&server.admin, "GET", pods, "").await.json();
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], json!(["p"]));
    assert_eq!(extra["authentication.kubernetes.io/pod-uid"], json!([pod["metadata"]["uid"]]));
    assert_eq!(extra["authentication.kubernetes.io/node-name"], json!(["n1"]));
    let id = extra["authentication.kubernetes.io/credential-id"][0].as_str().unwrap();
    assert!(id.starts_with("JTI="), "{id}");
    // While it is ending it may still speak; a while after its end no more.
    call(&server.admin, "DELETE", &format!("{pods}?gracePeriodSeconds=30"), "").await;
    assert!(who(&server, &token).await.is_ok());
    server.clock.advance(Duration::from_secs(30 + 61));
    assert_eq!(who(&server, &token).await, Err(401));
}

#[tokio::test]
async fn requests_that_cannot_be_met_are_refused() {
    let server = furnished().await;
    make(&server, ACCOUNTS, json!({ "metadata": { "name": "other" } })).await;
    let pod = json!({ "metadata": { "name": "q" }, "spec": { "serviceAccountName": "other", "containers": [{ "name": "c", "image": "i" }] } });
    make(&server, "/api/v1/namespaces/default/pods", pod).await;
    let bound = |kind: &str, name: &str, uid: &str| json!({ "boundObjectRef": { "apiVersion": "v1", "kind": kind, "name": name, "uid": uid } });
    for (spec, failure) in [
        (
            json!({ "expirationSeconds": 599 }),
            "422 Invalid: TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
        ),
        (
            json!({ "expirationSeconds": 1_i64 << 33 }),
            "422 Invalid: TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds",
        ),
        (
            bound("ConfigMap", "x", ""),
            "400 BadRequest: cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (bound("Pod", "x", ""), "404 NotFound: pods \"x\" not found"),
        (
            bound("Pod", "q", ""),
            "400 BadRequest: cannot bind token for serviceaccount \"bot\" to pod running with different serviceaccount name.",
        ),
        (
            bound("Secret", "s", "7"),
            "409 Conflict: Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (7) does not match the UID in record. The object might have been deleted and then recreated",
        ),
    ] {
        assert_eq!(ask(&server, spec).await.failure(), failure);
    }
    let body = json!({ "metadata": { "name": "other" }, "spec": {} }).to_string();
    let got = call(&server.admin, "POST", &format!("{ACCOUNTS}/bot/token"), body).await;
    assert_eq!(
        got.failure(),
        "422 Invalid: TokenRequest.authentication.k8s.io \"bot\" is invalid: metadata.name: Invalid value: \"other\": must match the service account name if specified"
    );
}

#[tokio::test]
async fn forged_tokens_are_worth_nothing() {
    let server = furnished().await;
    let good = token(&server, json!({})).await;
    assert!(who(&server, &good).await.is_ok());
    let parts: Vec<&str> = good.split('.').collect();
    let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    claims["sub"] = "system:serviceaccount:kube-system:default".into();
    let raised = format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(claims.to_string()), parts[2]);
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let legacy = json!({ "iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:bot" });
    let key = kedge_pki::new_key().unwrap();
    let foreign = jsonwebtoken::encode(
        &jsonwebtoken::Header::new(Algorithm::ES256),
        &serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap(),
        &jsonwebtoken::EncodingKey::from_ec_pem(key.as_bytes()).unwrap(),
    )
    .unwrap();
    for (case, token) in [
        ("another's claims", raised),
        ("no signature", format!("{none}.{}.", parts[1])),
        ("signed with another key", foreign),
        ("of the old kind, unsigned", format!("{none}.{}.", URL_SAFE_NO_PAD.encode(legacy.to_string()))),
    ] {
        assert_eq!(who(&server, &token).await, Err(401), "{case}");
    }
    let elsewhere = token(&server, json!({ "audiences": ["elsewhere"] })).await;
    assert_eq!(who(&server, &elsewhere).await, Err(401), "for another audience");
    let review = json!({ "spec": { "token": elsewhere } }).to_string();
    let review =
        call(&server.admin, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).await.json();
    assert_eq!(
        review["status"]["error"],
        "[invalid bearer token, token audiences [\"elsewhere\"] is invalid for the target audiences [\"https://kubernetes.default.svc.cluster.local\"]]"
    );
}

#[tokio::test]
async fn whoever_may_discover_can_check_a_token() {
    let server = furnished().await;
    let bot = server.stranger.acting_as(user(
        "system:serviceaccount:default:bot",
        &["system:serviceaccounts", "system:authenticated"],
    ));
    let discovery = call(&bot, "GET", "/.well-known/openid-configuration", "").await;
    assert_eq!(discovery.headers["content-type"], "application/json");
    let discovery = discovery.json();
    assert_eq!(discovery["issuer"], "https://kubernetes.default.svc.cluster.local");
    assert_eq!(discovery["id_token_signing_alg_values_supported"], json!(["ES256"]));
    assert!(discovery["jwks_uri"].as_str().unwrap().ends_with("/openid/v1/jwks"));
    let keys = call(&bot, "GET", "/openid/v1/jwks", "").await;
    assert_eq!(keys.headers["content-type"], "application/jwk-set+json");
    let keys: JwkSet = serde_json::from_slice(&keys.body).unwrap();
    let token = token(&server, json!({ "audiences": ["vault"] })).await;
    let id = jsonwebtoken::decode_header(&token).unwrap().kid.unwrap();
    let key = DecodingKey::from_jwk(keys.find(&id).unwrap()).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&["vault"]);
    validation.set_issuer(&["https://kubernetes.default.svc.cluster.local"]);
    validation.validate_exp = false;
    let claims = jsonwebtoken::decode::<Value>(&token, &key, &validation).unwrap().claims;
    assert_eq!(claims["sub"], "system:serviceaccount:default:bot");
    assert_eq!(call(&server.stranger, "GET", "/openid/v1/jwks", "").await.code, 403, "not for strangers");
}

#[tokio::test]
async fn impersonation_can_be_granted_for_some_deeds_only() {
    let server = furnished().await;
    super::access::reader(&server).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let rules = json!([
        { "verbs": ["impersonate:user-info"], "apiGroups": ["authentication.k8s.io"], "resources": ["users", "groups"], "resourceNames": ["ann", "staff", "system:masters"] },
        { "verbs": ["impersonate-on:user-info:list"], "apiGroups": [""], "resources": ["configmaps", "secrets"] },
    ]);
    make(&server, roles, json!({ "metadata": { "name": "acts" }, "rules": rules })).await;
    let binding = json!({
        "metadata": { "name": "acts" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "acts" },
        "subjects": [{ "kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io" }],
    });
    make(&server, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).await;
    let eve = server.stranger.acting_as(user("eve", &["system:authenticated"]));
    let maps = "/api/v1/namespaces/default/configmaps";
    let ann = ("impersonate-user", "ann");
    for (case, path, headers, code) in [
        ("as ann, what both may", maps, vec![ann], 200),
        ("as ann, what ann may not", "/api/v1/namespaces/default/secrets", vec![ann], 403),
        ("as ann, what eve may not do as ann", &*format!("{maps}/x"), vec![ann], 403),
        ("as somebody else", maps, vec![("impersonate-user", "bob")], 403),
        ("as ann of the staff", maps, vec![ann, ("impersonate-group", "staff")], 200),
        ("as ann, a master", maps, vec![ann, ("impersonate-group", "system:masters")], 403),
        ("as ann with a number", maps, vec![ann, ("impersonate-uid", "7")], 403),
        ("as ann with extras", maps, vec![ann, ("impersonate-extra-a", "b")], 403),
        ("as a node", maps, vec![("impersonate-user", "system:node:n1")], 403),
    ] {
        assert_eq!(send(&eve, request("GET", path, &headers, "")).await.code, code, "{case}");
    }
}
