//! What comes of each example when it is applied.

use crate::machine::Machine;

pub(crate) type Story = (&'static str, fn(&Machine));

pub(crate) const STORIES: [Story; 16] = [
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
        kedge_shipped::eventually("the gateway answers", std::time::Duration::from_secs(30), || {
            let mut command = std::process::Command::new("busybox");
            let asked = command
                .args(["timeout", "3", "wget", "-q", "-O", "-", "--header", "Host: tea.example", &url])
                .output();
            let said =
                String::from_utf8_lossy(&asked.map_err(|error| error.to_string())?.stdout).into_owned();
            if said.contains("green and black") { Ok(()) } else { Err(said) }
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
];
