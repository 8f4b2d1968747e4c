//! Jobs and CronJobs in a whole cluster.

use std::time::Duration;

use k8s_openapi::api::batch::v1::{CronJob, Job, JobStatus};
use kedge_testkit::{Cluster, Look, Machine, Setup};
use serde_json::json;

fn job(name: &str, spec: &str, annotations: &str) -> String {
    format!(
        "
apiVersion: batch/v1
kind: Job
metadata: {{ name: {name} }}
spec:
  {spec}
  template:
    metadata: {{ labels: {{ app: {name} }}, annotations: {{ {annotations} }} }}
    spec: {{ restartPolicy: Never, containers: [{{ name: c, image: busybox, command: [\"true\"] }}] }}
"
    )
}

fn status(look: &Look, name: &str) -> JobStatus {
    look.get::<Job>(name).and_then(|job| job.status.clone()).unwrap_or_default()
}

fn ended(look: &Look, name: &str) -> Option<(String, String)> {
    let conditions = status(look, name).conditions.unwrap_or_default();
    let known = conditions
        .into_iter()
        .find(|known| matches!(&*known.type_, "Complete" | "Failed") && known.status == "True")?;
    Some((known.type_, known.reason.unwrap_or_default()))
}

#[tokio::test]
async fn jobs_end_as_their_pods_do() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(&job("good", "completions: 5\n  parallelism: 2", "")).await;
    cluster.apply(&job("indexed", "completions: 3\n  parallelism: 3\n  completionMode: Indexed", "")).await;
    let fails = "testkit.kedge.dev/exit-code: \"3\"";
    cluster.apply(&job("bad", "backoffLimit: 1", fails)).await;
    let policy =
        "podFailurePolicy: { rules: [{ action: FailJob, onExitCodes: { operator: In, values: [3] } }] }";
    cluster.apply(&job("hopeless", &format!("backoffLimit: 6\n  {policy}"), fails)).await;
    let finished = |type_: &str, reason: &str| Some((type_.to_owned(), reason.to_owned()));
    cluster
        .until("five have succeeded", |c| {
            ended(c, "good").is_some() && status(c, "good").succeeded == Some(5)
        })
        .await;
    cluster
        .until("every index has succeeded", |c| {
            ended(c, "indexed").is_some() && status(c, "indexed").completed_indexes.as_deref() == Some("0-2")
        })
        .await;
    cluster
        .until("the policy has failed it at once", |c| {
            ended(c, "hopeless") == finished("Failed", "PodFailurePolicy")
        })
        .await;
    cluster.meanwhile("it had one pod", |c| c.pods("hopeless").len() == 1).await;
    // Pods that fail are made again later each time.
    cluster.clock.advance(Duration::from_secs(30)).await;
    cluster
        .until("two pods have failed", |c| ended(c, "bad") == finished("Failed", "BackoffLimitExceeded"))
        .await;
    cluster
        .until("no pod is held any more", |c| {
            ["good", "indexed", "bad", "hopeless"].iter().all(|name| {
                c.pods(name).0.iter().all(|pod| pod.metadata.finalizers.as_ref().is_none_or(Vec::is_empty))
            })
        })
        .await;
}

#[tokio::test]
async fn a_suspended_job_stops_and_a_deadline_ends_it() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster
        .apply(&job(
            "long",
            "parallelism: 2\n  completions: 2\n  activeDeadlineSeconds: 100",
            "testkit.kedge.dev/run-for: \"1000\"",
        ))
        .await;
    cluster
        .until("two run", |c| c.pods("long").ready().len() == 2 && status(c, "long").active == Some(2))
        .await;
    cluster.patch("Job", "long", json!({ "spec": { "suspend": true } })).await;
    cluster
        .until("nobody runs", |c| {
            c.pods("long").ready().is_empty() && status(c, "long").active.unwrap_or(0) == 0
        })
        .await;
    cluster.clock.advance(Duration::from_secs(200)).await;
    cluster.patch("Job", "long", json!({ "spec": { "suspend": false } })).await;
    cluster.until("two run again", |c| c.pods("long").ready().len() == 2).await;
    cluster.clock.advance(Duration::from_secs(105)).await;
    cluster
        .until("its time is over", |c| {
            ended(c, "long") == Some(("Failed".to_owned(), "DeadlineExceeded".to_owned()))
                && c.pods("long").ready().is_empty()
        })
        .await;
}

const NIGHTLY: &str = "
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly }
spec:
  schedule: '30 2 * * *'
  timeZone: Europe/Berlin
  successfulJobsHistoryLimit: 2
  jobTemplate:
    spec:
      template:
        metadata: { labels: { app: nightly } }
        spec: { restartPolicy: Never, containers: [{ name: c, image: busybox, command: ['true'] }] }
";

#[tokio::test]
async fn a_cron_job_runs_every_night_and_keeps_what_was_asked_for() {
    let setup =
        Setup { machines: vec![Machine::new("n1", 0)], without_node_lifecycle: true, ..Setup::default() };
    let cluster = Cluster::of(setup).await;
    cluster.apply(NIGHTLY).await;
    cluster.until("it is known", |c| c.get::<CronJob>("nightly").is_some()).await;
    for night in 2..=5 {
        // Half past two in Berlin is half past one in winter.
        let due = format!("2030-01-{night:02}T01:30:00Z").parse::<jiff::Timestamp>().unwrap();
        let wait = due.duration_since(cluster.clock.now()).as_secs().unsigned_abs();
        cluster.clock.leap(Duration::from_secs(wait + 1)).await;
        cluster
            .until(&format!("night {night} is done"), |c| {
                let status =
                    c.get::<CronJob>("nightly").and_then(|cron| cron.status.clone()).unwrap_or_default();
                status.last_schedule_time.is_some_and(|last| last.0 == due)
                    && status.last_successful_time.is_some_and(|last| last.0 >= due)
                    && status.active.is_none_or(|active| active.is_empty())
            })
            .await;
    }
    cluster.until("two are kept", |c| c.all::<Job>().len() == 2).await;
}
