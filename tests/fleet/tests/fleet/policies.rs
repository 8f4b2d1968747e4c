//! Policies across nodes: each node keeps its own pods, whoever comes and by whichever name.

use kedge_fleet::{PATIENCE, Scene};
use kedge_shipped::eventually;
use serde_json::{Value, json};

const CALLERS: [&str; 3] = ["caller-one", "caller-two", "caller-three"];

pub(crate) fn hold(scene: &mut Scene) {
    let service = scene.kubectl(&["get", "service", "page", "--output=jsonpath={.spec.clusterIP}"]);
    let urls = [
        format!("http://{}:8080/", scene.address_of("page-one")),
        format!("http://{}:8080/", scene.address_of("page-two")),
        format!("http://{service}/"),
    ];
    // All at once: who is not let through waits for nothing.
    let fetches = urls
        .iter()
        .enumerate()
        .map(|(at, url)| format!("(timeout 1 wget -q -O- {url} || echo none) > /tmp/{at} &"));
    let script = format!("{} wait; cat /tmp/0 /tmp/1 /tmp/2", fetches.collect::<Vec<_>>().join(" "));
    let scene = &*scene;
    let reaches = |caller: &str| {
        let told = scene.try_kubectl(&["exec", caller, "--", "sh", "-c", &script])?;
        match told.lines().filter(|line| line.starts_with("page-")).count() {
            0 => Ok(false),
            3 => Ok(true),
            some => Err(format!("{caller} reaches {some} of 3")),
        }
    };
    let until = |what: &str, wanted: [bool; 3]| {
        eventually(what, PATIENCE, || {
            let found = std::thread::scope(|scope| {
                let asked = CALLERS.map(|caller| scope.spawn(move || reaches(caller)));
                asked.map(|asked| asked.join().unwrap())
            });
            if found == wanted.map(Ok) { Ok(()) } else { Err(format!("{found:?}")) }
        });
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
