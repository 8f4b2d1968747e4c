mod stage;

use kedge_children::testing::summary;
use serde_json::{Value, json};

use self::stage::{Stage, job};
use super::tracked::Tracked;
use super::*;

/// A stage on which everything that can be done has been.
fn settled(spec: Value) -> Stage {
    let mut stage = Stage::new(spec);
    stage.settle();
    stage
}

#[test]
fn runs_pods_until_enough_have_succeeded() {
    let mut stage = settled(json!({"completions": 3, "parallelism": 2}));
    assert_eq!(stage.at_work().len(), 2);
    let status = stage.status();
    assert_eq!((status.active, status.ready, status.terminating), (Some(2), Some(0), Some(0)));
    assert_eq!(status.start_time.unwrap().0, stage.now);
    let first = stage.at_work().remove(0);
    stage.succeed(&first);
    stage.settle();
    assert_eq!((stage.at_work().len(), stage.counts()), (2, (1, 0)));
    stage.at_work().iter().for_each(|pod| stage.succeed(pod));
    stage.settle();
    assert_eq!(stage.counts(), (3, 0));
    assert_eq!(stage.conditions(), "SuccessCriteriaMet:CompletionsReached Complete:CompletionsReached");
    assert_eq!(stage.status().completion_time.unwrap().0, stage.now);
    assert!(stage.pods().iter().all(|pod| !pod.is_tracked()), "everyone is counted");
    assert_eq!(stage.made, 3);
    let told: Vec<&str> = stage.told.iter().map(|told| told.split(':').next().unwrap()).collect();
    assert_eq!(told, ["SuccessfulCreate", "SuccessfulCreate", "SuccessfulCreate", "Completed"]);
}

/// A story with successes, failures, a deletion and surplus pods; every job ends the same however often it is interrupted.
fn story(spec: &Value, stops_after: Option<usize>) -> Stage {
    let mut stage = Stage::new(spec.clone());
    stage.stops_after = stops_after;
    stage.settle();
    for round in 0..30 {
        let at_work = stage.at_work();
        if finish::finished(&stage.job()).is_some() {
            break;
        }
        let [first, rest @ ..] = &*at_work else {
            stage.reap();
            stage.wait(700);
            stage.settle();
            continue;
        };
        match round % 4 {
            0 => stage.fail(first),
            1 => stage.delete(first),
            _ => stage.succeed(first),
        }
        if let Some(second) = rest.first().filter(|_| round == 4) {
            stage.succeed(second);
        }
        if round == 2 {
            stage.edit_job(json!({"spec": {"parallelism": 2}}));
        }
        stage.settle();
        stage.reap();
        stage.wait(700);
        stage.settle();
    }
    stage
}

#[test]
fn counts_are_exact_wherever_it_is_stopped() {
    for (case, spec) in [
        ("plain", json!({"completions": 5, "parallelism": 3})),
        ("one success is enough", json!({"parallelism": 3})),
        ("indexed", json!({"completions": 5, "parallelism": 3, "completionMode": "Indexed"})),
        (
            "index by index",
            json!({"completions": 4, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1}),
        ),
        ("fails", json!({"completions": 9, "parallelism": 3, "backoffLimit": 1})),
        (
            "replaces only what has ended",
            json!({"completions": 4, "parallelism": 3, "podReplacementPolicy": "Failed"}),
        ),
        (
            "a policy",
            json!({
                "completions": 4, "parallelism": 3, "podReplacementPolicy": "Failed",
                "podFailurePolicy": {"rules": [
                    {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}},
                ]},
            }),
        ),
        (
            "enough indexes",
            json!({
                "completions": 6, "parallelism": 3, "completionMode": "Indexed",
                "successPolicy": {"rules": [{"succeededCount": 2}]},
            }),
        ),
    ] {
        let whole = story(&spec, None);
        assert!(finish::finished(&whole.job()).is_some(), "{case}: {:?}", whole.status());
        for stop in 0..whole.writes {
            let stopped = story(&spec, Some(stop));
            assert_eq!(stopped.counts(), whole.counts(), "{case}, stopped after {stop} writes");
            assert_eq!(stopped.made, whole.made, "{case}, stopped after {stop} writes");
            assert_eq!(stopped.conditions(), whole.conditions(), "{case}, stopped after {stop} writes");
            let (a, b) = (stopped.status(), whole.status());
            assert_eq!(a.completed_indexes, b.completed_indexes, "{case}, stopped after {stop} writes");
            assert_eq!(a.failed_indexes, b.failed_indexes, "{case}, stopped after {stop} writes");
            assert_eq!(a.uncounted_terminated_pods, Some(Default::default()), "{case}, {stop}");
            assert!(
                stopped.pods().iter().all(|pod| !pod.is_tracked()),
                "{case}, stopped after {stop} writes"
            );
        }
    }
}

#[test]
fn notes_then_frees_then_counts() {
    let mut stage = settled(json!({"completions": 2, "parallelism": 1}));
    let pod = stage.at_work().remove(0);
    stage.succeed(&pod);
    let steps: Vec<String> = stage.plan().actions.iter().map(ToString::to_string).collect();
    let uid = stage.pods()[0].id().to_owned();
    assert!(
        steps[0].contains(&format!(r#""uncountedTerminatedPods":{{"succeeded":["{uid}"]}}"#)),
        "{steps:#?}"
    );
    assert!(steps[1].starts_with(&format!("change Pod n/{pod}")), "{steps:#?}");
    assert!(steps[2].starts_with("create Pod"), "{steps:#?}");
    let last = &steps[4];
    assert!(last.contains(r#""succeeded":1"#) && last.contains(r#"{"succeeded":null}"#), "{steps:#?}");
}

#[test]
fn makes_pods_only_for_the_job_as_it_is() {
    // The job says nothing new, so a write that changes nothing stands before the creation.
    let mut stage = settled(json!({"completions": 2, "parallelism": 1, "podFailurePolicy": {"rules": [
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]}}));
    let pod = stage.at_work().remove(0);
    stage.fail(&pod);
    stage.settle();
    stage.wait(20);
    let plan = stage.plan();
    assert!(matches!(&plan.actions[0], Action::Change { subresource: "status", .. }), "{plan:#?}");
    stage.settle();
    assert_eq!(stage.at_work().len(), 1);
}

#[test]
fn a_pod_that_is_not_seen_yet_is_not_made_twice() {
    let name = |stage: &Stage| match &stage.plan().actions[..] {
        [.., Action::Create { object, .. }, Action::Tell(_), _] => object["metadata"]["name"].clone(),
        other => panic!("{other:#?}"),
    };
    let mut stage = Stage::new(json!({"completions": 1}));
    let first = name(&stage);
    stage.edit_job(json!({"status": {"startTime": "2030-01-01T12:00:00Z", "active": 7}}));
    assert_eq!(name(&stage), first, "whatever the job's revision");
}

#[test]
fn indexes_are_worked_on_once_each() {
    let mut stage = settled(json!({"completions": 4, "parallelism": 2, "completionMode": "Indexed"}));
    let pods = stage.pods();
    let pod = &pods[0];
    assert_eq!(pod.metadata.annotations.as_ref().unwrap()[tracked::INDEX], "0");
    assert_eq!(pod.metadata.labels.as_ref().unwrap()[tracked::INDEX], "0");
    assert_eq!(pod.metadata.generate_name.as_deref(), Some("work-0-"));
    assert_eq!(pod.spec.as_ref().unwrap().hostname.as_deref(), Some("work-0"));
    let by_index = stage.by_index();
    stage.succeed(&by_index["1"]);
    stage.settle();
    assert_eq!(stage.by_index().into_keys().collect::<Vec<_>>(), ["0", "2"]);
    assert_eq!(stage.status().completed_indexes.as_deref(), Some("1"));
    let by_index = stage.by_index();
    stage.fail(&by_index["2"]);
    stage.settle();
    stage.wait(20);
    stage.settle();
    assert_eq!(stage.by_index().into_keys().collect::<Vec<_>>(), ["0", "2"], "2 is tried again");
    for _ in 0..3 {
        stage.at_work().iter().for_each(|pod| stage.succeed(pod));
        stage.settle();
    }
    assert_eq!(stage.status().completed_indexes.as_deref(), Some("0-3"));
    assert_eq!(stage.counts(), (4, 1));
    assert!(stage.conditions().contains("Complete:CompletionsReached"));
}

#[test]
fn every_container_knows_its_index() {
    let world = World::by_hand();
    let job = job(json!({"completions": 1, "completionMode": "Indexed"}));
    kedge_children::testing::hold::<Pod>(&world, Vec::new());
    let plan = Jobs.plan(&job, &world, kedge_children::testing::noon()).unwrap();
    let made = plan.actions.iter().find_map(|action| match action {
        Action::Create { object, .. } => Some(object.clone()),
        _ => None,
    });
    let made = made.unwrap();
    assert_eq!(
        made["spec"]["containers"][0]["env"],
        json!([{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef":
            {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}}])
    );
    assert_eq!(made["metadata"]["finalizers"], json!(["batch.kubernetes.io/job-tracking"]));
}

#[test]
fn elastic_jobs_grow_and_shrink() {
    let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"});
    let mut stage = settled(spec);
    let by_index = stage.by_index();
    stage.succeed(&by_index["0"]);
    stage.succeed(&by_index["2"]);
    stage.settle();
    assert_eq!(stage.status().completed_indexes.as_deref(), Some("0,2"));
    stage.edit_job(json!({"spec": {"completions": 2, "parallelism": 2}}));
    stage.settle();
    assert_eq!(stage.status().completed_indexes.as_deref(), Some("0"));
    assert_eq!(stage.counts(), (1, 0));
    stage.edit_job(json!({"spec": {"completions": 4, "parallelism": 4}}));
    stage.settle();
    assert_eq!(stage.by_index().into_keys().collect::<Vec<_>>(), ["1", "2", "3"]);
}

#[test]
fn waits_longer_after_every_failure() {
    let mut stage = settled(json!({"completions": 1}));
    for wait in [10, 20, 40, 80, 160, 320] {
        let pod = stage.at_work().remove(0);
        stage.fail(&pod);
        stage.settle();
        assert_eq!(stage.at_work().len(), 0, "{wait}");
        let again = stage.plan().look_again.unwrap();
        assert_eq!(again.duration_since(stage.now).as_secs(), wait);
        stage.wait(wait);
        stage.settle();
        assert_eq!(stage.at_work().len(), 1, "{wait}");
    }
    let pod = stage.at_work().remove(0);
    stage.fail(&pod);
    stage.settle();
    assert_eq!(stage.conditions(), "FailureTarget:BackoffLimitExceeded Failed:BackoffLimitExceeded");
    assert_eq!(stage.counts(), (0, 7));
    assert_eq!(
        stage.told.last().unwrap(),
        "BackoffLimitExceeded: Job has reached the specified backoff limit"
    );
    assert_eq!(stage.plan(), Plan::default());
}

#[test]
fn a_failed_job_waits_for_its_pods() {
    let mut stage = settled(json!({"completions": 4, "parallelism": 3, "backoffLimit": 0}));
    let pod = stage.at_work().remove(0);
    stage.fail(&pod);
    stage.settle();
    assert_eq!(stage.conditions(), "FailureTarget:BackoffLimitExceeded");
    assert_eq!((stage.counts(), stage.status().terminating), ((0, 3), Some(2)));
    stage.reap();
    stage.settle();
    assert_eq!(stage.conditions(), "FailureTarget:BackoffLimitExceeded Failed:BackoffLimitExceeded");
    assert_eq!((stage.counts(), stage.status().terminating), ((0, 3), Some(0)));
}

#[test]
fn pods_that_restart_in_place_fail_too() {
    for (limit, restarts, fails) in [(0, 0, false), (0, 1, true), (2, 1, false), (2, 2, true)] {
        let template = json!({"spec": {"restartPolicy": "OnFailure"}});
        let mut stage = settled(json!({"completions": 1, "backoffLimit": limit, "template": template}));
        let pod = stage.at_work().remove(0);
        let container =
            json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": restarts});
        stage.edit_pod(&pod, json!({"status": {"containerStatuses": [container]}}));
        stage.settle();
        assert_eq!(stage.conditions().contains("BackoffLimitExceeded"), fails, "{restarts} of {limit}");
    }
}

#[test]
fn time_runs_out() {
    let mut stage = settled(json!({"completions": 1, "activeDeadlineSeconds": 60}));
    assert_eq!(stage.plan().look_again.unwrap().duration_since(stage.now).as_secs(), 60);
    stage.wait(60);
    stage.settle();
    stage.reap();
    stage.settle();
    assert_eq!(stage.conditions(), "FailureTarget:DeadlineExceeded Failed:DeadlineExceeded");
    assert_eq!(stage.counts(), (0, 1));
}

#[test]
fn sleeps_and_wakes() {
    let mut stage = settled(json!({"completions": 2, "parallelism": 2, "activeDeadlineSeconds": 60}));
    stage.edit_job(json!({"spec": {"suspend": true}}));
    stage.settle();
    assert_eq!(stage.conditions(), "Suspended:JobSuspended");
    assert_eq!((stage.at_work().len(), stage.status().start_time), (0, None));
    assert_eq!((stage.status().terminating, stage.counts()), (Some(2), (0, 0)));
    stage.reap();
    stage.wait(600);
    stage.settle();
    assert_eq!(stage.plan().look_again, None, "no time runs while it sleeps");
    stage.edit_job(json!({"spec": {"suspend": false}}));
    stage.settle();
    assert_eq!((stage.at_work().len(), stage.counts()), (2, (0, 0)));
    assert_eq!(stage.status().start_time.unwrap().0, stage.now);
    let condition = stage.status().conditions.unwrap().remove(0);
    assert_eq!((condition.status.as_str(), condition.reason.as_deref()), ("False", Some("JobResumed")));
    let told: Vec<&String> = stage.told.iter().filter(|told| told.contains("Job ")).collect();
    assert_eq!(told, ["Suspended: Job suspended", "Resumed: Job resumed"]);
}

#[test]
fn a_successor_does_not_bear_the_name_of_who_went() {
    let rules = json!([{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]);
    let mut stage = settled(json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed",
        "podFailurePolicy": {"rules": rules}}));
    let before = stage.at_work();
    for pod in &before {
        let evicted = json!({"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}});
        stage.edit_pod(pod, evicted);
        stage.fail(pod);
        stage.delete(pod);
    }
    stage.settle();
    stage.reap();
    stage.wait(20);
    stage.settle();
    let after = stage.at_work();
    assert_eq!((after.len(), stage.counts()), (2, (0, 0)));
    assert!(after.iter().all(|name| !before.contains(name)), "{before:?}, then {after:?}");
}

#[test]
fn failures_mean_what_the_policy_says() {
    let rules = json!([
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
    ]);
    let spec = json!({"completions": 2, "parallelism": 2, "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": rules}});
    let mut stage = settled(spec);
    let pods = stage.at_work();
    stage.edit_pod(
        &pods[0],
        json!({"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}),
    );
    stage.fail(&pods[0]);
    stage.settle();
    assert_eq!(stage.counts(), (0, 0), "a disruption is nobody's failure");
    assert!(stage.pods().iter().filter(|pod| pod.has_failed()).all(|pod| !pod.is_tracked()));
    stage.wait(20);
    stage.settle();
    assert_eq!(stage.at_work().len(), 2);
    stage.end_pod(&pods[1], "Failed", 42);
    stage.settle();
    stage.reap();
    stage.settle();
    assert_eq!(stage.conditions(), "FailureTarget:PodFailurePolicy Failed:PodFailurePolicy");
    let why = stage.status().conditions.unwrap()[0].message.clone().unwrap();
    let expected = format!(
        "Container c for pod n/{} failed with exit code 42 matching FailJob rule at index 0",
        pods[1]
    );
    assert_eq!(why, expected);
}

#[test]
fn indexes_fail_one_by_one() {
    let spec = json!({
        "completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
        "backoffLimit": i32::MAX, "maxFailedIndexes": 1,
        "podFailurePolicy": {"rules": [
            {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}},
        ]},
    });
    let mut stage = settled(spec.clone());
    let annotation = |stage: &Stage, index: &str, name: &str| {
        let pod = stage.by_index()[index].clone();
        let pods = stage.pods();
        let pod = pods.iter().find(|one| one.name_any() == pod).unwrap();
        pod.metadata.annotations.as_ref().unwrap().get(name).cloned()
    };
    assert_eq!(annotation(&stage, "0", tracked::INDEX_FAILURES).as_deref(), Some("0"));
    let pod = stage.by_index()["0"].clone();
    stage.fail(&pod);
    stage.settle();
    assert!(
        stage.pods().iter().any(|pod| pod.has_failed() && pod.is_tracked()),
        "it knows the failures so far"
    );
    stage.wait(11);
    stage.settle();
    assert_eq!(annotation(&stage, "0", tracked::INDEX_FAILURES).as_deref(), Some("1"));
    assert_eq!((stage.counts(), stage.status().failed_indexes.as_deref()), ((0, 1), Some("")));
    let pod = stage.by_index()["1"].clone();
    stage.end_pod(&pod, "Failed", 3);
    stage.wait(11);
    stage.settle();
    assert_eq!(annotation(&stage, "1", tracked::INDEX_FAILURES).as_deref(), Some("0"));
    assert_eq!(annotation(&stage, "1", tracked::INDEX_IGNORED).as_deref(), Some("1"));
    let pod = stage.by_index()["0"].clone();
    stage.fail(&pod);
    stage.settle();
    assert_eq!((stage.counts(), stage.status().failed_indexes.as_deref()), ((0, 2), Some("0")));
    assert_eq!(stage.by_index().into_keys().collect::<Vec<_>>(), ["1", "2"]);

    let mut other = settled(spec);
    let pods = other.by_index();
    other.succeed(&pods["0"]);
    other.succeed(&pods["2"]);
    other.end_pod(&pods["1"], "Failed", 42);
    other.settle();
    assert_eq!(other.conditions(), "FailureTarget:FailedIndexes Failed:FailedIndexes");
    assert_eq!((other.counts(), other.status().failed_indexes.as_deref()), ((2, 1), Some("1")));

    let pod = stage.by_index()["1"].clone();
    stage.end_pod(&pod, "Failed", 42);
    stage.settle();
    stage.reap();
    stage.settle();
    assert_eq!(stage.conditions(), "FailureTarget:MaxFailedIndexesExceeded Failed:MaxFailedIndexesExceeded");
}

#[test]
fn some_indexes_may_be_enough() {
    let mut stage = settled(json!({
        "completions": 4, "parallelism": 4, "completionMode": "Indexed",
        "successPolicy": {"rules": [{"succeededIndexes": "0-1"}]},
    }));
    let pods = stage.by_index();
    stage.succeed(&pods["1"]);
    stage.settle();
    assert_eq!(stage.conditions(), "");
    stage.succeed(&pods["0"]);
    stage.settle();
    assert_eq!(stage.conditions(), "SuccessCriteriaMet:SuccessPolicy");
    assert_eq!((stage.status().terminating, stage.counts()), (Some(2), (2, 0)));
    stage.reap();
    stage.settle();
    assert_eq!(stage.conditions(), "SuccessCriteriaMet:SuccessPolicy Complete:SuccessPolicy");
    assert_eq!(stage.counts(), (2, 0), "those that were no longer needed have not failed");
}

#[test]
fn a_leaving_pod_is_replaced_now_or_when_it_has_ended() {
    for (policy, at_once) in [("TerminatingOrFailed", true), ("Failed", false)] {
        let mut stage = settled(json!({"completions": 1, "podReplacementPolicy": policy}));
        let pod = stage.at_work().remove(0);
        stage.delete(&pod);
        stage.settle();
        stage.wait(11);
        stage.settle();
        assert_eq!(stage.at_work().len(), usize::from(at_once), "{policy}");
        assert_eq!(stage.status().terminating, Some(1), "{policy}");
        assert_eq!(stage.counts(), (0, i32::from(at_once)), "{policy}");
        stage.reap();
        stage.settle();
        stage.wait(11);
        stage.settle();
        assert_eq!((stage.at_work().len(), stage.counts()), (1, (0, 1)), "{policy}");
    }
}

#[test]
fn plans_for_special_jobs() {
    let bare = json!({"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "job"}}});
    for (case, spec, edit, pods, expected) in [
        ("none at once", json!({"completions": 3, "parallelism": 0}), json!({}), vec![], ""),
        ("somebody else's", json!({"managedBy": "example.com/queue"}), json!({}), vec![], ""),
        ("ours by name", json!({"managedBy": "kubernetes.io/job-controller"}), json!({}), vec![], "+Pod"),
        (
            "has ended",
            json!({}),
            json!({"status": {"conditions": [{"type": "Failed", "status": "True"}]}}),
            vec![],
            "",
        ),
        (
            "is leaving",
            json!({}),
            json!({"metadata": {"deletionTimestamp": "2030-01-01T11:59:00Z"}}),
            vec![],
            "",
        ),
        ("takes in an orphan", json!({}), json!({}), vec![bare], "~Pod/p0"),
        (
            "lets a stranger go",
            json!({}),
            json!({}),
            vec![json!({"metadata": {"ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "job", "controller": true},
            ]}})],
            "~Pod/p0",
        ),
    ] {
        let stage = Stage::new(spec);
        let mut stage = stage;
        stage.edit_job(edit);
        for (at, mut pod) in pods.into_iter().enumerate() {
            let name = format!("p{at}");
            let base = json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"},
                "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Running"}});
            let described = pod.take();
            let mut whole = base;
            json_patch::merge(&mut whole, &described);
            stage.world.feed::<Pod>().put(kedge_children::testing::object(whole));
        }
        assert_eq!(summary(&stage.plan()), expected, "{case}");
    }
}

#[test]
fn nothing_to_do_is_done_at_once() {
    let stage = settled(json!({"completions": 0}));
    assert_eq!(stage.conditions(), "SuccessCriteriaMet:CompletionsReached Complete:CompletionsReached");
    assert_eq!((stage.made, stage.status().completion_time.unwrap().0), (0, stage.now));
}

#[test]
fn an_adopted_pod_is_counted() {
    let mut stage = Stage::new(json!({"completions": 1}));
    let pod = json!({
        "metadata": {"name": "stray", "namespace": "n", "uid": "stray", "resourceVersion": "1",
            "labels": {"batch.kubernetes.io/controller-uid": "job"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Succeeded"},
    });
    stage.world.feed::<Pod>().put(kedge_children::testing::object(pod));
    stage.settle();
    assert_eq!((stage.made, stage.counts()), (0, (1, 0)));
    assert!(stage.conditions().contains("Complete"));
}

#[test]
fn a_leaving_job_lets_its_pods_go() {
    let mut stage = settled(json!({"completions": 3, "parallelism": 3}));
    let pod = stage.at_work().remove(0);
    stage.succeed(&pod);
    stage.edit_job(json!({"metadata": {"deletionTimestamp": "2030-01-01T12:00:00Z"}}));
    stage.settle();
    assert!(stage.pods().iter().all(|pod| !pod.is_tracked()));
    assert_eq!((stage.counts(), stage.made), ((1, 0), 3));
}

#[test]
fn a_refusal_is_told() {
    let stage = Stage::new(json!({}));
    let creation = stage.plan().actions.into_iter().find(Action::is_creation).unwrap();
    let message = "exceeded quota".to_owned();
    let refusal = Refusal { action: creation, code: 403, reason: "Forbidden".into(), message };
    let told = Jobs.refused(&stage.job(), &[refusal], stage.now);
    assert_eq!(told[0].to_string(), "Warning FailedCreate: Error creating: exceeded quota");
}
