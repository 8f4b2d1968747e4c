//! Who may come in, as the real API says it.
#![allow(clippy::unwrap_used, reason = "tests end where something is wrong")]

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kedge_clock::Clock;
use kedge_door::{Judge, Reviews, User};
use kedge_registry::Options;
use kedge_testkit::{Api, admin};
use kube::api::PostParams;

fn user(name: &str, group: &str) -> User {
    User { name: name.to_owned(), groups: vec![group.to_owned()], ..User::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_knows_tokens_and_rights() {
    let clock = Clock::system();
    let api = Api::start(clock.clone(), Options::default()).await;
    let client = api.client(admin("system:node:here"));
    let reviews = Reviews::new(client.clone(), clock, "here");

    let accounts = kube::Api::<ServiceAccount>::namespaced(client, "default");
    let account: ServiceAccount =
        serde_json::from_value(serde_json::json!({"metadata": {"name": "a"}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
    let made = accounts.create_token_request("a", &PostParams::default(), &request).await.unwrap();
    let token = made.status.unwrap().token.unwrap();
    let holder = reviews.who(&token).await.unwrap().unwrap();
    assert_eq!(holder.name, "system:serviceaccount:default:a");
    assert!(holder.groups.contains(&"system:serviceaccounts".to_owned()), "{holder:?}");
    assert_eq!(reviews.who("none").await.unwrap(), None);

    for (who, verb, subresource, may) in [
        (user("root", "system:masters"), "create", "proxy", true),
        (user("somebody", "system:authenticated"), "get", "metrics", false),
        (holder, "get", "pods", false),
    ] {
        // Asked twice: the second answer is remembered, and the same.
        for _ in 0..2 {
            assert_eq!(
                reviews.may(&who, verb, subresource).await.unwrap(),
                may,
                "{who:?} {verb} {subresource}"
            );
        }
    }
}
