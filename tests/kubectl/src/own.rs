//! Our own command line beside stock kubectl, against the same server: the same words, the same answers.

use serde_json::Value;

use crate::cluster::{Cluster, assert_has, error, text};

pub(crate) const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, tier: front}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'example/web:1', ports: [{containerPort: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue, number: '7', text: \"two\\nlines\\n\"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
";

/// Words as a shell would cut them; quotes keep blanks together.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

/// What a program answers: its exit code, what it prints and what it complains of.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn answer(mut command: std::process::Command) -> Answer {
    let output = command.output().unwrap();
    Answer { code: output.status.code(), out: text(&output.stdout), err: error(&output) }
}

pub(crate) fn both(cluster: &Cluster, line: &str) -> (Answer, Answer) {
    let words = words(line);
    let arguments = || words.iter().map(String::as_str);
    (answer(cluster.own_command(arguments())), answer(cluster.command(arguments())))
}

/// Ages differ by the moment that lies between two questions.
pub(crate) fn ageless(text: &str) -> String {
    let is_age = |word: &str| {
        word.len() > 1
            && word.starts_with(|first: char| first.is_ascii_digit())
            && word.ends_with(['s', 'm', 'h', 'd'])
            && word.chars().all(|letter| letter.is_ascii_digit() || "smhd".contains(letter))
    };
    let line = |line: &str| match line.split_whitespace().any(is_age) {
        true => line
            .split_whitespace()
            .map(|word| if is_age(word) { "AGE" } else { word })
            .collect::<Vec<_>>()
            .join(" "),
        false => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn reading_prints_what_kubectl_prints() {
    let cluster = Cluster::start();
    cluster.kubectl_with(WEB, ["apply", "-f", "-"]);
    cluster.kubectl(["rollout", "status", "deployment/web", "--watch=false"]);
    crate::cluster::eventually("the pods are there", || {
        let pods = cluster.kubectl(["get", "pods", "-o", "name"]);
        if pods.lines().count() == 2 { Ok(()) } else { Err(pods) }
    });
    let columns = cluster.file("columns", "NAME KIND\n.metadata.name .kind\n");
    let path = cluster.file("path", "{range .items[*]}{.metadata.name}{\"\\n\"}{end}");
    for line in [
        "get pods",
        "get po -o wide",
        "get Deployment web --show-labels",
        "get deploy,svc,cm",
        "get all",
        "get all --no-headers",
        "get deploy/web svc/web",
        "get deployments.apps -L tier,app",
        "get deployments.v1.apps web -o yaml",
        "get cm settings -o json",
        "get cm settings -o yaml --show-managed-fields",
        "get svc -A",
        "get ns,nodes,pv",
        "get pods nothing",
        "get cm settings nothing -o name",
        "get cm nothing --ignore-not-found",
        "get pods -l app=none",
        "get cm --field-selector metadata.name=settings -o name",
        "get cm -o jsonpath='{.items[*].metadata.name}'",
        "get cm -o jsonpath='{range .items[?(@.metadata.name==\"settings\")]}{.data.colour}{\"\\n\"}{end}'",
        "get svc web -o custom-columns=NAME:.metadata.name,PORTS:.spec.ports[*].port,NONE:.x",
        "get cm --sort-by=.metadata.name --no-headers",
        "get pods --sort-by=.metadata.creationTimestamp -o name",
        "get deploy web --subresource=scale -o jsonpath={.spec.replicas}",
        "get --raw /version",
        "get ns/default pods",
        "get cm --chunk-size=1 -o name",
        "api-resources",
        "api-resources --namespaced=false -o wide",
        "api-resources --api-group=apps -o name",
        "api-versions",
        "explain deployment.spec.strategy",
        "explain pods --recursive",
        "explain configmap",
        "auth can-i create pods",
        "auth can-i create pods --as=nobody",
        "auth can-i --list",
        "auth can-i --list --as=nobody",
        "auth can-i --list --no-headers",
        "auth whoami",
        "config view",
        "config get-contexts",
        "config current-context",
        "rollout status deploy/web --watch=false",
        "rollout history deploy/web",
        "diff -f nowhere.yaml",
    ] {
        let (ours, stock) = both(&cluster, line);
        assert_eq!(ageless(&ours.out), ageless(&stock.out), "{line}\n{}", ours.err);
        assert_eq!(ours.code, stock.code, "{line}\n{}", ours.err);
        // Ours may say what to do next in further lines.
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        assert_eq!(first(&ours.err), first(&stock.err), "{line}");
    }
    for line in
        [format!("get cm -o custom-columns-file={columns}"), format!("get cm -o jsonpath-file={path}")]
    {
        let (ours, stock) = both(&cluster, &line);
        assert_eq!(ours.out, stock.out, "{line}\n{}", ours.err);
    }
}

/// Without what is another's each time: names that are drawn by lot, addresses, times.
pub(crate) fn settled(json: &str) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for key in [
                    "uid",
                    "creationTimestamp",
                    "resourceVersion",
                    "managedFields",
                    "clusterIP",
                    "clusterIPs",
                    "nodePort",
                ] {
                    map.remove(key);
                }
                map.remove("status");
                map.remove("volumes");
                map.remove("volumeMounts");
                map.remove("controller-uid");
                map.remove("batch.kubernetes.io/controller-uid");
                map.remove("kubectl.kubernetes.io/last-applied-configuration");
                map.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    walk(&mut value);
    value
}

/// The objects that both print for a line, without what is another's each time.
pub(crate) fn made(cluster: &Cluster, line: &str) -> (Value, Value) {
    let (ours, stock) = both(cluster, line);
    assert!(
        ours.code == Some(0) && stock.code == Some(0),
        "{line}\nours: {}\nstock: {}",
        ours.err,
        stock.err
    );
    (settled(&ours.out), settled(&stock.out))
}

#[test]
fn generators_make_what_kubectls_make() {
    let cluster = Cluster::start();
    cluster.kubectl_with(WEB, ["apply", "-f", "-"]);
    cluster.kubectl(["create", "cronjob", "tick", "--image=x", "--schedule=* * * * *", "--", "true"]);
    cluster.kubectl(["create", "rolebinding", "bound", "--role=r", "--user=a"]);
    let file = cluster.file("file.txt", "hello\n");
    let variables = cluster.file("variables", "A=1\n# none\nB=two words\n");
    for line in [
        "create namespace shop",
        "create deployment d --image=example/a.b:1 --image=c --replicas=3 --port=80",
        "create deployment d --image=busybox",
        "create service clusterip s --tcp=80:8080 --tcp=443",
        "create service clusterip s --clusterip=None",
        "create service nodeport s --tcp=80:http",
        "create service loadbalancer s --tcp=80",
        "create service externalname s --external-name=x.example",
        &format!(
            "create configmap c --from-literal=a=1 --from-literal=b='x y' --from-file={file} --from-file=k={file}"
        ),
        &format!("create configmap c --from-env-file={variables}"),
        &format!("create secret generic s --from-literal=a=1 --from-file={file} --type=some/type"),
        "create job j --image=busybox",
        "create job j --from=cronjob/tick",
        "create cronjob c --image=busybox --schedule='*/5 * * * *' --restart=Never",
        "create ingress i --rule=foo.example/bar*=svc:8080,tls=cert --rule=foo.example/=svc2:http --class=c --default-backend=d:80",
        "create role r --verb=get,list --resource=pods,deployments.apps,pods/log --resource-name=a",
        "create clusterrole r --verb=get --resource=nodes --non-resource-url=/healthz",
        "create rolebinding b --role=r --user=u --group=g --serviceaccount=ns:sa",
        "create clusterrolebinding b --clusterrole=r --user=u",
        "create serviceaccount sa",
        "create quota q --hard=cpu=1,pods=2",
        "create pdb p --selector=app=x --min-available=50%",
        "create priorityclass p --value=100 --description=high",
        "run r --image=nginx --port=80 --env=A=1 --labels=a=b --restart=Never --privileged",
        "expose deployment web --port=80 --target-port=8080 --name=front",
        "expose service web --name=again --type=NodePort",
        "set image deployment/web web=example/web:2",
        "set env deployment/web A=1 B=2",
        "set resources deployment/web --limits=cpu=1 --requests=memory=1Mi",
        "set serviceaccount deployment web default",
        "set subject rolebinding bound --user=a --user=b --group=g --serviceaccount=ns:sa",
        "label deployment web tier=back --overwrite",
        "annotate deployment web a=b",
        "patch deployment web -p '{\"spec\":{\"replicas\":5}}'",
        "patch deployment web --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":4}]'",
        "patch cm settings --type=merge -p '{\"data\":{\"colour\":null}}'",
    ] {
        let (mut ours, mut stock) = made(&cluster, &format!("{line} --dry-run=server -o json"));
        // A container named after an image with dots gets letters drawn by lot behind its name.
        if line.contains("a.b") {
            for made in [&mut ours, &mut stock] {
                made["spec"]["template"]["spec"]["containers"][0]["name"].take();
            }
        }
        assert_eq!(ours, stock, "{line}");
    }
}

/// Namespaces in which the same story is told, to us and to stock kubectl.
pub(crate) fn two_namespaces(cluster: &Cluster) {
    for namespace in ["ours", "stock"] {
        cluster.kubectl(["create", "namespace", namespace]);
        crate::cluster::eventually("the account is there", || {
            let found = cluster.kubectl(["get", "sa", "-n", namespace, "-o", "name", "--ignore-not-found"]);
            if found.contains("default") { Ok(()) } else { Err(found) }
        });
    }
}

/// Both say the same to a line, each in the namespace of its own; `WHO` in it is whose it is. Of complaints the first line counts: ours
/// may say what to do next in further ones.
#[track_caller]
pub(crate) fn same_words(cluster: &Cluster, line: &str) {
    let told = |who: &str, own: bool| {
        let mut words = words(&line.replace("WHO", who));
        words.push(format!("--namespace={who}"));
        let arguments = words.iter().map(String::as_str);
        let answer = answer(if own { cluster.own_command(arguments) } else { cluster.command(arguments) });
        let neutral = |text: &str| {
            text.replace(&format!("\"{who}\""), "\"N\"")
                .replace(&format!("in {who} "), "in N ")
                .replace(&format!("{who}-"), "N-")
        };
        let first = answer.err.lines().next().unwrap_or_default().to_owned();
        (answer.code, neutral(&answer.out), neutral(&first))
    };
    let (ours, stock) = (told("ours", true), told("stock", false));
    assert_eq!(ours, stock, "{line}");
}

/// The same story told to both, each in a namespace of its own.
#[test]
fn writing_says_and_does_what_kubectl_does() {
    let cluster = Cluster::start();
    let first = cluster.file("first.yaml", WEB);
    let second = cluster.file(
        "second.yaml",
        &WEB.replace("replicas: 2", "replicas: 1")
            .replace("colour: blue, ", "")
            .replace("example/web:1", "example/web:2"),
    );
    two_namespaces(&cluster);
    for line in [
        &format!("apply -f {first} --dry-run=client"),
        &format!("apply -f {first}"),
        &format!("apply -f {first}"),
        &format!("diff -f {first}"),
        &format!("apply -f {second}"),
        &format!("create -f {first}"),
        "label cm settings a=1 b=2",
        "label cm settings a=2",
        "label cm settings a=2 --overwrite",
        "label cm settings a- c-",
        "label cm settings b=2",
        "annotate cm settings note=here",
        "annotate cm settings note-",
        "scale deployment web --replicas=3",
        "scale deployment web --replicas=1 --current-replicas=9",
        "set image deployment/web web=example/web:3",
        "rollout pause deployment/web",
        "rollout pause deployment/web",
        "rollout resume deployment/web",
        "rollout restart deployment/web",
        "patch cm settings -p '{\"data\":{\"number\":\"8\"}}'",
        "patch cm settings -p '{\"data\":{\"number\":\"8\"}}'",
        "create cm other --from-literal=a=1",
        "create -f nowhere.yaml",
        &format!("replace -f {first}"),
        "expose deployment web --name=front --port=80",
        "wait cm/other --for=create",
        "wait deployment/web --for=jsonpath={.spec.replicas}=2",
        "wait deployment/web --for=condition=Available --timeout=0s",
        "delete cm nothing",
        "delete cm nothing --ignore-not-found",
        "delete cm other --dry-run=server",
        "delete cm other",
        "delete svc -l nothing=here",
        "delete svc --all",
        "wait cm/other --for=delete",
        &format!("delete -f {second} --ignore-not-found"),
        "get cm,deploy,svc -o name",
    ] {
        same_words(&cluster, line);
        let state = |namespace: &str| {
            let json = cluster.kubectl(["get", "cm,svc,deploy", "-n", namespace, "-o", "json"]);
            let mut state = settled(&json);
            for object in state["items"].as_array_mut().unwrap() {
                object["metadata"]["namespace"].take();
                object["metadata"]["generation"].take();
                // The moment of a restart and the revision that a controller got to meanwhile.
                object["metadata"]["annotations"].take();
                object["spec"]["template"]["metadata"]["annotations"].take();
                if object["metadata"]["name"] == "kube-root-ca.crt" {
                    object["data"].take();
                }
            }
            state
        };
        assert_eq!(state("ours"), state("stock"), "{line}");
    }
}

#[test]
fn an_apply_set_loses_what_its_manifests_no_longer_have() {
    let cluster = Cluster::start();
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let both = cluster.file("both.yaml", &format!("{}---\n{}", map("a"), map("b")));
    let one = cluster.file("one.yaml", &map("a"));
    cluster.own(["apply", "-f", &both, "--prune", "--applyset=shop", "--server-side"]);
    let said = cluster.own(["apply", "-f", &one, "--prune", "--applyset=shop", "--server-side"]);
    assert_has(&said, &["configmap/a serverside-applied", "configmap/b pruned"]);
    let left = cluster.kubectl(["get", "cm", "-o", "name"]);
    assert!(left.contains("configmap/a") && !left.contains("configmap/b"), "{left}");
    // Stock kubectl goes on with the same set.
    let mut stock = cluster.command(["apply", "-f", &both, "--prune", "--applyset=shop", "--server-side"]);
    let output = stock.env("KUBECTL_APPLYSET", "true").output().unwrap();
    assert!(output.status.success(), "{}", error(&output));
}

#[test]
fn verbs_need_no_kubectl_and_mistakes_get_a_hint() {
    let cluster = Cluster::start();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(crate::cluster::binary());
        command.env("KUBECONFIG", cluster.kubeconfig()).env_remove("HOME").args(arguments);
        answer(command)
    };
    assert_has(&run(&["get", "ns", "default", "-o", "name"]).out, &["namespace/default"]);
    assert_has(&run(&["-n", "default", "get", "svc", "-o", "name"]).out, &["service/kubernetes"]);
    assert_has(&run(&["version"]).out, &["kedge "]);
    // A proxy of the environment is for others than this machine.
    let mut behind = std::process::Command::new(crate::cluster::binary());
    behind.env("KUBECONFIG", cluster.kubeconfig()).env("HTTPS_PROXY", "http://127.0.0.1:1");
    behind.args(["get", "ns", "default", "-o", "name"]);
    assert_has(&answer(behind).out, &["namespace/default"]);
    for (line, said) in [
        ("get deploymnts", "Did you mean \"deployments\"?"),
        ("get pods --wach", "did you mean --watch?"),
        ("kubectl gte pods", "Did you mean this?"),
        ("get ns --server=127.0.0.1:1", "Does the server run"),
        ("get ns --kubeconfig=nowhere", "nowhere"),
        ("get ns --context=nowhere", "context \"nowhere\" does not exist"),
        ("get ns --user=nobody", "auth info \"nobody\" does not exist"),
        ("get ns --tls-server-name=nobody", "not whom this kubeconfig trusts"),
        ("get pod x -n nowhere", "namespaces \"nowhere\" not found"),
        ("get pods -o jsn", "allowed formats are: custom-columns"),
        ("get pods -o go-template={{.a", "error parsing template {{.a, unclosed action"),
        ("get pods/a/b", "may not have more than one slash"),
        ("get", "api-resources"),
        ("delete pods", "no name was specified"),
        ("exec web", "exec POD -- COMMAND"),
        ("exec nothing -- true", "pods \"nothing\" not found"),
        ("debug web", "you must specify --image"),
        ("debug ns/default --image=x", "not supported by debug"),
        ("rollout status cm/x", "not found"),
        ("set image deploy/x", "at least one image update is required"),
        ("label pod x", "at least one label update is required"),
        ("label pod x a=b --local", "name the manifests to work on with -f"),
        ("logs", "POD or TYPE/NAME is a required argument"),
        ("wait pod/x", "--for is required"),
        ("scale deploy x", "--replicas"),
        ("top pods --sort-by=size", "cpu or memory"),
        ("create -f nowhere.yaml", "the path \"nowhere.yaml\" does not exist"),
        ("explain pods.spec.nothing", "nothing"),
        ("completion tcsh", "bash, zsh or fish"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let refused = run(&words);
        assert_eq!(refused.code, Some(1), "{line}");
        assert_has(&refused.err, &[said]);
    }
    // Who mistypes a verb is told of it, although it is none of the binary's own commands.
    assert_has(&run(&["dscribe", "pods"]).err, &["'describe'"]);
    for shell in ["bash", "zsh", "fish"] {
        assert_has(&run(&["completion", shell]).out, &["__complete"]);
    }
    assert_has(&run(&["__complete", "--", "get", "name"]).out, &["namespaces"]);
    assert_has(&run(&["__complete", "--", "get", "ns", "kube-s"]).out, &["kube-system"]);
    assert_has(&run(&["__complete", "--", "rollout", ""]).out, &["undo"]);
}
