//! `patch`: the four ways to say what shall be different. The result goes the same way as an update.

use std::borrow::Cow;

use kedge_kinds::{Cause, Details, Reason, Status};
use serde_json::Value;

use crate::merge::{self, managed};
use crate::registry::{Registry, Written};
use crate::request::{At, FieldValidation, Patch, WriteOptions};
use crate::strategies::strategy;
use crate::update::{Live, Outcome};
use crate::{body, convert, failure, object, subresource, unread};

impl Registry {
    pub async fn patch(&self, at: &At, patch: Patch, options: &WriteOptions) -> Result<Written, Status> {
        if at.subresource.as_deref() == Some("scale") {
            return subresource::scale::patch(self, at, &patch, options).await;
        }
        if let Patch::Apply { config, force } = &patch {
            return self.apply(at, config, *force, options).await;
        }
        let fixed = match &patch {
            Patch::Json(_) => false,
            Patch::Merge(patch) | Patch::Strategic(patch) | Patch::Apply { config: patch, .. } => {
                !object::meta_text(patch, "resourceVersion").is_empty()
            }
        };
        self.change(at, options, fixed, |live, _| {
            let mut warnings = Vec::new();
            let mut served = convert::served(&at.kind, &live.object);
            // It may go by the path of anything.
            if matches!(patch, Patch::Json(_)) {
                served = Cow::Owned(unread::whole(served.into_owned()));
            }
            let whole = |served: &Value| {
                let mut patched = patched(at, served, &patch)?;
                body::version_of_patched(&at.kind, &mut patched)?;
                Ok(patched)
            };
            let mut patched = whole(&served)?;
            // What the patch says nothing of stays as it is stored.
            if unread::is_in(&patched) {
                object::meta_mut(&mut patched).remove("managedFields");
            }
            // Few are refused, so only those are written out, and patched a second time for it.
            let refuse = |why: &str| {
                let all = whole(&unread::whole(served.clone().into_owned()));
                all.map_or_else(|status| status, |all| refused(&all.to_string(), why))
            };
            let kept = set_aside(at, &mut patched, &patch);
            body::shape(&at.kind, &mut patched, options, &mut warnings, &refuse)?;
            object::as_map(&mut patched).extend(kept);
            body::namespace(at, &mut patched)?;
            body::name(at, &patched)?;
            self.same_revision(at, live, &patched)?;
            Ok(Outcome { object: self.replaced(at, live, patched, options)?, warnings })
        })
        .await
    }

    async fn apply(
        &self,
        at: &At,
        config: &Value,
        force: bool,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        if object::meta(config, "managedFields")
            .is_some_and(|managers| managers.as_array().is_some_and(|m| !m.is_empty()))
        {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        let warnings = match options.validation {
            FieldValidation::Strict if !options.duplicates.is_empty() => {
                let why = format!("error strict decoding YAML: {}", options.duplicates.join(", "));
                return Err(Status::bad_request(why));
            }
            FieldValidation::Warn => options.duplicates.clone(),
            FieldValidation::Strict | FieldValidation::Ignore => Vec::new(),
        };
        body::applied(at, config)?;
        let version = at.kind.gv.to_string();
        let node = at.kind.node().ok_or_else(|| Status::internal("the kind has no schema"))?;
        let who = || managed::Who {
            manager: &options.manager,
            operation: managed::Operation::Apply,
            api_version: &version,
            subresource: at.subresource.as_deref().unwrap_or_default(),
            now: self.inner().clock.now(),
        };
        let fixed = !object::meta_text(config, "resourceVersion").is_empty();
        for _ in 0..2 {
            if at.subresource.is_none() && self.live(at).await?.is_none() {
                let uid = object::meta_text(config, "uid");
                if !uid.is_empty() {
                    let why = format!(
                        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                    );
                    return Err(Status::conflict(&at.kind, at.name.as_deref().unwrap_or_default(), &why));
                }
                if fixed {
                    return Err(Status::conflict(
                        &at.kind,
                        at.name.as_deref().unwrap_or_default(),
                        failure::MODIFIED,
                    ));
                }
                let mut object = managed::apply(&at.kind, node, None, config, force, &who())?;
                body::placed(at, &mut object)?;
                match self.create_applied(at, object, options, warnings.clone()).await {
                    // Somebody else made it in between: apply to that one.
                    Err(status) if status.reason == Reason::AlreadyExists => continue,
                    other => return other,
                }
            }
            break;
        }
        self.change(at, options, fixed, |live, _| {
            let served = convert::served(&at.kind, &live.object);
            let mut applied = managed::apply(&at.kind, node, Some(&served), config, force, &who())?;
            self.agree_applied(at, live, config)?;
            object::meta_mut(&mut applied).remove("resourceVersion");
            let mut new = convert::to_stored(&at.kind, applied);
            strategy(&at.kind).default(&mut new);
            self.confine(at, &mut new, &live.object);
            Ok(Outcome { object: new, warnings: warnings.clone() })
        })
        .await
    }

    fn agree_applied(&self, at: &At, live: &Live, config: &Value) -> Result<(), Status> {
        let given = failure::parse_revision(object::meta_text(config, "resourceVersion"))?;
        let name = at.name.as_deref().unwrap_or_default();
        if given.is_some_and(|given| given != live.entry.modified()) {
            return Err(Status::conflict(&at.kind, name, failure::MODIFIED));
        }
        let (uid, found) = (object::meta_text(config, "uid"), object::meta_text(&live.object, "uid"));
        if !uid.is_empty() && uid != found {
            return Err(failure::precondition(&at.kind, name, &live.key, uid, found));
        }
        Ok(())
    }
}

fn patched(at: &At, served: &Value, patch: &Patch) -> Result<Value, Status> {
    match patch {
        // Nothing says nothing, except as a merge patch, where it would take the object away.
        Patch::Json(Value::Null) | Patch::Strategic(Value::Null) => Ok(served.clone()),
        Patch::Merge(Value::Null) => Err(Status::bad_request("Invalid JSON Patch")),
        Patch::Json(operations) => merge::json_patch(served, operations),
        Patch::Merge(Value::Array(_)) => Err(no_map("array")),
        Patch::Merge(Value::String(_)) => Err(no_map("string")),
        Patch::Merge(Value::Number(_)) => Err(no_map("number")),
        Patch::Merge(Value::Bool(_)) => Err(no_map("bool")),
        Patch::Merge(patch) => {
            let mut target = served.clone();
            merge::merge_patch(&mut target, patch);
            Ok(target)
        }
        Patch::Strategic(patch) => {
            let node = at.kind.node().ok_or_else(|| Status::internal("the kind has no schema"))?;
            merge::strategic(node, served, patch)
        }
        Patch::Apply { .. } => Ok(served.clone()),
    }
}

/// Takes out what the patch says nothing of: it was checked when it was stored.
fn set_aside(at: &At, patched: &mut Value, patch: &Patch) -> Vec<(String, Value)> {
    let (Patch::Merge(Value::Object(said)) | Patch::Strategic(Value::Object(said))) = patch else {
        return Vec::new();
    };
    // A directive may say something of anything.
    if at.kind.rules.is_some() || convert::is_needed(&at.kind) || said.keys().any(|key| key.starts_with('$'))
    {
        return Vec::new();
    }
    let mut kept = Vec::new();
    object::as_map(patched).retain(|key, value| {
        let stays = said.contains_key(key) || matches!(key.as_str(), "apiVersion" | "kind" | "metadata");
        if !stays {
            kept.push((key.clone(), value.take()));
        }
        stays
    });
    kept
}

fn no_map(found: &str) -> Status {
    Status::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    ))
}

/// A patch whose result is no object of its kind; Kubernetes names no kind in it.
pub(crate) fn refused(patch: &str, why: &str) -> Status {
    let message = format!("Invalid value: {patch:?}: {why}");
    Status::new(422, Reason::Invalid, format!(" \"\" is invalid: patch: {message}")).with(Details {
        causes: vec![Cause { reason: "FieldValueInvalid".to_owned(), message, field: "patch".to_owned() }],
        ..Details::default()
    })
}

#[cfg(test)]
mod tests;
