//! Which kinds the server has, and which one a word means: plural, singular, short name or kind, with or without group and version, in
//! any case. Pure but for the one question to discovery.

use serde_json::Value;

use crate::args::nearest;
use crate::client::Api;
use crate::error::CliError;

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A kind under one group and version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    /// `status`, `scale`, `log`…
    pub(crate) subresources: Vec<String>,
    /// The version that the server prefers.
    pub(crate) preferred: bool,
}

impl Resource {
    /// `v1`, `apps/v1`
    pub(crate) fn api_version(&self) -> String {
        match self.group.is_empty() {
            true => self.version.clone(),
            false => format!("{}/{}", self.group, self.version),
        }
    }

    /// How one is called in what is printed: `pod`, `deployment.apps`.
    pub(crate) fn told(&self) -> String {
        qualified(&self.singular_name(), &self.group)
    }

    /// `pods`, `deployments.apps`
    pub(crate) fn qualified(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// `Pod`, `Deployment.apps`
    pub(crate) fn qualified_kind(&self) -> String {
        qualified(&self.kind, &self.group)
    }

    fn singular_name(&self) -> String {
        match self.singular.is_empty() {
            true => self.kind.to_lowercase(),
            false => self.singular.clone(),
        }
    }

    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    pub(crate) fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|known| known == subresource)
    }

    /// `/apis/apps/v1`
    fn root(&self) -> String {
        match self.group.is_empty() {
            true => format!("/api/{}", self.version),
            false => format!("/apis/{}/{}", self.group, self.version),
        }
    }

    /// All of them, or those of a namespace. For kinds without namespaces it doesn't matter which is given.
    pub(crate) fn collection(&self, namespace: Option<&str>) -> String {
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{}/namespaces/{}/{}", self.root(), escaped(namespace), self.plural),
            None => format!("{}/{}", self.root(), self.plural),
        }
    }

    /// One of them.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(Some(namespace)), escaped(name))
    }

    fn is_called(&self, word: &str) -> bool {
        self.plural == word
            || self.singular == word
            || self.kind.to_lowercase() == word
            || self.short_names.iter().any(|short| short == word)
    }
}

fn qualified(name: &str, group: &str) -> String {
    match group.is_empty() {
        true => name.to_owned(),
        false => format!("{name}.{group}"),
    }
}

fn escaped(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2D", "-")
        .replace("%2E", ".")
        .replace("%5F", "_")
}

/// Every kind of the server, in the order in which words are looked up: the core group first, preferred versions first.
#[derive(Default)]
pub(crate) struct Mapping {
    pub(crate) resources: Vec<Resource>,
    /// Groups whose servers do not answer.
    pub(crate) silent: Vec<String>,
}

impl Mapping {
    pub(crate) async fn ask(api: &Api) -> Result<Self, CliError> {
        let (core, groups) = futures::join!(api.get_as("/api", AGGREGATED), api.get_as("/apis", AGGREGATED));
        let mut mapping = Self::default();
        mapping.take(&core?);
        mapping.take(&groups?);
        Ok(mapping)
    }

    /// Without a server: manifests say what they are, and what that is called can be guessed.
    pub(crate) fn supposed(manifests: &[Value]) -> Self {
        let mut mapping = Self::default();
        for manifest in manifests {
            let (api_version, kind) = (text(&manifest["apiVersion"]), text(&manifest["kind"]));
            if mapping.of_kind(&api_version, &kind).is_none() {
                let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
                let singular = kind.to_lowercase();
                mapping.resources.push(Resource {
                    group: group.to_owned(),
                    version: version.to_owned(),
                    plural: format!("{singular}s"),
                    singular,
                    kind,
                    namespaced: true,
                    ..Resource::default()
                });
            }
        }
        mapping
    }

    /// Adds the groups of a discovery document.
    pub(crate) fn take(&mut self, document: &Value) {
        for group in array(&document["items"]) {
            let name = text(&group["metadata"]["name"]);
            for (place, version) in array(&group["versions"]).enumerate() {
                if version["freshness"] == "Stale" {
                    self.silent.push(format!("{name}/{}", text(&version["version"])));
                }
                let known = array(&version["resources"]);
                self.resources.extend(known.map(|one| resource(&name, version, one, place == 0)));
            }
        }
    }

    /// The kind that a word means.
    pub(crate) fn find(&self, typed: &str) -> Result<&Resource, CliError> {
        self.matching(typed).ok_or_else(|| {
            let word = typed.to_lowercase();
            let names = self.resources.iter().flat_map(|known| [&*known.plural, &*known.singular]);
            CliError::NoKind { typed: typed.to_owned(), near: nearest(&word, names).map(str::to_owned) }
        })
    }

    pub(crate) fn matching(&self, typed: &str) -> Option<&Resource> {
        let word = typed.to_lowercase();
        let usable = |known: &&Resource| !known.verbs.is_empty();
        if let Some(found) = self.resources.iter().filter(usable).find(|known| known.is_called(&word)) {
            return Some(found);
        }
        let (name, rest) = word.split_once('.')?;
        let in_group = |known: &&Resource| known.is_called(name) && known.group == rest;
        let in_version = |known: &&Resource| match rest.split_once('.') {
            Some((version, group)) => {
                known.is_called(name) && known.version == version && known.group == group
            }
            None => known.is_called(name) && known.group.is_empty() && known.version == rest,
        };
        // `deployments.app` is taken for `deployments.apps`, as kubectl does.
        let in_some_group = |known: &&Resource| known.is_called(name) && known.group.starts_with(rest);
        let mut all = self.resources.iter().filter(usable);
        all.find(in_version)
            .or_else(|| self.resources.iter().find(in_group))
            .or_else(|| self.resources.iter().find(in_some_group))
    }

    /// The kinds that a word means: those of a category such as `all`, or one.
    pub(crate) fn all(&self, typed: &str) -> Result<Vec<&Resource>, CliError> {
        let word = typed.to_lowercase();
        let of_category =
            self.resources.iter().filter(|known| known.preferred && known.categories.contains(&word));
        let of_category: Vec<&Resource> = of_category.filter(|known| known.can("list")).collect();
        match of_category.is_empty() {
            true => self.find(typed).map(|found| vec![found]),
            false => Ok(of_category),
        }
    }

    /// What an object says it is.
    pub(crate) fn of_object(&self, object: &Value) -> Result<&Resource, CliError> {
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let named = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        let what = || format!("name: {:?} namespace: {:?}", named("name"), named("namespace"));
        self.of_kind(&version, &kind).ok_or_else(|| CliError::NoMatch { what: what(), kind, version })
    }

    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.resources
            .iter()
            .find(|known| known.group == group && known.version == version && known.kind == kind)
    }

    /// The preferred version of a kind, whichever a reference names.
    pub(crate) fn of_group_kind(&self, group: &str, kind: &str) -> Option<&Resource> {
        self.resources.iter().find(|known| known.group == group && known.kind == kind)
    }
}

fn resource(group: &str, version: &Value, one: &Value, preferred: bool) -> Resource {
    let list = |value: &Value| array(value).map(text).collect::<Vec<String>>();
    Resource {
        group: group.to_owned(),
        version: text(&version["version"]),
        plural: text(&one["resource"]),
        singular: text(&one["singularResource"]),
        kind: text(&one["responseKind"]["kind"]),
        namespaced: one["scope"] == "Namespaced",
        verbs: list(&one["verbs"]),
        short_names: list(&one["shortNames"]),
        categories: list(&one["categories"]),
        subresources: array(&one["subresources"]).map(|sub| text(&sub["subresource"])).collect(),
        preferred,
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
