//! Scale, binding, eviction and the parts of a pod that have a path of their own.

use serde_json::{Value, json};

use crate::testing::{Api, api, labelled, pod, write};
use crate::{ListQuery, Patch};

async fn post(api: &Api, resource: &str, name: &str, object: Value) -> Result<Value, kedge_kinds::Status> {
    let written = api.registry.create(&api.at(resource, "default", name), object, &write()).await?;
    Ok(serde_json::from_slice(&written.bytes).unwrap())
}

#[tokio::test]
async fn scale_shows_and_sets_the_replicas() {
    let api = api().await;
    let template = json!({"metadata": {"labels": {"app": "d", "tier": "a"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}});
    let selector = json!({"matchLabels": {"app": "d"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}]});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"replicas": 2, "selector": selector, "template": template}});
    let resource = "apps/v1/deployments/scale";
    api.create("apps/v1/deployments", "default", deployment).await.unwrap();
    let scale = api.get(resource, "default", "d").await.unwrap();
    assert_eq!((&scale["kind"], &scale["apiVersion"]), (&json!("Scale"), &json!("autoscaling/v1")));
    assert_eq!(scale["spec"], json!({"replicas": 2}));
    assert_eq!(scale["status"], json!({"replicas": 0, "selector": "app=d,tier in (a,b)"}));
    let sent = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 4}});
    assert_eq!(api.update(resource, "default", sent.clone()).await.unwrap()["spec"]["replicas"], 4);
    assert_eq!(
        api.merge(resource, "default", "d", json!({"spec": {"replicas": 5}})).await.unwrap()["spec"]["replicas"],
        5
    );
    let live = api.get("apps/v1/deployments", "default", "d").await.unwrap();
    assert_eq!((&live["spec"]["replicas"], &live["metadata"]["generation"]), (&json!(5), &json!(3)));
    let status = api.merge(resource, "default", "d", json!({"spec": {"replicas": -1}})).await.unwrap_err();
    assert_eq!(
        status.message,
        "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    );
    let mut stale = sent;
    stale["metadata"]["resourceVersion"] = "1".into();
    assert_eq!(api.update(resource, "default", stale).await.unwrap_err().code, 409);
    assert_eq!(api.get(resource, "default", "absent").await.unwrap_err().code, 404);
    let controller = json!({"metadata": {"name": "rc"}, "spec": {"replicas": 1, "template": template}});
    api.create("replicationcontrollers", "default", controller).await.unwrap();
    let scale = api.get("replicationcontrollers/scale", "default", "rc").await.unwrap();
    assert_eq!(scale["status"]["selector"], "app=d,tier=a");
}

#[tokio::test]
async fn a_pod_is_bound_once() {
    let api = api().await;
    api.create("pods", "default", pod("p")).await.unwrap();
    let binding = |node: &str| json!({"metadata": {"name": "p", "annotations": {"bound": "yes"}}, "target": {"kind": "Node", "name": node}});
    assert_eq!(post(&api, "pods/binding", "p", binding("n1")).await.unwrap()["status"], "Success");
    let bound = api.get("pods", "default", "p").await.unwrap();
    assert_eq!(
        (&bound["spec"]["nodeName"], &bound["metadata"]["annotations"]["bound"]),
        (&json!("n1"), &json!("yes"))
    );
    assert_eq!(bound["metadata"]["generation"], 1);
    let condition = &bound["status"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&json!("PodScheduled"), &json!("True")));
    let status = post(&api, "pods/binding", "p", binding("n2")).await.unwrap_err();
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n1\""
    );
    assert_eq!(
        post(&api, "pods/binding", "absent", json!({"target": {"name": "n"}})).await.unwrap_err().code,
        404
    );
    assert_eq!(
        post(&api, "pods/binding", "p", json!({"target": {}})).await.unwrap_err().message,
        "target.name: Required value"
    );
    assert!(
        post(&api, "pods/binding", "p", json!({"target": {"name": "No Node"}}))
            .await
            .unwrap_err()
            .message
            .starts_with("target.name: Invalid value: \"No Node\": a lowercase RFC 1123 subdomain")
    );
    api.create("pods", "default", pod("q")).await.unwrap();
    let old_way = json!({"metadata": {"name": "q"}, "target": {"name": "n3"}});
    post(&api, "bindings", "", old_way).await.unwrap();
    assert_eq!(api.get("pods", "default", "q").await.unwrap()["spec"]["nodeName"], "n3");
}

#[tokio::test]
async fn a_pod_learns_where_its_node_is() {
    let api = api().await;
    let (zone, region) = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region");
    let node = json!({"metadata": {"name": "n", "labels": {zone: "z1", region: "r1", "topology.kubernetes.io/rack": "7"}}});
    api.create("nodes", "", node).await.unwrap();
    api.create("nodes", "", json!({"metadata": {"name": "bare"}})).await.unwrap();
    for (number, (case, own, target, expected)) in [
        (
            "both are copied, and no other",
            json!({"a": "b"}),
            "n",
            json!({"a": "b", zone: "z1", region: "r1"}),
        ),
        ("its own are overwritten", json!({zone: "mine"}), "n", json!({zone: "z1", region: "r1"})),
        ("a node without them", json!({zone: "mine"}), "bare", json!({zone: "mine"})),
        ("a node that is not there", json!({"a": "b"}), "absent", json!({"a": "b"})),
    ]
    .into_iter()
    .enumerate()
    {
        let (bound, born) = (format!("bound-{number}"), format!("born-{number}"));
        api.create("pods", "default", labelled(pod(&bound), own.clone())).await.unwrap();
        let binding = json!({"metadata": {"name": bound}, "target": {"kind": "Node", "name": target}});
        post(&api, "pods/binding", &bound, binding).await.unwrap();
        let bound = api.get("pods", "default", &bound).await.unwrap();
        let mut sent = labelled(pod(&born), own);
        sent["spec"]["nodeName"] = target.into();
        let born = api.create("pods", "default", sent).await.unwrap();
        for (how, pod) in [("bound", bound), ("born", born)] {
            assert_eq!(pod["metadata"]["labels"], expected, "{case}, {how}");
        }
    }
}

#[tokio::test]
async fn what_is_posted_has_the_shape_of_its_kind() {
    let api = api().await;
    api.create("pods", "default", pod("p")).await.unwrap();
    let before = api.get("pods", "default", "p").await.unwrap();
    let target = json!({"name": "n"});
    for (resource, body, code) in [
        ("pods/binding", json!({"metadata": {"labels": {"l": 7}}, "target": target}), 400),
        ("pods/binding", json!({"metadata": {"annotations": {"a": {"b": "c"}}}, "target": target}), 400),
        ("pods/binding", json!({"metadata": {"labels": ["l"]}, "target": target}), 400),
        ("pods/binding", json!({"metadata": {"labels": {"l": "no label!"}}, "target": target}), 422),
        ("pods/binding", json!({"kind": "Pod", "target": target}), 400),
        ("pods/eviction", json!({"deleteOptions": {"preconditions": {"uid": 5}}}), 400),
        ("pods/eviction", json!({"deleteOptions": {"gracePeriodSeconds": "5"}}), 400),
    ] {
        assert_eq!(post(&api, resource, "p", body.clone()).await.unwrap_err().code, code, "{body}");
    }
    assert_eq!(api.get("pods", "default", "p").await.unwrap(), before);
}

#[tokio::test]
async fn an_eviction_asks_the_budget() {
    let api = api().await;
    let mut running = labelled(pod("p"), json!({"app": "p"}));
    running["spec"]["nodeName"] = "n".into();
    api.create("pods", "default", running).await.unwrap();
    let well = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    api.merge("pods/status", "default", "p", json!({"status": well})).await.unwrap();
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}});
    let budgets = "policy/v1/poddisruptionbudgets";
    api.create(budgets, "default", budget).await.unwrap();
    let status = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
    api.merge("policy/v1/poddisruptionbudgets/status", "default", "b", status).await.unwrap();
    let eviction = json!({"metadata": {"name": "p"}});
    let refused = post(&api, "pods/eviction", "p", eviction.clone()).await.unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (429, "Cannot evict pod as it would violate the pod's disruption budget.")
    );
    let cause = &refused.details.unwrap().causes[0];
    assert_eq!(
        (&*cause.reason, &*cause.message),
        ("DisruptionBudget", "The disruption budget b needs 1 healthy pods and has 1 currently")
    );
    api.merge(
        "policy/v1/poddisruptionbudgets/status",
        "default",
        "b",
        json!({"status": {"disruptionsAllowed": 1}}),
    )
    .await
    .unwrap();
    post(&api, "pods/eviction", "p", eviction).await.unwrap();
    let going = api.get("pods", "default", "p").await.unwrap();
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    let spent = api.get(budgets, "default", "b").await.unwrap();
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
    assert!(spent["status"]["disruptedPods"]["p"].is_string());
    let misnamed = post(&api, "pods/eviction", "p", json!({"metadata": {"name": "q"}})).await.unwrap_err();
    assert_eq!(misnamed.message, "name in URL does not match name in Eviction object");
}

#[tokio::test]
async fn ephemeral_containers_come_and_never_change() {
    let api = api().await;
    api.create("pods", "default", pod("p")).await.unwrap();
    let at = api.at("pods/ephemeralcontainers", "default", "p");
    let patch = |image: &str| {
        Patch::Strategic(
            json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": image}]}, "metadata": {"labels": {"x": "y"}}}),
        )
    };
    let written = api.registry.patch(&at, patch("busybox"), &write()).await.unwrap();
    let changed: Value = serde_json::from_slice(&written.bytes).unwrap();
    assert_eq!(changed["spec"]["ephemeralContainers"][0]["name"], "debug");
    assert_eq!((changed["metadata"].get("labels"), &changed["metadata"]["generation"]), (None, &json!(2)));
    let status = api.registry.patch(&at, patch("other"), &write()).await.unwrap_err();
    assert_eq!(
        status.message,
        "Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \"debug\" may not be changed"
    );
}

#[tokio::test]
async fn ephemeral_containers_are_checked_as_others_are() {
    let api = api().await;
    api.create("pods", "default", pod("p")).await.unwrap();
    let at = api.at("pods/ephemeralcontainers", "default", "p");
    for (container, said) in [
        (json!({"name": "BAD NAME!!", "image": "a"}), "a lowercase RFC 1123 label must consist of"),
        (json!({"name": "d", "image": ""}), "spec.ephemeralContainers[0].image: Required value"),
        (json!({"name": "c", "image": "a"}), "spec.ephemeralContainers[0].name: Duplicate value: \"c\""),
        (
            json!({"name": "d", "image": "a", "ports": [{"containerPort": 80}]}),
            "cannot be set for an Ephemeral Container",
        ),
    ] {
        let patch = Patch::Strategic(json!({"spec": {"ephemeralContainers": [container]}}));
        let status = api.registry.patch(&at, patch, &write()).await.unwrap_err();
        assert!(status.code == 422 && status.message.contains(said), "{}", status.message);
    }
}

#[tokio::test]
async fn a_resize_changes_resources_alone() {
    let api = api().await;
    let mut object = pod("p");
    object["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    api.create("pods", "default", object).await.unwrap();
    let resize = |resources: Value| {
        Patch::Strategic(
            json!({"spec": {"containers": [{"name": "c", "image": "other", "resources": resources}]}}),
        )
    };
    let at = api.at("pods/resize", "default", "p");
    let written = api.registry.patch(&at, resize(json!({"requests": {"cpu": "2"}})), &write()).await.unwrap();
    let container = serde_json::from_slice::<Value>(&written.bytes).unwrap()["spec"]["containers"][0].take();
    assert_eq!(
        (&container["resources"]["requests"]["cpu"], &container["image"]),
        (&json!("2"), &json!("nginx"))
    );
    let limits = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
    let status = api.registry.patch(&at, resize(limits), &write()).await.unwrap_err();
    assert!(
        status.message.ends_with("Pod QOS Class may not change as a result of resizing"),
        "{}",
        status.message
    );
    for (resources, said) in [
        (json!({"requests": {"foo bar": "-5"}}), "must be greater than or equal to 0"),
        (
            json!({"requests": {"example.com/gpu": "1"}}),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            json!({"requests": {"cpu": null, "memory": "1Gi"}}),
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
    ] {
        let status = api.registry.patch(&at, resize(resources), &write()).await.unwrap_err();
        assert!(status.code == 422 && status.message.contains(said), "{}", status.message);
    }
}

#[tokio::test]
async fn a_resize_changes_what_the_whole_pod_may_have() {
    let api = api().await;
    let mut object = pod("p");
    object["spec"]["resources"] = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}});
    api.create("pods", "default", object).await.unwrap();
    let at = api.at("pods/resize", "default", "p");
    let resize = |resources: Value| Patch::Merge(json!({"spec": {"hostname": "h", "resources": resources}}));
    let asked = resize(json!({"requests": {"cpu": "1500m"}, "limits": {"memory": "2Gi"}}));
    let written = api.registry.patch(&at, asked, &write()).await.unwrap();
    let spec = serde_json::from_slice::<Value>(&written.bytes).unwrap()["spec"].take();
    assert_eq!(spec["resources"]["limits"], json!({"cpu": "2", "memory": "2Gi"}));
    assert_eq!((&spec["resources"]["requests"]["cpu"], spec.get("hostname")), (&json!("1500m"), None));
    for (resources, said) in [
        (json!(null), "spec.resources: Forbidden: pod-level resources cannot be removed"),
        (
            json!({"limits": {"cpu": null}}),
            "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed",
        ),
    ] {
        let status = api.registry.patch(&at, resize(resources), &write()).await.unwrap_err();
        assert!(status.code == 422 && status.message.contains(said), "{}", status.message);
    }
}

#[tokio::test]
async fn a_namespace_is_finalized_by_its_own_path() {
    let api = api().await;
    api.create("namespaces", "", json!({"metadata": {"name": "n"}})).await.unwrap();
    let marked = api.delete("namespaces", "", "n").await.unwrap();
    assert_eq!(marked["spec"]["finalizers"], json!(["kubernetes"]));
    let mut sent = marked;
    sent["spec"] = json!({});
    api.update("namespaces/finalize", "", sent).await.unwrap();
    assert_eq!(api.get("namespaces", "", "n").await.unwrap_err().code, 404);
    assert!(!api.names("namespaces", "", ListQuery::default()).await.unwrap().contains(&"n".to_owned()));
}
