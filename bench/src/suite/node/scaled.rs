//! Load that comes at once: from the moment a container begins to burn a CPU until its autoscaler has another one ready beside it.

use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::super::Table;
use crate::connect::Connection;
use crate::control::until;
use crate::measures::NAMESPACE;
use crate::pods::Pods;
use crate::{BenchError, report};

const BUSYBOX: &str = "/bin/busybox";

/// Needs this machine's busybox, as what burns has to be something that can.
pub(super) async fn scaled(pods: &Pods, data: &Path, table: &mut Table) -> Result<(), BenchError> {
    if !Path::new(BUSYBOX).exists() {
        report::note("no busybox here, so nothing that an autoscaler could follow");
        return Ok(());
    }
    kedge_shipped::import(data).await;
    let asked = data.join("asked");
    let made = tokio::process::Command::new(BUSYBOX).arg("mkfifo").arg(&asked).status().await;
    made.map_err(|source| BenchError::Write { path: asked.clone(), source })?;
    let [apps, autoscalers] =
        ["/apis/apps/v1/", "/apis/autoscaling/v2/"].map(|api| NAMESPACE.replace("/api/v1/", api));
    let deployments = format!("{apps}/deployments");
    let autoscalers = format!("{autoscalers}/horizontalpodautoscalers");
    let mut connection = Connection::open(&pods.target).await?;
    for (path, object) in [(&deployments, deployment(&asked)), (&autoscalers, autoscaler())] {
        let body = Bytes::from(object.to_string());
        connection.drain(Method::POST, path, "application/json", body).await?;
    }
    let autoscaler = format!("{autoscalers}/loaded");
    let used = "/status/currentMetrics/0/resource/current/averageUtilization";
    until(&mut connection, &autoscaler, "the pod to be measured", |one| one.pointer(used).is_some()).await?;

    let begun = Instant::now();
    let told = tokio::fs::write(&asked, "go\n").await;
    told.map_err(|source| BenchError::Write { path: asked, source })?;
    let deployment = format!("{deployments}/loaded");
    until(&mut connection, &deployment, "another pod", |one| one["status"]["readyReplicas"] == 2).await?;
    table.at_most("load step to another Ready pod (HPA)", begun.elapsed().as_secs_f64(), "s", 5.0);

    connection.drain(Method::DELETE, &autoscaler, "", Bytes::new()).await?;
    connection.drain(Method::DELETE, &deployment, "", Bytes::new()).await?;
    let left = format!("{NAMESPACE}/pods");
    until(&mut connection, &left, "its pods to be gone", |pods| pods["items"] == json!([])).await
}

fn deployment(asked: &Path) -> Value {
    let labels = json!({"app": "loaded"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "loaded"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "main", "image": kedge_shipped::IMAGE, "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", "read _ < /asked; while :; do :; done"],
                "resources": {"requests": {"cpu": "100m"}},
                "volumeMounts": [{"name": "asked", "mountPath": "/asked"}],
            }],
            "volumes": [{"name": "asked", "hostPath": {"path": asked}}],
        }}},
    })
}

fn autoscaler() -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "loaded"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "loaded"},
            "maxReplicas": 2,
            "metrics": [{
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
            }],
        },
    })
}
