//! What people type wrongly, to us and to stock kubectl: the same exit code, the same words in the first line. Ours may say what to do next
//! in further ones.

use crate::cluster::{Cluster, assert_has};
use crate::own::{WEB, ageless, answer, both};

const LONE: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: lone}
spec: {containers: [{name: one, image: x}, {name: two, image: z}]}
---
apiVersion: v1
kind: Service
metadata: {name: far}
spec: {type: ExternalName, externalName: far.example}
";

/// The first line, whichever program it is of and whichever way it begins: kubectl writes `Error` where its flags complain.
fn first(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().replace("kedge kubectl", "kubectl");
    match line.strip_prefix("Error: ") {
        Some(rest) => format!("error: {rest}"),
        None => line,
    }
}

#[test]
fn mistakes_are_told_in_kubectls_words() {
    let cluster = Cluster::start();
    cluster.kubectl_with(WEB, ["apply", "-f", "-"]);
    cluster.kubectl_with(LONE, ["apply", "-f", "-"]);
    let empty = cluster.file("empty.yaml", "");
    let kindless = cluster.file("kindless.yaml", "apiVersion: v1\nmetadata: {name: x}\n");
    let unknown = cluster.file("unknown.yaml", "apiVersion: x.y/v1\nkind: Nothing\nmetadata: {name: x}\n");
    let good = cluster.file("good.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n");
    let misnamed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: _x}\n";
    let misnamed = cluster.file("misnamed.yaml", &[misnamed, misnamed].join("---\n"));
    let folder = std::path::Path::new(&good).parent().unwrap().join("nothing-in-it");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.display();
    let with_files = [
        format!("apply -f {empty}"),
        format!("apply -f {kindless}"),
        format!("apply -f {unknown}"),
        format!("apply -f {folder}"),
        format!("apply -f {good} extra"),
        format!("apply -f {good} --validate=sideways"),
        format!("apply -f {good} --force --dry-run=server"),
        format!("apply -f {good} --server-side --force"),
        format!("create -f {empty}"),
        format!("create -f {kindless}"),
        format!("create -f {unknown}"),
        format!("create -f {misnamed}"),
        format!("apply -f {misnamed}"),
        format!("create -f {good} --edit --raw=/api/v1"),
        "create --edit".to_owned(),
        "apply edit-last-applied".to_owned(),
        "apply edit-last-applied cm nothing".to_owned(),
        "apply edit-last-applied cm kube-root-ca.crt".to_owned(),
        format!("get -f {empty}"),
        format!("get -f {good} pods"),
        format!("delete -f {empty}"),
        format!("delete -f {good} pods"),
        format!("replace -f {unknown}"),
        format!("replace -f {good} --grace-period=5"),
        format!("replace -f {good} --timeout=5s"),
        format!("diff -f {unknown}"),
        format!("diff -f {good} extra"),
    ];
    let bare = [
        // Words and flags.
        "rollout nothing",
        "config nothing",
        "get pods --nothing",
        "get pods -o",
        "get pods --output",
        "get pods --watch=maybe",
        "get pods --chunk-size=x",
        "get pods --request-timeout=x",
        "delete pods lone --timeout=x",
        "scale deploy web --replicas=x",
        "api-resources extra",
        "version extra",
        "version -o bad",
        // Forms.
        "get pods -o jsonpath",
        "get pods -o jsonpath=",
        "get pods -o jsonpath-file=nowhere",
        "get pods -o custom-columns",
        "get pods -o custom-columns=NAME:{.a",
        "get pods -o custom-columns-file=nowhere",
        "get pods -o go-template",
        "get pods --show-labels -o json",
        // Which objects.
        "get",
        "get all nothing",
        "get pods -l =b",
        "get pods -l 'a in (b'",
        "get pods --field-selector=x=y",
        "get pods,svc -w",
        "get --raw nowhere",
        "get --raw /nowhere",
        "get --raw /version pods",
        "get --raw /version -o json",
        "get pods --subresource=nothing",
        "get pods --cluster=nowhere",
        "delete",
        "delete pods --all -l a=b",
        "delete pods lone --force --grace-period=5",
        "delete pods lone -o yaml",
        "delete pods lone -A",
        "describe",
        "describe pods lone -l a=b",
        "explain",
        "explain pods a",
        // Generators.
        "create nothing",
        "create cm a b",
        "create cm settings",
        "create cm x --from-literal==b",
        "create cm x --from-file=nowhere",
        "create cm x --from-file=a=b=c",
        "create cm x --from-env-file=nowhere",
        "create cm x --from-literal=a=1 --from-literal=a=2",
        "create secret nothing",
        "create secret docker-registry x",
        "create secret tls x",
        "create secret tls x --cert=nowhere --key=nowhere",
        "create deployment x y --image=a",
        "create service clusterip web --tcp=80",
        "create service clusterip x --tcp=a",
        "create job x",
        "create job x --from=cj/x -- true",
        "create clusterrole x --verb=get",
        "create clusterrole x --verb=create --non-resource-url=/x",
        "create rolebinding",
        "create rolebinding x --role=a --serviceaccount=bad",
        "create quota x --hard=bad",
        "create quota x --hard=cpu=bad",
        "create pdb x",
        "create ingress x --rule=a/b=c",
        "create ingress x --default-backend=bad",
        "create token nothing",
        "create token default --bound-object-kind=Pod",
        // Changes.
        "label",
        "label pods lone a=b c",
        "label pods lone =b",
        "label pods --all a=b -l c=d",
        "label pods lone a=b/c",
        "label pods lone a=b=c",
        "label pods lone _a=1",
        "label pods lone a=1 'b c=1' _a=1",
        "label pods lone /a=1",
        "label deploy/web cm/settings _a=1",
        "label deploy/web _a=1 --dry-run=client",
        "label deploy/web _a-",
        "label pods nothing _a=1",
        "annotate pods lone a/b/c=d",
        "annotate pods lone _a=1 b=2",
        "annotate pods lone UPPER.example/Key=1 --dry-run=server",
        "annotate cm settings pod/lone _a=1",
        "annotate pods lone a=b a-",
        "autoscale pods lone --max=3",
        "rollout status",
        "rollout undo pod/lone",
        "rollout pause cm/settings",
        "rollout restart pod/lone",
        "rollout history deploy/web --revision=-1",
        "set image",
        "set image deploy/web nothing=x",
        "set image cm/settings a=b",
        "set env deploy/web a=b a-",
        "set resources deploy/web --limits=bad",
        "set resources deploy/web --limits=cpu=bad",
        "set selector deploy/web a=b",
        "set subject cm settings --user=a",
        "patch cm settings -p ''",
        "patch cm settings --patch-file=nowhere",
        "expose",
        "expose deploy web --port=x",
        "run x --image=",
        "run x --image=x --restart=Bad",
        "run x --image=x --env=bad",
        "run x --image=x --dry-run=client -i",
        "taint",
        "taint nodes n1 a:b:c",
        "taint nodes a=b:NoSchedule",
        "taint pods lone a=b:NoSchedule",
        "taint nodes n1 _a:NoSchedule",
        "taint nodes n1 _a-",
        "taint nodes n1 a=b",
        "taint nodes n1 a=b-",
        "taint nodes n1 a=b/c:NoSchedule",
        "taint nodes n1 a=b=c:NoSchedule",
        "taint nodes n1 :NoExecute",
        "taint nodes n1 a:",
        "taint nodes n1 a:Never-",
        "taint nodes n1 a:NoSchedule c",
        "taint nodes n1 a:NoSchedule a=2:NoSchedule",
        "taint nodes n1 a:NoSchedule a:NoSchedule-",
        "taint nodes n1 a:NoSchedule a-",
        "wait pod/lone",
        "wait pod/lone --for=jsonpath={.a}= --timeout=1s",
        "wait --for=delete",
        // Pods.
        "logs nothing",
        "logs lone one two",
        "logs lone -c one --all-containers",
        "logs lone --tail=-5",
        "logs lone --since=-1s",
        "logs cm/settings",
        "logs svc/far",
        "exec lone",
        "exec lone true",
        "exec cm/settings -- true",
        "cp lone:/a lone:/b",
        "cp lone: b",
        "cp :/a b",
        "port-forward cm/settings 80",
        // The rest.
        "auth nothing",
        "auth can-i get",
        "auth can-i get pods a b",
        "auth can-i get /x --subresource=y",
        "certificate approve",
        "completion",
        "completion tcsh",
        "config use-context nowhere",
        "config delete-user nowhere",
        "config get-contexts -o bad",
        "config view x",
        "top pods --sort-by=bad",
        "api-resources --sort-by=bad",
    ];
    let mut different = Vec::new();
    for line in bare.into_iter().map(str::to_owned).chain(with_files) {
        let (ours, stock) = both(&cluster, &line);
        let (our_words, words) = (first(&ours.err), first(&stock.err));
        if (ours.code, ageless(&ours.out), &our_words) != (stock.code, ageless(&stock.out), &words) {
            different.push(format!(
                "{line}\n  ours:  {:?} {our_words}\n  stock: {:?} {words}",
                ours.code, stock.code
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Who may read and not write is told what is wrong with a key, not that the write is forbidden: there was none.
#[test]
fn wrong_keys_are_not_sent() {
    let cluster = Cluster::start();
    cluster.kubectl_with(WEB, ["apply", "-f", "-"]);
    cluster.kubectl(["create", "role", "reader", "--verb=get,list", "--resource=configmaps"]);
    cluster.kubectl(["create", "rolebinding", "readers", "--role=reader", "--user=eve"]);
    for (line, said) in [
        ("label cm settings good=1 --as=eve", "(Forbidden)"),
        (
            "label cm settings _a=1 --as=eve",
            "is invalid: metadata.labels: Invalid value: \"_a\": name part must",
        ),
        (
            "annotate cm settings _a=1 --as=eve",
            "is invalid: metadata.annotations: Invalid value: \"_a\": name part",
        ),
        (
            "label cm settings a=/ --server=https://127.0.0.1:1",
            "invalid label value: \"a=/\": a valid label must",
        ),
        (
            "taint nodes n1 _a:NoExecute --server=https://127.0.0.1:1",
            "invalid taint spec: _a:NoExecute, name part",
        ),
        (
            "taint nodes n1 a=/:NoExecute --server=https://127.0.0.1:1",
            "invalid taint spec: a=/:NoExecute, a valid",
        ),
    ] {
        let ours = answer(cluster.own_command(line.split(' ')));
        assert_eq!(ours.code, Some(1), "{line}");
        assert_has(&ours.err, &[said]);
    }
}

#[test]
fn a_word_without_the_next_one_shows_what_can_follow() {
    let cluster = Cluster::start();
    for (line, next) in [
        ("rollout", "undo"),
        ("create secret", "tls"),
        ("auth", "reconcile"),
        ("set", "image"),
        ("plugin", "list"),
    ] {
        let (ours, stock) = both(&cluster, line);
        assert_eq!((ours.code, ours.out.as_str()), (stock.code, ""), "{line}");
        assert!(ours.err.contains(next), "{line}: {}", ours.err);
    }
}
