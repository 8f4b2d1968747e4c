//! Nobody grants what they don't hold: a role or binding is only written by someone who has all of its permissions, or
//! was allowed to go beyond them (`escalate`, `bind`).

use kedge_kinds::Status;
use kedge_registry::{Patch, WriteOptions};
use serde::Deserialize;
use serde_json::Value;

use crate::api::Api;
use crate::call::Call;
use crate::rbac::{Ask, GROUP, MASTERS, Rule, What};

enum Grant {
    Role,
    Binding,
}

fn grant(call: &Call) -> Option<Grant> {
    if &*call.at.kind.gv.group != GROUP || call.user.groups.iter().any(|group| group == MASTERS) {
        return None;
    }
    match &*call.at.kind.plural {
        "roles" | "clusterroles" => Some(Grant::Role),
        "rolebindings" | "clusterrolebindings" => Some(Grant::Binding),
        _ => None,
    }
}

/// Refuses a write that would grant more than its author holds.
pub(crate) async fn check(api: &Api, call: &Call, object: &Value) -> Result<(), Status> {
    let Some(grant) = grant(call) else { return Ok(()) };
    if let Some(before) = stored(api, call).await?
        && ["rules", "aggregationRule", "roleRef", "subjects"]
            .iter()
            .all(|part| before.get(part) == object.get(part))
    {
        return Ok(());
    }
    let namespace = call.at.namespace.as_deref().unwrap_or("");
    match grant {
        Grant::Role => role(api, call, namespace, object),
        Grant::Binding => binding(api, call, namespace, object),
    }
}

/// The same for a patch: what it would make is found out by a dry run first.
pub(crate) async fn check_patch(
    api: &Api,
    call: &Call,
    patch: &Patch,
    options: &WriteOptions,
) -> Result<(), Status> {
    if grant(call).is_none() {
        return Ok(());
    }
    let dry = WriteOptions { dry_run: true, ..options.clone() };
    let made = api.registry().patch(&call.at, patch.clone(), &dry).await?;
    let object = serde_json::from_slice(&made.bytes).map_err(|error| Status::internal(error.to_string()))?;
    check(api, call, &object).await
}

async fn stored(api: &Api, call: &Call) -> Result<Option<Value>, Status> {
    if call.at.name.is_none() {
        return Ok(None);
    }
    match api.registry().get(&call.at, "").await {
        Ok(found) => serde_json::from_slice(&found.bytes)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string())),
        Err(status) if status.code == 404 => Ok(None),
        Err(status) => Err(status),
    }
}

fn may(api: &Api, call: &Call, verb: &str, resource: &str, namespace: &str, name: &str) -> bool {
    let what = What::Resource { group: GROUP, resource, subresource: "", namespace, name };
    api.rbac().allows(&call.user, &Ask { verb, what })
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or("")
}

fn role(api: &Api, call: &Call, namespace: &str, object: &Value) -> Result<(), Status> {
    let name = name_of(object);
    if may(api, call, "escalate", &call.at.kind.plural, namespace, name) {
        return Ok(());
    }
    let mut rules = Vec::<Rule>::deserialize(&object["rules"]).unwrap_or_default();
    if object["aggregationRule"].is_object() {
        // What it will gather is not known yet, so it is taken to be everything.
        let all = || vec!["*".to_owned()];
        rules.push(Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() });
        rules.push(Rule { verbs: all(), urls: all(), ..Rule::default() });
    }
    covered(api, call, namespace, name, &rules)
}

fn binding(api: &Api, call: &Call, namespace: &str, object: &Value) -> Result<(), Status> {
    let reference = &object["roleRef"];
    let resource = if reference["kind"] == "ClusterRole" { "clusterroles" } else { "roles" };
    let role_name = reference["name"].as_str().unwrap_or("");
    if may(api, call, "bind", resource, namespace, role_name) {
        return Ok(());
    }
    match api.rbac().role(namespace, object) {
        Some(rules) => covered(api, call, namespace, name_of(object), &rules),
        None => {
            let why = format!("{resource}.{GROUP} {role_name:?} not found");
            Err(Status::forbidden(&call.at.kind, name_of(object), &why))
        }
    }
}

fn covered(api: &Api, call: &Call, namespace: &str, name: &str, rules: &[Rule]) -> Result<(), Status> {
    let beyond: Vec<String> = rules
        .iter()
        .filter(|rule| !api.rbac().covers(&call.user, namespace, std::slice::from_ref(rule)))
        .map(shown)
        .collect();
    if beyond.is_empty() {
        return Ok(());
    }
    let why = format!(
        "user {:?} (groups={:?}) is attempting to grant RBAC permissions not currently held:\n{}",
        call.user.name,
        call.user.groups,
        beyond.join("\n")
    );
    Err(Status::forbidden(&call.at.kind, name, &why))
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
