//! The built-in kinds: everything that a server of this API level offers before anybody adds a custom kind.
//! Only names, schemas and verbs; what a write means is the registry's.

mod table;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::kind::Kind;
use crate::schema::{Node, Schemas};

/// All built-in kinds with the structs they are made of.
#[derive(Debug)]
pub struct Builtin {
    pub schemas: Arc<Schemas>,
    /// Every served version of every kind, core group first, in discovery's order.
    pub kinds: Vec<Arc<Kind>>,
    by_plural: HashMap<(Arc<str>, Arc<str>, Arc<str>), usize>,
    by_kind: HashMap<(Arc<str>, Arc<str>, Arc<str>), usize>,
}

/// The table, parsed on first use.
pub fn builtin() -> &'static Builtin {
    static BUILTIN: OnceLock<Builtin> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let (schemas, kinds) = table::parse(include_str!("builtin/table.txt"));
        Builtin::new(schemas, kinds)
    })
}

impl Builtin {
    fn new(schemas: Arc<Schemas>, kinds: Vec<Arc<Kind>>) -> Self {
        let key =
            |kind: &Kind, name: &Arc<str>| (kind.gv.group.clone(), kind.gv.version.clone(), name.clone());
        let by_plural = kinds.iter().enumerate().map(|(at, kind)| (key(kind, &kind.plural), at)).collect();
        let by_kind = kinds.iter().enumerate().map(|(at, kind)| (key(kind, &kind.kind), at)).collect();
        Self { schemas, kinds, by_plural, by_kind }
    }

    /// By the names in a request's path: `("apps", "v1", "deployments")`; the core group is `""`.
    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(*self.by_plural.get(&(group.into(), version.into(), plural.into()))?)
    }

    /// By the names in an object: `("apps", "v1", "Deployment")`.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(*self.by_kind.get(&(group.into(), version.into(), kind.into()))?)
    }

    /// A struct by the name under which OpenAPI publishes it, `io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions`.
    pub fn schema(&self, openapi_name: &str) -> Option<Node<'_>> {
        self.schemas.root(self.schemas.named(openapi_name)?)
    }

    /// The schema of anything that can stand in a request's body by its `apiVersion` and `kind`: kinds, and what only
    /// subresources and options speak (`Scale`, `Eviction`, `TokenRequest`, `DeleteOptions`, lists…).
    pub fn schema_of(&self, group: &str, version: &str, kind: &str) -> Option<Node<'_>> {
        if let Some(found) = self.by_kind(group, version, kind) {
            return found.node();
        }
        self.schema(&openapi_name(group, version, kind)).or_else(|| {
            // Every group has the options under its own version too.
            self.schema(&openapi_name("meta.k8s.io", "v1", kind))
                .filter(|_| kind.ends_with("Options") || kind == "Status")
        })
    }
}

/// The name under which OpenAPI publishes a built-in kind.
pub fn openapi_name(group: &str, version: &str, kind: &str) -> String {
    let package = match group {
        "" => "api.core",
        "apiextensions.k8s.io" => "apiextensions-apiserver.pkg.apis.apiextensions",
        "apiregistration.k8s.io" => "kube-aggregator.pkg.apis.apiregistration",
        "meta.k8s.io" => "apimachinery.pkg.apis.meta",
        "rbac.authorization.k8s.io" => "api.rbac",
        other => return format!("io.k8s.api.{}.{version}.{kind}", other.split('.').next().unwrap_or(other)),
    };
    format!("io.k8s.{package}.{version}.{kind}")
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
