//! Our own command line beside stock kubectl where much depends on the form: Go templates, manifests that are changed without a server,
//! and what `debug` sends.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::own::{WEB, both, made, settled, words};

#[test]
fn templates_give_what_gos_own_engine_gives() {
    let cluster = Cluster::start();
    cluster.kubectl_with(WEB, ["apply", "-f", "-"]);
    cluster.kubectl(["create", "secret", "generic", "key", "--from-literal=word=open sesame"]);
    for template in [
        "{{.metadata.name}} of {{.kind}}",
        "{{.metadata.nothing}} {{.nothing.at.all}}",
        "{{.spec.replicas}} {{.spec.progressDeadlineSeconds}} {{.spec.template.spec.dnsPolicy}}",
        "{{.metadata.labels}} {{.spec.template.spec.containers}}",
        "{{range .spec.template.spec.containers}}{{.name}}: {{.image}}{{\"\\n\"}}{{end}}",
        "{{range $i, $c := .spec.template.spec.containers}}{{$i}} {{$c.name}} {{end}}",
        "{{range $k, $v := .metadata.labels}}{{$k}}={{$v}},{{end}}",
        "{{range .spec.none}}x{{else}}none{{end}}",
        "{{range $k, $v := .metadata.labels}}{{if eq $k \"app\"}}{{continue}}{{end}}{{$k}}{{break}}{{end}}",
        "{{if .spec.paused}}paused{{else if gt (len .spec.template.spec.containers) 0}}on{{else}}off{{end}}",
        "{{with .spec.strategy}}{{.type}} {{$.metadata.name}}{{else}}none{{end}}",
        "{{with .spec.none}}x{{else with .kind}}{{.}}{{end}}",
        "{{$n := .metadata.name}}{{$m := \"a\"}}{{if true}}{{$m = \"b\"}}{{end}}{{$n}}{{$m}}",
        "  {{- .kind -}}   {{/* nothing */}}  {{- \"x\" }}",
        "{{index .metadata.labels \"tier\"}} {{index .metadata.labels \"none\"}}",
        "{{(index .spec.template.spec.containers 0).image}}",
        "{{index .spec.template.spec.containers 0 \"ports\" 0 \"containerPort\"}}",
        "{{len .kind}} {{len .metadata.labels}} {{len .spec.template.spec.containers}}",
        "{{printf \"%s|%10s|%-10s|%q|%v|%d|%05d|%x\" .kind .kind .kind .kind .metadata.labels 7 7 255}}",
        "{{printf \"%d %s %.0f %5.2f %g %e %v %T\" .spec.replicas .spec.replicas .spec.replicas .spec.replicas 1.5 1.5 .none .spec}}",
        "{{printf \"%s %s\" .kind}}{{printf \"%s\" .kind .kind 3}}{{printf \"%z\" 1}}{{printf \"100%%\"}}",
        "{{print .kind 1 2 \"a\" \"b\" .none}}{{println 1 \"a\"}}",
        "{{eq .spec.replicas 2}} {{lt .spec.replicas 3}} {{index .spec.template.spec.containers 0 \"name\"}} {{printf \"%3d|%.3d\" .spec.replicas 7}}",
        "{{eq .kind \"Pod\" \"Deployment\"}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt 1.5 2.5}} {{ge \"b\" \"a\"}} {{eq .none nil}}",
        "{{and .kind .metadata.name}} {{and .none .kind}} {{or .none .kind}} {{not .none}} {{or .none false}}",
        "{{and .none (index .none 3)}}",
        "{{slice .kind 1 3}} {{html \"<a & b>\"}} {{urlquery \"a b&c\"}} {{js \"it's\"}}",
        "{{define \"t\"}}[{{.}}]{{end}}{{template \"t\" .kind}}{{block \"u\" .metadata}}{{.name}}{{end}}",
        "{{1000000}} {{1e3}} {{0x1f}} {{'a'}} {{`raw`}} {{true}} {{3.25}}",
        "{{.metadata.name | printf \"%s-%s\" .kind | len}}",
        "{{.kind | len | printf \"%03d\"}}",
        // What cannot be carried out is refused by both.
        "{{.kind.name}}",
        "{{eq .kind 2}}",
        "{{index .spec.template.spec.containers 9}}",
        "{{len .spec.replicas}}",
        "{{nothing}}",
        "{{if .kind}}",
        "{{.kind",
        "{{end}}",
        "{{$x}}",
        "{{template \"none\"}}",
        "{{\"open}}",
    ] {
        same(&cluster, &["get", "deploy", "web", "-o", &format!("go-template={template}")]);
    }
    let file = cluster.file("template", "{{range .items}}{{.metadata.name}}{{\"\\n\"}}{{end}}");
    same(&cluster, &["get", "deploy,cm", "-o", &format!("go-template-file={file}")]);
    same(&cluster, &["get", "cm", "--template={{len .items}}"]);
    same(&cluster, &["get", "cm", "-o", "template", "--template={{range .items}}{{.kind}}{{end}}"]);
    same(&cluster, &["get", "secret", "key", "-o", "go-template={{.data.word | base64decode}}"]);
    same(
        &cluster,
        &["get", "secret", "key", "-o", "go-template={{exists .data \"word\"}}{{exists .data \"no\"}}"],
    );
    same(&cluster, &["get", "cm", "-o", "go-template"]);
    let missing = ["get", "deploy", "web", "-o", "go-template={{.metadata.none}}"];
    same(&cluster, &[&missing[..], &["--allow-missing-template-keys=false"]].concat());
    same(
        &cluster,
        &["label", "cm", "settings", "a=b", "--dry-run=server", "-o", "go-template={{.metadata.labels.a}}"],
    );
}

/// The same answer of both; where they refuse, the words may differ and kubectl shows the whole object.
#[track_caller]
fn same(cluster: &Cluster, words: &[&str]) {
    let ours = crate::own::answer(cluster.own_command(words.iter().copied()));
    let stock = crate::own::answer(cluster.command(words.iter().copied()));
    assert_eq!(ours.code, stock.code, "{words:?}\nours: {}\nstock: {}", ours.err, stock.err);
    if ours.code == Some(0) {
        assert_eq!(ours.out, stock.out, "{words:?}");
    }
}

/// Without what a typed client writes down although it says nothing.
fn bare(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(bare);
            map.retain(|_, value| !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty()));
        }
        Value::Array(items) => items.iter_mut().for_each(bare),
        _ => {}
    }
}

#[test]
fn manifests_are_changed_without_a_server() {
    let cluster = Cluster::start();
    let web = cluster.file("web.yaml", WEB.split("---").next().unwrap());
    let map = cluster
        .file("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: '1', b: '2'}\n");
    for line in [
        format!("set image -f {web} web=example/web:7"),
        format!("set env -f {web} A=1 B=2"),
        format!("set resources -f {web} --limits=cpu=1"),
        format!("set serviceaccount -f {web} other"),
        format!("label -f {web} new=one"),
        format!("label -f {web} app-"),
        format!("annotate -f {map} note=here"),
        format!("patch -f {map} -p '{{\"data\":{{\"a\":null,\"c\":\"3\"}}}}' --type=merge"),
        format!("patch -f {map} -p '[{{\"op\":\"remove\",\"path\":\"/data/a\"}}]' --type=json"),
        format!(
            "patch -f {web} -p '{{\"spec\":{{\"template\":{{\"spec\":{{\"containers\":[{{\"name\":\"web\",\"image\":\"x\"}},{{\"name\":\"new\",\"image\":\"y\"}}]}}}}}}}}'"
        ),
    ] {
        let line = format!("{line} --local --server=https://127.0.0.1:1");
        let (mut ours, mut stock) = made(&cluster, &format!("{line} -o json"));
        bare(&mut ours);
        bare(&mut stock);
        assert_eq!(ours, stock, "{line}");
        let (ours, stock) = both(&cluster, &line);
        assert_eq!((ours.code, ours.out), (stock.code, stock.out), "{line}");
    }
}

#[test]
fn what_debug_sends_is_what_kubectl_sends() {
    let cluster = Cluster::start();
    let pod = json!({
        "containers": [
            {"name": "app", "image": "example/app:1", "args": ["run"], "livenessProbe": {"exec": {"command": ["true"]}}},
            {"name": "side", "image": "example/side:1"},
        ],
        "initContainers": [{"name": "first", "image": "example/first:1"}],
    });
    for name in ["ours", "stock"] {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "x"}}, "spec": pod});
        crate::cluster::eventually("the pod is made", || {
            let output = cluster.output_with(&pod.to_string(), ["create", "-f", "-"]);
            if output.status.success() { Ok(()) } else { Err(crate::cluster::error(&output)) }
        });
    }
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    cluster.kubectl_with(&node.to_string(), ["create", "-f", "-"]);
    let custom =
        cluster.file("custom.yaml", "env:\n- {name: LATE, value: x}\nsecurityContext: {runAsUser: 0}\n");
    let run = |own: bool, line: &str| {
        let (mine, name) = if own { (true, "ours") } else { (false, "stock") };
        let words = words(&line.replace("POD", name));
        let arguments = || words.iter().map(String::as_str);
        let answer = crate::own::answer(if mine {
            cluster.own_command(arguments())
        } else {
            cluster.command(arguments())
        });
        (
            answer.code,
            answer.out.replace(name, "POD"),
            answer.err.lines().next().unwrap_or_default().replace(name, "POD"),
        )
    };
    for line in [
        "debug POD --image=busybox -c one --profile=general -- sh -c true",
        "debug POD --image=busybox -c two --target=app --env=A=1 --arguments-only --profile=netadmin -- x",
        "debug POD --image=busybox -c three --profile=restricted --image-pull-policy=Never",
        "debug POD --image=busybox -c four --profile=sysadmin --quiet",
        "debug POD --image=busybox -c five --profile=baseline --quiet",
        &format!("debug POD --image=busybox -c six --profile=general --custom={custom}"),
        "debug POD --copy-to=POD-a --image=busybox -c extra --profile=general -- sh",
        "debug POD --copy-to=POD-b -c app --share-processes=false --keep-labels --keep-liveness --profile=baseline -- sh",
        "debug POD --copy-to=POD-c --set-image=*=busybox,app=other --profile=general --image=busybox -c extra --keep-init-containers=false",
        "debug POD --copy-to=POD-d --image=busybox -c extra --profile=restricted --same-node",
        "debug POD --image=busybox -c one --profile=general -- sh",
        "debug POD --profile=general",
        "debug POD --image=busybox --profile=general -t",
        "debug POD --copy-to=x --profile=general",
        "debug POD --image=busybox --profile=general --same-node",
        "debug --image=busybox --profile=general",
        "debug POD --image=busybox --profile=none",
    ] {
        let (ours, stock) = (run(true, line), run(false, line));
        assert_eq!((ours.0, &ours.1), (stock.0, &stock.1), "{line}\nours: {}\nstock: {}", ours.2, stock.2);
        if !line.contains("profile=none") {
            assert_eq!(ours.2, stock.2, "{line}");
        }
    }
    let made = |name: &str| {
        let json = cluster.kubectl(["get", "pod", name, "-o", "json"]);
        let mut pod = settled(&json.replace("ours", "POD").replace("stock", "POD"));
        bare(&mut pod);
        pod
    };
    for end in ["", "-a", "-b", "-c", "-d"] {
        assert_eq!(made(&format!("ours{end}")), made(&format!("stock{end}")), "{end}");
    }
    for profile in ["general", "sysadmin", "netadmin", "baseline", "restricted"] {
        let line = format!("debug node/n1 --image=busybox --profile={profile} -- sh");
        for own in [true, false] {
            assert_eq!(run(own, &line).0, Some(0), "{line}");
        }
        let list = cluster.kubectl(["get", "pods", "-o", "json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let made = |pod: &&Value| pod["metadata"]["name"].as_str().unwrap().starts_with("node-debugger-n1-");
        let pods: Vec<&Value> = list["items"].as_array().unwrap().iter().filter(made).collect();
        let mut specs: Vec<Value> = pods.iter().map(|pod| settled(&pod["spec"].to_string())).collect();
        specs.iter_mut().for_each(bare);
        assert_eq!(specs.len(), 2, "{profile}");
        assert_eq!(specs[0], specs[1], "{profile}");
        for pod in pods {
            let name = pod["metadata"]["name"].as_str().unwrap();
            cluster.kubectl(["delete", "pod", name, "--force", "--grace-period=0"]);
        }
    }
}
