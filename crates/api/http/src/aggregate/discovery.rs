//! What extension servers offer, put among what we offer ourselves. The aggregated document is theirs where they have one
//! and made from their old one where not.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::available::get;
use super::{Aggregation, Offer, Remote, local};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// Asks an extension server what it offers. Of one that doesn't answer, what it last said, marked as stale.
pub(super) async fn fetch(
    aggregation: &Aggregation,
    remote: &Remote,
    available: bool,
    now: Timestamp,
) -> Offer {
    let fresh = if available { offered(aggregation, remote, now).await } else { None };
    let schema = match fresh {
        Some(_) => schema(aggregation, remote, now).await,
        None => None,
    };
    match fresh {
        Some(mut version) => {
            version["freshness"] = "Current".into();
            Offer { version, schema }
        }
        None => {
            let known = aggregation.offers.read().get(&remote.name).cloned();
            let empty = Offer { version: json!({"version": remote.version, "resources": []}), schema: None };
            let mut offer = known.unwrap_or(empty);
            offer.version["freshness"] = "Stale".into();
            offer
        }
    }
}

async fn offered(aggregation: &Aggregation, remote: &Remote, now: Timestamp) -> Option<Value> {
    let response = get(aggregation, remote, "/apis", AGGREGATED, now).await.ok()?;
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or("");
    if response.status().is_success() && kind.contains("as=APIGroupDiscoveryList") {
        let document: Value = serde_json::from_slice(response.body()).ok()?;
        let groups = document["items"].as_array()?;
        let group = groups.iter().find(|group| group["metadata"]["name"] == *remote.group)?;
        let version = group["versions"].as_array()?.iter().find(|one| one["version"] == *remote.version);
        return version.cloned();
    }
    let path = format!("/apis/{}/{}", remote.group, remote.version);
    let response = get(aggregation, remote, &path, "application/json", now).await.ok()?;
    let list: Value = serde_json::from_slice(response.body()).ok()?;
    Some(converted(&remote.version, list["resources"].as_array()?))
}

/// An old list of resources in the new form: subresources stand under their parents.
fn converted(version: &str, resources: &[Value]) -> Value {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let kind = |one: &Value| json!({"group": text(one, "group"), "version": text(one, "version"), "kind": text(one, "kind")});
    let mut made: Vec<Value> = Vec::new();
    let (parents, parts): (Vec<&Value>, Vec<&Value>) =
        resources.iter().partition(|one| !text(one, "name").contains('/'));
    for one in parents {
        let mut resource = json!({
            "resource": text(one, "name"), "responseKind": kind(one), "verbs": one["verbs"],
            "scope": if one["namespaced"].as_bool() == Some(true) { "Namespaced" } else { "Cluster" },
            "singularResource": text(one, "singularName"),
        });
        for field in ["shortNames", "categories"] {
            if one[field].is_array() {
                resource[field] = one[field].clone();
            }
        }
        made.push(resource);
    }
    for one in parts {
        let name = text(one, "name");
        let Some((parent, part)) = name.split_once('/') else { continue };
        let shown = json!({"subresource": part, "responseKind": kind(one), "verbs": one["verbs"]});
        match made.iter_mut().find(|resource| resource["resource"] == *parent) {
            Some(resource) if resource["subresources"].is_array() => {
                if let Some(parts) = resource["subresources"].as_array_mut() {
                    parts.push(shown);
                }
            }
            Some(resource) => resource["subresources"] = json!([shown]),
            None => made.push(json!({"resource": parent, "scope": "Namespaced", "subresources": [shown]})),
        }
    }
    json!({"version": version, "resources": made})
}

/// Where the extension server keeps this version's schema.
async fn schema(aggregation: &Aggregation, remote: &Remote, now: Timestamp) -> Option<String> {
    let response = get(aggregation, remote, "/openapi/v3", "application/json", now).await.ok()?;
    let document: Value = serde_json::from_slice(response.body()).ok()?;
    let place = format!("apis/{}/{}", remote.group, remote.version);
    document["paths"][place]["serverRelativeURL"].as_str().map(str::to_owned)
}

impl Aggregation {
    /// The groups that extension servers answer for, each with its versions, the preferred first.
    fn groups(&self) -> Vec<(String, Vec<Arc<Remote>>)> {
        let mut groups: Vec<(String, Vec<Arc<Remote>>)> = Vec::new();
        for remote in self.remotes() {
            match groups.iter_mut().find(|(name, _)| *name == remote.group) {
                Some((_, versions)) => versions.push(remote),
                None => groups.push((remote.group.clone(), vec![remote])),
            }
        }
        for (_, versions) in &mut groups {
            versions.sort_by(|a, b| {
                b.version_priority.cmp(&a.version_priority).then_with(|| b.version.cmp(&a.version))
            });
        }
        groups
    }

    /// The schemas of extension servers, as `/openapi/v3` lists them.
    pub(crate) fn schemas(&self) -> Vec<(String, String)> {
        let offers = self.offers.read();
        let remotes = self.remotes();
        let all = remotes.iter().filter_map(|remote| {
            let place = offers.get(&remote.name)?.schema.clone()?;
            Some((format!("apis/{}/{}", remote.group, remote.version), place))
        });
        all.collect()
    }
}

/// The three documents that list groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing<'g> {
    /// `/apis`, old form
    Plain,
    /// `/apis`, new form
    Aggregated,
    /// `/apis/{group}`
    Group(&'g str),
}

/// A document of ours with what extension servers add to it; `None` if they add nothing.
pub(crate) fn merged(aggregation: &Aggregation, listing: Listing<'_>, ours: Option<&[u8]>) -> Option<Value> {
    let groups = aggregation.groups();
    if groups.is_empty() {
        return None;
    }
    let offers = aggregation.offers.read();
    let mut document: Option<Value> = ours.and_then(|ours| serde_json::from_slice(ours).ok());
    if let Listing::Group(wanted) = listing {
        let (name, versions) = groups.iter().find(|(name, _)| name == wanted)?;
        let mut group = document.unwrap_or_else(|| json!({"kind": "APIGroup", "apiVersion": "v1"}));
        plain(&mut group, name, versions);
        return Some(group);
    }
    let document_mut = document.as_mut()?;
    let field = if listing == Listing::Plain { "groups" } else { "items" };
    let list = document_mut[field].as_array_mut()?;
    let name_of = |group: &Value| {
        let name = if listing == Listing::Plain { &group["name"] } else { &group["metadata"]["name"] };
        name.as_str().unwrap_or_default().to_owned()
    };
    for (name, versions) in &groups {
        let found = list.iter().position(|group| name_of(group) == *name);
        let place = found.unwrap_or_else(|| {
            let priority = versions.iter().map(|remote| remote.group_priority).max().unwrap_or(0);
            let behind = |group: &Value| {
                let other = name_of(group);
                let theirs = local::group_priority(&other);
                theirs < priority || (theirs == priority && other > *name)
            };
            let place = list.iter().position(behind).unwrap_or(list.len());
            list.insert(
                place,
                if listing == Listing::Plain { json!({}) } else { json!({"metadata": {"name": name}}) },
            );
            place
        });
        let Some(group) = list.get_mut(place) else { continue };
        if listing == Listing::Plain {
            plain(group, name, versions);
        } else {
            let mut shown: Vec<Value> = group["versions"].as_array().cloned().unwrap_or_default();
            for remote in versions {
                let empty = || json!({"version": remote.version, "resources": [], "freshness": "Stale"});
                let offer = offers.get(&remote.name).map_or_else(empty, |offer| offer.version.clone());
                shown.retain(|one| one["version"] != *remote.version);
                shown.push(offer);
            }
            group["versions"] = shown.into();
        }
    }
    document
}

fn plain(group: &mut Value, name: &str, versions: &[Arc<Remote>]) {
    let title = |remote: &Remote| json!({"groupVersion": format!("{name}/{}", remote.version), "version": remote.version});
    let mut shown: Vec<Value> = group["versions"].as_array().cloned().unwrap_or_default();
    for remote in versions {
        shown.retain(|one| one["version"] != *remote.version);
        shown.push(title(remote));
    }
    group["name"] = name.into();
    if group["preferredVersion"].is_null() {
        group["preferredVersion"] = shown.first().cloned().unwrap_or_default();
    }
    group["versions"] = shown.into();
}
