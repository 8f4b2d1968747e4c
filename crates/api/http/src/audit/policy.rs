//! What is recorded of which request: Kubernetes' audit policy. The first rule that fits decides. Pure.

use std::path::PathBuf;

use kedge_registry::User;
use serde::Deserialize;

use super::AuditError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Level {
    None,
    Metadata,
    Request,
    RequestResponse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Stage {
    RequestReceived,
    ResponseStarted,
    ResponseComplete,
    Panic,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Policy {
    api_version: String,
    kind: String,
    #[serde(default)]
    #[allow(dead_code, reason = "a policy is an object and may have a name")]
    metadata: Option<serde_json::Value>,
    #[serde(default)]
    rules: Vec<Rule>,
    #[serde(default)]
    omit_stages: Vec<Stage>,
    #[serde(default)]
    omit_managed_fields: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rule {
    level: Level,
    #[serde(default)]
    users: Vec<String>,
    #[serde(default)]
    user_groups: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    resources: Vec<Resources>,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default, rename = "nonResourceURLs")]
    urls: Vec<String>,
    #[serde(default)]
    omit_stages: Vec<Stage>,
    omit_managed_fields: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resources {
    #[serde(default)]
    group: String,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

/// What is asked of the policy; absent parts are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deed<'a> {
    pub(crate) user: Option<&'a User>,
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    /// Empty for what is no resource.
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) path: &'a str,
}

/// What the policy says to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) level: Level,
    pub(crate) omitted: Vec<Stage>,
    pub(crate) omit_managed: bool,
}

impl Verdict {
    pub(crate) const NOTHING: Verdict =
        Verdict { level: Level::None, omitted: Vec::new(), omit_managed: false };
}

impl Policy {
    pub(super) fn read(path: PathBuf) -> Result<Self, AuditError> {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(AuditError::Read { path, source }),
        };
        let policy: Policy = match serde_saphyr::from_str(&text) {
            Ok(policy) => policy,
            Err(source) => return Err(AuditError::Parse { path, source: Box::new(source) }),
        };
        match policy.fault() {
            Some(why) => Err(AuditError::Policy { path, why }),
            None => Ok(policy),
        }
    }

    fn fault(&self) -> Option<String> {
        let (version, kind) = (&self.api_version, &self.kind);
        if (version.as_str(), kind.as_str()) != ("audit.k8s.io/v1", "Policy") {
            return Some(format!("it is a {kind} of {version}, not a Policy of audit.k8s.io/v1"));
        }
        self.rules.iter().enumerate().find_map(|(i, rule)| {
            if !rule.urls.is_empty() && (!rule.resources.is_empty() || !rule.namespaces.is_empty()) {
                return Some(format!(
                    "rules[{i}] cannot apply to both regular resources and non-resource URLs"
                ));
            }
            let bad = rule
                .urls
                .iter()
                .find(|url| *url != "*" && (!url.starts_with('/') || url[..url.len() - 1].contains('*')));
            bad.map(|url| {
                format!("rules[{i}].nonResourceURLs: {url:?} must begin with a '/' and may end with a '*'")
            })
        })
    }

    pub(super) fn judge(&self, deed: &Deed<'_>) -> Verdict {
        let Some(rule) = self.rules.iter().find(|rule| rule.fits(deed)) else { return Verdict::NOTHING };
        let mut omitted = self.omit_stages.clone();
        omitted.extend(rule.omit_stages.iter().filter(|stage| !self.omit_stages.contains(stage)));
        let omit_managed = rule.omit_managed_fields.unwrap_or(self.omit_managed_fields);
        Verdict { level: rule.level, omitted, omit_managed }
    }
}

impl Rule {
    fn fits(&self, deed: &Deed<'_>) -> bool {
        let has = |list: &[String], one: &str| list.iter().any(|item| item == one);
        let name = deed.user.map_or("", |user| user.name.as_str());
        let groups = deed.user.map_or(&[][..], |user| &user.groups);
        if !self.users.is_empty() && !has(&self.users, name) {
            return false;
        }
        if !self.user_groups.is_empty() && !groups.iter().any(|group| has(&self.user_groups, group)) {
            return false;
        }
        if !self.verbs.is_empty() && !has(&self.verbs, deed.verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return !deed.resource.is_empty()
                && (self.namespaces.is_empty() || has(&self.namespaces, deed.namespace))
                && (self.resources.is_empty() || self.resources.iter().any(|one| one.fits(deed)));
        }
        if !self.urls.is_empty() {
            return deed.resource.is_empty() && self.urls.iter().any(|url| reaches(url, deed.path));
        }
        true
    }
}

fn reaches(url: &str, path: &str) -> bool {
    match url.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => url == path,
    }
}

impl Resources {
    fn fits(&self, deed: &Deed<'_>) -> bool {
        if self.group != deed.group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        if !self.resource_names.is_empty() && !self.resource_names.iter().any(|name| name == deed.name) {
            return false;
        }
        self.resources.iter().any(|wanted| match wanted.split_once('/') {
            _ if wanted == "*" => true,
            None => deed.subresource.is_empty() && wanted == deed.resource,
            Some(("*", part)) => part == deed.subresource,
            Some((resource, "*")) => resource == deed.resource,
            Some((resource, part)) => resource == deed.resource && part == deed.subresource,
        })
    }
}
