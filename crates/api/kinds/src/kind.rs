//! A kind that can be stored and served: its names, scope, verbs, subresources and schema.
//! Knows nothing about what a write to it means; that is the registry's.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::field::Errors;
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
    /// What the kind's definition says about its objects; built-in kinds have their rules elsewhere.
    pub rules: Option<Arc<dyn Rules>>,
}

/// What the definition of a custom kind says about one version's objects. Pure, like everything here.
pub trait Rules: fmt::Debug + Send + Sync {
    /// Takes out what the schema doesn't know, and says what that was: `spec.colour`.
    fn prune(&self, object: &mut Value) -> Vec<String>;

    /// Fills in what was left out. Runs on every write and on every read from the store.
    fn default(&self, object: &mut Value);

    /// What is wrong with an object, its change from `old` included.
    fn validate(&self, object: &Value, old: Option<&Value>, errors: &mut Errors);

    /// What is wrong with an object of which only the status was written.
    fn validate_status(&self, object: &Value, old: &Value, errors: &mut Errors) {
        self.validate(object, Some(old), errors);
    }

    /// Where the kind's `scale` finds its numbers, if it has one.
    fn scale(&self) -> Option<&ScalePaths>;

    /// Fields besides name and namespace that a field selector may use: `spec.colour`.
    fn selectable(&self) -> &[Arc<str>];

    /// The columns of its tables besides the name.
    fn columns(&self) -> &[Column];

    /// How its versions become one another.
    fn conversion(&self) -> &Conversion;

    /// The schema of one object as OpenAPI v3 publishes it.
    fn openapi_v3(&self) -> Value;

    /// The schema of one object as OpenAPI v2 publishes it, which can say less.
    fn openapi_v2(&self) -> Value;

    /// What users of a version that is to go are told.
    fn deprecation(&self) -> Option<&str> {
        None
    }

    /// An object that was written at this revision, in this version, is already as these rules would leave it.
    fn is_settled(&self, _revision: u64) -> bool {
        false
    }
}

/// JSON pointers into the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub selector: Option<String>,
}

/// A column that a definition adds to `kubectl get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub type_: String,
    pub format: String,
    pub description: String,
    /// Shown only in wide tables if it isn't 0.
    pub priority: i32,
    /// `.spec.replicas`, a JSONPath.
    pub json_path: String,
}

/// How an object of one version becomes one of another.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    /// Only `apiVersion` differs.
    Rename,
    /// The definition's `spec.conversion.webhook`.
    Webhook(Value),
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
