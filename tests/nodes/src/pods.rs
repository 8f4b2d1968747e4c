//! Carries out what `life` decides for the pods of all scripted nodes: one watch, one queue, many writes at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kedge_client::{Key, Revision};
use kedge_engine::Queue;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Shared;
use crate::life::{Lives, Step};

/// What became of a write.
enum After {
    Is(Box<Pod>),
    Gone,
    Failed,
}

#[derive(Default)]
struct Desk {
    pods: BTreeMap<Key, Arc<Pod>>,
    /// Told to go; the watch will say when it has.
    going: std::collections::HashSet<String>,
    lives: Lives,
    queue: Queue,
}

/// Never ends.
pub(crate) async fn keep(shared: Arc<Shared>) {
    let config = watcher::Config::default().fields("spec.nodeName!=").streaming_lists();
    let mut events =
        std::pin::pin!(watcher(Api::<Pod>::all(shared.client.clone()), config).default_backoff());
    let mut desk = Desk::default();
    let mut writes = JoinSet::new();
    let mut woken = shared.woken.subscribe();
    loop {
        while writes.len() < shared.script.at_once
            && let Some(key) = desk.queue.take(shared.clock.now())
        {
            if let Some(write) = desk.look(&shared, &key) {
                writes.spawn(write);
            }
        }
        let moment = desk.queue.next_moment();
        let due = async {
            match moment {
                Some(moment) => shared.clock.until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(written) = writes.join_next() => {
                if let Ok((key, uid, after)) = written {
                    desk.wrote(&shared, &key, &uid, after);
                }
            }
            Some(event) = events.next() => match event {
                Ok(event) => desk.saw(event),
                Err(error) => tracing::debug!(%error, "scripted nodes: watching pods broke off"),
            },
            Ok(()) = woken.changed() => {
                let all: Vec<Key> = desk.pods.keys().cloned().collect();
                all.into_iter().for_each(|key| desk.queue.add(key));
            }
            () = due => {}
        }
    }
}

impl Desk {
    fn saw(&mut self, event: watcher::Event<Pod>) {
        match event {
            watcher::Event::Apply(pod) | watcher::Event::InitApply(pod) => self.hold(pod),
            watcher::Event::Delete(pod) => self.forget(&pod),
            watcher::Event::Init | watcher::Event::InitDone => {}
        }
    }

    fn hold(&mut self, pod: Pod) {
        let key = Key::of(&pod);
        let is_older = |known: &Arc<Pod>| {
            known.metadata.uid == pod.metadata.uid
                && Revision::of(&known.metadata) >= Revision::of(&pod.metadata)
        };
        if !self.pods.get(&key).is_some_and(is_older) {
            self.pods.insert(key.clone(), Arc::new(pod));
        }
        self.queue.add(key);
    }

    fn forget(&mut self, pod: &Pod) {
        let key = Key::of(pod);
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if self.pods.get(&key).is_some_and(|known| known.metadata.uid == pod.metadata.uid) {
            self.pods.remove(&key);
        }
        self.lives.forget(&uid);
        self.going.remove(&uid);
    }

    fn look(
        &mut self,
        shared: &Arc<Shared>,
        key: &Key,
    ) -> Option<impl Future<Output = (Key, String, After)> + use<>> {
        let decided = self.decide(shared, key);
        let step = match decided {
            None | Some((_, Step::Rest)) => {
                self.queue.done(key);
                return None;
            }
            Some((_, Step::At(moment))) => {
                self.queue.done(key);
                self.queue.add_at(key.clone(), moment);
                return None;
            }
            Some(step) => step,
        };
        let (pod, step) = step;
        let api = Api::<Pod>::namespaced(shared.client.clone(), &key.namespace);
        let key = key.clone();
        Some(async move {
            let uid = pod.metadata.uid.clone().unwrap_or_default();
            let after = match step {
                Step::Report(status) => report(&api, &pod, &json!(status)).await,
                _ => remove(&api, &pod).await,
            };
            (key, uid, after)
        })
    }

    fn decide(&mut self, shared: &Shared, key: &Key) -> Option<(Arc<Pod>, Step)> {
        let pod = self.pods.get(key)?.clone();
        let machine = shared.speaking(pod.spec.as_ref()?.node_name.as_deref()?)?;
        if self.going.contains(pod.metadata.uid.as_deref()?) {
            return None;
        }
        let step = self.lives.step(&pod, &machine, &shared.script, shared.clock.now());
        Some((pod, step))
    }

    fn wrote(&mut self, shared: &Shared, key: &Key, uid: &str, after: After) {
        let is_known = self.pods.get(key).is_some_and(|known| known.metadata.uid.as_deref() == Some(uid));
        match after {
            After::Failed => return self.queue.failed(key, shared.clock.now()),
            After::Is(pod) if is_known => {
                self.queue.done(key);
                self.hold(*pod);
                return;
            }
            After::Gone if is_known => drop(self.going.insert(uid.to_owned())),
            After::Is(_) | After::Gone => {}
        }
        self.queue.done(key);
    }
}

async fn report(api: &Api<Pod>, pod: &Pod, status: &Value) -> After {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    // The uid keeps the report from another pod of the same name.
    let patch = json!({ "metadata": { "uid": pod.metadata.uid }, "status": status });
    let patched = api.patch_status(name, &PatchParams::apply("kubelet"), &Patch::Strategic(patch)).await;
    match patched {
        Ok(pod) => After::Is(Box::new(pod)),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => After::Gone,
        Err(error) => {
            tracing::debug!(%error, pod = name, "scripted nodes: a report failed");
            After::Failed
        }
    }
}

async fn remove(api: &Api<Pod>, pod: &Pod) -> After {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let preconditions = Preconditions { uid: pod.metadata.uid.clone(), resource_version: None };
    let params =
        DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default().grace_period(0) };
    match api.delete(name, &params).await {
        Ok(_) => After::Gone,
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => After::Gone,
        Err(error) => {
            tracing::debug!(%error, pod = name, "scripted nodes: a removal failed");
            After::Failed
        }
    }
}
