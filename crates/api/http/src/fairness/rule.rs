//! What the rules of a FlowSchema say, and whether a request is meant. Pure.

use kedge_registry::User;
use serde::Deserialize;

/// What a request is after.
pub(crate) struct Asked<'a> {
    pub(crate) verb: &'a str,
    pub(crate) target: Target<'a>,
}

pub(crate) enum Target<'a> {
    Path(&'a str),
    /// `namespace` is empty for what lies in none.
    Resource {
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Rule {
    subjects: Vec<Subject>,
    resource_rules: Vec<ResourceRule>,
    non_resource_rules: Vec<PathRule>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Subject {
    user: Option<Named>,
    group: Option<Named>,
    service_account: Option<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    namespace: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    cluster_scope: bool,
    namespaces: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PathRule {
    verbs: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    urls: Vec<String>,
}

impl Rule {
    pub(super) fn takes(&self, user: &User, asked: &Asked<'_>) -> bool {
        let meant = match &asked.target {
            Target::Path(path) => self.non_resource_rules.iter().any(|rule| rule.takes(asked.verb, path)),
            target => self.resource_rules.iter().any(|rule| rule.takes(asked.verb, target)),
        };
        meant && self.subjects.iter().any(|subject| subject.is(user))
    }
}

impl Subject {
    fn is(&self, user: &User) -> bool {
        let named = |wanted: &Named, name: &str| wanted.name == "*" || wanted.name == name;
        let account = |wanted: &Named| {
            let account =
                user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
            account.is_some_and(|(namespace, name)| wanted.namespace == namespace && named(wanted, name))
        };
        self.user.as_ref().is_some_and(|wanted| named(wanted, &user.name))
            || self.group.as_ref().is_some_and(|wanted| user.groups.iter().any(|group| named(wanted, group)))
            || self.service_account.as_ref().is_some_and(account)
    }
}

fn holds(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == "*" || one == wanted)
}

impl ResourceRule {
    fn takes(&self, verb: &str, target: &Target<'_>) -> bool {
        let Target::Resource { group, resource, subresource, namespace } = target else { return false };
        let named = |one: &String| match one.split_once('/') {
            None => one == "*" || subresource.is_empty() && one == resource,
            Some((outer, inner)) => (outer == "*" || outer == *resource) && inner == *subresource,
        };
        let scope =
            if namespace.is_empty() { self.cluster_scope } else { holds(&self.namespaces, namespace) };
        scope
            && holds(&self.verbs, verb)
            && holds(&self.api_groups, group)
            && self.resources.iter().any(named)
    }
}

impl PathRule {
    fn takes(&self, verb: &str, path: &str) -> bool {
        let reaches = |url: &String| match url.strip_suffix('*') {
            Some(start) => path.starts_with(start),
            None => url == path,
        };
        holds(&self.verbs, verb) && self.urls.iter().any(reaches)
    }
}
