//! `kubectl create …` and its like. These send protobuf and expect no refusal of it.

use crate::cluster::{Cluster, assert_has};

#[test]
fn objects_are_made_from_flags_alone() {
    let cluster = Cluster::start();
    for (arguments, said) in [
        ("create configmap settings --from-literal=colour=blue", "configmap/settings created"),
        ("create secret generic key --from-literal=password=anchor", "secret/key created"),
        (
            "create secret docker-registry pull --docker-server=r.example --docker-username=u --docker-password=p",
            "secret/pull created",
        ),
        ("create serviceaccount robot", "serviceaccount/robot created"),
        (
            "create deployment web --image=registry.example/web:1 --replicas=2 --port=80",
            "deployment.apps/web created",
        ),
        ("create service clusterip web --tcp=80:8080", "service/web created"),
        ("create service nodeport door --tcp=80", "service/door created"),
        ("create service externalname away --external-name=a.example", "service/away created"),
        ("create job once --image=registry.example/job:1", "job.batch/once created"),
        (
            "create cronjob nightly --image=registry.example/job:1 --schedule=@daily",
            "cronjob.batch/nightly created",
        ),
        ("create job now --from=cronjob/nightly", "job.batch/now created"),
        (
            "create role reader --verb=get,list --resource=pods,pods/log",
            "role.rbac.authorization.k8s.io/reader created",
        ),
        (
            "create rolebinding readers --role=reader --serviceaccount=walk:robot",
            "rolebinding.rbac.authorization.k8s.io/readers created",
        ),
        (
            "create clusterrole kubectl-test --verb=get --resource=nodes",
            "clusterrole.rbac.authorization.k8s.io/kubectl-test created",
        ),
        (
            "create clusterrolebinding kubectl-test --clusterrole=kubectl-test --group=g",
            "clusterrolebinding.rbac.authorization.k8s.io/kubectl-test created",
        ),
        ("create ingress web --rule=web.example/*=web:80", "ingress.networking.k8s.io/web created"),
        (
            "create poddisruptionbudget web --selector=app=web --min-available=1",
            "poddisruptionbudget.policy/web created",
        ),
        ("create quota share --hard=count/leases.coordination.k8s.io=9", "resourcequota/share created"),
        (
            "create priorityclass kubectl-test --value=7",
            "priorityclass.scheduling.k8s.io/kubectl-test created",
        ),
        ("run single --image=registry.example/single:1 --labels=app=single", "pod/single created"),
        ("expose deployment web --name=inner --port=81", "service/inner exposed"),
        ("autoscale deployment web --min=1 --max=3", "horizontalpodautoscaler.autoscaling/web autoscaled"),
    ] {
        assert_has(&cluster.kubectl(arguments.split(' ')), &[said]);
    }
    assert_eq!(cluster.object("configmap", "settings")["data"]["colour"], "blue");
    assert_eq!(
        cluster.object("deployment", "web")["spec"]["template"]["spec"]["containers"][0]["image"],
        "registry.example/web:1"
    );
    assert_eq!(cluster.object("secret", "key")["data"]["password"], "YW5jaG9y");
    assert_eq!(
        cluster.object("job", "now")["spec"]["template"]["spec"]["containers"][0]["image"],
        "registry.example/job:1"
    );
}

#[test]
fn a_token_is_three_parts_and_can_be_used() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "serviceaccount", "robot"]);
    let token = cluster.kubectl(["create", "token", "robot", "--duration=1h"]);
    assert_eq!(token.trim().split('.').count(), 3, "{token}");
    let token = format!("--token={}", token.trim());
    // kubectl prefers a client certificate to a token; this one must not have any.
    let config: serde_json::Value =
        serde_json::from_str(&cluster.kubectl(["config", "view", "--raw", "--output=json"])).unwrap();
    let mut bare = config.clone();
    bare["users"][0]["user"] = serde_json::json!({});
    let bare = cluster.file("bare-kubeconfig", &bare.to_string());
    let bare = format!("--kubeconfig={bare}");
    let robot =
        cluster.kubectl([&bare, &token, "auth", "whoami", "--output=jsonpath={.status.userInfo.username}"]);
    assert_eq!(robot, "system:serviceaccount:walk:robot");
    assert_has(&cluster.refused([&bare, &token, "get", "secrets"]), &["(Forbidden)", "cannot list resource"]);
    assert_has(&cluster.refused([&bare, "--token=a.b.c", "get", "pods"]), &["Unauthorized"]);
}

#[test]
fn who_may_what_is_answered() {
    let cluster = Cluster::start();
    assert_eq!(cluster.kubectl(["auth", "can-i", "delete", "nodes"]).trim(), "yes");
    cluster.kubectl(["create", "role", "reader", "--verb=get", "--resource=pods"]);
    cluster.kubectl(["create", "rolebinding", "readers", "--role=reader", "--user=eve"]);
    assert_eq!(cluster.kubectl(["auth", "can-i", "get", "pods", "--as=eve"]).trim(), "yes");
    let no = cluster.command(["auth", "can-i", "delete", "pods", "--as=eve"]).output().unwrap();
    assert_eq!((no.status.code(), no.stdout.starts_with(b"no")), (Some(1), true));
    assert_has(&cluster.kubectl(["auth", "can-i", "--list", "--as=eve"]), &["pods", "[get]"]);
    assert_has(
        &cluster.refused(["get", "secrets", "--as=eve"]),
        &["(Forbidden)", r#"User "eve" cannot list resource "secrets""#],
    );
}
