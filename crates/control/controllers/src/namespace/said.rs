//! What a namespace that can't go yet says about it. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, NamespaceCondition};
use kedge_children::conditions as all;
use kedge_engine::Action;

use super::contents::Rest;

/// What emptying it came to.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Groups and versions whose kinds nobody tells.
    pub(super) undiscovered: Vec<String>,
    /// What could not be deleted, and why.
    pub(super) failures: Vec<String>,
    /// `configmaps.`: as Kubernetes writes a resource of the group without a name.
    pub(super) remaining: BTreeMap<String, usize>,
    pub(super) kept_by: BTreeMap<String, usize>,
}

impl Findings {
    pub(super) fn note(&mut self, rest: &Rest) {
        if rest.is_empty() {
            return;
        }
        let resource = &rest.kind.resource;
        self.remaining.insert(format!("{}.{}", resource.plural, resource.group), rest.count);
        for (finalizer, count) in &rest.kept_by {
            *self.kept_by.entry(finalizer.clone()).or_default() += count;
        }
        if rest.untouched > 0 {
            let what = format!("{}/{}, Resource={}", resource.group, resource.version, resource.plural);
            self.failures.push(format!("unexpected items still remain in namespace for gvr: {what}"));
        }
    }

    pub(super) fn is_clear(&self) -> bool {
        self.remaining.is_empty() && self.failure().is_none()
    }

    /// The first thing that has to be tried again.
    pub(super) fn failure(&self) -> Option<String> {
        let undiscovered = (!self.undiscovered.is_empty()).then(|| self.unknown());
        self.failures.first().cloned().or(undiscovered)
    }

    fn unknown(&self) -> String {
        let each =
            self.undiscovered.iter().map(|name| format!("{name}: stale GroupVersion discovery: {name}"));
        let each = each.collect::<Vec<_>>().join(", ");
        format!("unable to retrieve the complete list of server APIs: {each}")
    }
}

/// The conditions that say so; nothing if they are what they were.
pub(super) fn conditions(namespace: &Namespace, findings: &Findings, now: Timestamp) -> Option<Action> {
    let counted = |counts: &BTreeMap<String, usize>, verb: &str| {
        let each = counts.iter().map(|(name, count)| format!("{name} {verb} {count} resource instances"));
        each.collect::<Vec<_>>().join(", ")
    };
    let count = findings.undiscovered.len();
    let mut failures = findings.failures.clone();
    failures.sort();
    let conditions = [
        condition(
            "NamespaceDeletionDiscoveryFailure",
            (count > 0).then(|| {
                format!("Discovery failed for some groups, {count} failing: {}", findings.unknown())
            }),
            ("DiscoveryFailed", "ResourcesDiscovered"),
            "All resources successfully discovered",
        ),
        // A group and version come apart in the document itself, so there is nothing to parse wrongly.
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            ("GroupVersionParsingFailed", "ParsedGroupVersions"),
            "All legacy kube types successfully parsed",
        ),
        condition(
            "NamespaceDeletionContentFailure",
            (!failures.is_empty()).then(|| {
                let (count, all) = (failures.len(), failures.join(", "));
                format!("Failed to delete all resource types, {count} remaining: {all}")
            }),
            ("ContentDeletionFailed", "ContentDeleted"),
            "All content successfully deleted, may be waiting on finalization",
        ),
        condition(
            "NamespaceContentRemaining",
            (!findings.remaining.is_empty())
                .then(|| format!("Some resources are remaining: {}", counted(&findings.remaining, "has"))),
            ("SomeResourcesRemain", "ContentRemoved"),
            "All content successfully removed",
        ),
        condition(
            "NamespaceFinalizersRemaining",
            (!findings.kept_by.is_empty()).then(|| {
                let kept = counted(&findings.kept_by, "in");
                format!("Some content in the namespace has finalizers remaining: {kept}")
            }),
            ("SomeFinalizersRemain", "ContentHasNoFinalizers"),
            "All content-preserving finalizers finished",
        ),
    ];
    let mut changed = namespace.clone();
    let status = changed.status.get_or_insert_default();
    for mut condition in conditions {
        condition.last_transition_time = all::at(now);
        all::set(&mut status.conditions, condition);
    }
    status.phase = Some("Terminating".to_owned());
    Action::status(namespace, &changed)
}

fn condition(
    type_: &str,
    trouble: Option<String>,
    (bad, good): (&str, &str),
    well: &str,
) -> NamespaceCondition {
    let is_bad = trouble.is_some();
    NamespaceCondition {
        type_: type_.to_owned(),
        status: if is_bad { "True" } else { "False" }.to_owned(),
        reason: Some(if is_bad { bad } else { good }.to_owned()),
        message: Some(trouble.unwrap_or_else(|| well.to_owned())),
        last_transition_time: None,
    }
}
