use serde_json::{Value, json};

use super::*;

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
}

fn asks(requests: Value) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": requests}}]})
}

fn sysctl(name: &str) -> Value {
    json!({"containers": [], "securityContext": {"sysctls": [{"name": name, "value": "1"}]}})
}

fn with(mut spec: Value, key: &str, value: Value) -> Value {
    spec[key] = value;
    spec
}

fn verdict(pod: &Pod, pressures: &[&'static str]) -> String {
    let node: Node = serde_json::from_value(json!({
        "metadata": {"name": "n", "labels": {"disk": "ssd"}},
        "spec": {"taints": [{"key": "off", "effect": "NoExecute"}, {"key": "meh", "effect": "NoSchedule"}]},
    }))
    .unwrap();
    let ground = Ground {
        node: Some(&node),
        pressures,
        unsafe_sysctls: &["kernel.msg*".to_owned(), "net.core.somaxconn".to_owned()],
        apparmor: false,
    };
    match judge(pod, &ground) {
        Ok(()) => "fine".to_owned(),
        Err(found) => format!("{}: {}", found.reason, found.message),
    }
}

#[test]
fn a_node_takes_what_is_meant_for_it() {
    let taken = |spec: Value| with(spec, "tolerations", json!([{"key": "off", "operator": "Exists"}]));
    let empty = json!({"containers": []});
    for (case, spec, expected) in [
        ("here", taken(with(empty.clone(), "nodeSelector", json!({"disk": "ssd"}))), "fine"),
        (
            "elsewhere",
            taken(with(empty.clone(), "nodeSelector", json!({"disk": "hdd"}))),
            "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            "not welcome",
            empty.clone(),
            "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
        ),
        (
            "another system",
            with(empty.clone(), "os", json!({"name": "windows"})),
            "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
        ),
        (
            "confined",
            taken(
                json!({"containers": [{"name": "c", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}]}),
            ),
            "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host",
        ),
        (
            "not confined",
            taken(with(empty.clone(), "securityContext", json!({"appArmorProfile": {"type": "Unconfined"}}))),
            "fine",
        ),
        (
            "only its own groups",
            with(empty, "securityContext", json!({"supplementalGroupsPolicy": "Strict"})),
            "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node",
        ),
    ] {
        assert_eq!(verdict(&pod(spec), &[]), expected, "{case}");
    }
}

#[test]
fn only_settings_of_its_own() {
    let refused = |name: &str, why: &str| format!("SysctlForbidden: forbidden sysctl: {name:?} {why}");
    let net = "net.ipv4.tcp_syncookies";
    for (case, spec, expected) in [
        ("safe", sysctl("kernel.shm_rmid_forced"), None),
        ("with slashes", sysctl("net/ipv4/tcp_syncookies"), None),
        ("allowed", sysctl("kernel.msgmax"), None),
        ("allowed by name", sysctl("net.core.somaxconn"), None),
        ("not allowed", sysctl("net.core.rmem_max"), Some(refused("net.core.rmem_max", "not allowlisted"))),
        ("the machine's", sysctl("vm.swappiness"), Some(refused("vm.swappiness", "not allowlisted"))),
        (
            "the node's network",
            with(sysctl(net), "hostNetwork", json!(true)),
            Some(refused(net, "not allowed with host net enabled")),
        ),
    ] {
        let spec = with(spec, "tolerations", json!([{"operator": "Exists"}]));
        assert_eq!(verdict(&pod(spec), &[]), expected.unwrap_or_else(|| "fine".to_owned()), "{case}");
    }
}

#[test]
fn a_node_under_pressure_takes_little() {
    let all = json!([{"operator": "Exists"}]);
    let off = json!([{"key": "off", "operator": "Exists"}]);
    let evicted = |what: &str| format!("Evicted: The node had condition: [{what}]. ");
    let empty = json!({"containers": []});
    for (case, spec, pressures, expected) in [
        (
            "no need",
            with(empty.clone(), "tolerations", off.clone()),
            &["MemoryPressure"][..],
            evicted("MemoryPressure"),
        ),
        (
            "it minds nothing",
            with(empty.clone(), "tolerations", all.clone()),
            &["MemoryPressure"],
            "fine".to_owned(),
        ),
        (
            "it asks for it",
            with(asks(json!({"memory": "1Mi"})), "tolerations", off.clone()),
            &["MemoryPressure"],
            "fine".to_owned(),
        ),
        (
            "no disk",
            with(asks(json!({"memory": "1Mi"})), "tolerations", all.clone()),
            &["DiskPressure"],
            evicted("DiskPressure"),
        ),
        (
            "critical",
            with(with(empty, "tolerations", all), "priority", json!(2_000_000_000)),
            &["DiskPressure"],
            "fine".to_owned(),
        ),
    ] {
        assert_eq!(verdict(&pod(spec), pressures), expected, "{case}");
    }
}
