//! Who reaches whom across nodes.

use kedge_fleet::{PAGE, PATIENCE, Scene, told};
use kedge_shipped::{IMAGE, eventually};
use serde_json::json;

const CALLERS: [&str; 3] = ["caller-one", "caller-two", "caller-three"];

pub(crate) fn into_pods(scene: &mut Scene) {
    eventually("commands run on a node that joined", PATIENCE, || {
        let told = scene.try_kubectl(&["exec", "caller-three", "--", "hostname"])?;
        if told == "caller-three\n" { Ok(()) } else { Err(told) }
    });
    scene.pod("talker", "talker", "two", "echo said on two; exec sleep 1000");
    scene.ready("talker");
    assert_eq!(scene.kubectl(&["logs", "talker"]), "said on two\n");
}

pub(crate) fn pods(scene: &mut Scene) {
    for page in ["page-two", "page-one"] {
        let url = format!("http://{}:8080/", scene.address_of(page));
        for caller in CALLERS {
            eventually(&format!("{caller} reaches {page}"), PATIENCE, || {
                let told = scene.fetch(caller, &url)?;
                if told == format!("{page}\n") { Ok(()) } else { Err(told) }
            });
        }
    }
}

pub(crate) fn services(scene: &mut Scene) {
    let address = scene.kubectl(&["get", "service", "page", "--output=jsonpath={.spec.clusterIP}"]);
    for caller in CALLERS {
        eventually(&format!("{caller} reaches both pages by their Service"), PATIENCE, || {
            let script = format!(
                "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do timeout 2 wget -q -O- http://{address}/ || exit 1; done"
            );
            let pages = scene.try_kubectl(&["exec", caller, "--", "sh", "-c", &script])?;
            let seen: std::collections::BTreeSet<&str> = pages.lines().collect();
            if seen.len() == 2 { Ok(()) } else { Err(format!("only {seen:?}")) }
        });
    }
    // The API is a Service too.
    for caller in CALLERS {
        scene.kubectl(&["exec", caller, "--", "sh", "-c", "nc -w 2 10.96.0.1 443 < /dev/null"]);
    }
}

pub(crate) fn node_ports(scene: &mut Scene) {
    let port = scene.kubectl(&["get", "service", "page", "--output=jsonpath={.spec.ports[0].nodePort}"]);
    for machine in [&scene.server, &scene.two, &scene.three] {
        let url = format!("http://{}:{port}/", machine.address);
        eventually(&format!("{} answers at {port}", machine.name), PATIENCE, || {
            let page = told(
                scene.switch.beyond("busybox", &["timeout", "2", "busybox", "wget", "-q", "-O-", &url]),
            )?;
            if page.starts_with("page-") { Ok(()) } else { Err(page) }
        });
    }
}

pub(crate) fn names(scene: &mut Scene) {
    for caller in CALLERS {
        for url in ["http://page/", "http://page.default.svc.cluster.local/"] {
            eventually(&format!("{caller} knows {url}"), PATIENCE, || {
                let page = scene.fetch(caller, url)?;
                if page.starts_with("page-") { Ok(()) } else { Err(page) }
            });
        }
    }
    // A name that is new is known at once.
    scene.pod("newcomer", "newcomer", "three", PAGE);
    scene.ready("newcomer");
    scene.kubectl(&["expose", "pod", "newcomer", "--port=80", "--target-port=8080"]);
    eventually("a new name is known", PATIENCE, || scene.fetch("caller-one", "http://newcomer/"));
    on_the_host(scene);
}

/// The gateway is on the server's machine, and its hosts are known everywhere.
pub(crate) fn hosts(scene: &mut Scene) {
    scene.apply(&json!({
        "apiVersion": "kedge.dev/v1", "kind": "DNSRecord", "metadata": {"name": "shelf"},
        "spec": {"host": "shelf.example", "paths": [{"pathName": "pages", "service": "page", "port": 80}]},
    }));
    for caller in CALLERS {
        eventually(&format!("{caller} finds the host"), PATIENCE, || {
            let page = scene.fetch(caller, "http://shelf.example/pages")?;
            if page.starts_with("page-") { Ok(()) } else { Err(page) }
        });
    }
    scene.kubectl(&["delete", "dnsrecord", "shelf"]);
    eventually("nobody finds it any more", PATIENCE, || {
        scene.fetch("caller-three", "http://shelf.example/pages").map_or(Ok(()), Err)
    });
}

/// A pod in its node's own network asks at the same address, and is found by a name whose address is the node's.
fn on_the_host(scene: &Scene) {
    scene.apply(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "host"},
        "spec": {"clusterIP": "None", "selector": {"app": "host"}, "ports": [{"name": "http", "port": 8099}]},
    }));
    let page = PAGE.replace("8080", "8099");
    scene.apply(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "host", "labels": {"app": "host"}},
        "spec": {
            "nodeName": "two", "hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet",
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": IMAGE, "command": ["sh", "-c", page]}],
        },
    }));
    scene.ready("host");
    for caller in ["host", "caller-one"] {
        for name in ["host", "host.default", "host.default.svc", "host.default.svc.cluster.local"] {
            eventually(&format!("{caller} knows {name}"), PATIENCE, || {
                scene.fetch(caller, &format!("http://{name}:8099/"))
            });
        }
    }
    let page = scene.fetch("host", "http://page/");
    assert!(page.as_ref().is_ok_and(|page| page.starts_with("page-")), "{page:?}");
    scene.kubectl(&["delete", "pod/host", "service/host"]);
}
