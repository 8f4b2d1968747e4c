//! What a client may count on, whichever way it reaches the API: the same story is told over both transports, each to a
//! fresh server, and must come out the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail where it stands")]

mod controller;
mod forgotten;
mod server;
mod story;
mod world;

use server::Server;

#[tokio::test]
async fn both_transports_tell_the_same_story() {
    let inside = Server::start().await;
    let outside = Server::start().await;
    let in_process = story::tell(inside.in_process()).await;
    let https = story::tell(outside.https().await).await;
    assert!(in_process.len() > 30, "the story is too short: {in_process:#?}");
    for (inside, outside) in in_process.iter().zip(&https) {
        assert_eq!(inside, outside);
    }
    assert_eq!(in_process.len(), https.len());
    // Two servers that fail alike agree as well, so some lines are known beforehand.
    for line in [
        "create again: 409 AlreadyExists configmaps \"one\" already exists",
        "get what is gone: 404 NotFound configmaps \"one\" not found",
        "delete: true",
        "conflict: 409 Conflict Apply failed with 1 conflict: conflict with \"one\": .spec.replicas",
        "event: \"deleted x None\"",
        "page: ([\"page-3\", \"page-4\", \"page-5\"], Some(1))",
        "an invalid pod: 422 Invalid Pod \"p\" is invalid: spec.containers: Required value",
    ] {
        assert!(in_process.iter().any(|told| told == line), "nobody told {line:?}: {in_process:#?}");
    }
}

#[tokio::test]
async fn a_world_follows_in_process() {
    let server = Server::start().await;
    world::follow(server.in_process(), server.in_process()).await;
}

#[tokio::test]
async fn a_world_follows_over_https() {
    let server = Server::start().await;
    world::follow(server.https().await, server.in_process()).await;
}

#[tokio::test]
async fn a_stock_controller_runs_on_a_kind_of_its_own() {
    let server = Server::start().await;
    controller::run(server.https().await).await;
}

#[tokio::test]
async fn what_the_server_forgot_is_read_again() {
    forgotten::tell().await;
}
