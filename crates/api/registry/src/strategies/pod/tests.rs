use serde_json::{Value, json};

use super::*;
use crate::strategies::tests::{changes_refused_with, created, defaults_are, refused_with};

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": spec})
}

fn container(container: Value) -> Value {
    let mut whole = json!({"name": "c", "image": "a:1"});
    json_patch::merge(&mut whole, &container);
    pod(json!({"containers": [whole]}))
}

#[test]
fn the_shortest_pod_reads_back_with_its_defaults() {
    defaults_are(&[
        (
            "the pod",
            container(json!({})),
            &[
                ("/spec/restartPolicy", json!("Always")),
                ("/spec/dnsPolicy", json!("ClusterFirst")),
                ("/spec/schedulerName", json!("default-scheduler")),
                ("/spec/terminationGracePeriodSeconds", json!(30)),
                ("/spec/securityContext", json!({})),
                ("/spec/enableServiceLinks", json!(true)),
                ("/spec/containers/0/imagePullPolicy", json!("IfNotPresent")),
                ("/spec/containers/0/terminationMessagePath", json!("/dev/termination-log")),
                ("/spec/containers/0/terminationMessagePolicy", json!("File")),
                ("/spec/containers/0/resources", json!({})),
                ("/status", json!({"phase": "Pending", "qosClass": "BestEffort"})),
            ],
        ),
        (
            "no tag",
            container(json!({"image": "host:5000/a"})),
            &[("/spec/containers/0/imagePullPolicy", json!("Always"))],
        ),
        (
            "latest",
            container(json!({"image": "a:latest"})),
            &[("/spec/containers/0/imagePullPolicy", json!("Always"))],
        ),
        (
            "digest",
            container(json!({"image": "a@sha256:00"})),
            &[("/spec/containers/0/imagePullPolicy", json!("IfNotPresent"))],
        ),
        (
            "probe",
            container(json!({"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 0}})),
            &[(
                "/spec/containers/0/livenessProbe",
                json!({
                    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
                    "successThreshold": 1, "failureThreshold": 3,
                }),
            )],
        ),
        (
            "port",
            container(json!({"ports": [{"containerPort": 80}]})),
            &[("/spec/containers/0/ports/0/protocol", json!("TCP"))],
        ),
        (
            "limits",
            container(json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}})),
            &[
                ("/spec/containers/0/resources/requests", json!({"cpu": "1", "memory": "1Gi"})),
                ("/status/qosClass", json!("Guaranteed")),
            ],
        ),
        (
            "part of the limits",
            container(json!({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}})),
            &[
                ("/spec/containers/0/resources/requests", json!({"cpu": "500m"})),
                ("/status/qosClass", json!("Burstable")),
            ],
        ),
        (
            "finer than a thousandth",
            container(json!({"resources": {"requests": {"cpu": "100u"}}})),
            &[("/spec/containers/0/resources/requests/cpu", json!("1m"))],
        ),
        (
            "old account",
            pod(json!({"serviceAccount": "a", "containers": []})),
            &[("/spec/serviceAccountName", json!("a"))],
        ),
        (
            "the host's network",
            pod(
                json!({"hostNetwork": true, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}),
            ),
            &[("/spec/containers/0/ports/0/hostPort", json!(80))],
        ),
        (
            "volumes",
            pod(json!({"containers": [], "volumes": [
                {"name": "a"}, {"name": "b", "secret": {}}, {"name": "c", "hostPath": {"path": "/"}},
                {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            ]})),
            &[
                ("/spec/volumes/0/emptyDir", json!({})),
                ("/spec/volumes/1/secret/defaultMode", json!(0o644)),
                ("/spec/volumes/2/hostPath/type", json!("")),
                ("/spec/volumes/3/projected/sources/0/serviceAccountToken/expirationSeconds", json!(3600)),
            ],
        ),
    ]);
}

#[test]
fn a_pod_that_makes_no_sense_is_refused() {
    refused_with(&[
        ("good", container(json!({})), &[]),
        ("no containers", pod(json!({})), &["spec.containers: Required value"]),
        (
            "two of a name",
            pod(json!({"containers": [{"name": "c", "image": "a"}, {"name": "c", "image": "a"}]})),
            &["spec.containers[1].name: Duplicate value: \"c\""],
        ),
        (
            "init of the same name",
            pod(json!({
                "containers": [{"name": "c", "image": "a"}], "initContainers": [{"name": "c", "image": "a", "lifecycle": {}}],
            })),
            &[
                "spec.initContainers[0].name: Duplicate value: \"c\"",
                "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without \
             restartPolicy=Always",
            ],
        ),
        (
            "a mount without a volume",
            container(json!({"volumeMounts": [{"name": "v", "mountPath": "/a"}]})),
            &["spec.containers[0].volumeMounts[0].name: Not found: \"v\""],
        ),
        (
            "devices of no claim",
            container(json!({"resources": {"claims": [{"name": "absent"}]}})),
            &["spec.containers[0].resources.claims[0]: Not found: \"absent\": must be one of the names in \
               pod.spec.resourceClaims which is empty"],
        ),
        (
            "request above limit",
            container(json!({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})),
            &[
                "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
            ],
        ),
        (
            "devices are not shared",
            container(json!({"resources": {"requests": {"example.com/gpu": "1"}}})),
            &[
                "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
            ],
        ),
        (
            "two handlers",
            container(json!({"livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}})),
            &[
                "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            ],
        ),
        (
            "variables",
            container(json!({"env": [{"name": "A", "valueFrom": {}}]})),
            &["spec.containers[0].env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, \
             `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"],
        ),
        (
            "users",
            container(json!({"securityContext": {"runAsUser": -1, "seccompProfile": {"type": "Localhost"}}})),
            &[
                "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be set when \
             seccomp type is Localhost",
            ],
        ),
        (
            "host ports",
            container(json!({"ports": [
                {"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5},
            ]})),
            &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//5\""],
        ),
        (
            "spreading",
            pod(json!({"containers": [{"name": "c", "image": "a"}], "topologySpreadConstraints": [{}]})),
            &[
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
                "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"\": supported values: \
             \"DoNotSchedule\", \"ScheduleAnyway\"",
            ],
        ),
        (
            "dns",
            pod(json!({"dnsPolicy": "None", "containers": [{"name": "c", "image": "a"}]})),
            &["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            "debugging from the start",
            pod(json!({
                "containers": [{"name": "c", "image": "a"}], "ephemeralContainers": [{"name": "d", "image": "a"}],
            })),
            &["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        ),
    ]);
}

#[test]
fn a_pod_changes_little() {
    let base = pod(json!({
        "containers": [{"name": "c", "image": "a:1"}], "activeDeadlineSeconds": 100,
        "tolerations": [{"key": "k", "operator": "Exists"}],
    }));
    let other = |container: Value| json!({"spec": {"containers": [container]}});
    changes_refused_with(
        &base,
        &[
            ("image", other(json!({"name": "c", "image": "a:2", "imagePullPolicy": "IfNotPresent"})), &[]),
            ("a label", json!({"metadata": {"labels": {"a": "b"}}}), &[]),
            (
                "less confined",
                json!({"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}}}),
                &[
                    "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden: may not add AppArmor annotations",
                ],
            ),
            (
                "a mirror",
                json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}),
                &[
                    "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation",
                ],
            ),
            ("nearer deadline", json!({"spec": {"activeDeadlineSeconds": 10}}), &[]),
            (
                "further deadline",
                json!({"spec": {"activeDeadlineSeconds": 1000}}),
                &[
                    "spec.activeDeadlineSeconds: Invalid value: 1000: must be less than or equal to previous value",
                ],
            ),
            (
                "one more toleration",
                json!({"spec": {"tolerations": [{"key": "k", "operator": "Exists"}, {"operator": "Exists"}]}}),
                &[],
            ),
            (
                "no toleration",
                json!({"spec": {"tolerations": []}}),
                &[
                    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
                ],
            ),
            (
                "another container",
                json!({"spec": {"containers": [{"name": "c", "image": "a:1"}, {"name": "d", "image": "a:1"}]}}),
                &["spec.containers: Forbidden: pod updates may not add or remove containers"],
            ),
            (
                "its node",
                json!({"spec": {"nodeName": "m"}}),
                &["spec: Forbidden: pod updates may not change fields other than \
             `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
             (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
             it was previously negative)"],
            ),
        ],
    );
}

#[test]
fn what_a_pod_was_judged_by_stays() {
    let mut base = container(json!({}));
    base["metadata"]["annotations"] = json!({
        "container.apparmor.security.beta.kubernetes.io/c": "runtime/default", "kubernetes.io/config.mirror": "x",
    });
    let mut other = base.clone();
    other["metadata"]["annotations"] = json!({
        "container.apparmor.security.beta.kubernetes.io/c": "unconfined", "free": "",
    });
    for check in [update::check, update::status] {
        let mut errors = Errors::default();
        check(&mut errors, &base, &base);
        assert!(errors.is_empty(), "{errors:?}");
        check(&mut errors, &other, &base);
        let told = format!("{errors:?}");
        assert!(told.contains("may not remove or update AppArmor annotations"), "{told}");
        assert!(told.contains("may not remove or update mirror pod annotation"), "{told}");
    }
}

#[test]
fn a_pod_on_a_node_gets_time_to_end() {
    for (case, spec, phase, asked, expected) in [
        ("no node", json!({}), "Pending", None, 0),
        ("its own period", json!({"nodeName": "n", "terminationGracePeriodSeconds": 7}), "Running", None, 7),
        ("what was asked", json!({"nodeName": "n"}), "Running", Some(3), 3),
        ("at once", json!({"nodeName": "n"}), "Running", Some(0), 0),
        ("negative", json!({"nodeName": "n", "terminationGracePeriodSeconds": -5}), "Running", None, 1),
        ("over already", json!({"nodeName": "n"}), "Succeeded", None, 0),
    ] {
        let mut object = pod(spec);
        object["status"] = json!({"phase": phase});
        assert_eq!(Pods.grace_seconds(&object, asked), expected, "{case}");
    }
}

#[test]
fn odd_pods_are_warned_about() {
    let object = created(container(json!({
        "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "A", "value": "$(A)3"}],
        "ports": [{"containerPort": 80}, {"containerPort": 80}],
        "resources": {"limits": {"memory": "100m"}},
    })));
    assert_eq!(
        Pods.warnings(&object),
        [
            "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an integer",
            "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\" is invalid, must be an integer",
            "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        ]
    );
    assert!(!Pods.warns_again(&object, &container(json!({}))), "an update says nothing");
}
