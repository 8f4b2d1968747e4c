//! Webhook configurations and admission policies as rows.

use serde_json::Value;

use super::selector::requirements;
use super::{Column, Printer, age, count, name, text};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    Some(match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => WEBHOOKS,
        "MutatingAdmissionPolicy" => MUTATING,
        "ValidatingAdmissionPolicy" => VALIDATING,
        "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding" => BINDING,
        _ => return None,
    })
}

const WEBHOOKS: Printer =
    Printer::new(&[Column::name(), Column::int("Webhooks"), Column::age()], |object, now| {
        vec![name(object), count(&object["webhooks"]).into(), age(object, now)]
    });

const MUTATING: Printer = Printer::new(
    &[Column::name(), Column::int("Mutations"), Column::text("ParamKind"), Column::age()],
    |object, now| {
        let spec = &object["spec"];
        vec![name(object), count(&spec["mutations"]).into(), param_kind(&spec["paramKind"]), age(object, now)]
    },
);

const VALIDATING: Printer = Printer::new(
    &[Column::name(), Column::int("Validations"), Column::text("ParamKind"), Column::age()],
    |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            count(&spec["validations"]).into(),
            param_kind(&spec["paramKind"]),
            age(object, now),
        ]
    },
);

const BINDING: Printer = Printer::new(
    &[Column::name(), Column::text("PolicyName"), Column::text("ParamRef"), Column::age()],
    |object, now| {
        let spec = &object["spec"];
        vec![name(object), text(&spec["policyName"]), param_ref(&spec["paramRef"]), age(object, now)]
    },
);

fn param_kind(kind: &Value) -> Value {
    match (kind["apiVersion"].as_str(), kind["kind"].as_str()) {
        (Some(version), Some(kind)) => format!("{version}/{kind}").into(),
        _ => "<unset>".into(),
    }
}

fn param_ref(reference: &Value) -> Value {
    let part = |field: &str| reference[field].as_str().filter(|text| !text.is_empty());
    match part("name") {
        Some(name) => format!("{}/{name}", part("namespace").unwrap_or("*")).into(),
        None if reference["selector"].is_object() => requirements(&reference["selector"]).into(),
        None => "<unset>".into(),
    }
}
