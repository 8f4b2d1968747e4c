//! A pod that is stayed with: until it runs, while it runs, and what it ended with.

use std::time::Duration;

use serde_json::{Value, json};

use crate::args::Typed;
use crate::client::{with, with_all};
use crate::error::CliError;
use crate::progress::Progress;
use crate::session::Session;
use crate::verbs::{exec, pods};

const PATIENCE: Duration = Duration::from_secs(60);

/// Says nothing: what the pod writes comes first.
pub(super) async fn create(session: &Session<'_>, pod: &Value) -> Result<Value, CliError> {
    let resource = session.mapping().await?.find("pods")?;
    let path = with_all(&resource.collection(Some(&session.namespace()?)), &session.writing("kubectl-run")?);
    session.api().await?.post(&path, pod).await
}

/// Until the pod is left or over. One that is not started again gives us its exit code.
pub(super) async fn follow(session: &Session<'_>, typed: &Typed, made: &Value) -> Result<(), CliError> {
    let most = typed.duration("pod-running-timeout")?.unwrap_or(PATIENCE);
    let name = made["metadata"]["name"].as_str().unwrap_or_default();
    let begun = until(session, made, &["Running", "Succeeded", "Failed"]);
    let pod = tokio::time::timeout(most, begun).await.unwrap_or_else(|_| {
        Err(CliError::unmet(format!(
            "timed out waiting for pod {name} to run; `describe pod {name}` says why"
        )))
    })?;
    match pods::is_running(&pod) {
        true => exec::attached(session, typed, &pod).await?,
        false => {
            let path = with(&pods::path(&pod, "log"), [("container", name)]);
            let mut written = session.api().await?.follow(&path).await?;
            while let Some(bytes) = written.bytes().await? {
                session.screen.bytes(&bytes)?;
            }
        }
    }
    if pod["spec"]["restartPolicy"] == "Always" {
        return Ok(());
    }
    let ended = until(session, made, &["Succeeded", "Failed"]).await?;
    let code = ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        .as_u64()
        .unwrap_or_default();
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => Err(CliError::Exit(code)),
        Err(_) => Err(CliError::Exit(u8::MAX)),
    }
}

async fn until(session: &Session<'_>, made: &Value, phases: &[&str]) -> Result<Value, CliError> {
    let path = pods::path(made, "");
    let path = path.trim_end_matches('/');
    let name = made["metadata"]["name"].as_str().unwrap_or_default();
    let mut progress = Progress::new(session.screen, format!("waiting for pod {name}"));
    loop {
        let pod = session.read(path).await?;
        if pod["status"]["phase"].as_str().is_some_and(|phase| phases.contains(&phase)) {
            progress.end();
            return Ok(pod);
        }
        progress.tick().await;
    }
}

pub(super) async fn remove(session: &Session<'_>, made: &Value, quiet: bool) -> Result<(), CliError> {
    let path = pods::path(made, "");
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
    session.api().await?.delete(path.trim_end_matches('/'), &options).await?;
    match quiet {
        true => Ok(()),
        false => session
            .screen
            .line(&format!("pod {:?} deleted", made["metadata"]["name"].as_str().unwrap_or_default())),
    }
}
