//! What is due by the clock, which is turned by hand: tokens are renewed in the files that hold them, and images that nobody uses go. Needs
//! what `real` needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_agent::ImageRules;
use kedge_clock::Clock;
use scene::{Scene, shell};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_renewed_and_images_go_in_time() {
    let clock = Clock::manual(Timestamp::now());
    let hand = clock.clone();
    // It goes on as clocks do, and is set forward beside it.
    let going = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            hand.advance(Duration::from_millis(10));
        }
    });
    // There is always too little room, so whatever may go goes when it is looked at.
    let rules = ImageRules { high: 0, low: 0, youngest: SignedDuration::from_mins(2), oldest: None };
    let scene = Scene::by(clock.clone(), |settings| settings.image_rules = rules).await;
    scene.import("unused:1").await;
    let script = "old=; n=0; while :; do new=$(cat /t/token); [ -n \"$new\" ] || echo empty; \
                  [ \"$new\" = \"$old\" ] || { n=$((n+1)); echo token $n; }; old=$new; sleep 0.05; done";
    let mut main = shell("c", script);
    main["volumeMounts"] = json!([{"name": "t", "mountPath": "/t"}]);
    let token = json!({"serviceAccountToken": {"path": "token", "expirationSeconds": 600}});
    let volumes = json!([{"name": "t", "projected": {"sources": [token]}}]);
    scene.make("holder", json!({"containers": [main], "volumes": volumes})).await;
    scene.until_it_says("holder", "token 1").await;
    let images = async || -> Vec<String> {
        let all = scene.runtime().images().await.unwrap();
        all.into_iter().flat_map(|image| image.repo_tags).collect()
    };
    assert!(images().await.iter().any(|name| name.ends_with("unused:1")));

    // It is looked at images every five minutes, and a token is renewed after four fifths of its life.
    scene
        .eventually("the image that nobody uses is gone", async || {
            clock.advance(Duration::from_secs(100));
            let left = images().await;
            if left.iter().any(|name| name.ends_with("unused:1")) { Err(format!("{left:?}")) } else { Ok(()) }
        })
        .await;
    clock.advance(Duration::from_secs(600));
    let left = images().await;
    assert!(left.iter().any(|name| name.ends_with("busybox:1")), "it is in use: {left:?}");
    let pod = scene.pods().get("holder").await.unwrap();
    scene
        .eventually("the file holds another token", async || {
            let said = scene.lines(&pod);
            if said.starts_with("token 1\ntoken 2") && !said.contains("empty") { Ok(()) } else { Err(said) }
        })
        .await;
    scene.delete("holder").await;
    going.abort();
    scene.end().await;
}
