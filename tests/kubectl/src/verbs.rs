//! Verbs and flags that the other stories don't type, by us and by stock kubectl beside each other.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cluster::{Cluster, assert_has, binary, eventually, text};
use crate::own::{WEB, ageless, answer, same_words, two_namespaces, words};

fn until_lines(cluster: &Cluster, what: &str, number: usize) {
    for namespace in ["ours", "stock"] {
        eventually(&format!("{number} of {what}"), || {
            let found = cluster.kubectl(["get", what, "-n", namespace, "-o", "name"]);
            if found.lines().count() == number { Ok(()) } else { Err(found) }
        });
    }
}

#[test]
fn rollouts_scales_and_what_is_left_behind() {
    let cluster = Cluster::start();
    two_namespaces(&cluster);
    let web = cluster.file("web.yaml", WEB);
    same_words(&cluster, &format!("apply -f {web}"));
    until_lines(&cluster, "rs", 1);
    for line in [
        "autoscale deployment web --min=1 --max=3 --cpu-percent=80",
        "autoscale deployment web --max=3",
        "autoscale deployment web --min=3 --max=2",
        "autoscale deployment web --max=0",
        "autoscale deployment nothing --max=3",
        "get hpa web -o jsonpath={.spec.minReplicas},{.spec.maxReplicas},{.spec.scaleTargetRef}",
        "delete hpa web",
        "rollout undo deployment/web",
        "set image deployment/web web=example/web:2",
    ] {
        same_words(&cluster, line);
    }
    until_lines(&cluster, "rs", 2);
    for line in [
        "rollout history deployment/web",
        "rollout history deployment/web --revision=2",
        "rollout history deployment/web --revision=9",
        "rollout undo deployment/web --to-revision=9",
        "rollout undo deployment/web --dry-run=server",
        "rollout undo deployment/web",
        "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}",
        "delete deployment web --cascade=orphan",
    ] {
        same_words(&cluster, line);
    }
    until_lines(&cluster, "rs", 2);
    same_words(&cluster, "delete rs --all --cascade=sideways");
    // Nobody has to wait for pods that nothing runs: they go with their sets.
    for who in ["ours", "stock"] {
        let line = format!("delete rs --all --cascade=foreground --wait=false -n {who}");
        let words = words(&line);
        let command = |words: &[String]| cluster.own_command(words.iter().map(String::as_str));
        assert_eq!(answer(command(&words)).code, Some(0));
    }
    until_lines(&cluster, "rs,pods", 0);
}

#[test]
fn folders_raw_paths_and_what_is_of_the_whole_cluster() {
    let cluster = Cluster::start();
    two_namespaces(&cluster);
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let folder = cluster.file("a.yaml", &map("a"));
    let folder = std::path::Path::new(&folder).parent().unwrap().join("manifests");
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    for (path, content) in [
        ("b.yaml", map("b")),
        ("c.json", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}".to_owned()),
        ("notes.txt", "nothing".to_owned()),
        ("deep/d.yml", map("d")),
    ] {
        std::fs::write(folder.join(path), content).unwrap();
    }
    let folder = folder.display();
    for who in ["ours-1", "stock-1"] {
        let node = format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {who}}}\n");
        cluster.kubectl_with(&node, ["create", "-f", "-"]);
    }
    for line in [
        &format!("apply -f {folder}"),
        &format!("apply -f {folder} -R"),
        &format!("apply -f {folder} -R --server-side --field-manager=other --force-conflicts"),
        &format!("get -f {folder} -R -o name"),
        &format!("delete -f {folder} -R"),
        &format!("delete -f {folder} --ignore-not-found"),
        &format!("apply -f {folder}/nowhere"),
        "taint nodes WHO-1 a=1:NoSchedule b:NoExecute",
        "taint nodes WHO-1 a=2:NoSchedule",
        "taint nodes WHO-1 a=2:NoSchedule --overwrite",
        "taint nodes WHO-1 a=2:Sideways",
        "taint nodes WHO-1 a- b:NoExecute-",
        "taint nodes WHO-1 a-",
        "taint nodes WHO-1",
        "cordon WHO-1",
        "cordon WHO-1",
        "uncordon WHO-1 --dry-run=client",
        "uncordon WHO-1",
        "uncordon WHO-1",
        "cordon WHO-9",
        "label node WHO-1 zone=z",
        "label node WHO-1 --list",
        "get nodes -l zone=z -o jsonpath={.items[*].metadata.labels.zone}",
        "auth can-i get pods --subresource=log",
        "auth can-i get pods --as=nobody --quiet",
        "auth can-i get /healthz",
        "auth can-i use nothings",
        "delete --raw /api/v1/namespaces/WHO/configmaps/nothing",
        "api-versions",
        "create cm one --from-literal=a=1 --dry-run=sideways",
        "create cm one --from-literal=a",
        "create cm",
        "expose deployment nothing --port=80",
        "patch cm nothing -p '{}'",
        "annotate cm --all note=x",
        "wait cm/nothing --for=condition=Ready --timeout=1s",
        "wait pods --all --for=condition=Ready --timeout=1s",
        "exec nothing -- true",
        "port-forward nothing 80",
        "cp nothing:/a b",
        "top pod nothing",
        "top node nothing",
        "certificate approve nothing",
        "describe cm nothing",
        "describe nothing",
        "edit cm nothing",
    ] {
        same_words(&cluster, line);
    }
}

#[test]
fn kubeconfigs_change_as_kubectl_changes_them() {
    let cluster = Cluster::start();
    let begun = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let (ours, stock) = (cluster.file("ours.config", &begun), cluster.file("stock.config", &begun));
    for line in [
        "set-cluster far --server=https://far.example:6443 --insecure-skip-tls-verify=true",
        "set-credentials me --token=secret",
        "set-context there --cluster=far --user=me --namespace=shop",
        "set-context there --namespace=other",
        "set-context --current --namespace=mine",
        "use-context there",
        "use-context nowhere",
        "current-context",
        "get-contexts",
        "get-contexts -o name",
        "get-users",
        "rename-context there here",
        "rename-context nowhere here",
        "view --minify -o jsonpath={.contexts[0].name}",
        "set clusters.far.server https://farther.example",
        "set contexts.here.namespace last",
        "unset contexts.here.namespace",
        "unset current-context",
        "current-context",
        "delete-context here",
        "delete-context here",
        "delete-user me",
        "delete-cluster far",
        "delete-cluster far",
        "view",
    ] {
        let run = |own: bool, file: &str| {
            let mut words = words(line);
            words.insert(0, "config".to_owned());
            let mut command = match own {
                true => cluster.own_command(words.iter().map(String::as_str)),
                false => cluster.command(words.iter().map(String::as_str)),
            };
            command.env("KUBECONFIG", file);
            let answer = answer(command);
            // Complaints are the same but for where it was looked.
            (answer.code, answer.out.replace(file, "FILE"))
        };
        assert_eq!(run(true, &ours), run(false, &stock), "{line}");
        // Read by one program, so that the order of entries is the same.
        let written = |file: &str| {
            let mut command = cluster.command(["config", "view", "--raw", "-o", "json"]);
            text(&command.env("KUBECONFIG", file).output().unwrap().stdout)
        };
        assert_eq!(written(&ours), written(&stock), "{line}");
    }
}

#[test]
fn what_is_edited_is_sent() {
    let cluster = Cluster::start();
    two_namespaces(&cluster);
    let web = cluster.file("web.yaml", WEB);
    same_words(&cluster, &format!("apply -f {web}"));
    for (line, editor) in [
        ("edit cm settings", "true"),
        ("edit cm settings", "sed -i s/blue/red/"),
        ("edit cm/settings svc/web", "sed -i s/red/green/"),
        ("edit cm -l nothing=here", "true"),
    ] {
        let run = |who: &str, own: bool| {
            let mut words = words(line);
            words.push(format!("--namespace={who}"));
            let mut command = match own {
                true => cluster.own_command(words.iter().map(String::as_str)),
                false => cluster.command(words.iter().map(String::as_str)),
            };
            command.env("KUBE_EDITOR", editor);
            let answer = answer(command);
            (answer.code, answer.out, answer.err.lines().next().unwrap_or_default().to_owned())
        };
        let (ours, stock) = (run("ours", true), run("stock", false));
        assert_eq!(
            (ours.0, &ours.1),
            (stock.0, &stock.1),
            "{line} by {editor}\nours: {}\nstock: {}",
            ours.2,
            stock.2
        );
        let data = |who: &str| {
            cluster.kubectl(["get", "cm", "settings", "-n", who, "-o", "jsonpath={.data.colour}"])
        };
        assert_eq!(data("ours"), data("stock"), "{line} by {editor}");
    }
}

const ROLES: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: WHO, namespace: walk, labels: {a: b}}
rules:
- {apiGroups: [''], resources: [pods, services], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: WHO, namespace: walk}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ROLE}
subjects:
- {kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}
- {kind: ServiceAccount, name: default, namespace: walk}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: WHO}
rules:
- {nonResourceURLs: [/x], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: WHO-all, annotations: {rbac.authorization.kubernetes.io/autoupdate: 'UPDATES'}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: not-meant}
";

#[test]
fn roles_are_reconciled_as_kubectl_does() {
    let cluster = Cluster::start();
    let less =
        ROLES.replace("pods, services", "pods").replace("get, list", "get, watch").replace("jane", "joe");
    let other = less.replace("ROLE", "other").replace("a: b", "c: d");
    for (case, manifest, flags) in [
        ("a try", ROLES, "--dry-run=client"),
        ("nothing is there yet", ROLES, ""),
        ("everything is there", ROLES, ""),
        ("something else is added", &*less, ""),
        ("and what was there goes", &less, "--remove-extra-permissions --remove-extra-subjects"),
        ("another role", &other, ""),
        ("names alone", ROLES, "-o name"),
        ("too much", ROLES, "extra"),
    ] {
        let told = |who: &str| {
            let text = manifest.replace("WHO", who).replace("ROLE", who).replace("UPDATES", "false");
            let file = cluster.file(&format!("{who}.yaml"), &text);
            let words = words(format!("auth reconcile -f {file} {flags}").trim());
            let arguments = words.iter().map(String::as_str);
            let run = if who == "ours" { cluster.own_command(arguments) } else { cluster.command(arguments) };
            let answer = answer(run);
            let first = if answer.code == Some(0) {
                answer.err
            } else {
                answer.err.lines().next().unwrap().to_owned()
            };
            let kinds = "role,rolebinding,clusterrole";
            let found = cluster.kubectl(["get", kinds, "-o", "json"]);
            let mut state = crate::own::settled(&found);
            let all = state["items"].as_array_mut().unwrap();
            all.retain(|one| one["metadata"]["name"].as_str().unwrap().starts_with(who));
            let state = serde_json::to_string_pretty(&state).unwrap();
            [answer.out, first, state].map(|text| text.replace(who, "WHO"))
        };
        assert_eq!(told("ours"), told("stock"), "{case}");
    }
}

/// Every document of a dump, and what is between them.
fn dumped(text: &str) -> Vec<String> {
    let json: String =
        text.lines().filter(|line| !line.starts_with("====") && !line.starts_with("Request log")).collect();
    let documents = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
    let mut found: Vec<String> = documents
        .map(|document| {
            let document = document.unwrap();
            // Fields differ with the version whose types kubectl prints; which objects there are does not.
            let items = document["items"].as_array().into_iter().flatten();
            let names: Vec<&str> = items.filter_map(|one| one["metadata"]["name"].as_str()).collect();
            format!("{} {}", document["kind"], names.join(" "))
        })
        .collect();
    found.extend(text.lines().filter(|line| line.starts_with("====")).map(str::to_owned));
    found
}

#[test]
fn a_dump_has_what_kubectls_has() {
    let cluster = Cluster::start();
    cluster.kubectl_with(WEB, ["apply", "-f", "-"]);
    eventually("the pods are there", || {
        let pods = cluster.kubectl(["get", "pods", "-o", "name"]);
        if pods.lines().count() == 2 { Ok(()) } else { Err(pods) }
    });
    for line in ["cluster-info dump", "cluster-info dump -A", "cluster-info dump --namespaces=walk,default"] {
        let (ours, stock) = crate::own::both(&cluster, line);
        assert_eq!(ours.code, Some(0), "{line}: {}", ours.err);
        assert_eq!(dumped(&ours.out), dumped(&stock.out), "{line}");
    }
    for end in ["json", "yaml"] {
        let files = |own: bool| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().display().to_string();
            let words = words(&format!("cluster-info dump -o {end} --output-directory={path}"));
            let arguments = words.iter().map(String::as_str);
            let run = if own { cluster.own_command(arguments) } else { cluster.command(arguments) };
            let said = answer(run).out.replace(&path, "FOLDER");
            let found =
                Command::new("find").arg(".").args(["-type", "f"]).current_dir(&folder).output().unwrap();
            let mut found: Vec<String> = text(&found.stdout).lines().map(str::to_owned).collect();
            found.sort();
            (said, found)
        };
        assert_eq!(files(true), files(false), "{end}");
    }
}

/// Lines of a watch as they come, each without its age.
#[test]
fn watches_show_what_kubectls_show() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "cm", "first"]);
    for line in [
        "get cm --field-selector=metadata.name!=kube-root-ca.crt -w",
        "get cm --field-selector=metadata.name!=kube-root-ca.crt -w -o name",
        "get cm --field-selector=metadata.name!=kube-root-ca.crt -w --no-headers --output-watch-events",
        "get cm --field-selector=metadata.name!=kube-root-ca.crt -w -o jsonpath={.metadata.name}:{.data}{\"\\n\"}",
    ] {
        let words = words(line);
        let start = |mut command: Command| {
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            (child, lines)
        };
        let mut watches = [
            start(cluster.own_command(words.iter().map(String::as_str))),
            start(cluster.command(words.iter().map(String::as_str))),
        ];
        // Whoever shows what is there has begun.
        let mut seen = [Vec::new(), Vec::new()];
        for ((_, lines), seen) in watches.iter_mut().zip(&mut seen) {
            while !seen.last().is_some_and(|line: &String| line.contains("first")) {
                seen.push(lines.next().unwrap());
            }
        }
        cluster.kubectl(["create", "cm", "second", "--from-literal=a=1"]);
        cluster.kubectl([
            "patch",
            "cm",
            "second",
            "--type=merge",
            "-p",
            "{\"data\":{\"a\":\"2\",\"b\":\"3\"}}",
        ]);
        cluster.kubectl(["delete", "cm", "second"]);
        for ((child, lines), seen) in watches.iter_mut().zip(&mut seen) {
            seen.extend(lines.take(3));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let [ours, stock] = seen.map(|lines| ageless(&lines.join("\n")));
        assert_eq!(ours, stock, "{line}");
    }
}

#[test]
fn a_link_called_kubectl_is_kubectl() {
    let cluster = Cluster::start();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("kubectl");
    std::os::unix::fs::symlink(binary(), &link).unwrap();
    let run = |words: &[&str]| {
        let output =
            Command::new(&link).env("KUBECONFIG", cluster.kubeconfig()).args(words).output().unwrap();
        (text(&output.stdout), text(&output.stderr))
    };
    assert_has(&run(&["get", "ns", "default", "-o", "name"]).0, &["namespace/default"]);
    assert_has(&run(&["version", "-o", "json"]).0, &["serverVersion"]);
    assert_has(&run(&["--help"]).0, &["kubectl <command> --help"]);
    assert_has(&run(&["server"]).1, &["unknown command \"server\" for \"kubectl\""]);
    let told: Value = serde_json::from_str(&run(&["get", "ns", "default", "-o", "json"]).0).unwrap();
    assert_eq!(told["metadata"]["name"], "default");
}
