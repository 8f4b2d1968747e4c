//! Staying with a container: until it has begun, while it runs, and what it wrote if it is over already.

use serde_json::Value;

use crate::args::Typed;
use crate::client::with;
use crate::describe::shown::{items, text};
use crate::error::CliError;
use crate::progress::Progress;
use crate::session::Session;
use crate::verbs::{exec, pods};

/// A container that runs, or ran.
pub(super) struct Begun {
    pod: Value,
    is_over: bool,
}

/// Waits for it, and says what it waits for itself.
pub(super) async fn begun(
    session: &Session<'_>,
    typed: &Typed,
    pod: &Value,
    container: &str,
) -> Result<Begun, CliError> {
    let path = pods::path(pod, "");
    let path = path.trim_end_matches('/');
    let mut progress = Progress::new(session.screen, format!("waiting for container {container}"));
    let mut told = String::new();
    loop {
        let pod = session.read(path).await?;
        let state = state(&pod, container);
        let is_over = !state["terminated"].is_null() || is_finished(&pod);
        if is_over || !state["running"].is_null() {
            progress.end();
            return Ok(Begun { pod, is_over });
        }
        let waits = text(&state["waiting"]["message"]);
        if !typed.is("quiet") && !waits.is_empty() && waits != told {
            progress.end();
            session.screen.warn(&format!("Warning: container {container}: {waits}"));
            told = waits.to_owned();
        }
        progress.tick().await;
    }
}

/// Attaches while it runs; of one that is over, or ends before anybody is there, what it wrote is shown.
pub(super) async fn along(
    session: &Session<'_>,
    typed: &Typed,
    begun: &Begun,
    container: &str,
) -> Result<(), CliError> {
    let pod = &begun.pod;
    if !begun.is_over {
        match exec::attached_to(session, typed, pod, container).await {
            done @ (Ok(()) | Err(CliError::Exit(_))) => return done,
            Err(error) => session.screen.warn(&format!(
                "warning: couldn't attach to pod/{}, falling back to streaming logs: {error}",
                text(&pod["metadata"]["name"])
            )),
        }
    }
    let mut written =
        session.api().await?.follow(&with(&pods::path(pod, "log"), [("container", container)])).await?;
    while let Some(bytes) = written.bytes().await? {
        session.screen.bytes(&bytes)?;
    }
    Ok(())
}

/// One that never got so far as to have containers, too.
fn is_finished(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

fn state<'p>(pod: &'p Value, container: &str) -> &'p Value {
    let lists = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];
    let mut all = lists.into_iter().flat_map(|list| items(&pod["status"][list]));
    all.find(|status| status["name"] == container).map_or(&Value::Null, |status| &status["state"])
}
