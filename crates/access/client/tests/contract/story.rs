//! Create, read, update, delete, watch, server-side apply, pages and failures, with what came of each.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn tell(client: Client) -> Vec<String> {
    let mut lines = Lines::default();
    objects(&client, &mut lines).await;
    patches(&client, &mut lines).await;
    applying(&client, &mut lines).await;
    watching(&client, &mut lines).await;
    pages(&client, &mut lines).await;
    failures(&client, &mut lines).await;
    lines.0
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    /// Notes an outcome without what differs from server to server.
    fn note<T: Serialize>(&mut self, what: &str, outcome: &Result<T, kube::Error>) {
        let outcome = match outcome {
            Ok(value) => same_everywhere(serde_json::to_value(value).unwrap()).to_string(),
            Err(kube::Error::Api(status)) => format!("{} {} {}", status.code, status.reason, status.message),
            Err(other) => panic!("{what}: {other:?}"),
        };
        self.0.push(format!("{what}: {outcome}"));
    }

    fn say(&mut self, what: &str, outcome: impl Debug) {
        self.0.push(format!("{what}: {outcome:?}"));
    }
}

fn same_everywhere(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for key in
                ["uid", "creationTimestamp", "resourceVersion", "time", "lastTransitionTime", "continue"]
            {
                if let Some(field) = fields.get_mut(key) {
                    *field = json!("…");
                }
            }
            for field in fields.values_mut() {
                *field = same_everywhere(field.take());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = same_everywhere(item.take())),
        _ => {}
    }
    value
}

fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn config_map(name: &str, data: Value) -> ConfigMap {
    object(json!({"metadata": {"name": name}, "data": data}))
}

async fn objects(client: &Client, lines: &mut Lines) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let create = PostParams { field_manager: Some("story".to_owned()), ..PostParams::default() };
    let made = maps.create(&create, &config_map("one", json!({"a": "1"}))).await;
    lines.note("create", &made);
    lines.note("create again", &maps.create(&create, &config_map("one", json!({}))).await);
    lines.note("get", &maps.get("one").await);

    let mut changed = made.unwrap();
    changed.data = Some([("b".to_owned(), "2".to_owned())].into());
    let replaced = maps.replace("one", &create, &changed).await;
    lines.note("replace", &replaced);
    changed.data = Some([("c".to_owned(), "3".to_owned())].into());
    lines.note("replace with a stale revision", &maps.replace("one", &create, &changed).await);
    lines.note("list", &maps.list(&ListParams::default().fields("metadata.name=one")).await);

    let dry = PostParams { dry_run: true, ..create };
    lines.note("only try", &maps.create(&dry, &config_map("dry", json!({}))).await);
    lines.note("nothing came of it", &maps.get_opt("dry").await);

    let deleted = maps.delete("one", &DeleteParams::default()).await;
    lines.note(
        "delete",
        &deleted.map(|either| either.either(|_| json!("the object"), |status| json!(status.is_success()))),
    );
    lines.note("get what is gone", &maps.get("one").await);
    lines.note("delete what is gone", &maps.delete("one", &DeleteParams::default()).await.map(|_| ()));

    let namespaces: Api<Namespace> = Api::all(client.clone());
    lines.note(
        "a namespace",
        &namespaces.create(&PostParams::default(), &object(json!({"metadata": {"name": "other"}}))).await,
    );
    let pods: Api<Pod> = Api::namespaced(client.clone(), "other");
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    lines.note("a pod", &pods.create(&PostParams::default(), &object(pod)).await);
    let absent: Api<Pod> = Api::namespaced(client.clone(), "absent");
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    lines.note("a pod in no namespace", &absent.create(&PostParams::default(), &object(pod)).await);
}

async fn patches(client: &Client, lines: &mut Lines) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "other");
    let params = PatchParams { field_manager: Some("story".to_owned()), ..PatchParams::default() };
    lines.note(
        "merge patch",
        &pods.patch("p", &params, &Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}))).await,
    );
    let image = json!({"spec": {"containers": [{"name": "c", "image": "j"}]}});
    lines.note("strategic merge patch", &pods.patch("p", &params, &Patch::Strategic(image)).await);
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    lines.note("status patch", &pods.patch_status("p", &params, &Patch::Strategic(ready)).await);
    lines.note("patch of nothing", &pods.patch("absent", &params, &Patch::Merge(json!({}))).await);
    lines.note(
        "bad patch",
        &pods.patch("p", &params, &Patch::Strategic(json!({"spec": {"containers": [{"image": "x"}]}}))).await,
    );
}

async fn applying(client: &Client, lines: &mut Lines) {
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let whole = |replicas: i32| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
            }},
        })
    };
    let part = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5}});
    let (one, two) = (PatchParams::apply("one"), PatchParams::apply("two"));
    lines.note("apply", &deployments.patch("web", &one, &Patch::Apply(whole(2))).await);
    lines.note("apply again", &deployments.patch("web", &one, &Patch::Apply(whole(2))).await);
    lines.note("conflict", &deployments.patch("web", &two, &Patch::Apply(part.clone())).await);
    lines.note("forced", &deployments.patch("web", &two.force(), &Patch::Apply(part)).await);
    lines.note("conflict the other way", &deployments.patch("web", &one, &Patch::Apply(whole(2))).await);
    let scale = deployments.get_scale("web").await;
    lines.note("scale", &scale);
}

async fn watching(client: &Client, lines: &mut Lines) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let now = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let selected = WatchParams::default().labels("watched=yes");
    let mut events = std::pin::pin!(maps.watch(&selected, &now).await.unwrap());
    let labelled =
        |name: &str| object::<ConfigMap>(json!({"metadata": {"name": name, "labels": {"watched": "yes"}}}));
    maps.create(&PostParams::default(), &labelled("w")).await.unwrap();
    maps.create(&PostParams::default(), &config_map("unwatched", json!({}))).await.unwrap();
    let data = Patch::Merge(json!({"data": {"k": "v"}}));
    maps.patch("w", &PatchParams::default(), &data).await.unwrap();
    let unlabel = Patch::Merge(json!({"metadata": {"labels": null}}));
    maps.patch("w", &PatchParams::default(), &unlabel).await.unwrap();
    maps.create(&PostParams::default(), &labelled("x")).await.unwrap();
    maps.delete("x", &DeleteParams::default()).await.unwrap();
    for _ in 0..5 {
        let event =
            tokio::time::timeout(PATIENCE, events.next()).await.expect("another event").expect("no end");
        lines.say("event", event.map(|event| seen(&event)).unwrap());
    }

    let first = WatchParams::default().labels("app=none").initial_events();
    let mut events = std::pin::pin!(maps.watch(&first, "").await.unwrap());
    let event =
        tokio::time::timeout(PATIENCE, events.next()).await.expect("a bookmark").expect("no end").unwrap();
    let WatchEvent::Bookmark(bookmark) = event else { panic!("no bookmark but {event:?}") };
    lines.say("end of nothing", bookmark.metadata.annotations);
}

fn seen(event: &WatchEvent<ConfigMap>) -> String {
    match event {
        WatchEvent::Added(map) => format!("added {} {:?}", map.name_any(), map.data),
        WatchEvent::Modified(map) => format!("modified {} {:?}", map.name_any(), map.data),
        WatchEvent::Deleted(map) => format!("deleted {} {:?}", map.name_any(), map.data),
        WatchEvent::Bookmark(_) => "bookmark".to_owned(),
        WatchEvent::Error(status) => format!("error {status:?}"),
    }
}

async fn pages(client: &Client, lines: &mut Lines) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "other");
    for n in 0..7 {
        maps.create(&PostParams::default(), &config_map(&format!("page-{n}"), json!({}))).await.unwrap();
    }
    let mut params = ListParams::default().limit(3);
    loop {
        let page = maps.list(&params).await.unwrap();
        let names: Vec<String> = page.items.iter().map(ResourceExt::name_any).collect();
        lines.say("page", (names, page.metadata.remaining_item_count));
        // What comes after the first page must not show up in the later ones.
        let _ = maps.create(&PostParams::default(), &config_map("page-9", json!({}))).await;
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => break,
        }
    }
    params.continue_token = Some("nonsense".to_owned());
    lines.note("a bad page", &maps.list(&params).await.map(|_| ()));
}

async fn failures(client: &Client, lines: &mut Lines) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    lines.note("a bad name", &maps.create(&PostParams::default(), &config_map("Bad_Name", json!({}))).await);
    lines.note("a bad selector", &maps.list(&ListParams::default().labels("a in (")).await.map(|_| ()));
    lines.note("a bad field", &maps.list(&ListParams::default().fields("data.a=b")).await.map(|_| ()));
    let watch = maps.watch(&WatchParams::default(), "nonsense").await;
    lines.note("a bad revision", &watch.map(|_| ()));
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let empty = object(json!({"metadata": {"name": "p"}, "spec": {"containers": []}}));
    lines.note("an invalid pod", &pods.create(&PostParams::default(), &empty).await);
    let unknown = http::Request::get("/apis/none.example/v1/things").body(Vec::new()).unwrap();
    lines.note("an unknown kind", &client.request::<Value>(unknown).await);
    let version = http::Request::get("/version").body(Vec::new()).unwrap();
    lines.note("version", &client.request::<Value>(version).await.map(|version| version["minor"].clone()));
}
