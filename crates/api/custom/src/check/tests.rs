//! Definitions and what a stock server says about them.

mod rules;
mod schemas;

use kedge_kinds::field::Errors;
use serde_json::{Value, json};

use super::check;

/// A definition that nothing is wrong with, as it is after defaults.
fn definition() -> Value {
    json!({
        "metadata": {"name": "asks.ask.example.com"},
        "spec": {
            "group": "ask.example.com", "scope": "Namespaced",
            "names": {"plural": "asks", "singular": "ask", "kind": "Ask", "listKind": "AskList"},
            "conversion": {"strategy": "None"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                          "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
        "status": {"storedVersions": ["v1"]},
    })
}

fn said(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let mut errors = Errors::default();
    check(definition, old, &mut errors);
    errors.into_causes().into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn with(changes: &[(&str, Value)]) -> Value {
    let mut changed = definition();
    for (pointer, value) in changes {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = changed.pointer_mut(parent).unwrap();
        match parent {
            Value::Array(items) => items.push(value.clone()),
            parent => parent[field] = value.clone(),
        }
    }
    changed
}

const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

#[test]
fn nothing_is_wrong_with_a_plain_definition() {
    assert_eq!(said(&definition(), None), Vec::<String>::new());
}

#[test]
fn names_and_groups_are_spelt_right() {
    let names = json!({"plural": "Asks", "singular": "S", "kind": "1x", "listKind": "1x", "shortNames": ["A"], "categories": ["B_"]});
    assert_eq!(
        said(&with(&[("/spec/names", names)]), None),
        [
            "metadata.name: Invalid value: \"asks.ask.example.com\": must be spec.names.plural+\".\"+spec.group".to_owned(),
            format!("spec.names.plural: Invalid value: \"Asks\": {LABEL}"),
            format!("spec.names.singular: Invalid value: \"S\": {LABEL}"),
            format!("spec.names.kind: Invalid value: \"1x\": may have mixed case, but should otherwise match: {LABEL}"),
            format!("spec.names.listKind: Invalid value: \"1x\": may have mixed case, but should otherwise match: {LABEL}"),
            format!("spec.names.shortNames[0]: Invalid value: \"A\": {LABEL}"),
            "spec.names.listKind: Invalid value: \"1x\": kind and listKind may not be the same".to_owned(),
            format!("spec.names.categories[0]: Invalid value: \"B_\": {LABEL}"),
        ]
    );
    for (group, expected) in [
        ("nodot", vec!["spec.group: Invalid value: \"nodot\": should be a domain with at least one dot"]),
        ("", vec!["spec.group: Required value"]),
        (
            "a.k8s.io",
            vec![
                "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval \
                 annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
            ],
        ),
        ("ak8s.io", vec![]),
    ] {
        let name = format!("asks.{group}");
        let definition = with(&[("/spec/group", group.into()), ("/metadata/name", name.into())]);
        assert_eq!(said(&definition, None), expected, "{group}");
    }
}

#[test]
fn versions_fit_together() {
    let other = json!({"name": "v1", "served": true, "storage": false,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}});
    let twice = said(&with(&[("/spec/versions/-", other)]), None);
    assert_eq!(
        twice[0],
        "spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
        "a version that differs is named"
    );
    assert!(
        twice[1].starts_with("spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,"),
        "{}",
        twice[1]
    );
    assert!(twice[1].ends_with(": must contain unique version names"), "{}", twice[1]);
    for (changes, expected) in [
        (
            vec![("/spec/versions/0/storage", false.into())],
            vec![
                "spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":false,\"Deprecated\":false,\
                 \"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\
                 \"SelectableFields\":null}]: must have exactly one version marked as storage version"
                    .to_owned(),
            ],
        ),
        (
            vec![("/spec/versions/0/name", "V1".into()), ("/status/storedVersions", json!(["V1"]))],
            vec![
                format!("spec.versions[0].name: Invalid value: \"V1\": {LABEL}"),
                format!("spec.version: Invalid value: \"V1\": {LABEL}"),
            ],
        ),
        (
            vec![("/spec/versions/0/schema", Value::Null)],
            vec!["spec.versions[0].schema.openAPIV3Schema: Required value".to_owned()],
        ),
        (
            vec![("/spec/versions/0/deprecationWarning", "x".into())],
            vec!["spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions".to_owned()],
        ),
        (
            vec![("/status/storedVersions", json!(["v1", "v0"]))],
            vec![
                "status.storedVersions[1]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage \
                 version, and must remain in spec.versions until a storage migration ensures no data remains persisted in \
                 v0 and removes v0 from status.storedVersions"
                    .to_owned(),
            ],
        ),
        (
            vec![("/spec/preserveUnknownFields", true.into())],
            vec![
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set \
                 x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
                    .to_owned(),
            ],
        ),
    ] {
        assert_eq!(said(&with(&changes), None), expected, "{changes:?}");
    }
}

#[test]
fn columns_scale_and_selectable_fields_lead_somewhere() {
    let properties = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "object"}, "b": {"type": "string"}}}}});
    let schema = ("/spec/versions/0/schema/openAPIV3Schema", properties);
    let at = |field: &str| format!("/spec/versions/0/{field}");
    for (field, value, expected) in [
        (
            "additionalPrinterColumns",
            json!([{"name": "", "type": "zz", "jsonPath": "x", "format": "q"}, {"name": "a", "type": "", "jsonPath": ""}]),
            vec![
                "spec.additionalPrinterColumns[0].name: Required value",
                "spec.additionalPrinterColumns[0].type: Invalid value: \"zz\": must be one of boolean,date,integer,number,string",
                "spec.additionalPrinterColumns[0].format: Invalid value: \"q\": must be one of byte,date,date-time,double,float,int32,int64,password",
                "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"x\": must be a simple json path starting with .",
                "spec.additionalPrinterColumns[1].type: Required value: must be one of boolean,date,integer,number,string",
                "spec.additionalPrinterColumns[1].JSONPath: Required value",
            ],
        ),
        (
            "subresources",
            json!({"scale": {"specReplicasPath": ".foo", "statusReplicasPath": "x", "labelSelectorPath": ".a.b"}}),
            vec![
                "spec.subresources.scale.specReplicasPath: Invalid value: \".foo\": should be a json path under .spec",
                "spec.subresources.scale.statusReplicasPath: Invalid value: \"x\": must be a simple json path starting with .",
                "spec.subresources.scale.labelSelectorPath: Invalid value: \".a.b\": should be a json path under either .spec or .status",
            ],
        ),
        (
            "selectableFields",
            json!([{"jsonPath": ""}, {"jsonPath": ".spec.a"}, {"jsonPath": ".spec.b"}, {"jsonPath": ".spec.b"},
                   {"jsonPath": ".spec.zz"}, {"jsonPath": "spec"}, {"jsonPath": ".spec.b[0]"}, {"jsonPath": ".spec.b."}]),
            vec![
                "spec.selectableFields[0].jsonPath: Required value",
                "spec.selectableFields[1].jsonPath: Invalid value: \".spec.a\": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
                "spec.selectableFields[3].jsonPath: Duplicate value: \".spec.b\"",
                "spec.selectableFields[4].jsonPath: Invalid value: \".spec.zz\": is an invalid path: does not refer to a valid field",
                "spec.selectableFields[5].jsonPath: Invalid value: \"spec\": is an invalid path: expected [ or . but got: spec",
                "spec.selectableFields[6].jsonPath: Invalid value: \".spec.b[0]\": is an invalid path: array notation is not allowed",
                "spec.selectableFields[7].jsonPath: Invalid value: \".spec.b.\": is an invalid path: unexpected end of JSON path",
            ],
        ),
    ] {
        let definition = with(&[(schema.0, schema.1.clone()), (&at(field), value)]);
        assert_eq!(said(&definition, None), expected, "{field}");
    }
}

#[test]
fn conversion_names_a_webhook_that_can_be_called() {
    let webhook = |config: Value| json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}});
    for (conversion, expected) in [
        (webhook(json!({"url": "https://example.com/a"})), vec![]),
        (
            json!({"strategy": "Webhook"}),
            vec![
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value",
            ],
        ),
        (
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9", "v9"], "clientConfig": {}}}),
            vec![
                "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
                "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v9\": duplicate version",
                "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\",\"v9\"]: must include at least one of v1, v1beta1",
            ],
        ),
        (
            webhook(json!({"url": "http://x:1"})),
            vec![
                "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            ],
        ),
        (
            webhook(json!({"service": {"name": "", "namespace": "", "port": 99999, "path": "x"}})),
            vec![
                "spec.conversion.webhookClientConfig.service.name: Required value",
                "spec.conversion.webhookClientConfig.service.namespace: Required value",
                "spec.conversion.webhookClientConfig.service.port: Invalid value: 99999: port is not valid: must be between 1 and 65535, inclusive",
                "spec.conversion.webhookClientConfig.service.path: Invalid value: \"x\": must start with a '/'",
                "spec.conversion.webhookClientConfig.service.path: Invalid value: \"x\": segment[0] may not be empty",
            ],
        ),
        (
            json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://x"}}}),
            vec![
                "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
        (
            json!({"strategy": "zz"}),
            vec![
                "spec.conversion.strategy: Unsupported value: \"zz\": supported values: \"None\", \"Webhook\"",
            ],
        ),
    ] {
        assert_eq!(said(&with(&[("/spec/conversion", conversion.clone())]), None), expected, "{conversion}");
    }
}

#[test]
fn what_is_served_keeps_its_names() {
    let old = with(&[("/status/conditions", json!([{"type": "Established", "status": "True"}]))]);
    let new = with(&[("/spec/scope", "Cluster".into()), ("/spec/names/kind", "Other".into())]);
    let expected = [
        "spec.scope: Invalid value: \"Cluster\": field is immutable",
        "spec.names.kind: Invalid value: \"Other\": field is immutable",
    ];
    assert_eq!(said(&new, Some(&old)), expected);
    assert_eq!(said(&new, Some(&definition())), Vec::<String>::new(), "until it is served nothing is fixed");
}
