//! Nothing new comes into a namespace that isn't there or is going. The commit checks again that it stayed so.

use kedge_kinds::Status;
use serde_json::Value;

use super::{Operation, Plugin, View};
use crate::{namespaces, object};

pub(super) struct NamespaceLifecycle;

impl Plugin for NamespaceLifecycle {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.operation == Operation::Create && view.at.kind.namespaced
    }

    fn mutate(
        &self,
        view: &View<'_>,
        object: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let Some(namespace) = view.at.namespace.as_deref() else { return Ok(()) };
        namespaces::open(view.snapshot, &view.at.kind, object::meta_text(object, "name"), namespace)
            .map(|_| ())
    }
}
