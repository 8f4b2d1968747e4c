//! The aggregated discovery document: every group, version and resource in one answer. Knows its form only.

use std::sync::Arc;

use kedge_kinds::Kind;
use serde::Serialize;

use super::plain::spoken;
use super::{AggregatedVersion, Group};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupDiscoveryList<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata<'static>,
    items: Vec<GroupDiscovery<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

#[derive(Serialize)]
struct GroupDiscovery<'a> {
    metadata: Metadata<'a>,
    versions: Vec<VersionDiscovery<'a>>,
}

#[derive(Serialize)]
struct VersionDiscovery<'a> {
    version: &'a str,
    resources: Vec<ResourceDiscovery<'a>>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery<'a> {
    resource: &'a str,
    response_kind: ResponseKind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: &'a [Arc<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [Arc<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [Arc<str>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceDiscovery<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceDiscovery<'a> {
    subresource: &'a str,
    response_kind: ResponseKind<'a>,
    verbs: &'a [Arc<str>],
}

/// Clients take an empty group and version for those of the document's place.
#[derive(Serialize)]
struct ResponseKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

pub(super) fn list<'a>(groups: &[&'a Group<'_>], version: AggregatedVersion) -> GroupDiscoveryList<'a> {
    GroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version: match version {
            AggregatedVersion::V2 => "apidiscovery.k8s.io/v2",
            AggregatedVersion::V2Beta1 => "apidiscovery.k8s.io/v2beta1",
        },
        metadata: Metadata { name: "" },
        items: groups.iter().map(|one| group(one)).collect(),
    }
}

fn group<'a>(group: &'a Group<'_>) -> GroupDiscovery<'a> {
    let versions = group.versions.iter().map(|version| VersionDiscovery {
        version: &version.name,
        resources: version.kinds.iter().map(|kind| resource(kind)).collect(),
        freshness: "Current",
    });
    GroupDiscovery { metadata: Metadata { name: &group.name }, versions: versions.collect() }
}

fn resource(kind: &Kind) -> ResourceDiscovery<'_> {
    let mut subresources: Vec<SubresourceDiscovery<'_>> = kind
        .subresources
        .iter()
        .map(|sub| {
            let (group, version, spoken) = spoken(kind, sub);
            SubresourceDiscovery {
                subresource: &sub.name,
                response_kind: ResponseKind { group, version, kind: spoken },
                verbs: &sub.verbs,
            }
        })
        .collect();
    subresources.sort_by_key(|sub| sub.subresource);
    ResourceDiscovery {
        resource: &kind.plural,
        response_kind: ResponseKind { group: "", version: "", kind: &kind.kind },
        scope: if kind.namespaced { "Namespaced" } else { "Cluster" },
        singular_resource: &kind.singular,
        verbs: &kind.verbs,
        short_names: &kind.short_names,
        categories: &kind.categories,
        subresources,
    }
}
