//! Roles and bindings, of a namespace and of the cluster.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, each, fill, fill_text, has, list, open, same, text};
use super::names;
use crate::strategy::{NameRule, Strategy};

const GROUP: &str = "rbac.authorization.k8s.io";

struct Roles {
    namespaced: bool,
}

struct Bindings {
    namespaced: bool,
}

pub(super) fn strategy(kind: &str) -> &'static dyn Strategy {
    match kind {
        "Role" => &Roles { namespaced: true },
        "ClusterRole" => &Roles { namespaced: false },
        "RoleBinding" => &Bindings { namespaced: true },
        _ => &Bindings { namespaced: false },
    }
}

impl Strategy for Roles {
    fn default(&self, role: &mut Value) {
        fill(role, "rules", Value::Null);
        each(role, "rules").for_each(|rule| fill(rule, "verbs", Value::Null));
    }

    fn validate(&self, role: &Value, errors: &mut Errors) {
        for (i, one) in list(role, "rules").iter().enumerate() {
            rule(errors, &Path::root("rules").index(i), one, self.namespaced);
        }
        if has(role, "aggregationRule") {
            let path = Path::root("aggregationRule");
            let path = path.child("clusterRoleSelectors");
            let selectors = list(at(role, "aggregationRule"), "clusterRoleSelectors");
            if selectors.is_empty() {
                let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
                errors.required(&path, detail);
            }
            for (i, selector) in selectors.iter().enumerate() {
                names::selector(errors, &path.index(i), selector);
            }
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for Bindings {
    fn default(&self, binding: &mut Value) {
        fill(binding, "roleRef", Map::new());
        if let Some(role) = open(binding, "roleRef") {
            fill_text(role, "apiGroup", GROUP);
        }
        for subject in each(binding, "subjects") {
            if matches!(text(subject, "kind"), "User" | "Group") {
                fill_text(subject, "apiGroup", GROUP);
            }
        }
    }

    fn validate(&self, binding: &Value, errors: &mut Errors) {
        let (path, role) = (Path::root("roleRef"), at(binding, "roleRef"));
        if text(role, "apiGroup") != GROUP {
            errors.not_supported(&path.child("apiGroup"), at(role, "apiGroup"), &[GROUP]);
        }
        let kinds: &[&str] = if self.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
        let kind = text(role, "kind");
        if !kinds.contains(&kind) {
            errors.not_supported(&path.child("kind"), &kind.into(), kinds);
        }
        match text(role, "name") {
            "" => errors.required(&path.child("name"), ""),
            name => path_segment(errors, &path.child("name"), name),
        }
        for (i, one) in list(binding, "subjects").iter().enumerate() {
            subject(errors, &Path::root("subjects").index(i), one, self.namespaced);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if !same(at(new, "roleRef"), at(old, "roleRef")) {
            errors.invalid(&Path::root("roleRef"), at(new, "roleRef"), "cannot change roleRef");
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn create_on_update(&self) -> bool {
        true
    }
}

fn rule(errors: &mut Errors, path: &Path<'_>, rule: &Value, namespaced: bool) {
    if list(rule, "verbs").is_empty() {
        errors.required(&path.child("verbs"), "verbs must contain at least one value");
    }
    let regular = ["apiGroups", "resources", "resourceNames"];
    if !list(rule, "nonResourceURLs").is_empty() {
        let (path, urls) = (path.child("nonResourceURLs"), at(rule, "nonResourceURLs"));
        if namespaced {
            errors.invalid(&path, urls, "namespaced rules cannot apply to non-resource URLs");
        }
        if regular.iter().any(|field| !list(rule, field).is_empty()) {
            errors.invalid(&path, urls, "rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if list(rule, "apiGroups").is_empty() {
        errors.required(&path.child("apiGroups"), "resource rules must supply at least one api group");
    }
    if list(rule, "resources").is_empty() {
        errors.required(&path.child("resources"), "resource rules must supply at least one resource");
    }
}

fn subject(errors: &mut Errors, path: &Path<'_>, subject: &Value, namespaced: bool) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                names::subdomain(errors, &path.child("name"), name);
            }
            if !group.is_empty() {
                errors.not_supported(&path.child("apiGroup"), &group.into(), &[""]);
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.required(&path.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.not_supported(&path.child("apiGroup"), &group.into(), &[GROUP]);
            }
        }
        other => {
            errors.not_supported(&path.child("kind"), &other.into(), &["ServiceAccount", "User", "Group"])
        }
    }
}

/// A name that can be one segment of a path.
pub(super) fn path_segment(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if matches!(name, "." | "..") {
        return names::wrong(errors, path, name, &format!("may not be '{name}'"));
    }
    for forbidden in ["/", "%"] {
        if name.contains(forbidden) {
            names::wrong(errors, path, name, &format!("may not contain '{forbidden}'"));
        }
    }
}
