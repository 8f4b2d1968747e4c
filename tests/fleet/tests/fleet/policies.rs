//! Policies across nodes: each node keeps its own pods, whoever comes and by whichever name.

use kedge_shipped::eventually;
use serde_json::{Value, json};

use crate::machine::PATIENCE;
use crate::scene::Scene;

const CALLERS: [&str; 3] = ["caller-one", "caller-two", "caller-three"];

pub(crate) fn hold(scene: &mut Scene) {
    let service = scene.kubectl(&["get", "service", "page", "--output=jsonpath={.spec.clusterIP}"]);
    let urls = [
        format!("http://{}:8080/", scene.address_of("page-one")),
        format!("http://{}:8080/", scene.address_of("page-two")),
        format!("http://{service}/"),
    ];
    let until = |what: &str, wanted: [bool; 3]| {
        for url in &urls {
            eventually(&format!("{what}: {url}"), PATIENCE, || {
                let found = CALLERS
                    .map(|caller| scene.fetch(caller, url).is_ok_and(|page| page.starts_with("page-")));
                if found == wanted { Ok(()) } else { Err(format!("{found:?}")) }
            });
        }
    };
    until("there is no policy", [true, true, true]);

    let friends = json!([{"podSelector": {"matchLabels": {"friend": "yes"}}}]);
    let pages = json!({"matchLabels": {"app": "page"}});
    policy(
        scene,
        "friends",
        json!({"podSelector": pages, "ingress": [{"from": friends, "ports": [{"port": 8080}]}]}),
    );
    until("nobody is a friend", [false, false, false]);
    scene.kubectl(&["label", "pod", "caller-three", "friend=yes"]);
    until("one is", [false, false, true]);
    scene.kubectl(&["label", "pod", "caller-one", "friend=yes"]);
    until("two are", [true, false, true]);

    let one = json!({"matchLabels": {"friend": "yes"}});
    policy(scene, "stay", json!({"podSelector": one, "policyTypes": ["Egress"]}));
    until("friends stay at home", [false, false, false]);
    scene.kubectl(&["delete", "networkpolicy", "stay", "friends"]);
    until("there is no policy any more", [true, true, true]);
}

fn policy(scene: &Scene, name: &str, spec: Value) {
    scene.apply(&json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec,
    }));
}
