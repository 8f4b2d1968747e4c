//! A world over one client, while another client changes things.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kedge_client::{Key, NotReady, Revision, Seen, Until, Wait, World};
use kedge_clock::Clock;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);

async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("still untrue: {what}"))
}

fn pod(name: &str, node: Option<&str>) -> Pod {
    let mut pod: Value = json!({
        "metadata": {"name": name, "labels": {"app": "web", "name": name}, "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "set-uid", "controller": true,
        }]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
    }
    serde_json::from_value(pod).unwrap()
}

pub(crate) async fn follow(client: Client, writer: Client) {
    let pods: Api<Pod> = Api::default_namespaced(writer.clone());
    pods.create(&PostParams::default(), &pod("before", None)).await.unwrap();

    let world = World::new(client, Clock::system());
    assert!(
        matches!(world.cache::<Pod>().err(), Some(NotReady::NotWatched(_))),
        "nothing is known unwatched"
    );
    world.watch::<Pod>().watch::<Node>().watch::<Pod>();
    within("the world was read", world.ready()).await;
    let cache = world.cache::<Pod>().unwrap();
    assert_eq!(cache.len(), 1);
    assert!(world.cache::<Node>().unwrap().is_empty(), "no nodes, and we know it");
    assert!(world.cache::<ConfigMap>().is_err());

    let (teller, mut told) = tokio::sync::mpsc::unbounded_channel();
    let listener = Arc::new(move |seen: &Seen<'_>| {
        let controllers: Vec<String> = seen.controllers().map(|owner| owner.uid.clone()).collect();
        // The test may be over before the world is.
        let _ =
            teller.send((seen.kind.to_owned(), seen.key.clone(), controllers, seen.now::<Pod>().is_some()));
    });
    world.listen(&listener);
    let made = pods.create(&PostParams::default(), &pod("after", Some("n1"))).await.unwrap();
    let revision = Revision::of(&made.metadata).unwrap();
    within("the new pod was seen", world.catch_up_to::<Pod>(revision)).await.unwrap();
    let key = Key::new("default", "after");
    assert_eq!(world.get::<Pod>(&key).unwrap().unwrap().uid(), made.uid());
    let change = within("the change was told", told.recv()).await;
    assert_eq!(change, Some(("Pod".to_owned(), key, vec!["set-uid".to_owned()], true)));

    let names = |pods: Vec<Arc<Pod>>| -> Vec<String> { pods.iter().map(|pod| pod.name_any()).collect() };
    assert_eq!(names(cache.owned_by("set-uid")), ["after", "before"]);
    assert_eq!(names(cache.on_node("n1")), ["after"]);
    let labels =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    assert_eq!(names(cache.labelled("default", &labels(&[("app", "web")]))), ["after", "before"]);
    assert_eq!(names(cache.labelled("default", &labels(&[("app", "web"), ("name", "before")]))), ["before"]);
    assert_eq!(names(cache.labelled("other", &labels(&[("app", "web")]))), [""; 0]);
    assert_eq!(names(cache.in_namespace("default")), ["after", "before"]);

    let moved = Patch::Merge(json!({"metadata": {"labels": {"app": "other"}}}));
    let patched = pods.patch("before", &PatchParams::default(), &moved).await.unwrap();
    within("the patch was seen", world.catch_up_to::<Pod>(Revision::of(&patched.metadata).unwrap()))
        .await
        .unwrap();
    assert_eq!(names(cache.labelled("default", &labels(&[("app", "web")]))), ["after"]);

    pods.delete("before", &DeleteParams::default().grace_period(0)).await.unwrap();
    let gone = Wait {
        kind: "Pod".to_owned(),
        what: Until::Leaving { key: Key::new("default", "before"), uid: patched.uid().unwrap() },
    };
    within("the deletion was seen", world.catch_up(&gone)).await;
    assert!(world.has_caught_up(&gone));
    assert_eq!(names(cache.all()), ["after"]);
    assert_eq!(names(cache.labelled("default", &labels(&[("app", "other")]))), [""; 0]);
}
