//! A kind that can be stored and served: its names, scope, verbs, subresources and schema.
//! Knows nothing about what a write to it means; that is the registry's.

use std::fmt;
use std::sync::Arc;

use crate::schema::{Node, Schemas, TypeId};

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: Arc<str>,
    pub version: Arc<str>,
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            write!(f, "{}", self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// One served version of one kind.
#[derive(Debug)]
pub struct Kind {
    pub gv: GroupVersion,
    /// `Deployment`
    pub kind: Arc<str>,
    /// `DeploymentList`
    pub list_kind: Arc<str>,
    /// `deployments`
    pub plural: Arc<str>,
    /// `deployment`
    pub singular: Arc<str>,
    pub short_names: Vec<Arc<str>>,
    pub categories: Vec<Arc<str>>,
    pub namespaced: bool,
    /// Verbs on the resource itself, in discovery's order. `create` alone for reviews, which are answered and never stored.
    pub verbs: Vec<Arc<str>>,
    pub subresources: Vec<Subresource>,
    /// The version whose form is stored and to which requests of this version are converted; equal to `gv` for most kinds.
    pub stored_as: GroupVersion,
    /// `/registry/<prefix>/[<namespace>/]<name>` is where its objects lie. Shared by all versions of the kind.
    pub prefix: Arc<str>,
    pub schemas: Arc<Schemas>,
    pub schema: TypeId,
}

/// `status`, `scale`, `log`…
#[derive(Debug, Clone)]
pub struct Subresource {
    pub name: Arc<str>,
    pub verbs: Vec<Arc<str>>,
    /// The kind that it speaks, where that is not its parent's: `autoscaling/v1 Scale`, `policy/v1 Eviction`.
    pub speaks: Option<(GroupVersion, Arc<str>)>,
}

impl Kind {
    pub fn node(&self) -> Option<Node<'_>> {
        self.schemas.root(self.schema)
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| &*sub.name == name)
    }

    /// `deployments.apps`; the plural alone in the core group. What messages call the resource.
    pub fn qualified_plural(&self) -> String {
        if self.gv.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.gv.group)
        }
    }
}
