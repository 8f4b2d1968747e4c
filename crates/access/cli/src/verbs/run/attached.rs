//! A pod that is stayed with: until it runs, while it runs, and what it ended with.

use std::time::Duration;

use serde_json::{Value, json};

use crate::args::Typed;
use crate::client::with_all;
use crate::describe::shown::text;
use crate::error::CliError;
use crate::progress::Progress;
use crate::session::Session;
use crate::verbs::{pods, stay};

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
    let name = text(&made["metadata"]["name"]);
    let container = text(&made["spec"]["containers"][0]["name"]);
    let begun = tokio::time::timeout(most, stay::begun(session, typed, made, container)).await;
    let begun = begun.unwrap_or_else(|_| {
        Err(CliError::unmet(format!(
            "timed out waiting for pod {name} to run; `describe pod {name}` says why"
        )))
    })?;
    stay::along(session, typed, &begun, container).await?;
    if made["spec"]["restartPolicy"] == "Always" {
        return Ok(());
    }
    let ended = over(session, made).await?;
    let code = ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        .as_u64()
        .unwrap_or_default();
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => Err(CliError::Exit(code)),
        Err(_) => Err(CliError::Exit(u8::MAX)),
    }
}

async fn over(session: &Session<'_>, made: &Value) -> Result<Value, CliError> {
    let path = pods::path(made, "");
    let path = path.trim_end_matches('/');
    let name = text(&made["metadata"]["name"]);
    let mut progress = Progress::new(session.screen, format!("waiting for the end of pod {name}"));
    loop {
        let pod = session.read(path).await?;
        if matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed") {
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
        false => session.screen.line(&format!("pod {:?} deleted", text(&made["metadata"]["name"]))),
    }
}
