use serde_json::{Value, json};

use crate::strategies::tests::{changes_refused_with, defaults_are, refused_with};

fn workload(kind: &str, spec: Value) -> Value {
    let mut whole = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "d", "namespace": "n"},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}},
        },
    });
    json_patch::merge(&mut whole["spec"], &spec);
    whole
}

#[test]
fn workloads_read_back_with_their_defaults() {
    defaults_are(&[
        (
            "deployment",
            workload("Deployment", json!({})),
            &[
                ("/spec/replicas", json!(1)),
                ("/spec/revisionHistoryLimit", json!(10)),
                ("/spec/progressDeadlineSeconds", json!(600)),
                (
                    "/spec/strategy",
                    json!({
                        "type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                    }),
                ),
                ("/spec/template/spec/restartPolicy", json!("Always")),
                ("/spec/template/spec/enableServiceLinks", Value::Null),
                ("/status", json!({})),
            ],
        ),
        (
            "recreated",
            workload("Deployment", json!({"strategy": {"type": "Recreate"}})),
            &[("/spec/strategy", json!({"type": "Recreate"}))],
        ),
        (
            "replica set",
            workload("ReplicaSet", json!({})),
            &[("/spec/replicas", json!(1)), ("/status", json!({"replicas": 0}))],
        ),
        (
            "daemon set",
            workload("DaemonSet", json!({})),
            &[
                ("/spec/updateStrategy/rollingUpdate", json!({"maxSurge": 0, "maxUnavailable": 1})),
                ("/metadata/annotations/deprecated.daemonset.template.generation", json!("1")),
            ],
        ),
        (
            "stateful set",
            workload("StatefulSet", json!({"volumeClaimTemplates": [{"metadata": {"name": "v"}}]})),
            &[
                ("/spec/podManagementPolicy", json!("OrderedReady")),
                ("/spec/updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})),
                (
                    "/spec/persistentVolumeClaimRetentionPolicy",
                    json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
                ),
                ("/spec/volumeClaimTemplates/0/kind", json!("PersistentVolumeClaim")),
                ("/spec/volumeClaimTemplates/0/spec/volumeMode", json!("Filesystem")),
                ("/status", json!({"replicas": 0, "availableReplicas": 0})),
            ],
        ),
    ]);
}

#[test]
fn workloads_that_make_no_sense_are_refused() {
    let volumes = json!([{"metadata": {"name": "v"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }}]);
    let mounted = json!({"spec": {"containers": [
        {"name": "c", "image": "a", "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
    ]}});
    refused_with(&[
        ("good", workload("Deployment", json!({})), &[]),
        (
            "claims are volumes",
            workload("StatefulSet", json!({"volumeClaimTemplates": volumes, "template": mounted})),
            &[],
        ),
        (
            "empty selector",
            workload("Deployment", json!({"selector": {"matchLabels": null}})),
            &["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            "other labels",
            workload("ReplicaSet", json!({"template": {"metadata": {"labels": {"app": "x"}}}})),
            &[
                "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`",
            ],
        ),
        (
            "stopped by nothing",
            workload(
                "Deployment",
                json!({
                    "replicas": -1, "strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}},
                }),
            ),
            &[
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
            ],
        ),
        (
            "never restarting",
            workload("DaemonSet", json!({"template": {"spec": {"restartPolicy": "Never"}}})),
            &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""],
        ),
        (
            "an odd strategy",
            workload("StatefulSet", json!({"updateStrategy": {"type": "Sometimes"}})),
            &[
                "spec.updateStrategy: Invalid value: {\"type\":\"Sometimes\"}: must be 'RollingUpdate' or 'OnDelete'",
            ],
        ),
    ]);
}

#[test]
fn a_workload_keeps_its_selector() {
    let other = json!({"spec": {
        "selector": {"matchLabels": {"app": "d", "more": "x"}}, "template": {"metadata": {"labels": {"more": "x"}}},
    }});
    for kind in ["Deployment", "ReplicaSet", "DaemonSet"] {
        changes_refused_with(
            &workload(kind, json!({})),
            &[
                ("replicas", json!({"spec": {"minReadySeconds": 3}}), &[]),
                (
                    "selector",
                    other.clone(),
                    &[
                        "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"d\",\"more\":\"x\"}}: field is immutable",
                    ],
                ),
            ],
        );
    }
    changes_refused_with(
        &workload("StatefulSet", json!({})),
        &[
            ("replicas", json!({"spec": {"replicas": 3}}), &[]),
            (
                "service",
                json!({"spec": {"serviceName": "other"}}),
                &[
                    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
             'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
             forbidden",
                ],
            ),
        ],
    );
}
