//! What a controller wants done, as a value that can be printed and compared. Says what, not how; `carry` does it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_client::{Fields, Key, Watched, Written};
use serde_json::Value;

use crate::events::{Note, Severity};

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Create {
        resource: Resource,
        namespace: String,
        object: Value,
    },
    /// A merge patch of an object or of one of its subresources, good only for the object's present revision.
    Change {
        target: Target,
        subresource: &'static str,
        patch: Value,
    },
    Delete {
        target: Target,
        /// `Background` unless said otherwise.
        propagation: &'static str,
        grace_seconds: Option<u32>,
        /// Only as it is now: somebody's change in between may be a reason to keep it.
        unchanged: bool,
    },
    /// Something that people should read.
    Tell(Note),
}

/// Where objects of a kind are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
}

/// One object as it was when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub resource: Resource,
    pub key: Key,
    pub uid: String,
    pub revision: String,
}

impl Resource {
    pub fn of<K: Watched>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
        }
    }

    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of the collection, or of one object.
    pub fn path(&self, namespace: &str, name: Option<&str>) -> String {
        let mut path = match &*self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        if !namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        if let Some(name) = name {
            path.push('/');
            path.push_str(name);
        }
        path
    }
}

impl Target {
    pub fn of<K: Watched>(object: &K) -> Self {
        let meta = object.meta();
        Self {
            resource: Resource::of::<K>(),
            key: Key::of(object),
            uid: meta.uid.clone().unwrap_or_default(),
            revision: meta.resource_version.clone().unwrap_or_default(),
        }
    }
}

impl Action {
    pub fn create<K: Written>(object: &K) -> Self {
        let resource = Resource::of::<K>();
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        let mut body = object.write();
        body.insert("apiVersion".to_owned(), resource.api_version().into());
        body.insert("kind".to_owned(), resource.kind.clone().into());
        Self::Create { resource, namespace, object: body.into() }
    }

    /// From what the object is to what it should be, its status left out. Nothing if that is the same.
    pub fn change<K: Written>(from: &K, to: &K) -> Option<Self> {
        Self::patch(Target::of(from), from.write(), to.write(), "", |field| field != "status")
    }

    /// From the status that the object has to the one that it should have. Nothing if that is the same.
    pub fn status<K: Written>(from: &K, to: &K) -> Option<Self> {
        Self::patch(Target::of(from), from.write(), to.write(), "status", |field| field == "status")
    }

    fn patch(
        target: Target,
        mut before: Fields,
        mut after: Fields,
        subresource: &'static str,
        is_part: fn(&str) -> bool,
    ) -> Option<Self> {
        before.retain(|field, _| is_part(field));
        after.retain(|field, _| is_part(field));
        let patch = difference(&before, &after);
        (!patch.is_empty()).then(|| Self::Change { target, subresource, patch: patch.into() })
    }

    pub fn delete<K: Watched>(object: &K) -> Self {
        Self::Delete {
            target: Target::of(object),
            propagation: "Background",
            grace_seconds: None,
            unchanged: false,
        }
    }

    /// An event about an object: `Normal SuccessfulCreate: Created pod: web-x`.
    pub fn tell<K: Watched>(
        about: &K,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::tell_of(Target::of(about), severity, reason, message)
    }

    /// The same about an object that isn't at hand.
    pub fn tell_of(
        about: Target,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::Tell(Note { about, part: String::new(), severity, reason, message: message.into() })
    }

    pub fn is_status(&self) -> bool {
        matches!(self, Self::Change { subresource: "status", .. })
    }

    pub fn is_creation(&self) -> bool {
        matches!(self, Self::Create { .. })
    }

    pub fn is_deletion(&self) -> bool {
        matches!(self, Self::Delete { .. })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { resource, namespace, object } => {
                let meta: ObjectMeta = object
                    .get("metadata")
                    .and_then(|meta| serde_json::from_value(meta.clone()).ok())
                    .unwrap_or_default();
                let name = meta.name.or(meta.generate_name).unwrap_or_default();
                write!(f, "create {} {}", resource.kind, Key::new(namespace.clone(), name))
            }
            Self::Change { target, subresource: "", patch } => {
                write!(f, "change {} {} {patch}", target.resource.kind, target.key)
            }
            Self::Change { target, subresource, patch } => {
                write!(f, "change {}/{subresource} {} {patch}", target.resource.kind, target.key)
            }
            Self::Delete { target, .. } => write!(f, "delete {} {}", target.resource.kind, target.key),
            Self::Tell(note) => write!(f, "{} {}: {}", note.severity, note.reason, note.message),
        }
    }
}

/// The merge patch that makes `after` of `before`.
fn difference(before: &Fields, after: &Fields) -> Fields {
    let gone = before.keys().filter(|field| !after.contains_key(*field));
    let mut patch: Fields = gone.map(|field| (field.clone(), Value::Null)).collect();
    for (field, now) in after {
        match (before.get(field), now) {
            (Some(was), now) if was == now => {}
            (Some(Value::Object(was)), Value::Object(now)) => {
                patch.insert(field.clone(), difference(was, now).into());
            }
            // In a merge patch null means absence, which is what it means in the object.
            (_, now) => drop(patch.insert(field.clone(), now.clone())),
        }
    }
    patch
}

#[cfg(test)]
mod tests;
