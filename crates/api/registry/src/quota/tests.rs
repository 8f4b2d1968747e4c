//! What a namespace's quotas let in, and that their figures are true at every moment.

use std::time::Duration;

use kedge_clock::Clock;
use kedge_kinds::{Reason, Status};
use kedge_store::Store;
use serde_json::{Value, json};

use crate::testing::{Api, NOON, config_map, dry, pod, with, write};
use crate::{DeleteOptions, Options, Registry};

async fn api() -> Api {
    with(Options { namespace_worker: false, ..Options::default() }).await
}

fn quota(name: &str, hard: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"hard": hard}})
}

fn asking(name: &str, requests: Value, limits: Value) -> Value {
    let mut object = pod(name);
    object["spec"]["containers"][0]["resources"] = json!({"requests": requests, "limits": limits});
    object
}

/// Makes a quota, which is counted when that is answered.
async fn limit(api: &Api, quota: Value) {
    let name = quota["metadata"]["name"].as_str().unwrap().to_owned();
    let hard = quota["spec"]["hard"].clone();
    api.create("resourcequotas", "default", quota).await.unwrap();
    let made = api.get("resourcequotas", "default", &name).await.unwrap();
    assert_eq!(made["status"]["hard"], hard, "{name}");
}

async fn used(api: &Api, name: &str) -> Value {
    api.get("resourcequotas", "default", name).await.unwrap()["status"]["used"].clone()
}

/// Waits, but not for ever, until the quota's status is as it should be.
async fn until(api: &Api, name: &str, holds: impl Fn(&Value) -> bool) {
    let mut status = Value::Null;
    for _ in 0..1000 {
        status = api.get("resourcequotas", "default", name).await.unwrap()["status"].clone();
        if holds(&status) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{name} still says {status}");
}

fn refused(answer: Result<Value, Status>) -> String {
    let status = answer.unwrap_err();
    assert_eq!((status.code, status.reason), (403, Reason::Forbidden), "{status}");
    status.message
}

#[tokio::test]
async fn a_quota_is_counted_when_it_comes_and_when_it_changes() {
    let api = api().await;
    api.create("configmaps", "default", config_map("a")).await.unwrap();
    api.create("pods", "default", pod("p")).await.unwrap();
    limit(&api, quota("q", json!({"configmaps": "3", "pods": "2"}))).await;
    assert_eq!(used(&api, "q").await, json!({"configmaps": "1", "pods": "1"}));
    api.merge("resourcequotas", "default", "q", json!({"spec": {"hard": {"count/pods": "5", "pods": null}}}))
        .await
        .unwrap();
    until(&api, "q", |status| status["used"] == json!({"configmaps": "1", "count/pods": "1"})).await;
    // A figure that somebody else wrote is put right.
    api.merge("resourcequotas/status", "default", "q", json!({"status": {"used": {"configmaps": "9"}}}))
        .await
        .unwrap();
    until(&api, "q", |status| status["used"]["configmaps"] == "1").await;
}

#[tokio::test]
async fn what_a_write_uses_is_charged_with_it_and_free_again_without_it() {
    let api = api().await;
    limit(&api, quota("q", json!({"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi"}))).await;
    let small = |name| asking(name, json!({"cpu": "400m"}), json!({"memory": "256Mi", "cpu": "1"}));
    api.create("pods", "default", small("a")).await.unwrap();
    assert_eq!(used(&api, "q").await, json!({"limits.memory": "256Mi", "pods": "1", "requests.cpu": "400m"}));
    for (case, object, message) in [
        (
            "too much of one thing",
            asking("b", json!({"cpu": "700m"}), json!({"memory": "1Mi"})),
            "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=700m, used: requests.cpu=400m, limited: requests.cpu=1",
        ),
        (
            "too much of two",
            asking("b", json!({"cpu": "700m"}), json!({"memory": "2Gi"})),
            "pods \"b\" is forbidden: exceeded quota: q, requested: limits.memory=2Gi,requests.cpu=700m, used: limits.memory=256Mi,requests.cpu=400m, limited: limits.memory=1Gi,requests.cpu=1",
        ),
        (
            "not saying",
            pod("b"),
            "pods \"b\" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c",
        ),
    ] {
        assert_eq!(refused(api.create("pods", "default", object).await), message, "{case}");
    }
    let at = api.at("pods", "default", "");
    api.registry.create(&at, small("b"), &dry()).await.unwrap();
    let status =
        api.registry.create(&at, asking("b", json!({"cpu": "2"}), json!({"memory": "1"})), &dry()).await;
    assert_eq!(status.unwrap_err().code, 403, "what is only tried is judged all the same");
    assert_eq!(used(&api, "q").await["pods"], "1", "and takes nothing");

    api.create("pods", "default", small("b")).await.unwrap();
    assert_eq!(used(&api, "q").await["requests.cpu"], "800m");
    api.merge("pods/status", "default", "b", json!({"status": {"phase": "Succeeded"}})).await.unwrap();
    assert_eq!(used(&api, "q").await["pods"], "1", "who has ended is not counted");
    let now = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
    for name in ["a", "b"] {
        api.delete_with("pods", "default", name, now.clone()).await.unwrap();
    }
    assert_eq!(used(&api, "q").await, json!({"limits.memory": "0", "pods": "0", "requests.cpu": "0"}));
}

#[tokio::test]
async fn a_change_is_charged_for_what_it_adds() {
    let api = api().await;
    limit(
        &api,
        quota("q", json!({"services": "3", "services.nodeports": "1", "services.loadbalancers": "0"})),
    )
    .await;
    let service = |name: &str, kind: &str| json!({"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}], "selector": {"a": "b"}}});
    api.create("services", "default", service("a", "ClusterIP")).await.unwrap();
    api.create("services", "default", service("b", "NodePort")).await.unwrap();
    let balanced = json!({"spec": {"type": "LoadBalancer"}});
    assert_eq!(
        refused(api.merge("services", "default", "a", balanced).await),
        "services \"a\" is forbidden: exceeded quota: q, requested: services.loadbalancers=1,services.nodeports=1, \
         used: services.loadbalancers=0,services.nodeports=1, limited: services.loadbalancers=0,services.nodeports=1"
    );
    api.merge("services", "default", "b", json!({"spec": {"type": "ClusterIP"}})).await.unwrap();
    assert_eq!(used(&api, "q").await["services.nodeports"], "0");
    api.merge("services", "default", "a", json!({"spec": {"type": "NodePort"}})).await.unwrap();
    assert_eq!(used(&api, "q").await["services.nodeports"], "1");

    limit(
        &api,
        quota(
            "v",
            json!({"requests.storage": "3Gi", "fast.storageclass.storage.k8s.io/requests.storage": "2Gi"}),
        ),
    )
    .await;
    let claim = |name: &str, class: &str| {
        json!({"metadata": {"name": name}, "spec": {
            "storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}},
        }})
    };
    api.create("persistentvolumeclaims", "default", claim("a", "fast")).await.unwrap();
    assert_eq!(
        used(&api, "v").await,
        json!({"fast.storageclass.storage.k8s.io/requests.storage": "2Gi", "requests.storage": "2Gi"})
    );
    assert!(
        refused(api.create("persistentvolumeclaims", "default", claim("b", "slow")).await)
            .contains("exceeded quota: v")
    );
}

#[tokio::test]
async fn scopes_say_whom_a_quota_is_for() {
    let api = api().await;
    api.create(
        "scheduling.k8s.io/v1/priorityclasses",
        "",
        json!({"metadata": {"name": "high"}, "value": 1000}),
    )
    .await
    .unwrap();
    let scoped = |name: &str, scopes: Value| {
        let mut quota = quota(name, json!({"pods": "5"}));
        quota["spec"]["scopes"] = scopes;
        quota
    };
    let chosen = |name: &str, scope: &str, operator: &str, values: Value| {
        let mut quota = quota(name, json!({"pods": "5"}));
        let mut one = json!({"scopeName": scope, "operator": operator});
        if values != json!([]) {
            one["values"] = values;
        }
        quota["spec"]["scopeSelector"] = json!({"matchExpressions": [one]});
        quota
    };
    for quota in [
        scoped("terminating", json!(["Terminating"])),
        scoped("not-terminating", json!(["NotTerminating"])),
        scoped("best", json!(["BestEffort"])),
        scoped("not-best", json!(["NotBestEffort"])),
        scoped("both", json!(["NotBestEffort", "Terminating"])),
        chosen("high", "PriorityClass", "In", json!(["high"])),
        chosen("not-high", "PriorityClass", "NotIn", json!(["high"])),
        chosen("any", "PriorityClass", "Exists", json!([])),
        chosen("none", "PriorityClass", "DoesNotExist", json!([])),
        scoped("elsewhere", json!(["CrossNamespacePodAffinity"])),
    ] {
        limit(&api, quota).await;
    }
    let mut deadline = asking("a", json!({"cpu": "1"}), json!({}));
    deadline["spec"]["activeDeadlineSeconds"] = 60.into();
    let mut high = pod("b");
    high["spec"]["priorityClassName"] = "high".into();
    let mut near = pod("c");
    near["spec"]["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "namespaces": ["other"], "labelSelector": {"matchLabels": {"a": "b"}}},
    ]}});
    for object in [deadline, high, near] {
        api.create("pods", "default", object).await.unwrap();
    }
    for (name, number) in [
        ("terminating", "1"),
        ("not-terminating", "2"),
        ("best", "2"),
        ("not-best", "1"),
        ("both", "1"),
        ("high", "1"),
        ("not-high", "2"),
        ("any", "1"),
        ("none", "2"),
        ("elsewhere", "1"),
    ] {
        assert_eq!(used(&api, name).await["pods"], number, "{name}");
    }
    // Getting a deadline moves the pod from one scope into the other.
    api.merge("pods", "default", "b", json!({"spec": {"activeDeadlineSeconds": 5}})).await.unwrap();
    assert_eq!(
        (
            used(&api, "terminating").await["pods"].clone(),
            used(&api, "not-terminating").await["pods"].clone()
        ),
        (json!("2"), json!("1"))
    );
}

#[tokio::test]
async fn sidecars_start_up_and_overhead_are_part_of_a_pod() {
    let cpu = |name: &str, cpu: &str, stays: bool| {
        let mut one = json!({"name": name, "image": "i", "resources": {"requests": {"cpu": cpu}}});
        if stays {
            one["restartPolicy"] = "Always".into();
        }
        one
    };
    for (case, spec, wanted) in [
        (
            "containers add up",
            json!({"containers": [cpu("a", "1", false), cpu("b", "500m", false)]}),
            "1500m",
        ),
        (
            "the start may need more",
            json!({"containers": [cpu("a", "1", false)], "initContainers": [cpu("i", "3", false)]}),
            "3",
        ),
        (
            "sidecars stay",
            json!({"containers": [cpu("a", "1", false)], "initContainers": [cpu("s", "2", true), cpu("i", "500m", false)]}),
            "3",
        ),
        (
            "a start beside sidecars",
            json!({"containers": [cpu("a", "1", false)], "initContainers": [cpu("s", "2", true), cpu("i", "4", false)]}),
            "6",
        ),
        ("overhead", json!({"containers": [cpu("a", "1", false)], "overhead": {"cpu": "250m"}}), "1250m"),
        (
            "the pod as a whole",
            json!({"containers": [cpu("a", "1", false)], "resources": {"requests": {"cpu": "2"}}}),
            "2",
        ),
    ] {
        let usage = super::pod::usage(&json!({"spec": spec}), NOON.parse().unwrap());
        assert_eq!(usage.get("requests.cpu").unwrap().to_string(), wanted, "{case}");
    }
}

#[tokio::test]
async fn a_pod_that_should_be_gone_is_not_counted() {
    let api = api().await;
    limit(&api, quota("q", json!({"count/pods": "5", "pods": "1"}))).await;
    let mut held = pod("p");
    held["metadata"]["finalizers"] = json!(["example.test/hold"]);
    held["spec"]["nodeName"] = "n".into();
    api.create("pods", "default", held).await.unwrap();
    api.delete("pods", "default", "p").await.unwrap();
    assert_eq!(used(&api, "q").await["pods"], "1", "it has its grace");
    api.clock.advance(Duration::from_secs(120));
    until(&api, "q", |status| status["used"] == json!({"count/pods": "1", "pods": "0"})).await;
    api.create("pods", "default", pod("next")).await.unwrap();
    let now = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
    api.delete_with("pods", "default", "p", now).await.unwrap();
    api.merge("pods", "default", "p", json!({"metadata": {"finalizers": null}})).await.unwrap();
    until(&api, "q", |status| status["used"] == json!({"count/pods": "1", "pods": "1"})).await;
}

async fn at_once(registry: &Registry, prefix: &str, number: usize) -> (usize, usize) {
    let clock = Clock::system();
    let api = Api { registry: registry.clone(), clock };
    let at = api.at("pods", "default", "");
    let tasks: Vec<_> = (0..number)
        .map(|number| {
            let (registry, at, name) = (registry.clone(), at.clone(), format!("{prefix}{number}"));
            tokio::spawn(async move { registry.create(&at, pod(&name), &write()).await })
        })
        .collect();
    let (mut made, mut refused) = (0, 0);
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => made += 1,
            Err(status) if status.code == 403 && status.message.contains("exceeded quota: q") => refused += 1,
            Err(status) => panic!("{status}"),
        }
    }
    (made, refused)
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_never_get_more_than_there_is() {
    let dir = tempfile::tempdir().unwrap();
    for store in [Store::memory(), Store::open(dir.path(), kedge_store::Options::default()).await.unwrap()] {
        let options = Options { namespace_worker: false, ..Options::default() };
        let registry = Registry::start(store, Clock::system(), options).await.unwrap();
        let api = Api { registry: registry.clone(), clock: Clock::system() };
        limit(&api, quota("q", json!({"pods": "10"}))).await;
        assert_eq!(at_once(&registry, "p", 64).await, (10, 54));
        assert_eq!(used(&api, "q").await["pods"], "10");
        assert_eq!(registry.store().snapshot().count("/registry/pods/default/"), 10);
        // A quota that everyone charges can still be changed.
        let change = json!({"spec": {"hard": {"pods": "20"}}});
        let (changed, tried) =
            tokio::join!(api.merge("resourcequotas", "default", "q", change), at_once(&registry, "q", 64));
        changed.unwrap();
        let there = registry.store().snapshot().count("/registry/pods/default/");
        assert!(tried.0 + 10 == there && there <= 20, "{tried:?} {there}");
        until(&api, "q", |status| {
            status["hard"]["pods"] == "20" && status["used"]["pods"] == *there.to_string()
        })
        .await;
        // And be deleted.
        let gone = DeleteOptions::default();
        let (deleted, _) = tokio::join!(
            api.delete_with("resourcequotas", "default", "q", gone),
            at_once(&registry, "r", 64)
        );
        deleted.unwrap();
        registry.store().close().await;
    }
}
