//! Whom a pod wants to be near to, far from, or spread among: pods named by labels and namespaces. Compared by value, so that
//! the pods of one workload share what is counted for them. Knows no node.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::api::core::v1::{PodAffinityTerm, TopologySpreadConstraint};

use crate::pod::PodView;
use crate::select::{Labels, Requirement, Selector};

/// The labels of every namespace.
#[derive(Clone, Debug, Default)]
pub struct Namespaces(pub HashMap<String, Labels>);

/// Pods of some namespaces that have some labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    pub namespaces: BTreeSet<String>,
    /// Besides those named, namespaces with these labels.
    pub namespace_selector: Selector,
    pub selector: Selector,
}

/// Pods that are all of these at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    pub who: Vec<Who>,
    /// Whether pods that are being deleted still count.
    pub with_leaving: bool,
}

/// One term of a pod's affinity or anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    pub who: Who,
    pub topology_key: String,
}

/// One of a pod's topology spread constraints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    pub max_skew: i32,
    pub topology_key: String,
    /// `DoNotSchedule`; otherwise it only counts for the score.
    pub required: bool,
    /// In the pod's own namespace, with the values of `matchLabelKeys`.
    pub selector: Selector,
    pub min_domains: i32,
    pub honor_node_affinity: bool,
    pub honor_node_taints: bool,
}

impl Namespaces {
    pub fn are(&self, namespace: &str, selector: &Selector) -> bool {
        match selector {
            Selector::Nothing => false,
            selector => match self.0.get(namespace) {
                Some(labels) => selector.matches(labels),
                // Not seen yet: it has no labels that we know of.
                None => selector.matches(&Labels::new()),
            },
        }
    }
}

impl Who {
    /// Pods with these labels in one namespace.
    pub fn within(namespace: &str, selector: Selector) -> Self {
        Self { namespaces: [namespace.to_owned()].into(), namespace_selector: Selector::Nothing, selector }
    }

    pub fn matches(&self, pod: &PodView, namespaces: &Namespaces) -> bool {
        self.takes(&pod.key.namespace, &pod.labels, namespaces)
    }

    /// Whether pods with these labels are meant, in this namespace.
    pub fn takes(&self, namespace: &str, labels: &Labels, namespaces: &Namespaces) -> bool {
        (self.namespaces.contains(namespace) || namespaces.are(namespace, &self.namespace_selector))
            && self.selector.matches(labels)
    }
}

impl Group {
    pub fn of(who: Who) -> Self {
        Self { who: vec![who], with_leaving: true }
    }

    pub fn contains(&self, pod: &PodView, namespaces: &Namespaces) -> bool {
        self.takes(&pod.key.namespace, pod.leaving, &pod.labels, namespaces)
    }

    pub fn takes(&self, namespace: &str, leaving: bool, labels: &Labels, namespaces: &Namespaces) -> bool {
        (self.with_leaving || !leaving) && self.who.iter().all(|who| who.takes(namespace, labels, namespaces))
    }

    /// Whether it depends on what labels namespaces have.
    pub fn asks_namespaces(&self) -> bool {
        self.who.iter().any(|who| who.namespace_selector != Selector::Nothing)
    }
}

impl Term {
    pub fn of(term: &PodAffinityTerm, namespace: &str, labels: &Labels) -> Self {
        let mut selector = Selector::of(term.label_selector.as_ref());
        same_labels(&mut selector, term.match_label_keys.as_deref(), labels, Requirement::is);
        same_labels(&mut selector, term.mismatch_label_keys.as_deref(), labels, Requirement::is_not);
        let named = term.namespaces.as_deref().unwrap_or_default();
        let namespaces = match (named, &term.namespace_selector) {
            ([], None) => [namespace.to_owned()].into(),
            (named, _) => named.iter().cloned().collect(),
        };
        let namespace_selector = Selector::of(term.namespace_selector.as_ref());
        Self {
            who: Who { namespaces, namespace_selector, selector },
            topology_key: term.topology_key.clone(),
        }
    }
}

impl Spread {
    pub fn of(constraint: &TopologySpreadConstraint, labels: &Labels) -> Self {
        let mut selector = Selector::of(constraint.label_selector.as_ref());
        same_labels(&mut selector, constraint.match_label_keys.as_deref(), labels, Requirement::is);
        Self {
            max_skew: constraint.max_skew,
            topology_key: constraint.topology_key.clone(),
            required: constraint.when_unsatisfiable == "DoNotSchedule",
            selector,
            min_domains: constraint.min_domains.unwrap_or(1),
            honor_node_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
            honor_node_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
        }
    }
}

/// Requires of others what the pod itself has (or has not) under these keys.
fn same_labels(
    selector: &mut Selector,
    keys: Option<&[String]>,
    labels: &Labels,
    how: impl Fn(&str, &str) -> Requirement,
) {
    for key in keys.unwrap_or_default() {
        if let Some(value) = labels.get(key) {
            selector.and(how(key, value));
        }
    }
}
