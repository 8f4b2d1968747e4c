//! What evictions cost, when they cost nothing, and who gets the last one.

use futures::future::join_all;
use kedge_kinds::Status;
use serde_json::{Value, json};

use crate::testing::{Api, api, dry, labelled, pod, write};

const BUDGETS: &str = "policy/v1/poddisruptionbudgets";

/// A pod with a node in this phase; ready or not.
async fn placed(api: &Api, name: &str, phase: &str, ready: bool) {
    let mut made = labelled(pod(name), json!({"app": "p"}));
    made["spec"]["nodeName"] = "n".into();
    api.create("pods", "default", made).await.unwrap();
    let ready = if ready { "True" } else { "False" };
    let status = json!({"phase": phase, "conditions": [{"type": "Ready", "status": ready}]});
    api.merge("pods/status", "default", name, json!({"status": status})).await.unwrap();
}

async fn budget(api: &Api, name: &str, spec: Value, status: Value) {
    let mut full = json!({"selector": {"matchLabels": {"app": "p"}}});
    full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    api.create(BUDGETS, "default", json!({"metadata": {"name": name}, "spec": full})).await.unwrap();
    let mut counted = json!({"observedGeneration": 1, "expectedPods": 3});
    counted.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
    let resource = "policy/v1/poddisruptionbudgets/status";
    api.merge(resource, "default", name, json!({"status": counted})).await.unwrap();
}

async fn evict(api: &Api, name: &str, delete: Value) -> Result<(), Status> {
    let eviction = json!({"metadata": {"name": name}, "deleteOptions": delete});
    api.registry.create(&api.at("pods/eviction", "default", name), eviction, &write()).await.map(drop)
}

fn counted(allowed: i64, healthy: i64, desired: i64) -> Value {
    json!({"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired})
}

#[tokio::test]
async fn a_budget_counts_healthy_pods_only() {
    let always = json!({"unhealthyPodEvictionPolicy": "AlwaysAllow"});
    let if_well = json!({"unhealthyPodEvictionPolicy": "IfHealthyBudget"});
    let no_policy = json!({});
    // What is left of the budget afterwards, or the refusal's code.
    for (case, phase, ready, policy, status, expected) in [
        ("a healthy pod costs one", "Running", true, &no_policy, counted(1, 3, 2), Ok(0)),
        ("nothing to spend", "Running", true, &no_policy, counted(0, 2, 2), Err(429)),
        (
            "an unhealthy one is free while enough are well",
            "Running",
            false,
            &no_policy,
            counted(0, 2, 2),
            Ok(0),
        ),
        ("so says its policy", "Running", false, &if_well, counted(1, 3, 2), Ok(1)),
        ("but not when some are missing", "Running", false, &if_well, counted(0, 1, 2), Err(429)),
        (
            "nor when none is wanted and none allowed",
            "Running",
            false,
            &no_policy,
            counted(0, 0, 0),
            Err(429),
        ),
        ("unless it always is", "Running", false, &always, counted(0, 1, 2), Ok(0)),
        ("one that waits is free", "Pending", false, &no_policy, counted(0, 0, 2), Ok(0)),
        ("one that has ended is free", "Succeeded", false, &no_policy, counted(0, 0, 2), Ok(0)),
    ] {
        let api = api().await;
        placed(&api, "p", phase, ready).await;
        budget(&api, "b", policy.clone(), status).await;
        let done = evict(&api, "p", json!({})).await;
        let left =
            api.get(BUDGETS, "default", "b").await.unwrap()["status"]["disruptionsAllowed"].as_i64().unwrap();
        assert_eq!(done.map(|()| left).map_err(|status| status.code), expected, "{case}");
        if expected.is_err() {
            let stays = api.get("pods", "default", "p").await.unwrap();
            assert!(stays["metadata"]["deletionTimestamp"].is_null(), "{case}");
        }
    }
}

#[tokio::test]
async fn a_pod_says_why_it_goes() {
    let api = api().await;
    placed(&api, "p", "Running", true).await;
    budget(&api, "b", json!({}), counted(1, 3, 2)).await;
    evict(&api, "p", json!({})).await.unwrap();
    let going = api.get("pods", "default", "p").await.unwrap();
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    let said = going["status"]["conditions"].as_array().unwrap();
    let said = said.iter().find(|one| one["type"] == "DisruptionTarget").unwrap();
    assert_eq!(
        (&said["status"], &said["reason"], &said["message"]),
        (&json!("True"), &json!("EvictionByEvictionAPI"), &json!("Eviction API: evicting"))
    );
    let spent = api.get(BUDGETS, "default", "b").await.unwrap();
    let condition = &spent["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"], &condition["reason"]),
        (&json!("DisruptionAllowed"), &json!("False"), &json!("InsufficientPods"))
    );
    assert!(spent["status"]["disruptedPods"]["p"].is_string());
}

#[tokio::test]
async fn a_refusal_says_what_is_missing() {
    let failed = json!({"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale",
        "lastTransitionTime": "2030-01-01T00:00:00Z"});
    let other = json!({"type": "DisruptionAllowed", "status": "False", "reason": "Paused", "message": "not now",
        "lastTransitionTime": "2030-01-01T00:00:00Z"});
    let with = |status: Value, condition: &Value| {
        let mut status = status;
        status["conditions"] = json!([condition]);
        status
    };
    for (status, retry, message) in [
        (counted(0, 2, 2), None, "The disruption budget b needs 2 healthy pods and has 2 currently"),
        (counted(0, 3, 2), None, "The disruption budget b does not allow evicting pods currently"),
        (
            with(counted(0, 3, 2), &failed),
            None,
            "The disruption budget b does not allow evicting pods currently because it failed sync: no scale",
        ),
        (
            with(counted(0, 3, 2), &other),
            None,
            "The disruption budget b does not allow evicting pods currently (Paused): not now",
        ),
        (
            json!({"observedGeneration": 0, "disruptionsAllowed": 1}),
            Some(10),
            "The disruption budget b is still being processed by the server.",
        ),
    ] {
        let api = api().await;
        placed(&api, "p", "Running", true).await;
        budget(&api, "b", json!({}), status).await;
        let refused = evict(&api, "p", json!({})).await.unwrap_err();
        let details = refused.details.unwrap();
        assert_eq!((refused.code, details.retry_after_seconds), (429, retry), "{message}");
        assert_eq!((&*details.causes[0].reason, &*details.causes[0].message), ("DisruptionBudget", message));
    }
}

#[tokio::test]
async fn two_budgets_are_one_too_many() {
    let api = api().await;
    placed(&api, "p", "Running", true).await;
    budget(&api, "b", json!({}), counted(1, 3, 2)).await;
    budget(&api, "c", json!({}), counted(1, 3, 2)).await;
    let refused = evict(&api, "p", json!({})).await.unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (
            500,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    );
}

#[tokio::test]
async fn trying_costs_nothing() {
    let api = api().await;
    placed(&api, "p", "Running", true).await;
    budget(&api, "b", json!({}), counted(1, 3, 2)).await;
    let before =
        (api.get("pods", "default", "p").await.unwrap(), api.get(BUDGETS, "default", "b").await.unwrap());
    evict(&api, "p", json!({"dryRun": ["All"]})).await.unwrap();
    let at = api.at("pods/eviction", "default", "p");
    api.registry.create(&at, json!({"metadata": {"name": "p"}}), &dry()).await.unwrap();
    let after =
        (api.get("pods", "default", "p").await.unwrap(), api.get(BUDGETS, "default", "b").await.unwrap());
    assert_eq!(before, after);
    api.merge("policy/v1/poddisruptionbudgets/status", "default", "b", json!({"status": counted(0, 2, 2)}))
        .await
        .unwrap();
    assert_eq!(evict(&api, "p", json!({"dryRun": ["All"]})).await.unwrap_err().code, 429);
}

#[tokio::test]
async fn preconditions_are_kept() {
    let api = api().await;
    for (name, phase, ready) in [("running", "Running", true), ("waiting", "Pending", false)] {
        placed(&api, name, phase, ready).await;
        let made = api.get("pods", "default", name).await.unwrap();
        let (uid, revision) = (&made["metadata"]["uid"], &made["metadata"]["resourceVersion"]);
        for wrong in [json!({"uid": "other"}), json!({"resourceVersion": "1"})] {
            let refused = evict(&api, name, json!({"preconditions": wrong})).await.unwrap_err();
            assert_eq!(refused.code, 409, "{name} {wrong}");
            assert_eq!(api.get("pods", "default", name).await.unwrap(), made, "{name} {wrong}");
        }
        let right = json!({"uid": uid, "resourceVersion": revision});
        evict(&api, name, json!({"preconditions": right})).await.unwrap();
    }
}

#[tokio::test]
async fn of_many_only_as_many_go_as_may() {
    let api = api().await;
    let names: Vec<String> = (0..12).map(|index| format!("p{index}")).collect();
    for name in &names {
        placed(&api, name, "Running", true).await;
    }
    budget(&api, "b", json!({}), counted(5, 12, 7)).await;
    let done = join_all(names.iter().map(|name| evict(&api, name, json!({})))).await;
    assert_eq!(done.iter().filter(|one| one.is_ok()).count(), 5);
    assert!(done.iter().flat_map(|one| one.as_ref().err()).all(|status| status.code == 429));
    let spent = api.get(BUDGETS, "default", "b").await.unwrap();
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
    assert_eq!(spent["status"]["disruptedPods"].as_object().unwrap().len(), 5);
}
