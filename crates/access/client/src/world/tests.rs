use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::client::Body;
use parking_lot::Mutex;

use super::*;
use crate::scripted::Answer::{self, Events, Fails, Is, Stays};
use crate::scripted::{AT_8, Asked, END_5, END_9, GONE, MAP_A, MAP_B, scripted};

const PATIENCE: Duration = Duration::from_secs(20);

/// A world that sees a scripted server.
struct Script {
    asked: Asked,
    world: World,
    clock: Clock,
}

fn script(answers: Vec<Answer>) -> Script {
    let (client, asked) = scripted(answers);
    let clock = Clock::manual("2030-01-01T00:00:00Z".parse().unwrap());
    let world = World::new(client, clock.clone());
    Script { asked, world, clock }
}

impl Script {
    /// Turns the clock until something holds.
    async fn until(&self, what: &str, holds: impl Fn(&World) -> bool) {
        let started = std::time::Instant::now();
        while !holds(&self.world) {
            assert!(started.elapsed() < PATIENCE, "still untrue: {what}; asked {:#?}", self.asked.lock());
            self.clock.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    }
}

fn names(world: &World) -> Option<Vec<String>> {
    let cache = world.cache::<ConfigMap>().ok()?;
    Some(cache.all().iter().map(|map| map.name_any()).collect())
}

fn knows(expected: &'static [&'static str]) -> impl Fn(&World) -> bool {
    move |world| names(world).is_some_and(|names| names == expected)
}

#[tokio::test]
async fn a_failure_is_not_emptiness() {
    let script = script(vec![
        Fails(500, "broken"),
        // The objects' end never came, so nobody knows whether there are more.
        Events(&[MAP_A]),
        Fails(503, "busy"),
        Stays(&[MAP_A, END_5]),
    ]);
    script.world.watch::<ConfigMap>();
    let asked = script.asked.clone();
    script
        .until("all answers were used", |world| {
            let known = names(world);
            assert!(
                known.is_none() || known == Some(vec!["a".to_owned()]),
                "{known:?} after {}",
                asked.lock().len()
            );
            known.is_some()
        })
        .await;
    assert_eq!(script.asked.lock().len(), 4);
}

#[tokio::test]
async fn a_broken_watch_is_resumed_where_it_was() {
    let script =
        script(vec![Events(&[MAP_A, END_5]), Events(&[MAP_B, AT_8]), Fails(500, "broken"), Stays(&[])]);
    script.world.watch::<ConfigMap>();
    script.until("both are known", knows(&["a", "b"])).await;
    script.until("the watch was resumed", |_| script.asked.lock().len() == 4).await;
    let asked = script.asked.lock().clone();
    let from: Vec<&str> = asked.iter().filter_map(|uri| uri.split("resourceVersion=").nth(1)).collect();
    assert_eq!(from, ["", "5", "8", "8"]);
    assert_eq!(script.world.cache::<ConfigMap>().unwrap().seen(), Some(Revision(8)));
}

#[tokio::test]
async fn what_the_server_forgot_is_read_again_and_differences_are_told() {
    let script = script(vec![Events(&[MAP_A, END_5]), Events(&[MAP_B, GONE]), Stays(&[MAP_B, END_9])]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let listener = Arc::new(move |seen: &Seen<'_>| {
        let there = |object: Option<&ConfigMap>| object.is_some();
        heard.lock().push((seen.key.to_string(), there(seen.before()), there(seen.now())));
    });
    script.world.listen(&listener);
    script.world.watch::<ConfigMap>();
    script.until("the second reading is known", knows(&["b"])).await;
    let told = told.lock().clone();
    let expected = [("n/a", false, true), ("n/b", false, true), ("n/a", true, false)];
    assert_eq!(told, expected.map(|(key, before, now)| (key.to_owned(), before, now)));
    script.world.catch_up_to::<ConfigMap>(Revision(9)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_stream_lists_is_read_in_pages() {
    let page = |token: &'static str| Is(token);
    let script = script(vec![
        Fails(422, "sendInitialEvents is forbidden"),
        page(
            r#"{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"5","continue":"t"},"items":[{"metadata":{"name":"a","namespace":"n","uid":"1","resourceVersion":"3"}}]}"#,
        ),
        page(
            r#"{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"c","namespace":"n","uid":"3","resourceVersion":"4"}}]}"#,
        ),
        Stays(&[MAP_B]),
    ]);
    script.world.watch::<ConfigMap>();
    script.until("all are known", knows(&["a", "b", "c"])).await;
    let asked = script.asked.lock().clone();
    assert!(asked[2].contains("continue=t"), "{asked:#?}");
    assert!(asked[3].contains("resourceVersion=5"), "{asked:#?}");
}

#[tokio::test]
async fn a_kind_is_watched_once_and_no_longer_than_the_world() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let service = tower::service_fn(|_: Request<Body>| {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        let guard = Guard;
        async move {
            let _guard = guard;
            std::future::pending::<()>().await;
            Ok::<_, Infallible>(Response::new(Body::empty()))
        }
    });
    let world =
        World::new(crate::in_process(service), Clock::manual("2030-01-01T00:00:00Z".parse().unwrap()));
    world.watch::<Pod>().watch::<Pod>();
    let also = world.clone();
    let settle = async |expected: usize| {
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(ALIVE.load(Ordering::SeqCst), expected);
    };
    settle(1).await;
    drop(world);
    settle(1).await;
    drop(also);
    settle(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_write_and_watching_never_wait_for_each_other() {
    let world = World::by_hand();
    let cache = world.feed::<ConfigMap>();
    let last = 200_000;
    let wait = |revision| Wait { kind: "ConfigMap".into(), what: Until::Seen(Revision(revision)) };
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let world = world.clone();
            tokio::spawn(async move {
                for revision in 1..=last {
                    world.catch_up(&wait(revision)).await;
                }
            })
        })
        .collect();
    let moving =
        std::thread::spawn(move || (1..=last).for_each(|revision| cache.progress(Revision(revision))));
    let all = async {
        for waiter in waiters {
            waiter.await.unwrap();
        }
    };
    // A server that has come to a standstill cannot even notice that the time is over, so somebody else does.
    let (tell, told) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let limit = Duration::from_secs(60);
        if told.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            std::process::abort();
        }
    });
    all.await;
    moving.join().unwrap();
    tell.send(()).unwrap();
}
