//! What the server offers, in the forms that clients ask for it: `/api`, `/apis` and the aggregated list.
//! Computed once for each set of kinds and then only handed out. Knows no sockets and no permissions.

mod aggregated;
mod plain;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kedge_kinds::Kind;
use kedge_registry::catalog::compare_versions;
use serde::Serialize;

use crate::etag::fingerprint;

/// The order in which Kubernetes lists its own groups; a client that finds a name in two groups takes the first.
const GROUP_ORDER: [&str; 21] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// A finished answer and the name of its content.
#[derive(Clone, Debug)]
pub struct Answer {
    pub body: Bytes,
    /// Without quotes.
    pub etag: String,
}

/// The two versions of the aggregated form; they differ only in name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregatedVersion {
    V2,
    V2Beta1,
}

/// All discovery documents for one set of kinds.
#[derive(Debug)]
pub struct Discovery {
    groups: Bytes,
    group: BTreeMap<Arc<str>, Bytes>,
    resources: BTreeMap<(Arc<str>, Arc<str>), Bytes>,
    core: [Answer; 2],
    rest: [Answer; 2],
}

impl Discovery {
    pub fn new<'k>(kinds: impl IntoIterator<Item = &'k Arc<Kind>>) -> Self {
        let groups = Group::sorted(kinds);
        let (core, rest): (Vec<&Group<'_>>, Vec<&Group<'_>>) =
            groups.iter().partition(|group| group.name.is_empty());
        let aggregated = |groups: &[&Group<'_>]| {
            [AggregatedVersion::V2, AggregatedVersion::V2Beta1]
                .map(|version| answer(&aggregated::list(groups, version)))
        };
        Self {
            groups: json(&plain::group_list(&rest)),
            group: rest.iter().map(|group| (group.name.clone(), json(&plain::group(group, true)))).collect(),
            resources: groups
                .iter()
                .flat_map(|group| group.versions.iter().map(move |version| (group, version)))
                .map(|(group, version)| {
                    ((group.name.clone(), version.name.clone()), json(&plain::resources(version)))
                })
                .collect(),
            core: aggregated(&core),
            rest: aggregated(&rest),
        }
    }

    /// `/api` in its old form. `address` is where the client reached us.
    pub fn core_versions(&self, address: &str) -> Bytes {
        let versions: Vec<&str> = self
            .resources
            .keys()
            .filter(|(group, _)| group.is_empty())
            .map(|(_, version)| version.as_ref())
            .collect();
        json(&plain::core_versions(&versions, address))
    }

    /// `/apis` in its old form.
    pub fn groups(&self) -> Bytes {
        self.groups.clone()
    }

    /// `/apis/{group}`.
    pub fn group(&self, group: &str) -> Option<Bytes> {
        self.group.get(group).cloned()
    }

    /// `/api/v1` (the group is empty then) and `/apis/{group}/{version}`.
    pub fn resources(&self, group: &str, version: &str) -> Option<Bytes> {
        self.resources.get(&(group.into(), version.into())).cloned()
    }

    /// `/api` in the aggregated form.
    pub fn aggregated_core(&self, version: AggregatedVersion) -> &Answer {
        pick(&self.core, version)
    }

    /// `/apis` in the aggregated form.
    pub fn aggregated_groups(&self, version: AggregatedVersion) -> &Answer {
        pick(&self.rest, version)
    }
}

fn pick(answers: &[Answer; 2], version: AggregatedVersion) -> &Answer {
    let [v2, v2beta1] = answers;
    match version {
        AggregatedVersion::V2 => v2,
        AggregatedVersion::V2Beta1 => v2beta1,
    }
}

/// A group with its versions, the preferred one first.
struct Group<'k> {
    name: Arc<str>,
    versions: Vec<Version<'k>>,
}

struct Version<'k> {
    name: Arc<str>,
    /// `apps/v1`
    title: String,
    /// Sorted by plural.
    kinds: Vec<&'k Kind>,
}

impl<'k> Group<'k> {
    fn sorted(kinds: impl IntoIterator<Item = &'k Arc<Kind>>) -> Vec<Self> {
        let mut by_group: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Vec<&'k Kind>>> = BTreeMap::new();
        for kind in kinds {
            let versions = by_group.entry(kind.gv.group.clone()).or_default();
            versions.entry(kind.gv.version.clone()).or_default().push(kind);
        }
        let mut groups: Vec<Self> = by_group
            .into_iter()
            .map(|(name, versions)| {
                let mut versions: Vec<Version<'k>> =
                    versions.into_iter().map(|(version, kinds)| Version::new(version, kinds)).collect();
                versions.sort_by(|a, b| compare_versions(&a.name, &b.name));
                Group { name, versions }
            })
            .collect();
        // The sort is stable: groups that Kubernetes doesn't have stay in the order of their names, behind its own.
        groups.sort_by_key(|group| {
            GROUP_ORDER.iter().position(|name| *name == &*group.name).unwrap_or(GROUP_ORDER.len())
        });
        groups
    }
}

impl<'k> Version<'k> {
    fn new(name: Arc<str>, mut kinds: Vec<&'k Kind>) -> Self {
        kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
        let title = kinds.first().map_or_else(|| name.to_string(), |kind| kind.gv.to_string());
        Self { name, title, kinds }
    }
}

fn json(document: &impl Serialize) -> Bytes {
    // These documents are made of strings and lists only, which cannot fail to serialise.
    serde_json::to_vec(document).unwrap_or_default().into()
}

fn answer(document: &impl Serialize) -> Answer {
    let body = json(document);
    let etag = fingerprint(&body);
    Answer { body, etag }
}

#[cfg(test)]
mod tests;
