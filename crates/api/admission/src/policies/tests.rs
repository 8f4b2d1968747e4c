//! Policies on real writes. What they say in words is held by the agreement tests.

use serde_json::{Value, json};

use super::typecheck::warnings;
use crate::testing::{World, write};

const GROUP: &str = "admissionregistration.k8s.io/v1";

fn rule(group: &str, version: &str, resource: &str) -> Value {
    json!({
        "apiGroups": [group], "apiVersions": [version], "resources": [resource],
        "operations": ["CREATE", "UPDATE", "DELETE"],
    })
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// Makes a policy and binds it; `spec` and `binding` add to what all have.
async fn bind(world: &World, name: &str, spec: Value, binding: Value) {
    let mutating = spec.get("mutations").is_some();
    let way = if mutating { "Mutating" } else { "Validating" };
    let mut policy = json!({
        "apiVersion": GROUP, "kind": format!("{way}AdmissionPolicy"), "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [rule("", "v1", "configmaps")]}},
    });
    let mut bound = json!({
        "apiVersion": GROUP, "kind": format!("{way}AdmissionPolicyBinding"), "metadata": {"name": name},
        "spec": {"policyName": name},
    });
    if mutating {
        policy["spec"]["reinvocationPolicy"] = "Never".into();
        policy["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = json!(["CREATE", "UPDATE"]);
    } else {
        bound["spec"]["validationActions"] = json!(["Deny"]);
    }
    for (object, more) in [(&mut policy, spec), (&mut bound, binding)] {
        for (key, value) in more.as_object().unwrap() {
            object["spec"][key] = value.clone();
        }
    }
    let way = way.to_lowercase();
    for (plural, object) in [("policies", policy), ("policybindings", bound)] {
        let resource = format!("{GROUP}/{way}admission{plural}");
        world.create(&resource, "", object).await.unwrap();
    }
}

#[tokio::test]
async fn a_policy_holds_from_its_binding_to_its_end() {
    let world = World::new().await;
    world.create("configmaps", "shop", config_map("a", &json!({}))).await.unwrap();
    let spec = json!({"validations": [{"expression": "object.metadata.name != 'b'", "message": "not b"}]});
    bind(&world, "names", spec, json!({})).await;
    let refused = world.create("configmaps", "shop", config_map("b", &json!({}))).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (422, kedge_kinds::Reason::Invalid));
    assert_eq!(
        refused.message,
        "configmaps \"b\" is forbidden: ValidatingAdmissionPolicy 'names' with binding 'names' denied request: not b"
    );
    world.delete(&format!("{GROUP}/validatingadmissionpolicybindings"), "", "names").await.unwrap();
    world.create("configmaps", "shop", config_map("b", &json!({}))).await.unwrap();
}

#[tokio::test]
async fn a_binding_says_what_becomes_of_a_failure() {
    for (actions, refused, warned, noted) in [
        (json!(["Deny"]), true, false, false),
        (json!(["Warn"]), false, true, false),
        (json!(["Audit"]), false, false, true),
        (json!(["Deny", "Audit"]), true, false, true),
    ] {
        let world = World::new().await;
        let spec = json!({
            "validations": [{"expression": "true"}, {"expression": "false", "message": "no"}],
            "auditAnnotations": [{"key": "seen", "valueExpression": "'it was ' + object.metadata.name"}],
        });
        bind(&world, "p", spec, json!({"validationActions": actions})).await;
        let options = write();
        let answer = world.create_with("configmaps", "shop", config_map("c", &json!({})), &options).await;
        assert_eq!(answer.is_err(), refused, "{actions}");
        let warnings = options.remarks.take_warnings();
        assert_eq!(warnings.len(), usize::from(warned), "{actions}: {warnings:?}");
        let notes = options.remarks.annotations();
        let failure = notes.get("validation.policy.admission.k8s.io/validation_failure");
        assert_eq!(failure.is_some(), noted, "{actions}");
        assert!(failure.is_none_or(|failure| failure.contains("\"expressionIndex\":1")), "{failure:?}");
        assert_eq!(notes.get("p/seen").map(String::as_str), Some("it was c"), "{actions}");
    }
}

#[tokio::test]
async fn nobody_can_be_locked_out_of_the_policies() {
    let world = World::new().await;
    let mut everything = rule("*", "*", "*/*");
    everything["operations"] = json!(["*"]);
    let spec = json!({
        "matchConstraints": {"resourceRules": [everything]},
        "validations": [{"expression": "false"}],
    });
    bind(&world, "p", spec, json!({})).await;
    world.create("configmaps", "shop", config_map("c", &json!({}))).await.unwrap_err();
    for plural in ["policybindings", "policies"] {
        world.delete(&format!("{GROUP}/validatingadmission{plural}"), "", "p").await.unwrap();
    }
    world.create("configmaps", "shop", config_map("c", &json!({}))).await.unwrap();
}

#[tokio::test]
async fn a_policy_sees_an_object_in_the_version_that_it_names() {
    let world = World::new().await;
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule("autoscaling", "v1", "horizontalpodautoscalers")]},
        "validations": [{
            "expression": "object.spec.targetCPUUtilizationPercentage < 50",
            "messageExpression": "request.kind.version + ' of ' + request.requestKind.version",
        }],
    });
    bind(&world, "p", spec, json!({})).await;
    let scaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80},
            }}],
        },
    });
    let resource = "autoscaling/v2/horizontalpodautoscalers";
    let refused = world.create(resource, "shop", scaler.clone()).await.unwrap_err();
    assert!(refused.message.ends_with("denied request: v1 of v2"), "{}", refused.message);
    let mut lower = scaler;
    lower["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] = 40.into();
    world.create(resource, "shop", lower).await.unwrap();
}

/// `a` adds a letter to what is there, each time that it is asked.
fn adds(letter: &str) -> Value {
    let expression = format!("Object{{data: {{'s': (has(object.data) ? object.data.s : '') + '{letter}'}}}}");
    json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}])
}

#[tokio::test]
async fn a_mutation_is_asked_again_if_others_changed_the_object_after_it() {
    for (case, policies, expected) in [
        ("alone", &[("a", "IfNeeded")][..], "a"),
        ("nobody after it", &[("a", "Never"), ("b", "IfNeeded")], "ab"),
        ("somebody after it", &[("a", "IfNeeded"), ("b", "Never")], "aba"),
        ("never", &[("a", "Never"), ("b", "Never")], "ab"),
        ("both, each once", &[("a", "IfNeeded"), ("b", "IfNeeded")], "abab"),
    ] {
        let world = World::new().await;
        for (name, again) in policies {
            let spec = json!({"mutations": adds(name), "reinvocationPolicy": again});
            bind(&world, name, spec, json!({})).await;
        }
        let made = world.create("configmaps", "shop", config_map("c", &json!({"s": ""}))).await.unwrap();
        assert_eq!(made["data"]["s"], expected, "{case}");
    }
}

#[tokio::test]
async fn parameters_are_those_of_the_binding() {
    let world = World::new().await;
    for (name, limit) in [("low", "1"), ("high", "5")] {
        world.create("configmaps", "shop", config_map(name, &json!({"limit": limit}))).await.unwrap();
    }
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "size(object.metadata.name) <= int(params.data.limit)"}],
    });
    bind(&world, "p", spec, json!({"paramRef": {"name": "high", "parameterNotFoundAction": "Deny"}})).await;
    for (name, passes) in [("abcde", true), ("abcdef", false)] {
        let answer = world.create("configmaps", "shop", config_map(name, &json!({}))).await;
        assert_eq!(answer.is_ok(), passes, "{name}");
    }
}

#[tokio::test]
async fn a_policy_is_checked_against_the_kinds_that_it_names() {
    let world = World::new().await;
    let policy = |expression: &str, resources: &[&str]| {
        json!({"spec": {
            "variables": [{"name": "spec", "expression": "object.spec"}],
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": resources, "operations": ["CREATE"],
            }]},
            "validations": [{"expression": expression}],
        }})
    };
    for (expression, resources, kinds) in [
        ("object.spec.replicas > 1", &["deployments"][..], &[][..]),
        ("object.spec.replicass > 1", &["deployments"], &["apps/v1, Kind=Deployment: ERROR: "]),
        ("object.spec.replicas > 1", &["deployments", "daemonsets"], &["apps/v1, Kind=DaemonSet: ERROR: "]),
        ("object.spec.replicas > '1'", &["deployments/scale"], &[]),
        ("object.spec.replicas > '1'", &["*"], &[]),
        ("object.spec.replicas == 'x'", &["deployments"], &["apps/v1, Kind=Deployment: ERROR: "]),
    ] {
        let found = warnings(&policy(expression, resources), &world.registry.catalog());
        let said: Vec<&str> = found.iter().filter_map(|one| one["warning"].as_str()).collect();
        assert_eq!(said.len(), kinds.len(), "{expression} {resources:?}: {said:?}");
        for (said, kind) in said.iter().zip(kinds) {
            assert!(said.starts_with(kind), "{said}");
        }
    }
}
