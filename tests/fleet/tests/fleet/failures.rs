//! What happens when machines and wires fail.

use kedge_fleet::{FOR_EVER, NODE, PATIENCE, Scene, Switch, told};
use kedge_shipped::{IMAGE, eventually};
use serde_json::json;

pub(crate) fn server_killed(scene: &mut Scene) {
    let address = scene.kubectl(&["get", "service", "page", "--output=jsonpath={.spec.clusterIP}"]);
    let script = format!(
        "while :; do if timeout 3 wget -q -O- http://{address}/ >/dev/null; then echo ok; else echo FAILED; fi; sleep 0.02; done"
    );
    scene.pod("patient", "patient", "three", &script);
    scene.ready("patient");
    let calls = |scene: &Scene| -> Result<(usize, usize), String> {
        let log = scene.try_kubectl(&["logs", "patient"])?;
        Ok((
            log.lines().filter(|line| *line == "ok").count(),
            log.lines().filter(|line| *line == "FAILED").count(),
        ))
    };
    eventually("the service is called", PATIENCE, || match calls(scene)? {
        (20.., _) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    let page = scene.kubectl(&["get", "service", "page", "--output=jsonpath={.spec.clusterIP}"]);
    eventually("names are written down", PATIENCE, || {
        let written = std::fs::read_to_string(scene.two.data().join("dns-names"));
        let written = written.map_err(|error| error.to_string())?;
        if written.contains("\"page.default.\"") { Ok(()) } else { Err(written) }
    });
    for round in 0..2 {
        scene.server.kill();
        if round == 1 {
            // A node that is started while there is no server goes by what it knows.
            scene.two.stop();
            scene.two.run(&[&["agent"][..], &NODE].concat());
            let nslookup = ["nslookup", "-type=a", "page.default.svc.cluster.local", "10.96.0.10"];
            eventually("names are known without a server", PATIENCE, || {
                let told = told(scene.two.command("busybox").args(nslookup).output().unwrap())?;
                if told.contains(&page) { Ok(()) } else { Err(told) }
            });
        }
        scene.start_server();
        eventually("the server is back", PATIENCE, || scene.try_kubectl(&["get", "--raw", "/readyz"]));
    }
    for name in ["one", "two", "three"] {
        scene.node_is(name, "True");
    }
    let (before, _) = eventually("its log can be read", PATIENCE, || calls(scene));
    eventually("the service is still called", PATIENCE, || match calls(scene)? {
        (good, 0) if good > before + 20 => Ok(()),
        other => Err(format!("{other:?}")),
    });
    scene.kubectl(&["delete", "pod", "patient", "--grace-period=1"]);
}

/// A machine gets another address, as from a router, and its own one back.
pub(crate) fn moved(scene: &mut Scene) {
    let (own, other) = (scene.two.address.clone(), Switch::spare());
    let page = format!("http://{}:8080/", scene.address_of("page-two"));
    let back = format!("http://{}:8080/", scene.address_of("page-one"));
    for (from, to) in [(&own, &other), (&other, &own)] {
        for line in [
            format!("addr del {from}/24 dev eth0"),
            format!("addr add {to}/24 dev eth0"),
            format!("route replace default via {}", Switch::gateway()),
        ] {
            told(scene.two.command("ip").args(line.split(' ')).output().unwrap()).unwrap();
        }
        eventually(&format!("two says that it is at {to}"), PATIENCE, || {
            let node = scene.object(&["node", "two"])?;
            let addresses = node["status"]["addresses"].to_string();
            if addresses.contains(&format!("\"{to}\"")) { Ok(()) } else { Err(addresses) }
        });
        for caller in ["caller-one", "caller-three"] {
            eventually(&format!("{caller} reaches two at {to}"), PATIENCE, || scene.fetch(caller, &page));
        }
        // By the new address to the node's door, and from there to another node.
        eventually(&format!("two at {to} reaches others"), PATIENCE, || scene.fetch("caller-two", &back));
    }
}

pub(crate) fn cut_off(scene: &mut Scene) {
    let soon =
        |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1});
    let prefers = json!({"preferredDuringSchedulingIgnoredDuringExecution": [{
        "weight": 100,
        "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["two"]}]},
    }]});
    scene.apply(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "wanderer"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "wanderer"}},
            "template": {
                "metadata": {"labels": {"app": "wanderer"}},
                "spec": {
                    "terminationGracePeriodSeconds": 1, "affinity": {"nodeAffinity": prefers},
                    "tolerations": [soon("node.kubernetes.io/unreachable"), soon("node.kubernetes.io/not-ready")],
                    "containers": [{"name": "main", "image": IMAGE, "command": ["sh", "-c", FOR_EVER]}],
                },
            },
        },
    }));
    let pods = |scene: &Scene| -> Result<Vec<(String, String, String)>, String> {
        let pods = scene.object(&["pods", "--selector=app=wanderer"])?;
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Ok(pods
            .iter()
            .map(|pod| {
                let phase = match pod["metadata"]["deletionTimestamp"].is_string() {
                    true => "Leaving".to_owned(),
                    false => text(&pod["status"]["phase"]),
                };
                (text(&pod["metadata"]["uid"]), text(&pod["spec"]["nodeName"]), phase)
            })
            .collect())
    };
    let first = eventually("it runs on two", PATIENCE, || match &pods(scene)?[..] {
        [(uid, node, phase)] if node == "two" && phase == "Running" => Ok(uid.clone()),
        other => Err(format!("{other:?}")),
    });

    scene.switch.set(&scene.two.host, false);
    scene.node_is("two", "Unknown");
    eventually("it runs elsewhere", PATIENCE, || {
        let all = pods(scene)?;
        let elsewhere = all.iter().any(|(_, node, phase)| node != "two" && phase == "Running");
        if elsewhere { Ok(()) } else { Err(format!("{all:?}")) }
    });
    // What cannot be told to end runs on.
    assert!(scene.two.data().join("pods").join(&first).exists());

    scene.switch.set(&scene.two.host, true);
    scene.node_is("two", "True");
    eventually("nothing is left of it on two", PATIENCE, || {
        let all = pods(scene)?;
        let folder = scene.two.data().join("pods").join(&first).exists();
        if all.len() == 1 && !folder { Ok(()) } else { Err(format!("folder: {folder}, {all:?}")) }
    });
    scene.kubectl(&["delete", "deployment", "wanderer"]);
    // Others reach it again.
    let url = format!("http://{}:8080/", scene.address_of("page-one"));
    eventually("its pods are reached again", PATIENCE, || scene.fetch("caller-two", &url));
}
