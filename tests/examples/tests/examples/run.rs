//! What comes of each example when it is applied.

use std::path::Path;
use std::time::Duration;

use kedge_shipped::eventually;
use serde_json::json;

use crate::machine::Machine;

pub(crate) type Story = (&'static str, fn(&Machine));

pub(crate) const STORIES: [Story; 24] = [
    ("pod.yaml", |machine| {
        machine.until(&["logs", "shared", "-c", "reader"], &["hello from the writer"]);
        machine.until(&["get", "pod", "shared"], &["2/2", "Running"]);
    }),
    ("replicaset.yaml", |machine| {
        machine.until(&["get", "replicaset", "three", "-o", "jsonpath={.status.readyReplicas}"], &["3"]);
    }),
    ("deployment.yaml", |machine| {
        machine.kubectl(&["rollout", "status", "deployment/web", "--timeout=60s"]);
        machine.kubectl(&["set", "env", "deployment/web", "WORD=changed"]);
        machine.kubectl(&["rollout", "status", "deployment/web", "--timeout=60s"]);
        machine.until(
            &["exec", "deployment/web", "--", "wget", "-q", "-O", "-", "http://localhost:8080"],
            &["changed from web-"],
        );
        machine.kubectl(&["rollout", "undo", "deployment/web"]);
        machine.kubectl(&["rollout", "status", "deployment/web", "--timeout=60s"]);
    }),
    ("service.yaml", |machine| {
        machine.until(&["get", "service", "web-outside"], &["NodePort", "80:30080/TCP"]);
        let deployment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/deployment.yaml");
        machine.kubectl(&["apply", "-f", deployment]);
        machine.kubectl(&["rollout", "status", "deployment/web", "--timeout=60s"]);
        machine.until(
            &["exec", "deployment/web", "--", "timeout", "3", "wget", "-q", "-O", "-", "http://web"],
            &["hello from web-"],
        );
        machine.clear(deployment.as_ref());
    }),
    ("autoscaler.yaml", |machine| {
        machine.until(&["get", "hpa", "busy", "-o", "jsonpath={.status.desiredReplicas}"], &["3"]);
    }),
    ("dnsrecord.yaml", |machine| {
        machine.until(&["get", "dnsrecord", "shop"], &["shop.example", "/books", "catalogue:8080", "True"]);
        machine.until(
            &[
                "exec",
                "catalogue",
                "--",
                "timeout",
                "3",
                "wget",
                "-q",
                "-O",
                "-",
                "http://shop.example/books",
            ],
            &["all books"],
        );
    }),
    ("ingress.yaml", |machine| {
        let url = format!("http://localhost:{}/menu/", machine.gateway());
        machine.kubectl(&["wait", "--for=condition=Ready", "--timeout=30s", "pod/tea"]);
        eventually("the gateway answers", Duration::from_secs(30), || {
            let mut command = std::process::Command::new("busybox");
            let asked = command
                .args(["timeout", "3", "wget", "-q", "-O", "-", "--header", "Host: tea.example", &url])
                .output();
            let said =
                String::from_utf8_lossy(&asked.map_err(|error| error.to_string())?.stdout).into_owned();
            if said.contains("green and black") { Ok(()) } else { Err(said) }
        });
        eventually("who asks by HTTP is sent to HTTPS", Duration::from_secs(30), || {
            let mut command = std::process::Command::new("curl");
            command.args(["-sS", "-m", "3", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}"]);
            let asked = command.args(["-H", "Host: secure.tea.example", &url]).output();
            let said =
                String::from_utf8_lossy(&asked.map_err(|error| error.to_string())?.stdout).into_owned();
            if said == "308 https://secure.tea.example/menu/" { Ok(()) } else { Err(said) }
        });
    }),
    ("job.yaml", |machine| {
        machine.kubectl(&["wait", "--for=condition=Complete", "--timeout=60s", "job/parts"]);
        machine.until(
            &["logs", "-l", "batch.kubernetes.io/job-name=parts"],
            &["part 0 is done", "part 1 is done", "part 2 is done"],
        );
    }),
    ("statefulset.yaml", |machine| {
        machine.kubectl(&["rollout", "status", "statefulset/data", "--timeout=60s"]);
        machine.kubectl(&["delete", "pod", "data-0", "--timeout=30s"]);
        machine
            .until(&["exec", "data-0", "--", "cat", "/data/starts"], &["start of data-0\nstart of data-0\n"]);
        machine.until(
            &[
                "exec",
                "data-0",
                "--",
                "timeout",
                "3",
                "wget",
                "-q",
                "-O",
                "-",
                "http://data-1.data:8080/starts",
            ],
            &["start of data-1"],
        );
    }),
    ("daemonset.yaml", |machine| {
        machine.until(&["logs", "-l", "app=everywhere"], &["here is here"]);
    }),
    ("config.yaml", |machine| {
        machine.until(&["logs", "configured"], &["green\ngood morning\nand a password\n"]);
    }),
    ("networkpolicy.yaml", |machine| {
        for pod in ["safe", "friend", "stranger"] {
            machine.kubectl(&["wait", "--for=condition=Ready", "--timeout=30s", &format!("pod/{pod}")]);
        }
        let ask = |pod| ["exec", pod, "--", "timeout", "3", "wget", "-q", "-O", "-", "http://safe:8080"];
        machine.until(&ask("friend"), &["treasure"]);
        assert!(machine.try_kubectl(&ask("stranger")).is_err(), "a stranger gets in");
    }),
    ("disruption.yaml", |machine| {
        machine.until(&["get", "pdb", "steady", "-o", "jsonpath={.status.disruptionsAllowed}"], &["1"]);
    }),
    ("probes.yaml", |machine| {
        machine.kubectl(&["wait", "--for=condition=Ready", "--timeout=30s", "pod/probed"]);
        machine.until(&["get", "pod", "probed"], &["2/2"]);
    }),
    ("priority.yaml", |machine| {
        machine.until(
            &["get", "pod", "urgent", "-o", "jsonpath={.spec.priority} {.status.phase}"],
            &["1000 Running"],
        );
    }),
    ("imported.yaml", |machine| {
        machine.until(&["logs", "imported"], &["nobody was asked for this image"]);
    }),
    ("volumes.yaml", |machine| {
        let logs = ["logs", "keeper"];
        machine.until(&logs, &["one line", "colour=\"green\"", "and a token"]);
        machine.until(&["get", "pvc", "kept"], &["Bound", "local-path"]);
    }),
    ("placement.yaml", |machine| {
        machine.kubectl(&["rollout", "status", "deployment/placed", "--timeout=60s"]);
    }),
    ("security.yaml", |machine| {
        machine.until(&["get", "pod", "harmless", "-n", "careful"], &["1/1", "Running"]);
        let run = ["run", "root", "--image=busybox:1", "-n", "careful"];
        machine.refused(&run, "violates PodSecurity \"restricted");
    }),
    ("access.yaml", |machine| {
        let may = |verb| {
            ["auth", "can-i", verb, "pods", "--as=system:serviceaccount:default:watcher"].map(str::to_owned)
        };
        let asked = |verb| {
            let words = may(verb);
            let output = machine.command(&words.each_ref().map(String::as_str)).output().unwrap();
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        assert_eq!((asked("list"), asked("delete")), ("yes".to_owned(), "no".to_owned()));
    }),
    ("cronjob.yaml", |machine| {
        machine.kubectl(&["create", "job", "--from=cronjob/tick", "now"]);
        machine.kubectl(&["wait", "--for=condition=Complete", "--timeout=60s", "job/now"]);
        machine.until(&["logs", "job/now"], &["tick"]);
    }),
    ("custom.yaml", |machine| {
        let boat = |crew: u32| {
            let spec = json!({"length": 20, "crew": crew});
            json!({"apiVersion": "example.org/v1", "kind": "Boat", "metadata": {"name": "pinta"}, "spec": spec}).to_string()
        };
        eventually("the new kind is served", Duration::from_secs(30), || machine.apply(&boat(18)));
        machine.until(&["get", "boats"], &["LENGTH", "pinta", "20"]);
        let told = machine.apply(&boat(30)).expect_err("more crew than length");
        assert!(told.contains("there is no room for so many"), "{told}");
    }),
    ("policy.yaml", |machine| {
        machine.kubectl(&["create", "namespace", "tiny"]);
        machine.kubectl(&["label", "namespace", "tiny", "size=small"]);
        let many =
            |name, replicas| ["create", "deployment", name, "-n", "tiny", "--image=busybox:1", replicas];
        machine.refused(&many("many", "--replicas=11"), "no more than ten pods here");
        machine.kubectl(&many("few", "--replicas=1"));
        machine.kubectl(&["delete", "namespace", "tiny", "--timeout=30s"]);
    }),
    ("quota.yaml", |machine| {
        machine.until(&["get", "pod", "modest", "-n", "team"], &["1/1", "Running"]);
        machine.until(&["describe", "quota", "-n", "team"], &["limits.memory", "128Mi", "2Gi"]);
        let run = ["create", "quota", "none", "--hard=pods=1", "-n", "team"];
        machine.kubectl(&run);
        machine.refused(&["run", "second", "--image=busybox:1", "-n", "team"], "exceeded quota: none");
    }),
];

/// Files of a node's own: what it starts with, and a pod that no API was asked for.
pub(crate) fn of_the_node(machine: &Machine, folder: &Path) {
    let place = machine.data().join("static-pods/alone.yaml");
    std::fs::copy(folder.join("static-pod.yaml"), &place).unwrap();
    machine.until(&["get", "pod", "alone-here"], &["1/1", "Running"]);
    std::fs::remove_file(&place).unwrap();
    let mirror = std::fs::read_to_string(machine.data().join("containerd/hosts/docker.io/hosts.toml"));
    assert!(mirror.unwrap().contains("https://registry.site.example:5000"));
    machine.kubectl(&["create", "configmap", "written-down"]);
    machine.kubectl(&["delete", "configmap", "written-down"]);
    eventually("the deed is recorded", Duration::from_secs(30), || {
        let log = machine.audited();
        let told = log.contains("\"name\":\"written-down\"") && log.contains("\"verb\":\"delete\"");
        if told { Ok(()) } else { Err(log) }
    });
    let log = machine.audited();
    let reads =
        |line: &&str| line.contains("\"verb\":\"watch\"") && !line.contains("\"resource\":\"secrets\"");
    assert_eq!(log.lines().find(reads), None, "who reads is not recorded");
}
