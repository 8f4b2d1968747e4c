use k8s_openapi::api::batch::v1::CronJobStatus;
use kedge_children::testing::{hold, noon, object, status, summary};
use serde_json::{Value, json};

use super::*;

/// Every hour, made at nine.
fn cron(edit: Value) -> CronJob {
    let mut value = json!({
        "metadata": {"name": "tick", "namespace": "n", "uid": "cron", "resourceVersion": "3",
            "creationTimestamp": "2030-01-01T09:00:00Z"},
        "spec": {
            "schedule": "0 * * * *", "concurrencyPolicy": "Allow", "suspend": false,
            "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1,
            "jobTemplate": {
                "metadata": {"labels": {"app": "tick"}, "annotations": {"note": "yes"}},
                "spec": {"template": {"spec": {"containers": []}}},
            },
        },
        "status": {},
    });
    json_patch::merge(&mut value, &edit);
    object(value)
}

/// A job for an hour of that day.
fn job(hour: i64, edit: Value) -> Job {
    let day: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    let name = format!("tick-{}", day.as_second() / 60 + hour * 60);
    let mut value = json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": format!("uid-{hour}"), "resourceVersion": "1",
            "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": "then"},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": "cron", "controller": true},
            ],
        },
        "spec": {"template": {}},
        "status": {"startTime": format!("2030-01-01T{hour:02}:00:01Z")},
    });
    json_patch::merge(&mut value, &edit);
    object(value)
}

fn ended(type_: &str, at: &str) -> Value {
    json!({"status": {"conditions": [{"type": type_, "status": "True"}], "completionTime": at}})
}

fn listed(hours: &[i64]) -> Value {
    let references = hours.iter().map(|hour| {
        let job = job(*hour, json!({}));
        json!({"apiVersion": "batch/v1", "kind": "Job", "namespace": "n", "name": job.metadata.name,
            "uid": job.metadata.uid, "resourceVersion": "1"})
    });
    references.collect()
}

fn planned(cron: &CronJob, jobs: Vec<Job>, now: Timestamp) -> Plan {
    let world = World::by_hand();
    hold(&world, jobs);
    CronJobs.plan(cron, &world, now).unwrap()
}

fn told(plan: &Plan) -> Vec<String> {
    let told = plan.actions.iter().filter(|action| matches!(action, Action::Tell(_)));
    told.map(|action| action.to_string().split(": ").next().unwrap().to_owned()).collect()
}

#[test]
fn meets_the_latest_time() {
    let met = |at: &str| json!({"status": {"lastScheduleTime": at}});
    let with = |spec: Value, at: &str| json!({"spec": spec, "status": {"lastScheduleTime": at}});
    let eleven = "2030-01-01T11:00:00Z";
    for (case, cron, expected) in [
        ("the first", cron(json!({})), "+Job 13:00"),
        ("on the dot", cron(met(eleven)), "+Job 13:00"),
        ("already met", cron(met("2030-01-01T12:00:00Z")), " 13:00"),
        ("suspended", cron(with(json!({"suspend": true}), eleven)), " -"),
        ("a macro", cron(with(json!({"schedule": "@hourly"}), eleven)), "+Job 13:00"),
        (
            "too late",
            cron(with(json!({"schedule": "50 * * * *", "startingDeadlineSeconds": 300}), eleven)),
            " 12:50",
        ),
        (
            "late, in time",
            cron(with(json!({"schedule": "50 * * * *", "startingDeadlineSeconds": 900}), eleven)),
            "+Job 12:50",
        ),
        (
            "another place",
            cron(with(json!({"schedule": "0 7 * * *", "timeZone": "America/New_York"}), eleven)),
            "+Job 12:00",
        ),
        ("every so often", cron(with(json!({"schedule": "@every 50m"}), eleven)), "+Job 12:40"),
        ("leaving", cron(json!({"metadata": {"deletionTimestamp": eleven}})), " -"),
    ] {
        let plan = planned(&cron, vec![], noon());
        let next = plan.look_again.map_or("-".to_owned(), |next| next.strftime("%H:%M").to_string());
        assert_eq!(format!("{} {next}", summary(&plan)), expected, "{case}");
    }
}

#[test]
fn a_job_tells_its_time() {
    let cron = cron(json!({"spec": {"schedule": "0 13 * * *", "timeZone": "Europe/Berlin"}}));
    let plan = planned(&cron, vec![], noon());
    let job = plan.actions.iter().find_map(|action| match action {
        Action::Create { object, .. } => Some(object.clone()),
        _ => None,
    });
    let job = job.unwrap();
    assert_eq!(job["metadata"]["name"], format!("tick-{}", noon().as_second() / 60));
    assert_eq!(job["metadata"]["labels"], json!({"app": "tick"}));
    assert_eq!(
        job["metadata"]["annotations"],
        json!({"note": "yes", "batch.kubernetes.io/cronjob-scheduled-timestamp": "2030-01-01T13:00:00+01:00"})
    );
    assert_eq!(
        status(&Plan::from(plan.actions.into_iter().skip(1))),
        json!({"lastScheduleTime": "2030-01-01T12:00:00Z"})
    );
}

#[test]
fn jobs_at_work_may_stand_in_the_way() {
    let at = |policy: &str, active: &[i64]| {
        cron(json!({
            "spec": {"concurrencyPolicy": policy},
            "status": {"lastScheduleTime": "2030-01-01T11:00:00Z", "active": listed(active)},
        }))
    };
    let name = job(11, json!({})).metadata.name.unwrap();
    for (policy, expected, said) in [
        ("Allow", "+Job".to_owned(), "Normal SuccessfulCreate"),
        ("Forbid", String::new(), "Normal JobAlreadyActive"),
        ("Replace", format!("-Job/{name} ~ +Job"), "Normal SuccessfulDelete,Normal SuccessfulCreate"),
    ] {
        let plan = planned(&at(policy, &[11]), vec![job(11, json!({}))], noon());
        assert_eq!(summary(&plan), expected.replace("~ ", ""), "{policy}");
        assert_eq!(told(&plan).join(","), said, "{policy}");
    }
    // One that was made and not listed stands in the way just as well.
    let plan = planned(&at("Forbid", &[]), vec![job(11, json!({}))], noon());
    assert_eq!(summary(&plan), "");
}

#[test]
fn keeps_the_book_of_its_jobs() {
    let now = "2030-01-01T12:30:00Z".parse().unwrap();
    let met = json!({"lastScheduleTime": "2030-01-01T12:00:00Z", "active": listed(&[10, 11])});
    let cron = cron(json!({"status": met}));
    let done = job(10, ended("Complete", "2030-01-01T10:05:00Z"));
    let plan = planned(&cron, vec![done.clone(), job(12, json!({}))], now);
    assert_eq!(told(&plan), ["Normal SawCompletedJob", "Normal MissingJob"]);
    let written = status(&plan);
    assert_eq!(written, json!({"active": listed(&[12]), "lastSuccessfulTime": "2030-01-01T10:05:00Z"}));
    let mut after = cron.clone();
    let mut value = serde_json::to_value(&cron.status).unwrap();
    json_patch::merge(&mut value, &written);
    after.status = object_status(value);
    assert_eq!(planned(&after, vec![done, job(12, json!({}))], now).actions, []);
}

fn object_status(value: Value) -> Option<CronJobStatus> {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_job_made_by_hand_is_told_of_and_not_listed() {
    let now = "2030-01-01T12:30:00Z".parse().unwrap();
    let cron = cron(json!({"status": {"lastScheduleTime": "2030-01-01T12:00:00Z"}}));
    let by_hand = json!({"metadata": {"name": "tick-manual", "annotations": null}, "status": null});
    let plan = planned(&cron, vec![job(9, by_hand)], now);
    assert_eq!((told(&plan).join(","), status(&plan)), ("Warning UnexpectedJob".to_owned(), Value::Null));
}

#[test]
fn a_time_has_one_job() {
    let cron = cron(json!({"status": {"lastScheduleTime": "2030-01-01T11:00:00Z"}}));
    let plan = planned(&cron, vec![job(12, json!({}))], noon());
    assert_eq!(summary(&plan), "", "it was made and the note was lost");
    assert_eq!(status(&plan), json!({"lastScheduleTime": "2030-01-01T12:00:00Z", "active": listed(&[12])}));
    let strangers = job(12, json!({"metadata": {"ownerReferences": null}}));
    let plan = planned(&cron, vec![strangers], noon());
    assert_eq!((plan.actions.len(), plan.look_again.is_some()), (0, true), "somebody else's is left alone");
}

#[test]
fn old_jobs_are_cleared_away() {
    let now = "2030-01-01T12:30:00Z".parse().unwrap();
    let cron = cron(json!({"status": {"lastScheduleTime": "2030-01-01T12:00:00Z",
        "lastSuccessfulTime": "2030-01-01T11:05:00Z"}}));
    let done = |hour: i64| job(hour, ended("Complete", &format!("2030-01-01T{hour:02}:05:00Z")));
    let failed = |hour: i64| job(hour, ended("Failed", &format!("2030-01-01T{hour:02}:05:00Z")));
    let plan = planned(&cron, vec![done(8), done(11), failed(7), failed(6), done(9)], now);
    let name = |hour: i64| job(hour, json!({})).metadata.name.unwrap();
    assert_eq!(summary(&plan), format!("-Job/{} -Job/{} -Job/{}", name(8), name(9), name(6)));
}

#[test]
fn a_line_that_can_not_be_met_is_told_of_and_not_waited_for() {
    for (case, spec, reason) in [
        ("never", json!({"schedule": "0 0 30 2 *"}), "Warning InvalidSchedule"),
        ("no zone", json!({"timeZone": "Moon/Base"}), "Warning UnknownTimeZone"),
        ("no schedule", json!({"schedule": "often"}), "Warning UnparseableSchedule"),
    ] {
        let plan = planned(&cron(json!({"spec": spec})), vec![], noon());
        assert_eq!((told(&plan).join(","), plan.look_again), (reason.to_owned(), None), "{case}");
        assert_eq!(plan.actions.len(), 1, "{case}");
    }
}

#[test]
fn many_missed_times_are_told_of() {
    for (last, many) in [("2030-01-01T10:21:00Z", false), ("2030-01-01T10:19:00Z", true)] {
        let cron = cron(json!({"spec": {"schedule": "* * * * *"}, "status": {"lastScheduleTime": last}}));
        let plan = planned(&cron, vec![], noon());
        assert_eq!(told(&plan).contains(&"Warning TooManyMissedTimes".to_owned()), many, "{last}");
        assert_eq!(summary(&plan), "+Job");
    }
}

#[test]
fn a_refusal_is_told() {
    let cron = cron(json!({}));
    let creation = planned(&cron, vec![], noon()).actions.into_iter().find(Action::is_creation).unwrap();
    let refusal = Refusal { action: creation, code: 403, reason: "Forbidden".into(), message: "no".into() };
    let told = CronJobs.refused(&cron, &[refusal], noon());
    assert_eq!(told[0].to_string(), "Warning FailedCreate: Error creating job: no");
}
