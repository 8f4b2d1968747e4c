//! Nobody grants what they don't hold: a role or binding is only written by someone who has all of its permissions, or
//! was allowed to go beyond them (`escalate`, `bind`).

use std::sync::Arc;

use kedge_kinds::{Kind, Status};
use kedge_registry::{Judge, User};
use serde::Deserialize;
use serde_json::Value;

use crate::api::Api;
use crate::call::Call;
use crate::certificates;
use crate::rbac::{Ask, GROUP, Rule, What, is_master};

#[derive(Clone, Copy)]
enum Grant {
    Role,
    Binding,
}

/// Whose write it is, and where it goes.
struct Author {
    api: Arc<Api>,
    user: Arc<User>,
    kind: Arc<Kind>,
    namespace: Arc<str>,
}

/// Refuses a write that would grant more than its author holds, by what would be stored: neither what the body leaves
/// out nor what others write meanwhile can hide anything from it. `None` for what grants nothing.
pub(crate) fn judge(api: &Arc<Api>, call: &Call) -> Option<Judge> {
    let kind = &call.at.kind;
    if &*kind.gv.group == certificates::GROUP {
        return certificates::judge(api, call);
    }
    if &*kind.gv.group != GROUP || is_master(&call.user) {
        return None;
    }
    let grant = match &*kind.plural {
        "roles" | "clusterroles" => Grant::Role,
        "rolebindings" | "clusterrolebindings" => Grant::Binding,
        _ => return None,
    };
    let author = Author {
        api: api.clone(),
        user: call.user.clone(),
        kind: kind.clone(),
        namespace: call.at.namespace.clone().unwrap_or_default(),
    };
    Some(Judge::new(move |old, new| {
        if old.is_some_and(|old| grants_the_same(old, new)) {
            return Ok(());
        }
        match grant {
            Grant::Role => author.role(old, new),
            Grant::Binding => author.binding(new),
        }
    }))
}

/// Everything else can matter: a label may put a role's rules into another role.
const GRANTS_NOTHING: [&str; 5] =
    ["ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"];

fn grants_the_same(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return false };
    let other = |object: &serde_json::Map<String, Value>, than: &serde_json::Map<String, Value>| {
        object.iter().any(|(key, value)| key != "metadata" && than.get(key) != Some(value))
    };
    let meta = |object: &serde_json::Map<String, Value>| {
        let mut metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        metadata.retain(|key, _| !GRANTS_NOTHING.contains(&key.as_str()));
        metadata
    };
    !other(old, new) && !other(new, old) && meta(old) == meta(new)
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or("")
}

impl Author {
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let what =
            What::Resource { group: GROUP, resource, subresource: "", namespace: &self.namespace, name };
        self.api.allows(&self.user, &Ask { verb, what })
    }

    fn role(&self, old: Option<&Value>, object: &Value) -> Result<(), Status> {
        let name = name_of(object);
        if self.may("escalate", &self.kind.plural, name) {
            return Ok(());
        }
        // What cannot be read cannot be weighed.
        let mut rules = Option::<Vec<Rule>>::deserialize(&object["rules"])
            .map_err(|error| Status::forbidden(&self.kind, name, &format!("rules cannot be read: {error}")))?
            .unwrap_or_default();
        if [Some(object), old].iter().flatten().any(|one| one["aggregationRule"].is_object()) {
            // What it will gather is not known yet, so it is taken to be everything.
            let all = || vec!["*".to_owned()];
            rules.push(Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() });
            rules.push(Rule { verbs: all(), urls: all(), ..Rule::default() });
        }
        self.covers(name, &rules)
    }

    fn binding(&self, object: &Value) -> Result<(), Status> {
        let reference = &object["roleRef"];
        let resource = if reference["kind"] == "ClusterRole" { "clusterroles" } else { "roles" };
        let role_name = reference["name"].as_str().unwrap_or("");
        if self.may("bind", resource, role_name) {
            return Ok(());
        }
        match self.api.rbac().role(&self.namespace, object) {
            Some(rules) => self.covers(name_of(object), &rules),
            None => {
                let why = format!("{resource}.{GROUP} {role_name:?} not found");
                Err(Status::forbidden(&self.kind, name_of(object), &why))
            }
        }
    }

    fn covers(&self, name: &str, rules: &[Rule]) -> Result<(), Status> {
        let beyond: Vec<String> = rules
            .iter()
            .filter(|rule| !self.api.rbac().covers(&self.user, &self.namespace, std::slice::from_ref(rule)))
            .map(shown)
            .collect();
        if beyond.is_empty() {
            return Ok(());
        }
        let why = format!(
            "user {:?} (groups={:?}) is attempting to grant RBAC permissions not currently held:\n{}",
            self.user.name,
            self.user.groups,
            beyond.join("\n")
        );
        Err(Status::forbidden(&self.kind, name, &why))
    }
}

fn shown(rule: &Rule) -> String {
    let mut parts = Vec::new();
    for (name, list) in [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("ResourceNames", &rule.resource_names),
        ("NonResourceURLs", &rule.urls),
        ("Verbs", &rule.verbs),
    ] {
        if !list.is_empty() {
            parts.push(format!("{name}:{list:?}"));
        }
    }
    format!("{{{}}}", parts.join(", "))
}
