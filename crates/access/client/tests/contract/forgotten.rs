//! A line that is cut for longer than the server remembers. Whoever watched over it, our world or kube's own watcher, hears on
//! coming back that its revision is gone, and has to read everything again.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kedge_client::World;
use kedge_clock::Clock;
use kedge_http::Router;
use kedge_store::{Limits, Options, Store};
use kube::api::{DeleteParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;
use tower::ServiceExt;

use crate::server::Server;

const PATIENCE: Duration = Duration::from_secs(20);

/// A way to the server that can be cut: everything under way ends, nothing new begins.
struct Line {
    is_cut: watch::Sender<bool>,
    /// Watches that began at a revision and were told at once that it is gone.
    gone: Arc<AtomicUsize>,
}

impl Line {
    fn to(router: Router) -> (Self, Client) {
        let (is_cut, cut) = watch::channel(false);
        let gone = Arc::new(AtomicUsize::new(0));
        let told = gone.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (router, mut cut, told) = (router.clone(), cut.clone(), told.clone());
            async move {
                let is_cut = *cut.borrow_and_update();
                let answer = match is_cut {
                    true => Response::builder().status(503).body(kedge_http::Body::default()).unwrap(),
                    false => router.oneshot(request).await.unwrap(),
                };
                let (parts, body) = answer.into_parts();
                let frames = body.into_data_stream().map_ok(move |piece| {
                    let is_gone =
                        piece.starts_with(br#"{"type":"ERROR""#) || piece.starts_with(br#"{"object":"#);
                    if is_gone && String::from_utf8_lossy(&piece).contains("too old resource version") {
                        told.fetch_add(1, Ordering::Relaxed);
                    }
                    http_body::Frame::data(piece)
                });
                let end = async move { drop(cut.wait_for(|is_cut| *is_cut).await) };
                let body = StreamBody::new(frames.take_until(Box::pin(end)).boxed());
                Ok::<_, Infallible>(Response::from_parts(parts, body))
            }
        });
        (Self { is_cut, gone }, kedge_client::in_process(service))
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("still untrue: {what}"));
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap()
}

pub(crate) async fn tell() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { ring: Limits { events: 8, bytes: usize::MAX }, ..Options::default() };
    let server = Server::on(Store::open(folder.path(), options).await.unwrap()).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.in_process());
    let first = maps.create(&PostParams::default(), &map("first")).await.unwrap();

    let (line, client) = Line::to(server.admin());
    let world = World::new(client, Clock::system());
    world.watch::<ConfigMap>();
    let knows = |name: &str| {
        world.cache::<ConfigMap>().is_ok_and(|cache| cache.all().iter().any(|map| map.name_any() == name))
    };
    until("the world has the first map", || knows("first")).await;

    // kube's own watcher, over a line of its own, as its users write it.
    let (stock_line, client) = Line::to(server.admin());
    let config = watcher::Config::default();
    let (reader, writer) = kube::runtime::reflector::store::<ConfigMap>();
    let reflector =
        watcher(Api::<ConfigMap>::default_namespaced(client), config).default_backoff().reflect(writer);
    let reflector = tokio::spawn(reflector.for_each(|_| async {}));
    let stock_knows = |name: &str| reader.state().iter().any(|map| map.name_any() == name);
    until("kube's store has the first map", || stock_knows("first")).await;

    let lines = [&line, &stock_line];
    lines.iter().for_each(|line| {
        line.is_cut.send_replace(true);
    });
    maps.delete("first", &DeleteParams::default()).await.unwrap();
    for number in 0..20 {
        maps.create(&PostParams::default(), &map(&format!("missed-{number}"))).await.unwrap();
    }
    lines.iter().for_each(|line| {
        line.is_cut.send_replace(false);
    });
    until("the world has what it missed", || knows("missed-0") && knows("missed-19") && !knows("first"))
        .await;
    until("kube's store has it", || {
        stock_knows("missed-0") && stock_knows("missed-19") && !stock_knows("first")
    })
    .await;
    assert_eq!(line.gone.load(Ordering::Relaxed), 1, "the world heard it among the events, once");
    assert!(stock_line.gone.load(Ordering::Relaxed) >= 1, "so did kube");
    reflector.abort();

    let from = first.resource_version().unwrap();
    let mut events = maps.watch(&WatchParams::default(), &from).await.unwrap().boxed();
    match events.try_next().await.unwrap() {
        Some(WatchEvent::Error(status)) => assert_eq!((status.code, &*status.reason), (410, "Expired")),
        other => panic!("{other:?}"),
    }
}
