//! Which kinds there are in namespaces, and which servers of kinds can't be asked. Knows no object.

use http::Request;
use http::header::ACCEPT;
use kedge_client::Client;
use kedge_engine::Resource;
use serde::Deserialize;

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;q=0.9";

/// A kind whose objects lie in namespaces and can be deleted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Served {
    pub(super) resource: Resource,
    /// All of a namespace's objects can be deleted in one request.
    pub(super) by_collection: bool,
    pub(super) watched: bool,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) kinds: Vec<Served>,
    /// `example.test/v1`: served by somebody who doesn't answer.
    pub(super) stale: Vec<String>,
}

#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Name,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
struct Name {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    freshness: String,
    #[serde(default)]
    resources: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    resource: String,
    scope: String,
    response_kind: ResponseKind,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    kind: String,
}

pub(super) async fn find(client: &Client) -> Result<Found, kube::Error> {
    let mut found = Found::default();
    for path in ["/api", "/apis"] {
        let request = Request::get(path).header(ACCEPT, AGGREGATED).body(Vec::new());
        let groups: Groups = client.request(request.map_err(kube::Error::HttpError)?).await?;
        add(&mut found, groups);
    }
    Ok(found)
}

fn add(found: &mut Found, groups: Groups) {
    for Group { metadata: Name { name: group }, versions } in groups.items {
        for Version { version, freshness, resources } in versions {
            if freshness == "Stale" {
                found.stale.push(format!("{group}/{version}"));
            }
            for listed in resources {
                let can = |verb: &str| listed.verbs.iter().any(|known| known == verb);
                // The preferred version comes first, and every version shows the same objects.
                let known = found
                    .kinds
                    .iter()
                    .any(|kind| kind.resource.group == group && kind.resource.plural == listed.resource);
                if known || listed.scope != "Namespaced" || !can("delete") || !can("list") {
                    continue;
                }
                let (by_collection, watched) = (can("deletecollection"), can("watch"));
                let resource = Resource {
                    group: group.clone(),
                    version: version.clone(),
                    kind: listed.response_kind.kind,
                    plural: listed.resource,
                };
                found.kinds.push(Served { resource, by_collection, watched });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_is_found_once_and_silence_is_noted() {
        let listed = |name: &str, scope: &str, verbs: &[&str]| json!({"resource": name, "scope": scope, "responseKind": {"kind": name}, "verbs": verbs});
        let all = ["delete", "deletecollection", "list", "watch"];
        let groups = json!({"items": [
            {"metadata": {}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
                listed("pods", "Namespaced", &all),
                listed("nodes", "Cluster", &all),
                listed("bindings", "Namespaced", &["create"]),
                listed("plain", "Namespaced", &["delete", "list"]),
            ]}]},
            {"metadata": {"name": "autoscaling"}, "versions": [
                {"version": "v2", "freshness": "Current", "resources": [listed("hpas", "Namespaced", &all)]},
                {"version": "v1", "freshness": "Current", "resources": [listed("hpas", "Namespaced", &all)]},
            ]},
            {"metadata": {"name": "example.test"}, "versions": [{"version": "v1", "freshness": "Stale"}]},
        ]});
        let mut found = Found::default();
        add(&mut found, serde_json::from_value(groups).unwrap());
        let names: Vec<_> = found
            .kinds
            .iter()
            .map(|kind| {
                let Served { resource, by_collection, watched } = kind;
                (&*resource.plural, &*resource.version, *by_collection, *watched)
            })
            .collect();
        let expected =
            [("pods", "v1", true, true), ("plain", "v1", false, false), ("hpas", "v2", true, true)];
        assert_eq!(names, expected);
        assert_eq!(found.stale, ["example.test/v1"]);
    }
}
