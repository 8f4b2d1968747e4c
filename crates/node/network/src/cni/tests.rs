use super::*;

/// Everything up to where the kernel would have to act.
fn ask(program: &str, variables: &[(&str, &str)], input: &Value) -> Outcome {
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    answer(program, variable, input.to_string().as_bytes())
}

fn config() -> Value {
    json!({
        "cniVersion": "1.0.0", "name": "kedge", "type": "kedge", "bridge": "kedge-test", "table": "kedge-test", "mtu": 1500,
        "ranges": ["10.0.0.0/24"], "cluster": [], "records": "/nonexistent/records",
    })
}

#[test]
fn calls_that_cannot_be_meant() {
    let all =
        [("CNI_COMMAND", "ADD"), ("CNI_CONTAINERID", "a"), ("CNI_IFNAME", "eth0"), ("CNI_NETNS", "/no/such")];
    let without = |name: &str| all.iter().copied().filter(|(known, _)| *known != name).collect::<Vec<_>>();
    let with = |changes: &[(&'static str, &'static str)]| {
        let mut changed = all.to_vec();
        changed.retain(|(known, _)| !changes.iter().any(|(name, _)| name == known));
        changed.extend(changes);
        changed
    };
    let changed = |field: &str, value: Value| {
        let mut config = config();
        config[field] = value;
        config
    };
    let ports = |port: Value| changed("runtimeConfig", json!({"portMappings": [port]}));
    for (case, variables, config, code) in [
        ("no command", without("CNI_COMMAND"), config(), 4),
        ("an unknown command", with(&[("CNI_COMMAND", "EAT")]), config(), 4),
        ("no container", without("CNI_CONTAINERID"), config(), 4),
        ("a container that is a path", with(&[("CNI_CONTAINERID", "../x")]), config(), 4),
        ("no namespace", without("CNI_NETNS"), config(), 4),
        ("a namespace that is none", all.to_vec(), config(), 101),
        ("a version of the future", all.to_vec(), changed("cniVersion", json!("9.0.0")), 1),
        ("a version of the past", all.to_vec(), changed("cniVersion", json!("0.2.0")), 1),
        ("no ranges", all.to_vec(), changed("ranges", json!([])), 7),
        ("a range that is none", all.to_vec(), changed("ranges", json!(["10.0.0.0/99"])), 6),
        ("no object", all.to_vec(), json!([1]), 6),
        ("a port that is none", all.to_vec(), ports(json!({"hostPort": 70000, "containerPort": 1})), 7),
        (
            "a protocol that is none",
            all.to_vec(),
            ports(json!({"hostPort": 7, "containerPort": 1, "protocol": "x"})),
            7,
        ),
        (
            "an address that is none",
            all.to_vec(),
            ports(json!({"hostPort": 7, "containerPort": 1, "hostIP": "x"})),
            7,
        ),
        ("loopback without a namespace", without("CNI_NETNS"), config(), 4),
    ] {
        let program = if case.starts_with("loopback") { "loopback" } else { "kedge" };
        let outcome = ask(program, &variables, &config);
        assert!(!outcome.is_done, "{case}");
        let told: Value = serde_json::from_str(&outcome.text).unwrap();
        assert_eq!(told["code"], code, "{case}: {told}");
        assert!(!told["msg"].as_str().unwrap().is_empty(), "{case}");
    }
}

#[test]
fn which_versions_there_are() {
    for program in ["kedge", "loopback"] {
        let outcome = ask(program, &[("CNI_COMMAND", "VERSION")], &json!({"cniVersion": "1.0.0"}));
        let told: Value = serde_json::from_str(&outcome.text).unwrap();
        assert!(
            outcome.is_done && told["supportedVersions"].as_array().unwrap().contains(&json!("0.3.1")),
            "{told}"
        );
    }
}

#[test]
fn older_versions_name_the_family() {
    let addresses = [("10.0.0.2/32", Some("10.0.0.1"), 2), ("fd00::2/128", None, 2)];
    assert_eq!(
        answer::ips("0.4.0", addresses.into_iter()),
        [
            json!({"version": "4", "address": "10.0.0.2/32", "gateway": "10.0.0.1", "interface": 2}),
            json!({"version": "6", "address": "fd00::2/128", "interface": 2}),
        ]
    );
    assert_eq!(
        answer::ips("1.0.0", addresses.into_iter())[1],
        json!({"address": "fd00::2/128", "interface": 2})
    );
}
