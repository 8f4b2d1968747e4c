//! Changes an object that is there: reads it, lets the verb change it, sends the difference. Knows no verb.

use serde_json::{Value, json};

use crate::client::{MERGE, with_all};
use crate::error::CliError;
use crate::merge::{difference, has_list};
use crate::select::Found;
use crate::session::{DryRun, Session};

/// How often somebody else may be faster.
const TRIES: usize = 5;

/// What became of it.
pub(crate) struct Changed {
    pub(crate) object: Value,
    /// There was something to change.
    pub(crate) differs: bool,
}

/// Makes one object what the verb wants.
pub(crate) async fn change(
    session: &Session<'_>,
    found: &Found<'_>,
    manager: &str,
    wanted: impl Fn(&mut Value) -> Result<(), CliError>,
) -> Result<Changed, CliError> {
    let mut live = found.object.clone();
    for _ in 0..TRIES {
        let mut object = live.clone();
        wanted(&mut object)?;
        let Some(patch) = difference(&live, &object) else {
            return Ok(Changed { object, differs: false });
        };
        if session.dry_run()? == DryRun::Client || session.typed.is("local") {
            return Ok(Changed { object, differs: true });
        }
        match send(session, found, manager, patch, &live).await {
            Err(error) if error.is_conflict() => live = session.read(&found.path()).await?,
            done => return done.map(|object| Changed { object, differs: true }),
        }
    }
    Err(CliError::unmet(format!("{} changes faster than it can be written; try again", found.told())))
}

async fn send(
    session: &Session<'_>,
    found: &Found<'_>,
    manager: &str,
    mut patch: Value,
    live: &Value,
) -> Result<Value, CliError> {
    if has_list(&patch) {
        patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    }
    let path = with_all(&found.path(), &session.writing(manager)?);
    session.api().await?.patch(&path, MERGE, &patch).await
}

/// Where the template of the pods of a kind stands: `/spec/template/spec` for most.
pub(crate) fn pod_spec(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Pod" => "/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController" | "Job" => {
            "/spec/template/spec"
        }
        "PodTemplate" => "/template/spec",
        _ => return None,
    })
}

/// An empty object where there was none.
pub(crate) fn object_at<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    let inner = &mut value[key];
    if !inner.is_object() {
        *inner = json!({});
    }
    inner
}
