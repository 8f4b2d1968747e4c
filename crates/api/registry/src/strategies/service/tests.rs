use serde_json::{Value, json};

use super::Services;
use crate::strategies::tests::{changes_refused_with, created, defaults_are, refused_with};
use crate::strategy::Strategy;

fn service(spec: Value) -> Value {
    let mut whole = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"},
        "spec": {"ports": [{"port": 80}]},
    });
    json_patch::merge(&mut whole["spec"], &spec);
    whole
}

#[test]
fn a_service_reads_back_with_its_defaults() {
    defaults_are(&[
        (
            "shortest",
            service(json!({})),
            &[
                ("/spec/type", json!("ClusterIP")),
                ("/spec/sessionAffinity", json!("None")),
                ("/spec/internalTrafficPolicy", json!("Cluster")),
                ("/spec/externalTrafficPolicy", Value::Null),
                ("/spec/ports/0", json!({"port": 80, "protocol": "TCP", "targetPort": 80})),
                ("/status", json!({"loadBalancer": {}})),
            ],
        ),
        (
            "balanced",
            service(json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP"})),
            &[
                ("/spec/allocateLoadBalancerNodePorts", json!(true)),
                ("/spec/externalTrafficPolicy", json!("Cluster")),
                ("/spec/sessionAffinityConfig/clientIP/timeoutSeconds", json!(10800)),
            ],
        ),
        (
            "elsewhere",
            service(json!({"type": "ExternalName", "externalName": "a.test"})),
            &[("/spec/internalTrafficPolicy", Value::Null)],
        ),
    ]);
}

#[test]
fn a_service_that_makes_no_sense_is_refused() {
    refused_with(&[
        ("good", service(json!({})), &[]),
        ("headless without ports", service(json!({"clusterIP": "None", "ports": null})), &[]),
        ("no ports", service(json!({"ports": null})), &["spec.ports: Required value"]),
        (
            "unnamed ports",
            service(json!({"ports": [{"port": 80}, {"port": 81, "name": "b", "targetPort": "-x"}]})),
            &[
                "spec.ports[0].name: Required value",
                "spec.ports[1].targetPort: Invalid value: \"-x\": must not begin or end with a hyphen",
            ],
        ),
        (
            "node port",
            service(json!({"ports": [{"port": 80, "nodePort": 30000}]})),
            &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        ("no name", service(json!({"type": "ExternalName"})), &["spec.externalName: Required value"]),
        (
            "odd address",
            service(json!({"clusterIP": "x", "externalIPs": ["127.0.0.1"]})),
            &[
                "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            ],
        ),
        (
            "ranges of a balancer",
            service(json!({"loadBalancerSourceRanges": ["10.0.0.0/8"]})),
            &["spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
    ]);
}

#[test]
fn a_service_keeps_its_address() {
    let given = service(json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}));
    changes_refused_with(
        &given,
        &[
            ("a port", json!({"spec": {"ports": [{"port": 81}]}}), &[]),
            (
                "address",
                json!({"spec": {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]}}),
                &["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"],
            ),
        ],
    );
}

#[test]
fn what_a_service_ignores_is_warned_about() {
    for (case, spec, expected) in [
        ("usual", json!({}), &[][..]),
        (
            "external addresses",
            json!({"externalIPs": ["192.0.2.1"]}),
            &["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            "headless",
            json!({"clusterIP": "None", "externalIPs": ["192.0.2.1"], "sessionAffinity": "ClientIP"}),
            &[
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
            ],
        ),
        (
            "a name that nobody asks for",
            json!({"externalName": "a.test", "trafficDistribution": "PreferClose"}),
            &[
                "spec.externalName is ignored when spec.type is not \"ExternalName\"",
                "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
            ],
        ),
    ] {
        assert_eq!(Services.warnings(&created(service(spec))), expected, "{case}");
    }
}
