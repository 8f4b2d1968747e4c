//! Which policies a request meets, with which parameters, and what their expressions see of it. Decides nothing.

use std::sync::{Arc, OnceLock};

use kedge_cel::Resource;
use kedge_kinds::{Kind, Meta, Status};
use kedge_registry::gate::Review;
use serde_json::Value;

use super::index::Bound;
use super::mutating::mutate;
use super::params::ParamRef;
use super::policy::{Binding, Mutation, Policy};
use super::refusal::Refusal;
use super::scene::{Asker, Inputs};
use super::validating::meets_conditions;
use crate::request::Request;
use crate::webhooks::matching::Versions;
use crate::webhooks::shown::Shown;

static NULL: Value = Value::Null;

/// A request among the versions of its kind.
pub(super) struct Ground<'a> {
    review: &'a Review<'a>,
    versions: &'a Versions,
    others: OnceLock<Vec<Arc<Kind>>>,
}

/// A policy that a request meets through a binding, with one of its parameters.
pub(super) struct Invocation<'h> {
    pub(super) policy: &'h Policy,
    pub(super) binding: &'h Binding,
    /// The version of the request's kind that the policy speaks about.
    kind: Arc<Kind>,
    param: Option<Value>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(review: &'a Review<'a>, versions: &'a Versions) -> Self {
        Self { review, versions, others: OnceLock::new() }
    }

    /// The request's kind in its other versions.
    pub(super) fn others(&self) -> &[Arc<Kind>] {
        self.others.get_or_init(|| {
            let versions = self.versions.of(self.review);
            crate::webhooks::matching::others(&versions, self.review).cloned().collect()
        })
    }

    /// In the order in which they are asked. Who cannot be followed refuses, unless it is to be ignored then.
    pub(super) async fn invocations<'h>(
        &self,
        hooks: &'h [Bound],
        refusals: &mut Vec<Refusal>,
    ) -> Vec<Invocation<'h>> {
        let mut found = Vec::new();
        for Bound { policy, bindings } in hooks {
            let mut misconfigured = |binding: Option<&str>, why: &str| {
                if !policy.fails_open {
                    refusals.push(Refusal::misconfigured(policy, binding, why));
                }
            };
            let kind = match self.kind_for(policy) {
                Ok(Some(kind)) => kind,
                Ok(None) => continue,
                Err(why) => {
                    misconfigured(None, &why);
                    continue;
                }
            };
            let param_kind = policy.params.as_ref().map(|kind| (kind, kind.find(self.review.registry)));
            if let Some((kind, None)) = &param_kind {
                misconfigured(None, &kind.unknown());
                continue;
            }
            let param_kind = param_kind.and_then(|(_, kind)| kind);
            for binding in bindings {
                let resources = binding.resources.as_ref();
                match resources.map(|resources| resources.matches(self.review, self.others())).transpose() {
                    Ok(None | Some(Some(_))) => {}
                    Ok(Some(None)) => continue,
                    Err(why) => {
                        misconfigured(Some(&binding.name), &why);
                        continue;
                    }
                }
                match self.params(param_kind.as_ref(), binding.params.as_ref()).await {
                    Ok(params) => found.extend(params.into_iter().map(|param| Invocation {
                        policy,
                        binding,
                        kind: kind.clone(),
                        param,
                    })),
                    Err(why) => misconfigured(Some(&binding.name), &why),
                }
            }
        }
        found
    }

    fn kind_for(&self, policy: &Policy) -> Result<Option<Arc<Kind>>, String> {
        let constraints = policy.constraints.as_ref();
        let constraints =
            constraints.ok_or("policy contained no match constraints, a required field".to_owned())?;
        constraints.matches(self.review, self.others())
    }

    /// One evaluation for each; without parameters there is one, too.
    async fn params(
        &self,
        kind: Option<&Arc<Kind>>,
        param: Option<&ParamRef>,
    ) -> Result<Vec<Option<Value>>, String> {
        let (Some(kind), Some(param)) = (kind, param) else { return Ok(vec![None]) };
        let Review { registry, snapshot, .. } = *self.review;
        let found = param.collect(registry, snapshot, kind, self.review.namespace()).await?;
        Ok(found.into_iter().map(Some).collect())
    }
}

impl Invocation<'_> {
    /// Tells it from all others of the same request.
    pub(super) fn key(&self) -> String {
        let param = self.param.as_ref().map(Meta::of);
        let param = param.map(|meta| format!("{}/{}", meta.namespace(), meta.name())).unwrap_or_default();
        format!("{}/{}/{param}", self.policy.name, self.binding.name)
    }

    /// What a request looks like to the policy's expressions.
    pub(super) async fn within<T>(
        &self,
        review: &Review<'_>,
        look: impl FnOnce(Inputs<'_>) -> T,
    ) -> Result<T, Status> {
        let shown = Shown::new(review, &self.kind).await?;
        let asked = shown.review(review);
        // The objects are variables of their own; within the request they would be there twice.
        let request = Request { object: None, old_object: None, ..Request::of(review, "", shown.seen) };
        let request = serde_json::to_value(request).unwrap_or_default();
        let namespace = surrounding(review)?;
        let asker = Asker::new(review.registry.authorizer().cloned(), &review.options.user, resource(review));
        Ok(look(Inputs {
            object: asked.object.unwrap_or(&NULL),
            old: asked.old.unwrap_or(&NULL),
            params: self.param.as_ref().unwrap_or(&NULL),
            request: &request,
            namespace: namespace.as_ref().unwrap_or(&NULL),
            asker: &asker,
        }))
    }

    /// Lets the policy's mutations have their way with the object, in the version that the policy speaks about.
    pub(super) async fn change(
        &self,
        review: &Review<'_>,
        mutations: &[Mutation],
        object: &mut Value,
        refusals: &mut Vec<Refusal>,
    ) -> Result<(), Status> {
        let (own, policy) = (&review.at.kind, self.policy);
        // A Scale has a shape of its own.
        let (gv, name) = review.gvk();
        let part = own.subresource(review.subresource()).filter(|part| part.speaks.is_some());
        let catalog = review.registry.catalog();
        let spoken = part.and_then(|_| catalog.by_kind(&gv.group, &gv.version, name));
        let shape = spoken.unwrap_or(&self.kind);
        let meets = {
            let review = Review { object: Some(object), ..*review };
            self.within(&review, |inputs| meets_conditions(policy, inputs)).await?
        };
        match meets {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(why) => {
                refusals.push(Refusal::by(self, &why, "Invalid"));
                return Ok(());
            }
        }
        for mutation in mutations {
            let changed = {
                let review = Review { object: Some(object), ..*review };
                self.within(&review, |inputs| mutate(policy, mutation, inputs, shape)).await?
            };
            match changed {
                Ok(changed) if self.kind.gv == own.gv || spoken.is_some() => *object = changed,
                Ok(changed) => *object = review.registry.in_version(&self.kind, own, changed).await?,
                Err(_) if policy.fails_open => {}
                Err(error) => refusals.push(Refusal::by(self, &error.to_string(), "Invalid")),
            }
        }
        Ok(())
    }
}

/// The namespace that the object lies in; nothing for what lies in none, a namespace itself included.
fn surrounding(review: &Review<'_>) -> Result<Option<Value>, Status> {
    let name = review.namespace();
    if review.is_namespace() || name.is_empty() {
        return Ok(None);
    }
    let entry = review.snapshot.get(&format!("/registry/namespaces/{name}"));
    let parsed = entry.map(|entry| serde_json::from_slice(entry.bytes())).transpose();
    parsed.map_err(|error| Status::internal(format!("namespace {name} cannot be read: {error}")))
}

fn resource(review: &Review<'_>) -> Resource {
    Resource {
        group: review.at.kind.gv.group.clone(),
        resource: review.at.kind.plural.clone(),
        subresource: review.subresource().into(),
        namespace: review.namespace().into(),
        name: review.name().into(),
        ..Resource::default()
    }
}
