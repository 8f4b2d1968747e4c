//! Which webhooks a request is for: by rules, selectors and conditions, in Kubernetes' order of precedence.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_kinds::{Kind, Status};
use kedge_registry::Catalog;
use kedge_registry::gate::{Operation, Review};
use parking_lot::RwLock;
use serde_json::Value;

use super::hook::Hook;

/// Kinds that decide over webhooks and policies: no webhook can keep anybody from repairing them.
const EXEMPT: [&str; 6] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

pub(crate) fn is_exempt(kind: &Kind) -> bool {
    &*kind.gv.group == "admissionregistration.k8s.io" && EXEMPT.contains(&&*kind.kind)
}

/// The other versions in which kinds are served, found once per catalog.
#[derive(Debug, Default)]
pub(crate) struct Versions(RwLock<Option<(Arc<Catalog>, Arc<Others>)>>);

type Others = HashMap<Arc<str>, Vec<Arc<Kind>>>;

impl Versions {
    /// By where their objects lie; only those that there are several of.
    pub(crate) fn of(&self, review: &Review<'_>) -> Arc<Others> {
        let catalog = review.registry.catalog();
        if let Some((known, others)) = &*self.0.read()
            && Arc::ptr_eq(known, &catalog)
        {
            return others.clone();
        }
        let mut others = Others::new();
        for kind in catalog.kinds() {
            others.entry(kind.prefix.clone()).or_default().push(kind.clone());
        }
        others.retain(|_, kinds| kinds.len() > 1);
        let others = Arc::new(others);
        *self.0.write() = Some((catalog, others.clone()));
        others
    }
}

/// The versions of a request's kind besides its own.
pub(crate) fn others<'o>(
    versions: &'o Others,
    review: &Review<'_>,
) -> impl Iterator<Item = &'o Arc<Kind>> + Clone {
    let own = review.at.kind.gv.clone();
    let all = versions.get(&review.at.kind.prefix).into_iter().flatten();
    all.filter(move |kind| kind.gv != own)
}

/// Whether a webhook is to be asked, and in which version of the kind. The review holds the objects of the request.
pub(crate) fn chosen<'k>(
    hook: &Hook,
    review: &Review<'k>,
    versions: &'k Others,
) -> Result<Option<&'k Kind>, Status> {
    let kind: &'k Kind = &review.at.kind;
    let found = hook.wants(review.operation, kind, review.subresource(), others(versions, review));
    let Some(found) = found else { return Ok(None) };
    if !in_namespaces(hook, review)? || !among_objects(hook, review)? {
        return Ok(None);
    }
    let seen = Some(found).filter(|found| found.gv != kind.gv);
    match hook.conditions.hold(review, seen) {
        Ok(true) => Ok(Some(found)),
        Ok(false) => Ok(None),
        Err(why) => Err(Status::forbidden(kind, review.name(), &why)),
    }
}

fn in_namespaces(hook: &Hook, review: &Review<'_>) -> Result<bool, Status> {
    let namespace = review.namespace();
    // What lies in no namespace is everybody's.
    if namespace.is_empty() && !review.is_namespace() {
        return Ok(true);
    }
    let selector = hook.namespaces.as_ref().map_err(|why| Status::internal(why.as_str()))?;
    if selector.is_everything() {
        return Ok(true);
    }
    let changes = matches!(review.operation, Operation::Create | Operation::Update);
    if review.is_namespace() && review.subresource().is_empty() && changes {
        return Ok(review.object.is_some_and(|namespace| selector.matches_object(namespace)));
    }
    let stored = review.snapshot.get(&format!("/registry/namespaces/{namespace}"));
    let stored = stored.and_then(|entry| serde_json::from_slice::<Value>(entry.bytes()).ok());
    match stored {
        Some(stored) => Ok(selector.matches_object(&stored)),
        None => {
            let catalog = review.registry.catalog();
            let missing = catalog.kind("", "v1", "namespaces").map(|kind| Status::not_found(kind, namespace));
            Err(missing.unwrap_or_else(|| Status::internal("namespaces are not served")))
        }
    }
}

fn among_objects(hook: &Hook, review: &Review<'_>) -> Result<bool, Status> {
    let selector = hook.objects.as_ref().map_err(|why| Status::internal(why.as_str()))?;
    if selector.is_everything() {
        return Ok(true);
    }
    // What has no metadata has no labels to be chosen by.
    let chosen = |object: Option<&Value>| {
        object.is_some_and(|object| object.get("metadata").is_some() && selector.matches_object(object))
    };
    Ok(chosen(review.object) || chosen(review.old))
}
