//! What every cluster has from its first moment: namespaces, the `kubernetes` Service, the standard roles, priority
//! classes and flow control. Made where it is missing; what a user changed stays.

mod facts;
mod flow;
mod roles;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use kedge_kinds::Status;
use kedge_kinds::check::{Mode, check};
use kedge_store::{Draft, Expect, Snapshot, StoreError, Txn};
use serde_json::Value;

use crate::encode::encode;
use crate::registry::{Registry, parse};
use crate::strategies::strategy;
use crate::{failure, key, metadata, object};

/// How many objects go into one transaction: few syncs, and no more than etcd takes with what they allocate (128).
const TOGETHER: usize = 100;

pub(crate) async fn run(registry: &Registry) -> Result<(), Status> {
    let now = metadata::time(registry.clock().now());
    let objects =
        [facts::objects(registry.options(), &now), roles::objects()?, flow::objects(&now)?].concat();
    ensure(registry, &objects).await
}

/// Has the Service `kubernetes` lead to these servers.
pub(crate) async fn lead_to(registry: &Registry, servers: &BTreeSet<SocketAddr>) -> Result<(), Status> {
    let objects = facts::reached(servers);
    ensure(registry, &objects).await?;
    let wanted: Vec<String> =
        objects.iter().map(|object| place(registry, object)).collect::<Result<_, _>>()?;
    let more = place(registry, &facts::slice("kubernetes-"))?;
    let snapshot = registry.store().snapshot();
    for (key, entry) in snapshot.range(&more, None) {
        let is_ours =
            object::text(&parse(entry)?, &["metadata", "labels", facts::KEEPER.0]) == facts::KEEPER.1;
        if is_ours && !wanted.iter().any(|wanted| wanted == key.as_str()) {
            let gone = Txn::new().delete(key.clone(), Expect::At(entry.modified()));
            registry.store().commit(gone).await.map_err(failure::status)?;
        }
    }
    Ok(())
}

async fn ensure(registry: &Registry, objects: &[Value]) -> Result<(), Status> {
    loop {
        let snapshot = registry.store().latest().await.map_err(failure::status)?;
        let mut missing = Vec::new();
        for object in objects {
            let key = place(registry, object)?;
            match snapshot.get(&key) {
                None => {
                    let object = prepared(registry, object.clone())?;
                    if is_possible(registry, &snapshot, &object) {
                        missing.push((key, Expect::Absent, object));
                    }
                }
                Some(entry) => {
                    let mut live = parse(entry)?;
                    if moved(&mut live, object) {
                        missing.push((key, Expect::At(entry.modified()), live));
                    }
                }
            }
        }
        let mut lost = false;
        for part in missing.chunks(TOGETHER) {
            let mut txn = Txn::new();
            for (key, expect, object) in part {
                let mut object = object.clone();
                if key.starts_with("/registry/services/") && *expect == Expect::Absent {
                    txn = registry.inner().allocator.allocate(&snapshot, None, &mut object, txn)?;
                }
                let encoded = encode(&object);
                txn = txn.put(key.as_str(), *expect, Draft::with_revision_at(encoded.bytes, encoded.hole));
            }
            match registry.store().commit(txn).await {
                Ok(_) => {}
                // Another server makes the same at the same moment: look again at what is missing.
                Err(StoreError::Conflict { .. }) => lost = true,
                Err(error) => return Err(failure::status(error)),
            }
        }
        if !lost {
            return Ok(());
        }
    }
}

/// A user's Service may have had the address of the cluster's DNS before there was one. It keeps it.
fn is_possible(registry: &Registry, snapshot: &Snapshot, object: &Value) -> bool {
    if object::meta_text(object, "name") != "kube-dns" {
        return true;
    }
    let taken = registry.inner().allocator.allocate(snapshot, None, &mut object.clone(), Txn::new()).err();
    if let Some(taken) = &taken {
        tracing::warn!("the cluster's DNS has no Service kube-system/kube-dns: {taken}");
    }
    taken.is_none()
}

/// Where servers are reached follows their addresses; everything else is the user's once it is there.
fn moved(live: &mut Value, object: &Value) -> bool {
    if !matches!(object::text(object, &["kind"]), "Endpoints" | "EndpointSlice") {
        return false;
    }
    let mut changed = false;
    for field in ["subsets", "addressType", "endpoints", "ports"] {
        if let Some(wanted) = object.get(field).filter(|wanted| live.get(field) != Some(wanted)) {
            object::as_map(live).insert(field.to_owned(), wanted.clone());
            changed = true;
        }
    }
    changed
}

fn kind_of(registry: &Registry, object: &Value) -> Result<std::sync::Arc<kedge_kinds::Kind>, Status> {
    let version = object::text(object, &["apiVersion"]);
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let name = object::text(object, &["kind"]);
    let catalog = registry.catalog();
    let kind = catalog.by_kind(group, version, name);
    kind.cloned().ok_or_else(|| Status::internal(format!("{group}/{version} {name} is not served")))
}

fn place(registry: &Registry, object: &Value) -> Result<String, Status> {
    let namespace = Some(object::meta_text(object, "namespace")).filter(|namespace| !namespace.is_empty());
    Ok(key::object(&*kind_of(registry, object)?, namespace, object::meta_text(object, "name")))
}

/// The object as a creation would store it, its status included: nobody reports one for these.
fn prepared(registry: &Registry, mut object: Value) -> Result<Value, Status> {
    let kind = kind_of(registry, &object)?;
    if let Some(node) = kind.node() {
        check(node, &mut object, Mode::Whole);
    }
    let strategy = strategy(&kind);
    let status = object.get("status").cloned();
    strategy.default(&mut object);
    metadata::fill(&mut object, registry.clock());
    if strategy.counts_generations() {
        object::set_meta(&mut object, "generation", 1);
    }
    if registry.inner().allocator.concerns(&kind) {
        registry.inner().allocator.normalise(None, &mut object);
    }
    strategy.prepare_create(&mut object);
    if object.get("status").is_none() {
        object::carry(object::as_map(&mut object), status.as_ref(), "status");
    }
    Ok(object)
}

#[cfg(test)]
mod tests;
