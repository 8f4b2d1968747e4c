//! Roles by name and bindings by subject, so that a request looks at its own bindings only. Kept by events, pure otherwise.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_registry::User;
use serde::Deserialize;
use serde_json::Value;

use super::{Ask, Rule, Source};

/// A namespace; empty for the whole cluster.
type Scope = Arc<str>;

#[derive(Default)]
pub(crate) struct Index {
    roles: HashMap<Arc<str>, Arc<[Rule]>>,
    cluster_roles: HashMap<Arc<str>, ClusterRole>,
    users: HashMap<Arc<str>, Held>,
    groups: HashMap<Arc<str>, Held>,
    /// Whom each binding names, so that it can be taken out again.
    bound: HashMap<Arc<str>, Vec<Subject>>,
    /// Cluster roles have changed since they were last gathered.
    scattered: bool,
}

/// What one subject holds, by where it holds it.
type Held = HashMap<Scope, Vec<Bound>>;

#[derive(Clone, PartialEq, Eq)]
struct Bound {
    /// `namespace/name` of the binding, or its name alone.
    binding: Arc<str>,
    role: RoleRef,
}

#[derive(Clone, PartialEq, Eq)]
enum RoleRef {
    /// `namespace/name`
    Role(Arc<str>),
    ClusterRole(Arc<str>),
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Subject {
    User(Arc<str>),
    Group(Arc<str>),
}

struct ClusterRole {
    /// In force: its own, or for an aggregated role those of the roles it selects.
    rules: Arc<[Rule]>,
    own: Arc<[Rule]>,
    labels: HashMap<String, String>,
    selects: Vec<Selector>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    match_labels: HashMap<String, String>,
    match_expressions: Vec<Requirement>,
}

#[derive(Deserialize)]
struct Requirement {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

impl Selector {
    fn matches(&self, labels: &HashMap<String, String>) -> bool {
        let fits = |requirement: &Requirement| {
            let value = labels.get(&requirement.key);
            match requirement.operator.as_str() {
                "In" => value.is_some_and(|value| requirement.values.contains(value)),
                "NotIn" => value.is_none_or(|value| !requirement.values.contains(value)),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        };
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(fits)
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RoleObject {
    metadata: Metadata,
    rules: Option<Vec<Rule>>,
    aggregation_rule: Option<Aggregation>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    labels: Option<HashMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Aggregation {
    cluster_role_selectors: Option<Vec<Selector>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct BindingObject {
    role_ref: Reference,
    subjects: Option<Vec<SubjectObject>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Reference {
    kind: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SubjectObject {
    kind: String,
    name: String,
    namespace: String,
}

impl SubjectObject {
    fn subject(&self, home: &str) -> Option<Subject> {
        match self.kind.as_str() {
            "User" => Some(Subject::User(self.name.as_str().into())),
            "Group" => Some(Subject::Group(self.name.as_str().into())),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { home } else { &self.namespace };
                let account = format!("system:serviceaccount:{namespace}:{}", self.name);
                (!namespace.is_empty()).then(|| Subject::User(account.into()))
            }
            _ => None,
        }
    }
}

impl Reference {
    fn role(&self, namespace: &str) -> Option<RoleRef> {
        match self.kind.as_str() {
            "ClusterRole" => Some(RoleRef::ClusterRole(self.name.as_str().into())),
            "Role" if !namespace.is_empty() => {
                Some(RoleRef::Role(format!("{namespace}/{}", self.name).into()))
            }
            _ => None,
        }
    }
}

impl Index {
    /// `key` is `namespace/name`, or the name of a cluster-wide object. Bytes that cannot be read grant nothing.
    pub(crate) fn put(&mut self, source: Source, key: &str, bytes: &[u8]) {
        self.remove(source, key);
        match source {
            Source::Roles => {
                let role: RoleObject = serde_json::from_slice(bytes).unwrap_or_default();
                self.roles.insert(key.into(), role.rules.unwrap_or_default().into());
            }
            Source::ClusterRoles => {
                let role: RoleObject = serde_json::from_slice(bytes).unwrap_or_default();
                let own: Arc<[Rule]> = role.rules.unwrap_or_default().into();
                let selects =
                    role.aggregation_rule.and_then(|rule| rule.cluster_role_selectors).unwrap_or_default();
                let labels = role.metadata.labels.unwrap_or_default();
                self.cluster_roles
                    .insert(key.into(), ClusterRole { rules: own.clone(), own, labels, selects });
            }
            Source::Bindings | Source::ClusterBindings => {
                let object: BindingObject = serde_json::from_slice(bytes).unwrap_or_default();
                self.bind(key, &object);
            }
        }
    }

    fn bind(&mut self, key: &str, object: &BindingObject) {
        let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
        let Some(role) = object.role_ref.role(namespace) else { return };
        let subjects: Vec<Subject> =
            object.subjects.iter().flatten().filter_map(|subject| subject.subject(namespace)).collect();
        let binding: Arc<str> = key.into();
        for subject in &subjects {
            let held = match subject {
                Subject::User(name) => self.users.entry(name.clone()).or_default(),
                Subject::Group(name) => self.groups.entry(name.clone()).or_default(),
            };
            let bound = Bound { binding: binding.clone(), role: role.clone() };
            held.entry(namespace.into()).or_default().push(bound);
        }
        self.bound.insert(binding, subjects);
    }

    pub(crate) fn remove(&mut self, source: Source, key: &str) {
        match source {
            Source::Roles => drop(self.roles.remove(key)),
            Source::ClusterRoles => {
                self.cluster_roles.remove(key);
                self.scattered = true;
            }
            Source::Bindings | Source::ClusterBindings => {
                let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
                for subject in self.bound.remove(key).unwrap_or_default() {
                    let (map, name) = match &subject {
                        Subject::User(name) => (&mut self.users, name),
                        Subject::Group(name) => (&mut self.groups, name),
                    };
                    let Some(held) = map.get_mut(name) else { continue };
                    if let Some(bounds) = held.get_mut(namespace) {
                        bounds.retain(|bound| &*bound.binding != key);
                        if bounds.is_empty() {
                            held.remove(namespace);
                        }
                    }
                    if held.is_empty() {
                        map.remove(name);
                    }
                }
            }
        }
    }

    /// Gives aggregated roles the rules of those they select. To be called after cluster roles have changed.
    pub(crate) fn aggregate(&mut self) {
        if !std::mem::take(&mut self.scattered) {
            return;
        }
        let gathered: Vec<(Arc<str>, Arc<[Rule]>)> = self
            .cluster_roles
            .iter()
            .filter(|(_, role)| !role.selects.is_empty())
            .map(|(name, role)| (name.clone(), self.gather(name, role)))
            .collect();
        for (name, rules) in gathered {
            if let Some(role) = self.cluster_roles.get_mut(&name) {
                role.rules = rules;
            }
        }
    }

    pub(crate) fn gathered(&self) -> Vec<(String, Vec<Rule>)> {
        let gathers = self.cluster_roles.iter().filter(|(_, role)| !role.selects.is_empty());
        gathers.map(|(name, role)| (name.to_string(), role.rules.to_vec())).collect()
    }

    /// Roles that are selected may be aggregated themselves (`admin` ⊃ `edit` ⊃ `view`), so selection is followed.
    /// Always in the same order, as it is written down too.
    fn gather(&self, name: &Arc<str>, role: &ClusterRole) -> Arc<[Rule]> {
        let mut rules = Vec::new();
        self.gather_into(role, &mut vec![name.clone()], &mut rules);
        rules.into()
    }

    fn gather_into(&self, role: &ClusterRole, visited: &mut Vec<Arc<str>>, rules: &mut Vec<Rule>) {
        if role.selects.is_empty() {
            for rule in &*role.own {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
            return;
        }
        let is_selected = |other: &ClusterRole| role.selects.iter().any(|one| one.matches(&other.labels));
        let mut selected: Vec<_> =
            self.cluster_roles.iter().filter(|(_, other)| is_selected(other)).collect();
        selected.sort_by_key(|(name, _)| *name);
        for (name, other) in selected {
            if !visited.contains(name) {
                visited.push(name.clone());
                self.gather_into(other, visited, rules);
            }
        }
    }

    fn rules(&self, role: &RoleRef) -> &[Rule] {
        match role {
            RoleRef::Role(key) => self.roles.get(key).map_or(&[], |rules| rules),
            RoleRef::ClusterRole(name) => self.cluster_roles.get(name).map_or(&[], |role| &role.rules),
        }
    }

    pub(crate) fn cluster_role(&self, name: &str) -> &[Rule] {
        self.cluster_roles.get(name).map_or(&[], |role| &role.rules)
    }

    pub(crate) fn rules_of<'i>(
        &'i self,
        user: &'i User,
        namespace: &'i str,
    ) -> impl Iterator<Item = &'i Rule> {
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group.as_str()));
        let held = self.users.get(user.name.as_str()).into_iter().chain(groups);
        let scopes = [Some(""), (!namespace.is_empty()).then_some(namespace)];
        held.flat_map(move |held| scopes.into_iter().flatten().filter_map(|scope| held.get(scope)))
            .flatten()
            .flat_map(|bound| self.rules(&bound.role))
    }

    /// The first binding that allows it, in words.
    pub(crate) fn why(&self, user: &User, ask: &Ask<'_>) -> Option<String> {
        let groups = user.groups.iter().map(|group| ("Group", group, self.groups.get(group.as_str())));
        let subjects =
            std::iter::once(("User", &user.name, self.users.get(user.name.as_str()))).chain(groups);
        let scopes = [Some(""), Some(ask.namespace()).filter(|namespace| !namespace.is_empty())];
        for (kind, subject, held) in subjects {
            let bounds = scopes.iter().flatten().filter_map(|scope| held?.get(*scope)).flatten();
            for bound in bounds {
                if !self.rules(&bound.role).iter().any(|rule| rule.allows(ask)) {
                    continue;
                }
                let binding = match bound.binding.split_once('/') {
                    Some((namespace, name)) => format!("RoleBinding {:?}", format!("{name}/{namespace}")),
                    None => format!("ClusterRoleBinding {:?}", bound.binding),
                };
                let role = match &bound.role {
                    RoleRef::Role(key) => {
                        format!("Role {:?}", key.split_once('/').map_or(&**key, |(_, name)| name))
                    }
                    RoleRef::ClusterRole(name) => format!("ClusterRole {name:?}"),
                };
                let shown = match subject
                    .strip_prefix("system:serviceaccount:")
                    .and_then(|rest| rest.split_once(':'))
                {
                    Some((namespace, name)) => format!("ServiceAccount {:?}", format!("{name}/{namespace}")),
                    None => format!("{kind} {subject:?}"),
                };
                return Some(format!("RBAC: allowed by {binding} of {role} to {shown}"));
            }
        }
        None
    }

    pub(crate) fn referenced(&self, namespace: &str, binding: &Value) -> Option<Vec<Rule>> {
        let reference = Reference::deserialize(binding.get("roleRef")?).ok()?;
        match reference.role(namespace)? {
            RoleRef::Role(key) => self.roles.get(&key).map(|rules| rules.to_vec()),
            RoleRef::ClusterRole(name) => self.cluster_roles.get(&name).map(|role| role.rules.to_vec()),
        }
    }
}
