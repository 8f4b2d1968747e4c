//! What the cluster adds to a new object, and what it refuses.

use serde_json::{Value, json};

use crate::testing::{Api, api, pod};

async fn class(api: &Api, resource: &str, name: &str, annotation: &str, more: Value) {
    let mut object = more;
    object["metadata"] = json!({"name": name, "annotations": {annotation: "true"}});
    api.create(resource, "", object).await.unwrap();
}

#[tokio::test]
async fn a_new_node_is_not_ready() {
    let api = api().await;
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let own = json!({"key": "mine", "value": "v", "effect": "NoExecute"});
    for (name, spec, taints) in [
        ("bare", json!({}), json!([taint])),
        ("tainted", json!({"taints": [own]}), json!([own, taint])),
        ("there", json!({"taints": [taint]}), json!([taint])),
    ] {
        let node = json!({"metadata": {"name": name}, "spec": spec});
        assert_eq!(api.create("nodes", "", node).await.unwrap()["spec"]["taints"], taints, "{name}");
    }
    let mut ready = api.get("nodes", "", "bare").await.unwrap();
    ready["spec"]["taints"] = json!([]);
    assert!(api.update("nodes", "", ready).await.unwrap()["spec"]["taints"].is_null(), "it can be taken off");
}

#[tokio::test]
async fn a_pod_gets_an_account_a_priority_and_patience() {
    let api = api().await;
    let made = api.create("pods", "default", pod("p")).await.unwrap();
    let spec = &made["spec"];
    assert_eq!(
        (&spec["serviceAccountName"], &spec["serviceAccount"]),
        (&json!("default"), &json!("default"))
    );
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(0), &json!("PreemptLowerPriority")));
    let tolerated: Vec<&Value> =
        spec["tolerations"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(tolerated, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
    let mut replaced = made.clone();
    replaced["spec"]["tolerations"] = json!([{"key": "own", "operator": "Exists", "effect": "NoExecute"}]);
    let replaced = api.update("pods", "default", replaced).await.unwrap();
    let tolerated = replaced["spec"]["tolerations"].as_array().unwrap().iter().map(|one| &one["key"]);
    assert!(tolerated.eq(["own", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]));

    let mut other = pod("o");
    other["spec"]["serviceAccountName"] = "absent".into();
    let status = api.create("pods", "default", other.clone()).await.unwrap_err();
    assert_eq!(
        (status.code, &*status.message),
        (
            403,
            "pods \"o\" is forbidden: error looking up service account default/absent: serviceaccount \"absent\" not found"
        )
    );
    api.create("serviceaccounts", "default", json!({"metadata": {"name": "absent"}})).await.unwrap();
    assert_eq!(api.create("pods", "default", other).await.unwrap()["spec"]["serviceAccount"], "absent");

    let mut critical = pod("q");
    critical["spec"]["priorityClassName"] = "system-node-critical".into();
    critical["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    let made = api.create("pods", "default", critical.clone()).await.unwrap();
    assert_eq!(made["spec"]["priority"], 2_000_001_000);
    assert_eq!(made["spec"]["tolerations"].as_array().unwrap().len(), 1);

    critical["metadata"]["name"] = "r".into();
    critical["spec"]["priorityClassName"] = "absent".into();
    let status = api.create("pods", "default", critical).await.unwrap_err();
    assert_eq!(
        (status.code, &*status.message),
        (403, "pods \"r\" is forbidden: no PriorityClass with name absent was found")
    );
}

#[tokio::test]
async fn claims_and_ingresses_get_the_default_class() {
    let api = api().await;
    class(
        &api,
        "storage.k8s.io/v1/storageclasses",
        "fast",
        "storageclass.kubernetes.io/is-default-class",
        json!({"provisioner": "example.test/p"}),
    )
    .await;
    class(
        &api,
        "networking.k8s.io/v1/ingressclasses",
        "front",
        "ingressclass.kubernetes.io/is-default-class",
        json!({"spec": {"controller": "example.test/c"}}),
    )
    .await;
    let claim = |name: &str| json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let made = api.create("persistentvolumeclaims", "default", claim("a")).await.unwrap();
    assert_eq!(made["spec"]["storageClassName"], "fast");
    assert_eq!(made["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    let mut none = claim("b");
    none["spec"]["storageClassName"] = "".into();
    assert_eq!(
        api.create("persistentvolumeclaims", "default", none).await.unwrap()["spec"]["storageClassName"],
        ""
    );
    let ingress = json!({"metadata": {"name": "i"}, "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}});
    let made = api.create("networking.k8s.io/v1/ingresses", "default", ingress).await.unwrap();
    assert_eq!(made["spec"]["ingressClassName"], "front");
}

#[tokio::test]
async fn only_one_priority_class_is_everybodys() {
    let api = api().await;
    let resource = "scheduling.k8s.io/v1/priorityclasses";
    let class = |name: &str| json!({"metadata": {"name": name}, "value": 7, "globalDefault": true});
    api.create(resource, "", class("a")).await.unwrap();
    let status = api.create(resource, "", class("b")).await.unwrap_err();
    assert_eq!(status.code, 403);
    assert_eq!(api.create("pods", "default", pod("p")).await.unwrap()["spec"]["priority"], 7);
}

#[tokio::test]
async fn a_runtime_class_must_be_there_and_says_what_it_costs() {
    let api = api().await;
    let mut object = pod("p");
    object["spec"]["runtimeClassName"] = "small".into();
    let status = api.create("pods", "default", object.clone()).await.unwrap_err();
    assert_eq!(
        (status.code, &*status.message),
        (403, "pods \"p\" is forbidden: pod rejected: RuntimeClass \"small\" not found")
    );
    let class = json!({
        "metadata": {"name": "small"}, "handler": "h", "overhead": {"podFixed": {"memory": "64Mi"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}},
    });
    api.create("node.k8s.io/v1/runtimeclasses", "", class).await.unwrap();
    let made = api.create("pods", "default", object).await.unwrap();
    assert_eq!(
        (&made["spec"]["overhead"]["memory"], &made["spec"]["nodeSelector"]["vm"]),
        (&json!("64Mi"), &json!("yes"))
    );
}

#[tokio::test]
async fn a_claim_grows_only_where_its_class_lets_it() {
    let api = api().await;
    let (claims, classes) = ("persistentvolumeclaims", "storage.k8s.io/v1/storageclasses");
    for (name, allowed) in [("rigid", false), ("elastic", true)] {
        let class = json!({
            "metadata": {"name": name}, "provisioner": "example.test/p", "allowVolumeExpansion": allowed,
        });
        api.create(classes, "", class).await.unwrap();
    }
    let refused = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
                   support resize";
    for (name, class, why) in [("a", "rigid", refused), ("b", "none", refused), ("c", "elastic", "")] {
        let claim = json!({"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class, "volumeName": "v",
            "resources": {"requests": {"storage": "1Gi"}},
        }});
        api.create(claims, "default", claim).await.unwrap();
        let at = crate::At { subresource: Some("status".into()), ..api.at(claims, "default", name) };
        let bound = crate::Patch::Merge(json!({"status": {"phase": "Bound"}}));
        api.registry.patch(&at, bound, &crate::WriteOptions::default()).await.unwrap();
        let more = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
        let answer = api.merge(claims, "default", name, more).await;
        let said = answer.err().map(|status| status.message.clone()).unwrap_or_default();
        let expected = match why {
            "" => String::new(),
            why => format!("persistentvolumeclaims \"{name}\" is forbidden: {why}"),
        };
        assert_eq!(said, expected, "{name}");
    }
}
