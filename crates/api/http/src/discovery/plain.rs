//! The old discovery documents, one for each group and version. Knows their form, not their order.

use std::sync::Arc;

use kedge_kinds::{Kind, Subresource};
use serde::Serialize;

use super::{Group, Version};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiVersions<'a> {
    kind: &'static str,
    versions: &'a [&'a str],
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_address_by_client_cidrs: [ServerAddress<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress<'a> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'a str,
}

pub(super) fn core_versions<'a>(versions: &'a [&'a str], address: &'a str) -> ApiVersions<'a> {
    ApiVersions {
        kind: "APIVersions",
        versions,
        server_address_by_client_cidrs: [ServerAddress { client_cidr: "0.0.0.0/0", server_address: address }],
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiGroupList<'a> {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiGroup<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: &'a str,
    versions: Vec<GroupVersion<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_version: Option<GroupVersion<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion<'a> {
    group_version: &'a str,
    version: &'a str,
}

pub(super) fn group_list<'a>(groups: &[&'a Group<'_>]) -> ApiGroupList<'a> {
    ApiGroupList {
        kind: "APIGroupList",
        api_version: "v1",
        groups: groups.iter().map(|one| group(one, false)).collect(),
    }
}

/// `alone`: the document is this group and not a list of them.
pub(super) fn group<'a>(group: &'a Group<'_>, alone: bool) -> ApiGroup<'a> {
    let named =
        |version: &'a Version<'_>| GroupVersion { group_version: &version.title, version: &version.name };
    ApiGroup {
        kind: alone.then_some("APIGroup"),
        api_version: alone.then_some("v1"),
        name: &group.name,
        versions: group.versions.iter().map(named).collect(),
        preferred_version: group.versions.first().map(named),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiResourceList<'a> {
    kind: &'static str,
    /// The core group's list has always been without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    group_version: &'a str,
    resources: Vec<ApiResource<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource<'a> {
    name: String,
    singular_name: &'a str,
    namespaced: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    kind: &'a str,
    verbs: &'a [Arc<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [Arc<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [Arc<str>],
}

pub(super) fn resources<'a>(version: &'a Version<'_>) -> ApiResourceList<'a> {
    let mut resources: Vec<ApiResource<'a>> = version
        .kinds
        .iter()
        .flat_map(|kind| {
            std::iter::once(resource(kind)).chain(kind.subresources.iter().map(|sub| under(kind, sub)))
        })
        .collect();
    // The parts of custom kinds stay in the order in which they are defined.
    if version.kinds.iter().all(|kind| kind.rules.is_none()) {
        resources.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let api_version = version.title.contains('/').then_some("v1");
    ApiResourceList { kind: "APIResourceList", api_version, group_version: &version.title, resources }
}

fn resource(kind: &Kind) -> ApiResource<'_> {
    ApiResource {
        name: kind.plural.to_string(),
        singular_name: &kind.singular,
        namespaced: kind.namespaced,
        group: "",
        version: "",
        kind: &kind.kind,
        verbs: &kind.verbs,
        short_names: &kind.short_names,
        categories: &kind.categories,
    }
}

fn under<'a>(kind: &'a Kind, sub: &'a Subresource) -> ApiResource<'a> {
    let (group, version, spoken) = spoken(kind, sub);
    ApiResource {
        name: format!("{}/{}", kind.plural, sub.name),
        singular_name: "",
        namespaced: kind.namespaced,
        group,
        version,
        kind: spoken,
        verbs: &sub.verbs,
        short_names: &[],
        categories: &[],
    }
}

/// Group, version and kind of what a subresource speaks; the first two are left out where they are its parent's.
pub(super) fn spoken<'a>(kind: &'a Kind, sub: &'a Subresource) -> (&'a str, &'a str, &'a str) {
    match &sub.speaks {
        Some((gv, spoken)) if *gv == kind.gv => ("", "", spoken),
        Some((gv, spoken)) => (&gv.group, &gv.version, spoken),
        None => ("", "", &kind.kind),
    }
}
