//! Three nodes whose pods and Services have addresses of both families, though the machines have one: whoever is reached by the one is reached
//! by the other. Needs root, `ip`, `nft`, nsenter, containerd, runc, kubectl and a static busybox.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests end where something is wrong")]

use std::net::IpAddr;

use kedge_fleet::{FOR_EVER, Outfit, PATIENCE, Scene, told};
use kedge_shipped::eventually;
use serde_json::{Value, json};

/// The page of calls, for both families.
const PAGE: &str = "mkdir /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p [::]:8080 -h /tmp/www";

#[test]
fn whoever_is_reached_by_one_family_is_reached_by_the_other() {
    let mut scene = Scene::start_with(Outfit { both_families: true, ..Outfit::default() });
    scene.join();
    scene.pod("page", "page", "two", PAGE);
    for (caller, node) in [("beside", "two"), ("far", "three")] {
        scene.pod(caller, "caller", node, FOR_EVER);
    }
    scene.apply(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "page"},
        "spec": {
            "type": "NodePort", "ipFamilyPolicy": "RequireDualStack", "selector": {"app": "page"},
            "ports": [{"port": 80, "targetPort": 8080}],
        },
    }));
    for pod in ["page", "beside", "far"] {
        scene.ready(pod);
    }
    let pod = both(&scene.object(&["pod", "page"]).unwrap()["status"]["podIPs"], |entry| &entry["ip"]);
    let service = both(&scene.object(&["service", "page"]).unwrap()["spec"]["clusterIPs"], |entry| entry);
    for caller in ["beside", "far"] {
        for (address, port) in pod.iter().map(|ip| (ip, 8080)).chain(service.iter().map(|ip| (ip, 80))) {
            let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
            answers(&scene, caller, &format!("http://{host}:{port}/"));
        }
        answers(&scene, caller, "http://page/");
        eventually(&format!("{caller} hears both addresses of the name"), PATIENCE, || {
            let heard =
                scene.try_kubectl(&["exec", caller, "--", "nslookup", "page.default.svc.cluster.local"])?;
            if service.iter().all(|ip| heard.contains(&ip.to_string())) { Ok(()) } else { Err(heard) }
        });
    }
    let port = scene.kubectl(&["get", "service", "page", "--output=jsonpath={.spec.ports[0].nodePort}"]);
    let url = format!("http://{}:{port}/", scene.three.address);
    let page = scene.switch.beyond("busybox", &["timeout", "2", "busybox", "wget", "-q", "-O-", &url]);
    assert_eq!(told(page).unwrap(), "page\n");
}

/// One address of each family, the first of the one that the cluster has first.
#[track_caller]
fn both(list: &Value, address: impl Fn(&Value) -> &Value) -> [IpAddr; 2] {
    let all = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let all: Vec<IpAddr> =
        all.iter().map(|entry| address(entry).as_str().unwrap().parse().unwrap()).collect();
    let pair = <[IpAddr; 2]>::try_from(all).unwrap_or_else(|_| panic!("{list}"));
    assert!(pair[0].is_ipv4() && pair[1].is_ipv6(), "{list}");
    pair
}

#[track_caller]
fn answers(scene: &Scene, caller: &str, url: &str) {
    eventually(&format!("{caller} reaches {url}"), PATIENCE, || {
        let page = scene.fetch(caller, url)?;
        if page == "page\n" { Ok(()) } else { Err(page) }
    });
}
