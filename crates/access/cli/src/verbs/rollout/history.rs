//! Revisions of a workload: replica sets of a deployment, controller revisions of the others. Shows them and goes back to one.

use serde_json::{Value, json};

use crate::args::Typed;
use crate::change::change;
use crate::client::{MERGE, STRATEGIC, with_all};
use crate::describe::shown::{Now, local_zone};
use crate::error::CliError;
use crate::print::Output;
use crate::select::Found;
use crate::session::{DryRun, Session};

const NUMBER: &str = "deployment.kubernetes.io/revision";
const CAUSE: &str = "kubernetes.io/change-cause";

/// One of them.
struct Revision {
    number: i64,
    object: Value,
}

impl Revision {
    fn cause(&self) -> &str {
        self.object["metadata"]["annotations"][CAUSE].as_str().unwrap_or("<none>")
    }

    /// The pods' template of that time.
    fn template(&self) -> &Value {
        match self.object["kind"] == "ControllerRevision" {
            true => &self.object["data"]["spec"]["template"],
            false => &self.object["spec"]["template"],
        }
    }
}

/// The revision that a deployment or a replica set is at.
pub(super) fn revision(object: &Value) -> i64 {
    let text = object["metadata"]["annotations"][NUMBER].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

async fn revisions(session: &Session<'_>, found: &Found<'_>, tool: &str) -> Result<Vec<Revision>, CliError> {
    let mapping = session.mapping().await?;
    let (kind, of_set) = match &*found.resource.kind {
        "Deployment" => ("replicasets.apps", true),
        "DaemonSet" | "StatefulSet" => ("controllerrevisions.apps", false),
        other => {
            return Err(CliError::unmet(format!("no {tool} has been implemented for {other:?}")));
        }
    };
    let resource = mapping.find(kind)?;
    let mut list = session.read(&resource.collection(Some(&found.namespace))).await?;
    let uid = &found.object["metadata"]["uid"];
    let owned = |object: &Value| {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.into_iter().any(|owner| owner["uid"] == *uid && owner["controller"] == json!(true))
    };
    let Value::Array(items) = list["items"].take() else { return Ok(Vec::new()) };
    let mut all: Vec<Revision> = Vec::new();
    for mut object in items.into_iter().filter(owned) {
        object["kind"] = resource.kind.clone().into();
        let number = if of_set { revision(&object) } else { object["revision"].as_i64().unwrap_or_default() };
        all.push(Revision { number, object });
    }
    all.sort_by_key(|revision| revision.number);
    Ok(all)
}

pub(super) async fn show(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let wanted = typed.number("revision")?.unwrap_or_default();
    if wanted < 0 {
        return Err(CliError::usage(format!("revision must be a positive integer: {wanted}")));
    }
    let output = Output::of(typed)?;
    for found in super::meant(session, typed).await? {
        let all = revisions(session, &found, "history viewer").await?;
        let one = all.iter().find(|revision| revision.number == wanted);
        if wanted > 0 && one.is_none() {
            return Err(CliError::unmet("unable to find the specified revision"));
        }
        if !output.is_human() {
            let shown = one.or(all.last()).map_or(&Value::Null, |revision| &revision.object);
            session.screen.say(&output.object(&crate::print::shown(shown, typed))?)?;
            continue;
        }
        let told = found.told();
        match one {
            Some(revision) => {
                session.screen.line(&format!("{told} with revision #{wanted}"))?;
                let mut template = revision.template().clone();
                if let Some(cause) = revision.object["metadata"]["annotations"].get(CAUSE) {
                    template["metadata"]["annotations"][CAUSE] = cause.clone();
                }
                let now = Now { at: session.clock.now(), zone: local_zone() };
                session.screen.line(&crate::describe::template(&template, &now))?;
            }
            None => {
                let row = |number: &str, cause: &str| format!("{number:<10}{cause}\n");
                let mut table = row("REVISION", "CHANGE-CAUSE");
                all.iter().for_each(|revision| {
                    table.push_str(&row(&revision.number.to_string(), revision.cause()))
                });
                session.screen.say(&format!("{told} \n{table}\n"))?;
            }
        }
    }
    Ok(())
}

pub(super) async fn undo(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let wanted = typed.number("to-revision")?.unwrap_or_default();
    let output = Output::of(typed)?;
    for found in super::meant(session, typed).await? {
        if found.object["spec"]["paused"] == json!(true) {
            return Err(CliError::unmet(format!(
                "cannot rollback a paused deployment; resume it first with '{} rollout resume deployment/{}' and try again",
                session.program, found.name
            )));
        }
        let all = revisions(session, &found, "rollbacker").await?;
        let target = match wanted {
            0 => all.len().checked_sub(2).and_then(|at| all.get(at)),
            wanted => all.iter().find(|revision| revision.number == wanted),
        };
        let target = target.ok_or_else(|| match wanted {
            0 => CliError::unmet(format!(
                "no rollout history found for {} {:?}",
                found.resource.kind.to_lowercase(),
                found.name
            )),
            wanted => CliError::unmet(format!("unable to find specified revision {wanted} in history")),
        })?;
        let same = all.last().is_some_and(|last| last.number == target.number);
        let done = match same {
            true => format!("skipped rollback (current template already matches revision {})", target.number),
            false => "rolled back".to_owned(),
        };
        if !same && session.dry_run()? != DryRun::Client {
            back(session, &found, target).await?;
        }
        output.done(session, found.resource, &found.object, &done)?;
    }
    Ok(())
}

async fn back(session: &Session<'_>, found: &Found<'_>, target: &Revision) -> Result<(), CliError> {
    if target.object["kind"] == "ControllerRevision" {
        // Its data is a patch of the kind that its controller made it for.
        let path = with_all(&found.path(), &session.writing(super::MANAGER)?);
        return session.api().await?.patch(&path, STRATEGIC, &target.object["data"]).await.map(drop);
    }
    let mut template = target.template().clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove("pod-template-hash");
    }
    let cause = target.object["metadata"]["annotations"][CAUSE].clone();
    let changed = change(session, found, super::MANAGER, |object| {
        object["spec"]["template"] = template.clone();
        Ok(())
    })
    .await?;
    if cause.is_string() && changed.differs {
        let patch = json!({"metadata": {"annotations": {CAUSE: cause}}});
        let path = with_all(&found.path(), &session.writing(super::MANAGER)?);
        session.api().await?.patch(&path, MERGE, &patch).await?;
    }
    Ok(())
}
