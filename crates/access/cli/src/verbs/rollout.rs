//! `rollout`: how far a change of a workload's pods is, what its revisions were, and back to one of them.

mod history;
mod status;

use serde_json::{Value, json};

use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, TIMEOUT, Typed, WRITE, switch, value};
use crate::change::{change, object_at};
use crate::error::CliError;
use crate::input;
use crate::print::Output;
use crate::select::{self, Found};
use crate::session::Session;

const MANAGER: &str = "kubectl-rollout";
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";
const REVISION: &[Flag] = &[value("revision", "NUMBER", "This revision alone")];

pub(crate) static COMMAND: Command = Command {
    name: "rollout",
    about: "Watch, pause, undo or restart the rollout of a workload",
    children: &[&HISTORY, &PAUSE, &RESTART, &RESUME, &STATUS, &UNDO],
    part: Part::Change,
    ..Command::EMPTY
};

static HISTORY: Command = Command {
    name: "history",
    about: "Show the revisions of a workload",
    usage: "(-f FILE | KIND NAME | KIND/NAME)",
    examples: &["rollout history deployment/web", "rollout history deployment/web --revision=2"],
    flags: &[REVISION, FILES, SELECT, OUTPUT],
    run: Some(|session, typed| Box::pin(history::show(session, typed))),
    ..Command::EMPTY
};

static UNDO: Command = Command {
    name: "undo",
    about: "Go back to an earlier revision",
    usage: "(-f FILE | KIND NAME | KIND/NAME)",
    examples: &["rollout undo deployment/web", "rollout undo daemonset/log --to-revision=3"],
    flags: &[
        &[value("to-revision", "NUMBER", "To this revision; otherwise the one before")],
        FILES,
        SELECT,
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| Box::pin(history::undo(session, typed))),
    ..Command::EMPTY
};

static STATUS: Command = Command {
    name: "status",
    about: "Wait until a rollout is done, and say how far it is",
    usage: "(-f FILE | KIND NAME | KIND/NAME)",
    examples: &["rollout status deployment/web --timeout=60s"],
    flags: &[
        REVISION,
        &[switch("watch", "Wait until it is done [default: true]").or('w')],
        FILES,
        SELECT,
        TIMEOUT,
    ],
    run: Some(|session, typed| Box::pin(status::run(session, typed))),
    ..Command::EMPTY
};

static PAUSE: Command = Command {
    name: "pause",
    about: "Stop rolling out changes of a deployment",
    usage: "(-f FILE | deployment NAME)",
    flags: &[FILES, SELECT, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(paused(session, typed, true))),
    ..Command::EMPTY
};

static RESUME: Command = Command {
    name: "resume",
    about: "Go on rolling out changes of a deployment",
    usage: "(-f FILE | deployment NAME)",
    flags: &[FILES, SELECT, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(paused(session, typed, false))),
    ..Command::EMPTY
};

static RESTART: Command = Command {
    name: "restart",
    about: "Replace all pods of a workload, a few at a time",
    usage: "(-f FILE | KIND NAME | KIND -l SELECTOR)",
    examples: &["rollout restart deployment/web"],
    flags: &[FILES, SELECT, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(restart(session, typed))),
    ..Command::EMPTY
};

/// The workloads meant; a kind alone is all of that kind.
async fn meant<'m>(session: &'m Session<'_>, typed: &Typed) -> Result<Vec<Found<'m>>, CliError> {
    if typed.words.is_empty() && !input::named(typed) {
        return Err(typed.wrong("required resource not specified"));
    }
    select::found_or_all(session, typed, &typed.words).await
}

async fn paused(session: &Session<'_>, typed: &Typed, pause: bool) -> Result<(), CliError> {
    let output = Output::of(typed)?;
    let (done, already) = if pause { ("paused", "is already paused") } else { ("resumed", "is not paused") };
    for found in meant(session, typed).await? {
        if found.resource.kind != "Deployment" {
            let doing = if pause { "pausing" } else { "resuming" };
            return Err(CliError::unmet(format!(
                "{} {:?} {doing} is not supported",
                found.resource.qualified(),
                found.name
            )));
        }
        if found.object["spec"]["paused"].as_bool().unwrap_or_default() == pause {
            return Err(CliError::unmet(format!("deployments.apps {:?} {already}", found.name)));
        }
        let changed = change(session, &found, MANAGER, |object| {
            object["spec"]["paused"] = if pause { true.into() } else { Value::Null };
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.retain(|_, value| !value.is_null());
            }
            Ok(())
        })
        .await?;
        output.done(session, found.resource, &changed.object, done)?;
    }
    Ok(())
}

async fn restart(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let output = Output::of(typed)?;
    let now = kedge_kinds::time::seconds(session.clock.now());
    let found = meant(session, typed).await?;
    if found.is_empty() {
        session.screen.warn("No resources found");
    }
    for found in found {
        if !matches!(&*found.resource.kind, "Deployment" | "StatefulSet" | "DaemonSet") {
            return Err(CliError::unmet(format!(
                "{} {:?} restarting is not supported",
                found.resource.qualified(),
                found.name
            )));
        }
        if found.object["spec"]["paused"] == json!(true) {
            return Err(CliError::unmet(format!(
                "{} {:?} can't restart paused deployment (run rollout resume first)",
                found.resource.told(),
                found.name
            )));
        }
        let changed = change(session, &found, MANAGER, |object| {
            let metadata = object_at(&mut object["spec"]["template"], "metadata");
            object_at(metadata, "annotations")[RESTARTED] = now.clone().into();
            Ok(())
        })
        .await?;
        output.done(session, found.resource, &changed.object, "restarted")?;
    }
    Ok(())
}
