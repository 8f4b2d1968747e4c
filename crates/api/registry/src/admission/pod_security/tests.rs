//! Standards by their labels, and what each mode does. Every check's own words are held by the agreement tests.

use serde_json::{Value, json};

use super::policy::Policy;
use crate::testing::{Api, api, pod, write};

fn labelled(labels: &[(&str, &str)]) -> Value {
    let labels: serde_json::Map<String, Value> = labels
        .iter()
        .map(|(mode, value)| (format!("pod-security.kubernetes.io/{mode}"), (*value).into()))
        .collect();
    json!({"metadata": {"name": "held", "labels": labels}})
}

#[test]
fn labels_name_a_standard_for_each_mode() {
    for (labels, standards, wrong) in [
        (&[][..], "privileged:latest privileged:latest privileged:latest", 0),
        (&[("enforce", "baseline")], "baseline:latest privileged:latest baseline:latest", 0),
        (
            &[("enforce", "restricted"), ("enforce-version", "v1.20")],
            "restricted:v1.20 privileged:latest restricted:v1.20",
            0,
        ),
        (
            &[("enforce", "restricted"), ("enforce-version", "v1.20"), ("warn-version", "v1.9")],
            "restricted:v1.20 privileged:latest restricted:v1.9",
            0,
        ),
        (
            &[("enforce", "restricted"), ("warn", "privileged")],
            "restricted:latest privileged:latest privileged:latest",
            0,
        ),
        (&[("enforce", "none")], "restricted:latest privileged:latest privileged:latest", 1),
        (&[("audit", "none"), ("warn", "none")], "privileged:latest privileged:latest privileged:latest", 2),
        (&[("warn-version", "v1.01")], "privileged:latest privileged:latest privileged:latest", 1),
        (&[("warn-version", "v1.")], "privileged:latest privileged:latest privileged:latest", 1),
    ] {
        let (policy, errors) = Policy::of(&labelled(labels));
        let said = format!("{} {} {}", policy.enforce, policy.audit, policy.warn);
        assert_eq!((&*said, errors.len()), (standards, wrong), "{labels:?}");
    }
}

async fn held(labels: &[(&str, &str)]) -> Api {
    let api = api().await;
    api.create("namespaces", "", labelled(labels)).await.unwrap();
    api.create("serviceaccounts", "held", json!({"metadata": {"name": "default"}})).await.unwrap();
    api
}

#[tokio::test]
async fn a_mode_refuses_warns_or_notes() {
    let detail = "host namespaces (hostPID=true)";
    for (labels, refused, warned, noted) in [
        (&[("enforce", "baseline")][..], true, false, false),
        (&[("warn", "baseline")], false, true, false),
        (&[("audit", "baseline")], false, false, true),
        (&[("enforce", "baseline"), ("warn", "baseline"), ("audit", "baseline")], true, false, true),
    ] {
        let api = held(labels).await;
        let mut object = pod("p");
        object["spec"]["hostPID"] = true.into();
        let options = write();
        let answer = api.registry.create(&api.at("pods", "held", ""), object, &options).await;
        let message = answer.err().map(|status| status.message);
        let refusal = format!("pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": {detail}");
        assert_eq!(message, refused.then_some(refusal), "{labels:?}");
        let would = format!("would violate PodSecurity \"baseline:latest\": {detail}");
        let warnings = options.remarks.take_warnings();
        assert_eq!(warnings, warned.then(|| would.clone()).into_iter().collect::<Vec<_>>(), "{labels:?}");
        let annotations = options.remarks.annotations();
        let violation = annotations.get("pod-security.kubernetes.io/audit-violations");
        assert_eq!(violation, noted.then_some(&would), "{labels:?}");
    }
}

#[tokio::test]
async fn a_stricter_namespace_names_the_pods_that_it_would_refuse() {
    let api = held(&[]).await;
    for name in ["b", "a", "c", "d"] {
        let mut object = pod(name);
        object["spec"][if name == "d" { "hostIPC" } else { "hostPID" }] = true.into();
        api.create("pods", "held", object).await.unwrap();
    }
    let options = write();
    let at = api.at("namespaces", "", "held");
    api.registry.update(&at, labelled(&[("enforce", "baseline")]), &options).await.unwrap();
    assert_eq!(
        options.remarks.take_warnings(),
        [
            "existing pods in namespace \"held\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "a (and 3 other pods): host namespaces"
        ]
    );
}
