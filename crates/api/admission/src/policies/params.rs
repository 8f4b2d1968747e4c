//! The objects that parametrise a policy: those that a binding names or selects. Reads them, judges nothing.

use std::sync::Arc;

use kedge_kinds::Kind;
use kedge_kinds::selector::LabelSelector;
use kedge_registry::{Catalog, Registry};
use kedge_store::{Entry, Snapshot};
use serde_json::Value;

/// `paramKind` of a policy.
#[derive(Debug)]
pub(super) struct ParamKind {
    group: String,
    version: String,
    kind: String,
}

/// `paramRef` of a binding.
#[derive(Debug)]
pub(super) struct ParamRef {
    name: String,
    namespace: String,
    selector: Option<Result<LabelSelector, String>>,
    /// Whether a request is refused when there are none.
    required: bool,
}

impl ParamKind {
    pub(super) fn of(policy: &Value) -> Option<Self> {
        let kind = policy.pointer("/spec/paramKind").filter(|kind| !kind.is_null())?;
        let text = |field: &str| kind.get(field).and_then(Value::as_str).unwrap_or_default();
        let api_version = text("apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Some(Self { group: group.to_owned(), version: version.to_owned(), kind: text("kind").to_owned() })
    }

    pub(super) fn find(&self, registry: &Registry) -> Option<Arc<Kind>> {
        self.among(&registry.catalog())
    }

    pub(super) fn among(&self, catalog: &Catalog) -> Option<Arc<Kind>> {
        catalog.by_kind(&self.group, &self.version, &self.kind).cloned()
    }

    pub(super) fn unknown(&self) -> String {
        let Self { group, version, kind } = self;
        format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'")
    }
}

impl ParamRef {
    pub(super) fn of(binding: &Value) -> Option<Self> {
        let param = binding.pointer("/spec/paramRef").filter(|param| !param.is_null())?;
        let text = |field: &str| param.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let selector = param.get("selector").filter(|selector| !selector.is_null());
        let parse = |selector| LabelSelector::of_object(Some(selector)).map_err(|error| error.to_string());
        Some(Self {
            name: text("name"),
            namespace: text("namespace"),
            selector: selector.map(parse),
            required: text("parameterNotFoundAction") == "Deny",
        })
    }

    /// What it points at for a request in this namespace.
    pub(super) async fn collect(
        &self,
        registry: &Registry,
        snapshot: &Snapshot,
        kind: &Arc<Kind>,
        namespace: &str,
    ) -> Result<Vec<Value>, String> {
        let namespace = match (kind.namespaced, &*self.namespace, namespace) {
            (false, "", _) => "",
            (false, ..) => {
                return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into());
            }
            (true, "", "") => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                        .into(),
                );
            }
            (true, "", own) => own,
            (true, given, _) => given,
        };
        let prefix = match namespace {
            "" => format!("/registry/{}/", kind.prefix),
            namespace => format!("/registry/{}/{namespace}/", kind.prefix),
        };
        let entries: Vec<Entry> = match &self.selector {
            None => snapshot.get(&format!("{prefix}{}", self.name)).cloned().into_iter().collect(),
            Some(_) => snapshot.range(&prefix, None).map(|(_, entry)| entry.clone()).collect(),
        };
        let mut found = Vec::new();
        for entry in entries {
            let stored = serde_json::from_slice(entry.bytes()).map_err(|error| error.to_string())?;
            found.push(served(registry, kind, stored).await?);
        }
        if let Some(selector) = &self.selector {
            let selector = selector.as_ref().map_err(Clone::clone)?;
            found.retain(|one| selector.matches_object(one));
        }
        if found.is_empty() && self.required {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
        }
        Ok(found)
    }
}

/// In the version that the policy names.
async fn served(registry: &Registry, kind: &Arc<Kind>, stored: Value) -> Result<Value, String> {
    if kind.gv == kind.stored_as {
        return Ok(stored);
    }
    let catalog = registry.catalog();
    registry.in_version(catalog.stored_kind(kind), kind, stored).await.map_err(|status| status.message)
}
