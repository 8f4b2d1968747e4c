//! What containers are given and what is too little or too much.

use serde_json::{Value, json};

use crate::testing::{Api, api, pod};

async fn range(api: &Api, item: Value) {
    let object = json!({"metadata": {"name": "r"}, "spec": {"limits": [item]}});
    api.create("limitranges", "default", object).await.unwrap();
}

fn asking(resources: Value) -> Value {
    let mut object = pod("p");
    object["spec"]["containers"][0]["resources"] = resources;
    object
}

#[tokio::test]
async fn containers_get_what_they_do_not_ask_for() {
    let api = api().await;
    range(&api, json!({"type": "Container", "default": {"cpu": "500m", "memory": "200Mi"}, "defaultRequest": {"cpu": "100m"}})).await;
    let mut object = asking(json!({"limits": {"memory": "1Gi"}}));
    object["spec"]["initContainers"] = json!([{"name": "i", "image": "x"}]);
    let made = api.create("pods", "default", object).await.unwrap();
    assert_eq!(
        made["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}}),
        "what it asks for goes before what the range gives"
    );
    assert_eq!(
        made["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c; \
         cpu, memory request for init container i; cpu, memory limit for init container i"
    );
    assert_eq!(made["status"]["qosClass"], "Burstable");
}

#[tokio::test]
async fn too_little_and_too_much_are_refused() {
    let container = |more: Value| {
        let mut item = json!({"type": "Container"});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        item
    };
    for (item, object, why) in [
        (
            container(json!({"min": {"cpu": "100m"}, "defaultRequest": {"cpu": "200m"}})),
            asking(json!({"requests": {"cpu": "50m"}})),
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            container(json!({"max": {"cpu": "1", "memory": "1Gi"}})),
            asking(json!({"limits": {"cpu": "2", "memory": "2Gi"}})),
            "[maximum cpu usage per Container is 1, but limit is 2, maximum memory usage per Container is 1Gi, but limit is 2Gi]",
        ),
        (
            container(json!({"maxLimitRequestRatio": {"cpu": "2"}})),
            asking(json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "300m"}})),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            container(json!({"maxLimitRequestRatio": {"cpu": "2"}})),
            asking(json!({})),
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            json!({"type": "Pod", "max": {"cpu": "1"}}),
            asking(json!({"limits": {"memory": "1Gi"}})),
            "maximum cpu usage per Pod is 1.  No limit is specified",
        ),
        (
            json!({"type": "Pod", "min": {"memory": "1Gi"}}),
            asking(json!({"requests": {"memory": "5Mi"}})),
            "minimum memory usage per Pod is 1Gi, but request is 5Mi",
        ),
    ] {
        let api = api().await;
        range(&api, item).await;
        let status = api.create("pods", "default", object).await.unwrap_err();
        assert_eq!((status.code, status.message), (403, format!("pods \"p\" is forbidden: {why}")));
    }
}

#[tokio::test]
async fn claims_and_resizes_are_held_to_it_too() {
    let api = api().await;
    range(
        &api,
        json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}),
    )
    .await;
    let claim = |size: &str| json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}});
    for (size, why) in [
        ("500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"),
        ("3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
    ] {
        let status = api.create("persistentvolumeclaims", "default", claim(size)).await.unwrap_err();
        assert_eq!(status.message, format!("persistentvolumeclaims \"c\" is forbidden: {why}"));
    }
    api.create("persistentvolumeclaims", "default", claim("1Gi")).await.unwrap();

    let object = asking(json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}));
    api.create("pods", "default", object).await.unwrap();
    let most =
        json!({"metadata": {"name": "s"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}});
    api.create("limitranges", "default", most).await.unwrap();
    let patch = json!({"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}}}]}});
    let at = api.at("pods/resize", "default", "p");
    let status =
        api.registry.patch(&at, crate::Patch::Strategic(patch), &crate::testing::write()).await.unwrap_err();
    assert_eq!(
        status.message,
        "pods \"p\" is forbidden: maximum cpu usage per Container is 2, but limit is 3"
    );
}
