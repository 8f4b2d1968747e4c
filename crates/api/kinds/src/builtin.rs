//! The built-in kinds: everything that a server of this API level offers before anybody adds a custom kind.
//! Only names, schemas and verbs; what a write means is the registry's.

mod descriptions;
mod table;

use std::sync::{Arc, OnceLock};

pub use self::descriptions::Descriptions;
use crate::kind::Kind;
use crate::schema::{Node, Schemas};

/// All built-in kinds with the structs they are made of.
#[derive(Debug)]
pub struct Builtin {
    pub schemas: Arc<Schemas>,
    /// Every served version of every kind, core group first, in discovery's order.
    pub kinds: Vec<Arc<Kind>>,
}

/// The table, parsed on first use.
pub fn builtin() -> &'static Builtin {
    static BUILTIN: OnceLock<Builtin> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let (schemas, kinds) = table::parse(include_str!("builtin/table.txt"));
        Builtin { schemas, kinds }
    })
}

impl Builtin {
    /// By the names in a request's path: `("apps", "v1", "deployments")`; the core group is `""`.
    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.find(group, version, |kind| *kind.plural == *plural)
    }

    /// By the names in an object: `("apps", "v1", "Deployment")`.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Kind>> {
        self.find(group, version, |found| *found.kind == *kind)
    }

    /// There are so few kinds that looking at each is cheaper than making a key to look up.
    fn find(&self, group: &str, version: &str, is_it: impl Fn(&Kind) -> bool) -> Option<&Arc<Kind>> {
        self.kinds.iter().find(|kind| is_it(kind) && *kind.gv.group == *group && *kind.gv.version == *version)
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
