//! What the cluster as a whole says to a write: an ordered list of small plugins between decoding and validation.
//! A plugin sees one object and the state that it comes into; it stores nothing itself.

mod claim_resize;
mod ingress_class;
mod lifecycle;
mod limit_ranger;
pub(crate) mod node_restriction;
mod node_taint;
mod pod_security;
mod priority;
mod runtime_class;
mod service_account;
mod storage_class;
mod storage_protection;
pub(crate) mod token_volume;
mod tolerations;
pub(crate) mod topology;

use std::sync::Arc;

use kedge_kinds::{Kind, Status};
use kedge_store::Snapshot;
use serde_json::Value;

use crate::object;
use crate::parsed::parsed;
use crate::request::{At, WriteOptions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// What a plugin may look at.
pub(crate) struct View<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) at: &'a At,
    pub(crate) operation: Operation,
    pub(crate) options: &'a WriteOptions,
}

/// Most plugins concern one kind and one operation and leave everything else alone.
pub(crate) trait Plugin: Sync {
    fn concerns(&self, view: &View<'_>) -> bool;

    /// May change the object or refuse it.
    fn mutate(
        &self,
        _view: &View<'_>,
        _object: &mut Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// May only refuse: the object is what will be stored.
    fn validate(&self, _view: &View<'_>, _object: &Value, _old: Option<&Value>) -> Result<(), Status> {
        Ok(())
    }

    /// May refuse that the object goes. Asked whatever `concerns` says.
    fn delete(&self, _view: &View<'_>, _old: &Value) -> Result<(), Status> {
        Ok(())
    }
}

/// In the order in which they run, which is Kubernetes' own. Gates come behind them, quotas behind everything else, in
/// the transaction itself.
const PLUGINS: &[&dyn Plugin] = &[
    &lifecycle::NamespaceLifecycle,
    &limit_ranger::LimitRanger,
    &service_account::ServiceAccount,
    &node_restriction::NodeRestriction,
    &node_taint::NewNodesAreNotReady,
    &pod_security::PodSecurity,
    &tolerations::DefaultTolerationSeconds,
    &priority::Priority,
    &runtime_class::RuntimeClass,
    &topology::PodTopologyLabels,
    &storage_class::DefaultStorageClass,
    &storage_protection::StorageObjectInUseProtection,
    &claim_resize::PersistentVolumeClaimResize,
    &ingress_class::DefaultIngressClass,
];

pub(crate) fn mutate(
    view: &View<'_>,
    object: &mut Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<(), Status> {
    PLUGINS
        .iter()
        .filter(|plugin| plugin.concerns(view))
        .try_for_each(|plugin| plugin.mutate(view, object, old, warnings))
}

pub(crate) fn validate(view: &View<'_>, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    PLUGINS
        .iter()
        .filter(|plugin| plugin.concerns(view))
        .try_for_each(|plugin| plugin.validate(view, object, old))
}

pub(crate) fn delete(view: &View<'_>, old: &Value) -> Result<(), Status> {
    PLUGINS.iter().try_for_each(|plugin| plugin.delete(view, old))
}

impl View<'_> {
    /// A new object of this kind of the given group.
    fn creates(&self, group: &str, kind: &str) -> bool {
        self.operation == Operation::Create && self.is(group, kind)
    }

    fn is(&self, group: &str, kind: &str) -> bool {
        self.at.subresource.is_none() && &*self.at.kind.kind == kind && &*self.at.kind.gv.group == group
    }

    /// Another object, by its place in the store.
    fn other(&self, prefix: &str, name: &str) -> Result<Option<Arc<Value>>, Status> {
        self.snapshot.get(&format!("/registry/{prefix}/{name}")).map(parsed).transpose()
    }

    fn has(&self, prefix: &str, name: &str) -> bool {
        self.snapshot.get(&format!("/registry/{prefix}/{name}")).is_some()
    }

    /// All objects under a prefix. For kinds of which there are few.
    fn all(&self, prefix: &str) -> Result<Vec<Arc<Value>>, Status> {
        self.snapshot.range(&format!("/registry/{prefix}/"), None).map(|(_, entry)| parsed(entry)).collect()
    }
}

/// The object that carries this annotation as `true`; the newest where several do.
fn annotated_default<'o>(objects: &'o [Arc<Value>], annotation: &str) -> Option<&'o Arc<Value>> {
    let chosen = objects.iter().filter(|object| {
        let annotations = object::meta(object, "annotations");
        annotations.and_then(|all| all.get(annotation)).and_then(Value::as_str) == Some("true")
    });
    chosen.max_by(|a, b| {
        let age = |object: &Value| object::meta_text(object, "creationTimestamp").to_owned();
        age(a).cmp(&age(b)).then_with(|| object::meta_text(b, "name").cmp(object::meta_text(a, "name")))
    })
}

/// A refusal by a plugin.
fn forbidden(kind: &Kind, object: &Value, why: &str) -> Status {
    Status::forbidden(kind, object::meta_text(object, "name"), why)
}

#[cfg(test)]
mod tests;
