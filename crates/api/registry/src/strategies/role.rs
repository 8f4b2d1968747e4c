//! Roles and bindings, of a namespace and of the cluster.

use serde_json::{Map, Value};

use super::fields::{each, fill, fill_text, open, text};
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

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn create_on_update(&self) -> bool {
        true
    }
}
