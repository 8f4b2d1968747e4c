//! A write as those outside are told of it: names, kinds, and the options that came with it.

use kedge_kinds::GroupVersion;
use serde_json::{Value, json};

use super::{Operation, Review};
use crate::object;
use crate::request::{FieldValidation, Propagation};

impl Operation {
    /// As rules and reviews spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

impl<'a> Review<'a> {
    /// Empty for an object whose name is still to be made up, and for one of a collection that goes.
    pub fn name(&self) -> &'a str {
        if self.delete.is_some_and(|delete| delete.collection) {
            return "";
        }
        let named = self.at.name.as_deref().filter(|name| !name.is_empty());
        let of = |object: Option<&'a Value>| object.map(|object| object::meta_text(object, "name"));
        named.or_else(|| of(self.object)).or_else(|| of(self.old)).unwrap_or_default()
    }

    /// The namespace that the request is about: of a Namespace that is itself.
    pub fn namespace(&self) -> &'a str {
        if self.is_namespace() {
            return self.name();
        }
        self.at.namespace.as_deref().unwrap_or_default()
    }

    pub fn is_namespace(&self) -> bool {
        crate::delete::is_namespace(&self.at.kind)
    }

    pub fn subresource(&self) -> &'a str {
        self.at.subresource.as_deref().unwrap_or_default()
    }

    /// What the object is: the subresource's kind where that has one of its own.
    pub fn gvk(&self) -> (&'a GroupVersion, &'a str) {
        let own = (&self.at.kind.gv, &*self.at.kind.kind);
        let spoken = self.at.kind.subresource(self.subresource()).and_then(|sub| sub.speaks.as_ref());
        spoken.map_or(own, |(gv, kind)| (gv, &**kind))
    }

    /// `CreateOptions`, `UpdateOptions` or `DeleteOptions`, as the client gave them; nothing for a connection.
    pub fn options_object(&self) -> Value {
        let mut options = match self.operation {
            Operation::Create => json!({"kind": "CreateOptions"}),
            Operation::Update => json!({"kind": "UpdateOptions"}),
            Operation::Delete => self.delete_options(),
            Operation::Connect => return Value::Null,
        };
        options["apiVersion"] = "meta.k8s.io/v1".into();
        if self.options.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        if self.operation == Operation::Delete {
            return options;
        }
        if self.options.given.manager {
            options["fieldManager"] = self.options.manager.as_str().into();
        }
        if self.options.given.validation {
            let validation = match self.options.validation {
                FieldValidation::Ignore => "Ignore",
                FieldValidation::Warn => "Warn",
                FieldValidation::Strict => "Strict",
            };
            options["fieldValidation"] = validation.into();
        }
        options
    }

    fn delete_options(&self) -> Value {
        let mut options = json!({"kind": "DeleteOptions"});
        let Some(delete) = self.delete else { return options };
        if let Some(seconds) = delete.grace_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(propagation) = delete.propagation {
            let policy = match propagation {
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
                Propagation::Orphan => "Orphan",
            };
            options["propagationPolicy"] = policy.into();
        }
        for (field, value) in [("uid", &delete.uid), ("resourceVersion", &delete.resource_version)] {
            if let Some(value) = value {
                options["preconditions"][field] = value.as_str().into();
            }
        }
        options
    }
}
