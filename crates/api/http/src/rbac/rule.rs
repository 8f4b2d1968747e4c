//! One rule of a role and the question it answers. Pure.

use serde::{Deserialize, Deserializer, Serialize};

/// `PolicyRule`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    #[serde(deserialize_with = "list")]
    pub(crate) verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) urls: Vec<String>,
}

/// `null` is an empty list.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask<'a> {
    pub(crate) verb: &'a str,
    pub(crate) what: What<'a>,
}

/// Absent parts are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What<'a> {
    Resource { group: &'a str, resource: &'a str, subresource: &'a str, namespace: &'a str, name: &'a str },
    Path(&'a str),
}

impl<'a> Ask<'a> {
    pub(crate) fn namespace(&self) -> &'a str {
        match self.what {
            What::Resource { namespace, .. } => namespace,
            What::Path(_) => "",
        }
    }
}

/// The smallest thing that a rule grants: one verb on one resource, or on one path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Atom<'a> {
    Resource { verb: &'a str, group: &'a str, resource: &'a str, name: Option<&'a str> },
    Path { verb: &'a str, url: &'a str },
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == "*" || one == wanted)
}

impl Rule {
    pub(crate) fn allows(&self, ask: &Ask<'_>) -> bool {
        if !has(&self.verbs, ask.verb) {
            return false;
        }
        match ask.what {
            What::Path(path) => self.reaches(path),
            What::Resource { group, resource, subresource, name, .. } => {
                has(&self.api_groups, group)
                    && self.names(resource, subresource)
                    && (self.resource_names.is_empty() || self.resource_names.iter().any(|one| one == name))
            }
        }
    }

    fn reaches(&self, path: &str) -> bool {
        self.urls.iter().any(|url| match url.strip_suffix('*') {
            Some(start) => path.starts_with(start),
            None => url == path,
        })
    }

    fn names(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|one| {
            if one == "*" {
                return true;
            }
            match one.split_once('/') {
                None => subresource.is_empty() && one == resource,
                Some((parent, sub)) => {
                    !subresource.is_empty() && sub == subresource && (parent == "*" || parent == resource)
                }
            }
        })
    }

    pub(crate) fn atoms(&self) -> impl Iterator<Item = Atom<'_>> {
        let paths =
            self.verbs.iter().flat_map(|verb| self.urls.iter().map(move |url| Atom::Path { verb, url }));
        let resources = self.verbs.iter().flat_map(move |verb| {
            self.api_groups.iter().flat_map(move |group| {
                self.resources.iter().flat_map(move |resource| {
                    let unnamed = self.resource_names.is_empty().then_some(None);
                    let named = self.resource_names.iter().map(|name| Some(name.as_str()));
                    unnamed.into_iter().chain(named).map(move |name| Atom::Resource {
                        verb,
                        group,
                        resource,
                        name,
                    })
                })
            })
        });
        paths.chain(resources)
    }

    /// Whether whoever holds this rule holds `atom`. A `*` in the atom is only covered by a `*` here.
    pub(crate) fn covers(&self, atom: &Atom<'_>) -> bool {
        match *atom {
            Atom::Path { verb, url } => {
                has(&self.verbs, verb)
                    && self.urls.iter().any(|own| {
                        own == url || own.strip_suffix('*').is_some_and(|start| url.starts_with(start))
                    })
            }
            Atom::Resource { verb, group, resource, name } => {
                let (parent, sub) = resource.split_once('/').unwrap_or((resource, ""));
                let named = self.resource_names.is_empty()
                    || name.is_some_and(|name| self.resource_names.iter().any(|one| one == name));
                let resource = self.resources.iter().any(|own| own == resource) || self.names(parent, sub);
                has(&self.verbs, verb) && has(&self.api_groups, group) && resource && named
            }
        }
    }
}
