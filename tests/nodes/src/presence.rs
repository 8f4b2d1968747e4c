//! That nodes are there: they register, renew their leases, say again that they are ready when somebody doubted it, and offer
//! what their devices add.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};

use crate::Shared;
use crate::machine::{Machine, conditions, micro};

const AT_ONCE: usize = 32;

/// Never ends.
pub(crate) async fn beat(shared: Arc<Shared>) {
    let mut woken = shared.woken.subscribe();
    loop {
        let now = shared.clock.now();
        let machines: Vec<(Arc<Machine>, bool)> = {
            let known = shared.known.lock();
            let speaking = known.values().filter(|presence| !presence.silent);
            speaking.map(|presence| (presence.machine.clone(), presence.registered)).collect()
        };
        let beats = futures::stream::iter(machines).map(|(machine, registered)| {
            let shared = shared.clone();
            async move {
                let beaten = if registered {
                    renew(&shared, &machine, now).await
                } else {
                    register(&shared, &machine, now).await
                };
                match beaten {
                    Ok(()) => {
                        if let Some(presence) = shared.known.lock().get_mut(&machine.name) {
                            presence.registered = true;
                        }
                        true
                    }
                    Err(error) => {
                        tracing::debug!(%error, node = machine.name, "scripted nodes: a heartbeat failed");
                        false
                    }
                }
            }
        });
        let all_well = beats.buffer_unordered(AT_ONCE).all(|well| async move { well }).await;
        if all_well {
            shared.beaten.send_replace(now);
        } else {
            // A server that is still starting is asked again soon, whatever the clock says.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        }
        tokio::select! {
            () = shared.clock.sleep(shared.script.heartbeat) => {}
            Ok(()) = woken.changed() => {}
        }
    }
}

async fn register(shared: &Shared, machine: &Machine, now: Timestamp) -> Result<(), kube::Error> {
    let nodes = Api::<Node>::all(shared.client.clone());
    let wanted = machine.node(now);
    let node = match nodes.create(&PostParams::default(), &parsed(&wanted)?).await {
        // It was here before; its machine may have changed since.
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let patch = Patch::Strategic(json!({
                "metadata": { "labels": wanted["metadata"]["labels"] }, "status": wanted["status"],
            }));
            nodes.patch(&machine.name, &PatchParams::default(), &patch).await?;
            nodes.patch_status(&machine.name, &PatchParams::default(), &patch).await?
        }
        made => made?,
    };
    let leases = Api::<Lease>::namespaced(shared.client.clone(), "kube-node-lease");
    let lease = parsed(&machine.lease(&node.uid().unwrap_or_default(), now))?;
    match leases.create(&PostParams::default(), &lease).await {
        Err(kube::Error::Api(status)) if status.code == 409 => renew(shared, machine, now).await,
        made => made.map(drop),
    }
}

fn parsed<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, kube::Error> {
    T::deserialize(value).map_err(kube::Error::SerdeError)
}

async fn renew(shared: &Shared, machine: &Machine, now: Timestamp) -> Result<(), kube::Error> {
    let leases = Api::<Lease>::namespaced(shared.client.clone(), "kube-node-lease");
    let patch = json!({ "spec": { "renewTime": micro(now), "holderIdentity": machine.name } });
    leases.patch(&machine.name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

/// Never ends.
pub(crate) async fn keep_ready(shared: Arc<Shared>) {
    let nodes = Api::<Node>::all(shared.client.clone());
    let mut events = std::pin::pin!(
        watcher(nodes.clone(), watcher::Config::default().streaming_lists()).default_backoff()
    );
    let mut known: BTreeMap<String, Node> = BTreeMap::new();
    let mut woken = shared.woken.subscribe();
    loop {
        let looked_at: Vec<String> = tokio::select! {
            Some(event) = events.next() => match event {
                Ok(watcher::Event::Apply(node) | watcher::Event::InitApply(node)) => {
                    let name = node.name_any();
                    known.insert(name.clone(), node);
                    vec![name]
                }
                Ok(watcher::Event::Delete(node)) => {
                    known.remove(&node.name_any());
                    // Whoever deletes a node means that it is no more.
                    shared.known.lock().remove(&node.name_any());
                    continue;
                }
                _ => continue,
            },
            Ok(()) = woken.changed() => known.keys().cloned().collect(),
        };
        for name in looked_at {
            let Some(node) = known.get(&name) else { continue };
            if shared.speaking(&name).is_none() {
                continue;
            }
            if let Some(status) = correction(node, shared.clock.now()) {
                let patch = Patch::Strategic(json!({ "status": status }));
                if let Err(error) = nodes.patch_status(&name, &PatchParams::default(), &patch).await {
                    tracing::debug!(%error, node = name, "scripted nodes: a node's status failed");
                }
            }
        }
    }
}

/// What a node says about itself that its object doesn't.
pub fn correction(node: &Node, now: Timestamp) -> Option<Value> {
    let status = node.status.clone().unwrap_or_default();
    let is_ready =
        status.conditions.iter().flatten().any(|known| known.type_ == "Ready" && known.status == "True");
    let (capacity, offered) = (status.capacity.unwrap_or_default(), status.allocatable.unwrap_or_default());
    // Names with a domain are devices; what there is of them is there for everybody.
    let mut devices = BTreeMap::new();
    for (name, amount) in capacity.iter().filter(|(name, _)| name.contains('/')) {
        if offered.get(name) != Some(amount) {
            devices.insert(name.clone(), json!(amount));
        }
    }
    for name in offered.keys().filter(|name| name.contains('/') && !capacity.contains_key(*name)) {
        devices.insert(name.clone(), Value::Null);
    }
    if is_ready && devices.is_empty() {
        return None;
    }
    let mut said = json!({});
    if !is_ready {
        said["conditions"] = conditions(now);
    }
    if !devices.is_empty() {
        said["allocatable"] = json!(devices);
    }
    Some(said)
}
