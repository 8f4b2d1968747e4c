//! What tests say to the API, and what containers and the node say to tests.

use std::time::Instant;

use k8s_openapi::api::core::v1::{Event, PersistentVolume, PersistentVolumeClaim, Pod};
use kedge_testkit::admin;
use kube::api::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{PATIENCE, Scene, phase};

const STEP: std::time::Duration = std::time::Duration::from_millis(20);

impl Scene {
    pub(crate) fn of<K>(&self) -> kube::Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        kube::Api::namespaced(self.api.client(admin("somebody")), "default")
    }

    /// Makes an object, or changes it to what is said.
    pub(crate) async fn put<K>(&self, object: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K: Serialize + DeserializeOwned + Clone + std::fmt::Debug,
        K::DynamicType: Default,
    {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let api = self.of::<K>();
        if api.get_opt(&name).await.unwrap().is_some() {
            api.patch(&name, &PatchParams::default(), &Patch::Merge(object)).await.unwrap();
        } else {
            let object = serde_json::from_value(object).unwrap();
            api.create(&PostParams::default(), &object).await.unwrap();
        }
    }

    /// A claim, and a volume of the same name that is bound to it.
    pub(crate) async fn claim(&self, name: &str, volume: &Value) {
        let common = json!({"accessModes": ["ReadWriteMany"], "storageClassName": ""});
        let with = |own: Value| {
            let parts = [&common, &own].into_iter().flat_map(|part| part.as_object().unwrap().clone());
            parts.collect::<serde_json::Map<_, _>>()
        };
        let asked = json!({"volumeName": name, "resources": {"requests": {"storage": "1Gi"}}});
        self.put::<PersistentVolumeClaim>(json!({"metadata": {"name": name}, "spec": with(asked)})).await;
        let claims = self.of::<PersistentVolumeClaim>();
        let bound = json!({"status": {"phase": "Bound"}});
        claims.patch_status(name, &PatchParams::default(), &Patch::Merge(&bound)).await.unwrap();
        let uid = claims.get(name).await.unwrap().metadata.uid;
        let mut spec = with(volume.clone());
        spec.insert("capacity".to_owned(), json!({"storage": "1Gi"}));
        spec.insert("claimRef".to_owned(), json!({"namespace": "default", "name": name, "uid": uid}));
        let volume = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        let persistent = kube::Api::<PersistentVolume>::all(self.api.client(admin("somebody")));
        persistent.create(&PostParams::default(), &volume).await.unwrap();
    }

    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<T, String>,
    ) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            match look().await {
                Ok(found) => return found,
                Err(seen) => assert!(Instant::now() < end, "still not: {what}\n{seen}"),
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// What a new pod's container `c` says until the pod is done.
    pub(crate) async fn says(&self, name: &str, mut spec: Value) -> String {
        spec["restartPolicy"] = json!("Never");
        self.make(name, spec).await;
        self.said(name).await
    }

    /// What the container `c` of a pod said until the pod was done.
    pub(crate) async fn said(&self, name: &str) -> String {
        let over = |pod: &Pod| matches!(phase(pod), "Succeeded" | "Failed");
        let pod = self.until("it has ended", name, over).await;
        self.lines(&pod)
    }

    /// What the container `c` of a pod has said so far.
    pub(crate) fn lines(&self, pod: &Pod) -> String {
        let log = self.log(pod, "c");
        let lines = log.lines().filter_map(|line| line.split_once(" stdout ")?.1.get(2..));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Waits until this is the last line that a running pod said.
    pub(crate) async fn until_it_says(&self, name: &str, wanted: &str) {
        self.eventually(&format!("{name} says {wanted}"), async || {
            let pod = self.of::<Pod>().get(name).await.unwrap();
            let log = self.lines(&pod);
            let last = log.lines().last().unwrap_or_default();
            if last == wanted { Ok(()) } else { Err(format!("{last}\n{}", self.events(name).await)) }
        })
        .await;
    }

    pub(crate) async fn events(&self, name: &str) -> String {
        let events = self.of::<Event>().list(&Default::default()).await.unwrap();
        let mine = events.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(name));
        let lines = mine.map(|event| {
            format!("{} {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Where this node's pods are counted, below the top.
    pub(crate) fn cgroup(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("cgroup")).unwrap()
    }
}
