use serde_json::{Value, json};

use crate::strategies::tests::{changes_refused_with, created, defaults_are, refused_with};

fn job(spec: Value) -> Value {
    let mut whole = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a"}]}}},
    });
    json_patch::merge(&mut whole["spec"], &spec);
    whole
}

#[test]
fn a_job_reads_back_with_its_defaults() {
    defaults_are(&[
        (
            "shortest",
            job(json!({})),
            &[
                ("/spec/completions", json!(1)),
                ("/spec/parallelism", json!(1)),
                ("/spec/backoffLimit", json!(6)),
                ("/spec/completionMode", json!("NonIndexed")),
                ("/spec/suspend", json!(false)),
                ("/spec/manualSelector", json!(false)),
                ("/spec/podReplacementPolicy", json!("TerminatingOrFailed")),
            ],
        ),
        ("as many as there is work", job(json!({"parallelism": 3})), &[("/spec/completions", Value::Null)]),
        (
            "per index",
            job(json!({"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1})),
            &[("/spec/backoffLimit", json!(i32::MAX))],
        ),
        (
            "failure policy",
            job(json!({"podFailurePolicy": {"rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            ]}})),
            &[
                ("/spec/podReplacementPolicy", json!("Failed")),
                ("/spec/podFailurePolicy/rules/0/onPodConditions/0/status", json!("True")),
            ],
        ),
    ]);
}

#[test]
fn a_job_finds_its_pods_by_its_own_uid() {
    let made = created(job(json!({})));
    let uid = made["metadata"]["uid"].clone();
    assert_eq!(made["spec"]["selector"], json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
    let labels = json!({
        "batch.kubernetes.io/controller-uid": uid, "controller-uid": uid,
        "batch.kubernetes.io/job-name": "j", "job-name": "j",
    });
    assert_eq!(made["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(made["metadata"]["labels"], labels, "a job without labels shows its template's");

    let mut labelled = job(json!({"template": {"metadata": {"labels": {"app": "x"}}}}));
    labelled["metadata"]["labels"] = json!({"app": "x"});
    assert_eq!(created(labelled)["metadata"]["labels"], json!({"app": "x"}), "its own labels stay its own");
}

#[test]
fn a_job_that_makes_no_sense_is_refused() {
    refused_with(&[
        ("good", job(json!({})), &[]),
        (
            "always restarting",
            job(json!({"template": {"spec": {"restartPolicy": "Always"}}})),
            &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
        ),
        (
            "a selector of its own",
            job(
                json!({"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}),
            ),
            &[
                "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\
               \"11111111-2222-4333-8444-555555555555\"}}: `selector` not auto-generated",
            ],
        ),
        (
            "index without number",
            job(json!({"completionMode": "Indexed", "parallelism": 1})),
            &["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            "codes",
            job(json!({"podFailurePolicy": {"rules": [
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 0]}},
            ]}})),
            &[
                "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0]: must be ordered",
            ],
        ),
    ]);
}

#[test]
fn a_job_keeps_what_it_runs() {
    changes_refused_with(
        &job(json!({})),
        &[
            ("parallelism", json!({"spec": {"parallelism": 3, "suspend": true}}), &[]),
            (
                "completions",
                json!({"spec": {"completions": 3}}),
                &["spec.completions: Invalid value: 3: field is immutable"],
            ),
        ],
    );
    changes_refused_with(
        &job(json!({"suspend": true})),
        &[(
            "where it runs, while it waits",
            json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
            &[],
        )],
    );
}

#[test]
fn a_template_changes_only_while_no_pod_is_left() {
    let suspended = json!({"conditions": [{"type": "Suspended", "status": "True"}]});
    for (case, status, suspend, sleeps) in [
        ("never started", json!({}), true, true),
        ("about to sleep", json!({"startTime": "2030-01-01T00:00:00Z"}), true, false),
        ("asleep", suspended.clone(), true, true),
        ("falling asleep", json!({"active": 1, "conditions": suspended["conditions"]}), true, false),
        ("awake", json!({}), false, false),
    ] {
        let job = |node: &str| {
            let template = json!({"spec": {"nodeSelector": {"node": node}}});
            json!({"spec": {"suspend": suspend, "template": template}, "status": status})
        };
        let mut errors = kedge_kinds::field::Errors::default();
        super::update::spec(&mut errors, &job("a"), &job("b"));
        assert_eq!(errors.into_causes().is_empty(), sleeps, "{case}");
    }
}
