//! Who is asked: selectors, versions, exemptions, dry runs; and that a change of configuration counts at once.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::testing::{Server, World, config_map, dry, rule};

fn allow(server: &Server, path: &str) {
    server.says(path, |_| json!({"allowed": true}));
}

fn labelled(mut object: Value, labels: Value) -> Value {
    object["metadata"]["labels"] = labels;
    object
}

#[tokio::test]
async fn selectors_choose_by_namespace_and_object() {
    let server = Server::start().await;
    let world = World::new().await;
    allow(&server, "/h");
    let shops = json!({"namespaceSelector": {"matchLabels": {"kind": "shop"}}});
    let red = json!({"objectSelector": {"matchLabels": {"colour": "red"}}});
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}, "value": 1,
    });
    for (case, selector, resource, place, object, asked) in [
        ("in a shop", &shops, "configmaps", "shop", config_map("a"), true),
        ("elsewhere", &shops, "configmaps", "default", config_map("a"), false),
        ("in no namespace", &shops, "scheduling.k8s.io/v1/priorityclasses", "", class, true),
        ("a new shop", &shops, "namespaces", "", labelled(namespace("s"), json!({"kind": "shop"})), true),
        (
            "a new office",
            &shops,
            "namespaces",
            "",
            labelled(namespace("o"), json!({"kind": "office"})),
            false,
        ),
        ("a red one", &red, "configmaps", "shop", labelled(config_map("b"), json!({"colour": "red"})), true),
        (
            "a blue one",
            &red,
            "configmaps",
            "shop",
            labelled(config_map("c"), json!({"colour": "blue"})),
            false,
        ),
    ] {
        world.configure("Validating", "c", &[server.hook("h", selector.clone())]).await;
        world.create(resource, place, object).await.unwrap_or_else(|status| panic!("{case}: {status}"));
        assert_eq!(!server.asked().is_empty(), asked, "{case}");
        world.forget("Validating", "c").await;
    }
    // What was red is chosen, too, whatever it becomes.
    world.configure("Validating", "c", &[server.hook("h", red)]).await;
    world.update("configmaps", "shop", labelled(config_map("b"), json!({}))).await.unwrap();
    assert_eq!(server.paths(), "/h");
}

#[tokio::test]
async fn a_webhook_hears_of_a_resource_in_the_version_that_it_knows() {
    let server = Server::start().await;
    let world = World::new().await;
    let scaler = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": {
            "maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        },
    });
    let rules = json!([rule(&["CREATE"], "autoscaling", "v2", "horizontalpodautoscalers")]);
    let exact = server.hook("h", json!({"rules": rules, "matchPolicy": "Exact"}));
    world.configure("Mutating", "c", &[exact]).await;
    world.create("autoscaling/v1/horizontalpodautoscalers", "shop", scaler.clone()).await.unwrap();
    assert_eq!(server.asked(), []);
    world.forget("Mutating", "c").await;
    world.delete("autoscaling/v1/horizontalpodautoscalers", "shop", "a").await.unwrap();

    server.says("/h", |_| {
        crate::testing::patch(&json!([
            {"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 70},
        ]))
    });
    let equivalent = server.hook("h", json!({"rules": rules}));
    world.configure("Mutating", "c", &[equivalent]).await;
    let made = world.create("autoscaling/v1/horizontalpodautoscalers", "shop", scaler).await.unwrap();
    let (_, review) = server.asked().remove(0);
    let request = &review["request"];
    assert_eq!(
        request["kind"],
        json!({"group": "autoscaling", "version": "v2", "kind": "HorizontalPodAutoscaler"})
    );
    assert_eq!(request["resource"]["version"], "v2");
    assert_eq!(request["requestKind"]["version"], "v1");
    assert_eq!(request["requestResource"]["version"], "v1");
    assert_eq!(request["object"]["apiVersion"], "autoscaling/v2");
    assert_eq!(request["object"]["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(made["apiVersion"], "autoscaling/v1");
    assert_eq!(made["spec"]["targetCPUUtilizationPercentage"], 70);
}

#[tokio::test]
async fn configurations_can_always_be_repaired() {
    let server = Server::start().await;
    let world = World::new().await;
    server.says("/no", |_| json!({"allowed": false}));
    world.configure("Validating", "a", &[server.hook("no", json!({}))]).await;
    world.configure("Mutating", "b", &[server.hook("no", json!({}))]).await;
    world.create("configmaps", "shop", config_map("a")).await.unwrap_err();
    server.asked();
    world.forget("Validating", "a").await;
    world.forget("Mutating", "b").await;
    assert_eq!(server.paths(), "");
    // Gone is gone, with the very next write.
    world.create("configmaps", "shop", config_map("a")).await.unwrap();
    assert_eq!(server.paths(), "");
}

#[tokio::test]
async fn a_dry_run_asks_only_those_who_do_nothing_else() {
    let server = Server::start().await;
    let world = World::new().await;
    allow(&server, "/h");
    for (effects, fine) in [("None", true), ("NoneOnDryRun", true)] {
        world.configure("Validating", "c", &[server.hook("h", json!({"sideEffects": effects}))]).await;
        let made = world.create_with("configmaps", "shop", config_map("a"), &dry()).await;
        assert_eq!(made.is_ok(), fine, "{effects}: {made:?}");
        let (_, review) = server.asked().remove(0);
        assert_eq!(review["request"]["dryRun"], true);
        assert_eq!(review["request"]["options"]["dryRun"], json!(["All"]));
        world.forget("Validating", "c").await;
    }
}

#[tokio::test]
async fn validating_webhooks_are_asked_at_the_same_time() {
    let server = Server::start().await;
    let world = World::new().await;
    // Each answers only when all three have been asked.
    let together = Arc::new(tokio::sync::Barrier::new(3));
    let names = ["a", "b", "c"];
    for name in names {
        let together = together.clone();
        server.raw(&format!("/{name}"), move |review| {
            let together = together.clone();
            async move {
                together.wait().await;
                let answer = json!({
                    "apiVersion": review["apiVersion"], "kind": "AdmissionReview",
                    "response": {"uid": review["request"]["uid"], "allowed": true},
                });
                (200, answer.to_string())
            }
        });
    }
    let hooks: Vec<Value> = names.iter().map(|name| server.hook(name, json!({}))).collect();
    world.configure("Validating", "c", &hooks).await;
    world.create("configmaps", "shop", config_map("x")).await.unwrap();
}

#[tokio::test]
async fn the_old_form_of_a_review_is_spoken_too() {
    let server = Server::start().await;
    let world = World::new().await;
    allow(&server, "/h");
    let old = json!({"admissionReviewVersions": ["v9", "v1beta1", "v1"]});
    world.configure("Validating", "c", &[server.hook("h", old)]).await;
    world.create("configmaps", "shop", config_map("x")).await.unwrap();
    assert_eq!(server.asked().remove(0).1["apiVersion"], "admission.k8s.io/v1beta1");
}

#[tokio::test]
async fn conditions_say_whether_a_webhook_is_asked() {
    let server = Server::start().await;
    let world = World::new().await;
    allow(&server, "/h");
    let wrong = "expression 'object.data.nothing == 'x'' resulted in error: no such key: data";
    for (case, policy, expressions, outcome) in [
        ("true", "Fail", vec!["object.metadata.name == 'a'"], Ok(true)),
        ("false", "Fail", vec!["request.operation == 'DELETE'"], Ok(false)),
        (
            "who asks",
            "Fail",
            vec!["request.userInfo.username == 'anna' && 'shops' in request.userInfo.groups"],
            Ok(true),
        ),
        ("nothing was there", "Fail", vec!["oldObject == null"], Ok(true)),
        ("one says no, one can't say", "Fail", vec!["object.data.nothing == 'x'", "false"], Ok(false)),
        ("nobody can say, ignored", "Ignore", vec!["object.data.nothing == 'x'"], Ok(false)),
        ("nobody can say", "Fail", vec!["object.data.nothing == 'x'"], Err(wrong)),
    ] {
        let conditions: Vec<Value> = expressions
            .iter()
            .enumerate()
            .map(|(i, expression)| json!({"name": format!("c{i}"), "expression": expression}))
            .collect();
        let rules = json!([rule(&["CREATE"], "", "v1", "configmaps")]);
        let more = json!({"matchConditions": conditions, "failurePolicy": policy, "rules": rules});
        world.configure("Validating", "c", &[server.hook("h", more)]).await;
        let made = world.create("configmaps", "shop", config_map("a")).await;
        let asked = !server.asked().is_empty();
        match (made, outcome) {
            (Ok(_), Ok(expected)) => {
                assert_eq!(asked, expected, "{case}");
                world.delete("configmaps", "shop", "a").await.unwrap();
            }
            (Err(status), Err(why)) => {
                assert_eq!(status.message, format!("configmaps \"a\" is forbidden: {why}"), "{case}");
                assert!(!asked, "{case}");
            }
            other => panic!("{case}: {other:?}"),
        }
        world.forget("Validating", "c").await;
    }
}
