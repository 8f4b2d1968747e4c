//! Which requests a policy or a binding is about: rules, and selectors of labels. Knows no expression.

use std::sync::Arc;

use kedge_kinds::Kind;
use kedge_kinds::selector::LabelSelector;
use kedge_registry::gate::{Operation, Review};
use serde_json::Value;

use crate::webhooks::rule::Rule;

/// `matchConstraints` of a policy, or `matchResources` of a binding.
#[derive(Debug)]
pub(super) struct Criteria {
    namespaces: Result<LabelSelector, String>,
    objects: Result<LabelSelector, String>,
    rules: Vec<Named>,
    excluded: Vec<Named>,
    /// Other versions of a resource count as the resource.
    equivalent: bool,
}

/// A rule that can be about certain objects only.
#[derive(Debug)]
struct Named {
    rule: Rule,
    names: Vec<String>,
}

impl Criteria {
    pub(super) fn of(resources: &Value) -> Self {
        let selector = |field: &str| {
            let selector = resources.get(field).filter(|selector| !selector.is_null());
            let selector = selector.ok_or_else(|| {
                let which = field.trim_end_matches("Selector");
                format!("a nil {which} selector was passed, please ensure selectors are initialized properly")
            })?;
            LabelSelector::of_object(Some(selector)).map_err(|error| error.to_string())
        };
        let rules = |field: &str| {
            let rules = resources.get(field).and_then(Value::as_array);
            rules.into_iter().flatten().map(Named::of).collect()
        };
        Self {
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            rules: rules("resourceRules"),
            excluded: rules("excludeResourceRules"),
            equivalent: resources.get("matchPolicy").and_then(Value::as_str) == Some("Equivalent"),
        }
    }

    /// Whether this could be about the request, whatever it is called and labelled. Quick.
    pub(super) fn may_match(&self, review: &Review<'_>, others: &[Arc<Kind>]) -> bool {
        let others = others.iter().filter(|_| self.equivalent);
        let any = |kind: &Kind| self.rules.iter().any(|one| one.is_about(kind, review));
        self.rules.is_empty() || any(&review.at.kind) || others.clone().any(|kind| any(kind))
    }

    /// The kind as which the rules know the object; `None` if this is not about the request.
    pub(super) fn matches(
        &self,
        review: &Review<'_>,
        others: &[Arc<Kind>],
    ) -> Result<Option<Arc<Kind>>, String> {
        // A selector that is broken counts against a request only if all else speaks for it.
        let namespaces = self.in_namespace(review);
        if namespaces == Ok(false) {
            return Ok(None);
        }
        let objects = self.among_objects(review);
        if objects == Ok(false) || self.by_rules(&self.excluded, review, others).is_some() {
            return Ok(None);
        }
        let found = match &self.rules[..] {
            [] => Some(review.at.kind.clone()),
            rules => self.by_rules(rules, review, others),
        };
        if found.is_some() {
            namespaces?;
            objects?;
        }
        Ok(found)
    }

    fn in_namespace(&self, review: &Review<'_>) -> Result<bool, String> {
        let name = review.namespace();
        if name.is_empty() && !review.is_namespace() {
            return Ok(true);
        }
        let selector = self.namespaces.as_ref().map_err(Clone::clone)?;
        let is_written = matches!(review.operation, Operation::Create | Operation::Update);
        if selector.is_everything() {
            return Ok(true);
        }
        if review.is_namespace() && review.subresource().is_empty() && is_written {
            return Ok(review.object.is_some_and(|object| selector.matches_object(object)));
        }
        let entry = review.snapshot.get(&format!("/registry/namespaces/{name}"));
        let entry = entry.ok_or_else(|| format!("namespaces \"{name}\" not found"))?;
        let namespace: Value = serde_json::from_slice(entry.bytes()).map_err(|error| error.to_string())?;
        Ok(selector.matches_object(&namespace))
    }

    fn among_objects(&self, review: &Review<'_>) -> Result<bool, String> {
        let selector = self.objects.as_ref().map_err(Clone::clone)?;
        let matches = |object: &&Value| object.get("metadata").is_some() && selector.matches_object(object);
        let mut objects = [review.object, review.old].into_iter().flatten();
        Ok(selector.is_everything() || objects.any(|object| matches(&object)))
    }

    fn by_rules(&self, rules: &[Named], review: &Review<'_>, others: &[Arc<Kind>]) -> Option<Arc<Kind>> {
        let kind = &review.at.kind;
        if rules.iter().any(|rule| rule.matches(kind, review)) {
            return Some(kind.clone());
        }
        let others = others.iter().filter(|_| self.equivalent);
        let mut pairs = rules.iter().flat_map(|rule| others.clone().map(move |kind| (rule, kind)));
        pairs.find(|(rule, kind)| rule.matches(kind, review)).map(|(_, kind)| kind.clone())
    }
}

impl Named {
    fn of(rule: &Value) -> Self {
        let names = rule.get("resourceNames").and_then(Value::as_array).into_iter().flatten();
        let names = names.filter_map(Value::as_str).map(str::to_owned).collect();
        Self { rule: Rule::read(rule), names }
    }

    fn is_about(&self, kind: &Kind, review: &Review<'_>) -> bool {
        self.rule.matches(review.operation, kind, review.subresource())
    }

    fn matches(&self, kind: &Kind, review: &Review<'_>) -> bool {
        let is_named = self.names.is_empty() || self.names.iter().any(|name| name == review.name());
        is_named && self.is_about(kind, review)
    }
}
