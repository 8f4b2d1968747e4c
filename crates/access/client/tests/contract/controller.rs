//! A controller as kube's users write them, on a kind of its own: `kube::runtime::Controller`, server-side apply, a
//! status, and waits that end by themselves.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::core::Object;
use kube::runtime::controller::Action;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Spec {
    name: String,
    /// The server fills it in where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    greeting: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct GreetingStatus {
    said: String,
}

type Greeting = Object<Spec, GreetingStatus>;

struct Context {
    client: Client,
    kind: ApiResource,
}

/// Far longer than anything here takes; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn run(client: Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = serde_json::from_value(json!({
        "metadata": {"name": "greetings.kube-test.example"},
        "spec": {
            "group": "kube-test.example", "scope": "Namespaced",
            "names": {"plural": "greetings", "singular": "greeting", "kind": "Greeting"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string"}, "greeting": {"type": "string", "default": "Hello"}}},
                    "status": {"type": "object", "properties": {"said": {"type": "string"}}},
                }}},
            }],
        },
    }));
    definitions.create(&PostParams::default(), &definition.unwrap()).await.unwrap();
    let name = "greetings.kube-test.example";
    within("established", await_condition(definitions.clone(), name, conditions::is_crd_established()))
        .await
        .unwrap();

    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("kube-test.example", "v1", "Greeting"));
    let greetings: Api<Greeting> = Api::default_namespaced_with(client.clone(), &kind);
    let context = Arc::new(Context { client: client.clone(), kind: kind.clone() });
    let controller = Controller::new_with(greetings.clone(), watcher::Config::default(), kind.clone())
        .owns(Api::<ConfigMap>::default_namespaced(client.clone()), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(50)), context)
        .for_each(|_| async {});
    let controller = tokio::spawn(controller);

    let greeting = Greeting::new("g", &kind, Spec { name: "Ann".to_owned(), greeting: None });
    let greeting = greetings.create(&PostParams::default(), &greeting).await.unwrap();
    assert_eq!(greeting.metadata.generation, Some(1));
    said(&greetings, "Hello, Ann!").await;
    let patch = Patch::Merge(json!({"spec": {"greeting": "Good night"}}));
    greetings.patch("g", &PatchParams::default(), &patch).await.unwrap();
    said(&greetings, "Good night, Ann!").await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    assert_eq!(maps.get("g").await.unwrap().data.unwrap()["said"], "Good night, Ann!");
    controller.abort();

    let uid = definitions.get(name).await.unwrap().uid().unwrap();
    definitions.delete(name, &DeleteParams::default()).await.unwrap();
    within("deleted", await_condition(definitions, name, conditions::is_deleted(&uid))).await.unwrap();
    assert!(greetings.list(&Default::default()).await.is_err(), "the kind went with its definition");
}

async fn reconcile(greeting: Arc<Greeting>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let said = format!("{}, {}!", greeting.spec.greeting.as_deref().unwrap_or_default(), greeting.spec.name);
    let manager = PatchParams::apply("greeter").force();
    let maps: Api<ConfigMap> = Api::default_namespaced(context.client.clone());
    let owner = json!({
        "apiVersion": context.kind.api_version, "kind": context.kind.kind, "name": greeting.name_any(),
        "uid": greeting.uid(), "controller": true,
    });
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": greeting.name_any(), "ownerReferences": [owner]}, "data": {"said": said},
    });
    maps.patch(&greeting.name_any(), &manager, &Patch::Apply(map)).await?;
    let greetings: Api<Greeting> = Api::default_namespaced_with(context.client.clone(), &context.kind);
    let status = json!({
        "apiVersion": context.kind.api_version, "kind": context.kind.kind, "status": {"said": said},
    });
    greetings.patch_status(&greeting.name_any(), &manager, &Patch::Apply(status)).await?;
    Ok(Action::await_change())
}

async fn said(greetings: &Api<Greeting>, wanted: &str) {
    let is_said = |greeting: Option<&Greeting>| {
        greeting.and_then(|greeting| greeting.status.as_ref()).is_some_and(|status| status.said == wanted)
    };
    // `await_condition` knows only typed kinds, so this asks again until it is so.
    let wait = async {
        while !is_said(greetings.get_opt("g").await.unwrap().as_ref()) {
            tokio::task::yield_now().await;
        }
    };
    within(wanted, wait).await;
}

async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("still not so: {what}"))
}
