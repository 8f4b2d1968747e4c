//! Role bindings and certificate signing requests as rows.

use serde_json::Value;

use super::age::human;
use super::{Column, Printer, age, condition, items, name, text, text_or};

pub(super) fn rbac(kind: &str) -> Option<Printer> {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding").then_some(BINDING)
}

pub(super) fn certificates(kind: &str) -> Option<Printer> {
    (kind == "CertificateSigningRequest").then_some(SIGNING_REQUEST)
}

const BINDING: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Role"),
        Column::age(),
        Column::text("Users").wide(),
        Column::text("Groups").wide(),
        Column::text("ServiceAccounts").wide(),
    ],
    |object, now| {
        let role = &object["roleRef"];
        let part = |field: &str| role[field].as_str().unwrap_or_default();
        vec![
            name(object),
            format!("{}/{}", part("kind"), part("name")).into(),
            age(object, now),
            subjects(object, "User"),
            subjects(object, "Group"),
            subjects(object, "ServiceAccount"),
        ]
    },
);

const SIGNING_REQUEST: Printer = Printer::new(
    &[
        Column::name(),
        Column::age(),
        Column::text("SignerName"),
        Column::text("Requestor"),
        Column::text("RequestedDuration"),
        Column::text("Condition"),
    ],
    |object, now| {
        let spec = &object["spec"];
        let duration = spec["expirationSeconds"].as_i64().map_or_else(|| "<none>".to_owned(), human);
        vec![
            name(object),
            age(object, now),
            text_or(&spec["signerName"], "<none>"),
            text(&spec["username"]),
            duration.into(),
            state(&object["status"]).into(),
        ]
    },
);

/// The names of all subjects of one kind; accounts with their namespaces.
fn subjects(binding: &Value, kind: &str) -> Value {
    let named = |subject: &Value| {
        let name = subject["name"].as_str().unwrap_or_default();
        if kind == "ServiceAccount" {
            format!("{}/{name}", subject["namespace"].as_str().unwrap_or_default())
        } else {
            name.to_owned()
        }
    };
    let all = items(&binding["subjects"]).iter().filter(|subject| subject["kind"] == kind).map(named);
    all.collect::<Vec<_>>().join(", ").into()
}

fn state(status: &Value) -> String {
    let has = |kind: &str| condition(&status["conditions"], kind).is_some();
    let mut state = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if status["certificate"].as_str().is_some_and(|certificate| !certificate.is_empty()) {
        state.push_str(",Issued");
    }
    state
}
