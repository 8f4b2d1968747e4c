use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;

#[derive(Default)]
struct Known {
    maps: HashMap<String, ConfigMap>,
    secrets: HashMap<String, Secret>,
    services: Vec<Service>,
    volumes: HashMap<String, std::path::PathBuf>,
}

impl Lookup for Known {
    fn config_map(&self, name: &str) -> Option<&ConfigMap> {
        self.maps.get(name)
    }
    fn secret(&self, name: &str) -> Option<&Secret> {
        self.secrets.get(name)
    }
    fn services(&self) -> Vec<&Service> {
        self.services.iter().collect()
    }
    fn allocatable(&self, resource: &str) -> Option<Quantity> {
        (resource == "cpu").then(|| "4".parse().unwrap())
    }
    fn volume(&self, name: &str) -> Option<&Path> {
        self.volumes.get(name).map(|path| &**path)
    }
}

fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn known() -> Known {
    let map = json!({"metadata": {"name": "m"}, "data": {"a": "1", "b": "2"}});
    // "x" and "y" in the encoding of Secrets.
    let secret = json!({"metadata": {"name": "s"}, "data": {"b": "eA==", "c": "eQ=="}});
    let service = |namespace: &str, name: &str, ip: &str| {
        of::<Service>(json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusterIP": ip, "ports": [{"name": "web-ui", "port": 80}, {"port": 53, "protocol": "UDP"}]},
        }))
    };
    Known {
        maps: HashMap::from([("m".to_owned(), of(map))]),
        secrets: HashMap::from([("s".to_owned(), of(secret))]),
        services: vec![
            service("n", "my-db", "10.0.0.9"),
            service("n", "headless", "None"),
            service("other", "far", "10.0.0.8"),
        ],
        volumes: HashMap::new(),
    }
}

fn variables(container: Value, links: bool) -> Result<BTreeMap<String, String>, EnvError> {
    let mut container = container;
    container["name"] = json!("c");
    let pod: Pod = of(json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"app": "web", "x": "a\"b"}},
        "spec": {"containers": [container], "enableServiceLinks": links, "serviceAccountName": "sa"},
    }));
    let place = Place {
        node: "node-1".to_owned(),
        node_ips: vec!["192.0.2.1".to_owned()],
        pod_ips: vec!["10.1.0.5".to_owned(), "fd00::5".to_owned()],
    };
    environment(&pod, &pod.spec.as_ref().unwrap().containers[0], &place, &known())
}

#[test]
fn variables_come_from_everywhere() {
    let from = |source: Value| json!({"env": [{"name": "V", "valueFrom": source}]});
    let field = |path: &str| from(json!({"fieldRef": {"fieldPath": path}}));
    let limits = json!({"limits": {"cpu": "1500m", "memory": "1Gi"}});
    let resource = |wanted: Value| {
        let mut container = from(json!({"resourceFieldRef": wanted}));
        container["resources"] = limits.clone();
        container
    };
    for (case, container, value) in [
        ("plain", json!({"env": [{"name": "V", "value": "v"}]}), "v"),
        (
            "of another",
            json!({"env": [{"name": "A", "value": "1"}, {"name": "V", "value": "$(A)$(V)"}]}),
            "1$(V)",
        ),
        (
            "of a later one",
            json!({"env": [{"name": "V", "value": "$(A)"}, {"name": "A", "value": "1"}]}),
            "$(A)",
        ),
        ("of a map", from(json!({"configMapKeyRef": {"name": "m", "key": "a"}})), "1"),
        ("of a secret", from(json!({"secretKeyRef": {"name": "s", "key": "c"}})), "y"),
        ("the name", field("metadata.name"), "p"),
        ("a label", field("metadata.labels['app']"), "web"),
        ("all labels", field("metadata.labels"), "app=\"web\"\nx=\"a\\\"b\""),
        ("an absent label", field("metadata.labels['none']"), ""),
        ("the node", field("spec.nodeName"), "node-1"),
        ("the address", field("status.podIP"), "10.1.0.5"),
        ("all addresses", field("status.podIPs"), "10.1.0.5,fd00::5"),
        ("cores, rounded up", resource(json!({"resource": "limits.cpu"})), "2"),
        ("thousandths of cores", resource(json!({"resource": "limits.cpu", "divisor": "1m"})), "1500"),
        ("mebibytes", resource(json!({"resource": "limits.memory", "divisor": "1Mi"})), "1024"),
        ("nothing asked for", resource(json!({"resource": "requests.cpu"})), "0"),
        ("no limit is the node's", from(json!({"resourceFieldRef": {"resource": "limits.cpu"}})), "4"),
    ] {
        let found = variables(container, true).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(found.get("V").map(String::as_str), Some(value), "{case}");
    }
}

#[test]
fn the_nearer_one_wins() {
    let container = json!({
        "envFrom": [{"configMapRef": {"name": "m"}}, {"secretRef": {"name": "s"}}, {"prefix": "P_", "configMapRef": {"name": "m"}}],
        "env": [{"name": "a", "value": "mine"}, {"name": "MY_DB_SERVICE_HOST", "value": "here"}],
    });
    let found = variables(container, true).unwrap();
    let value = |name: &str| found.get(name).map(String::as_str);
    assert_eq!(value("a"), Some("mine"));
    assert_eq!(value("b"), Some("x"), "the later object wins");
    assert_eq!(value("P_a"), Some("1"));
    assert_eq!(value("MY_DB_SERVICE_HOST"), Some("here"));
    assert_eq!(value("MY_DB_SERVICE_PORT_WEB_UI"), Some("80"));
    assert_eq!(value("MY_DB_PORT_53_UDP"), Some("udp://10.0.0.9:53"));
    assert_eq!(value("HEADLESS_SERVICE_HOST"), None);
    assert_eq!(value("FAR_SERVICE_HOST"), None);
    assert!(variables(json!({}), false).unwrap().is_empty());
}

#[test]
fn what_is_missing_is_named() {
    let map = |name: &str, key: &str, optional: bool| json!({"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": name, "key": key, "optional": optional}}}]});
    for (case, container, told) in [
        ("no map", map("x", "a", false), Some("configmap \"x\" not found")),
        ("no key", map("m", "z", false), Some("couldn't find key z in ConfigMap n/m")),
        ("optional map", map("x", "a", true), None),
        ("optional key", map("m", "z", true), None),
        (
            "no whole map",
            json!({"envFrom": [{"configMapRef": {"name": "x"}}]}),
            Some("configmap \"x\" not found"),
        ),
        (
            "no whole secret",
            json!({"envFrom": [{"secretRef": {"name": "x"}}]}),
            Some("secret \"x\" not found"),
        ),
    ] {
        let found = variables(container, false);
        match told {
            Some(told) => assert_eq!(found.unwrap_err().to_string(), told, "{case}"),
            None => assert!(!found.unwrap().contains_key("V"), "{case}"),
        }
    }
}

#[test]
fn what_a_container_left_in_a_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("env"), "A='1'\n").unwrap();
    std::fs::write(folder.path().join("wrong"), "A=1\n").unwrap();
    let volumes = HashMap::from([("v".to_owned(), folder.path().to_owned())]);
    let known = Known { volumes, ..Known::default() };
    let no_file = "couldn't parse env file";
    for (case, volume, path, key, optional, expected) in [
        ("there", "v", "env", "A", false, Ok(Some("1"))),
        ("no key", "v", "env", "B", false, Err("environment variable key \"B\" not found in file \"env\"")),
        ("no key that matters", "v", "env", "B", true, Ok(None)),
        ("no file", "v", "none", "A", false, Err(no_file)),
        ("no file that matters", "v", "none", "A", true, Ok(None)),
        ("no list of variables", "v", "wrong", "A", true, Err(no_file)),
        ("no volume", "w", "env", "A", true, Err("cannot find the volume \"w\" referenced by FileKeyRef")),
    ] {
        let wanted = FileKeySelector {
            volume_name: volume.to_owned(),
            path: path.to_owned(),
            key: key.to_owned(),
            optional: Some(optional),
        };
        let found = left_behind(&wanted, &known).map_err(|error| error.to_string());
        assert_eq!(found, expected.map(|v| v.map(str::to_owned)).map_err(str::to_owned), "{case}");
    }
}

#[test]
fn whoever_has_no_limit_has_that_of_his_pod() {
    let pod = |limits: Value| -> Pod {
        let spec = json!({"containers": [{"name": "c"}], "resources": {"limits": limits}});
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    };
    let wanted = ResourceFieldSelector { resource: "limits.cpu".to_owned(), ..Default::default() };
    for (limits, expected) in [(json!({}), "4"), (json!({"cpu": "2"}), "2"), (json!({"memory": "1Gi"}), "4")]
    {
        let pod = pod(limits.clone());
        let own = &pod.spec.as_ref().unwrap().containers[0];
        let found = resource(&wanted, &pod, Some(own), |_| "4".parse().ok());
        assert_eq!(found.unwrap(), expected, "{limits}");
    }
}
