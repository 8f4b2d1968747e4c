//! `cordon`, `uncordon`, `drain` and `taint`: what may run on a node.

mod drain;
mod taint;

pub(crate) use self::taint::TAINT;
use crate::args::{Command, Flag, Part, SELECT, TIMEOUT, Typed, WRITE, switch, value};
use crate::change::change;
use crate::error::CliError;
use crate::select::{self, Found};
use crate::session::Session;

pub(crate) static CORDON: Command = Command {
    name: "cordon",
    about: "Let no new pods onto nodes",
    usage: "NODE…",
    examples: &["cordon n1"],
    flags: &[SELECT, WRITE],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(cordon(session, typed, true))),
    ..Command::EMPTY
};

pub(crate) static UNCORDON: Command = Command {
    name: "uncordon",
    about: "Let new pods onto nodes again",
    usage: "NODE…",
    examples: &["uncordon n1"],
    flags: &[SELECT, WRITE],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(cordon(session, typed, false))),
    ..Command::EMPTY
};

const DRAIN_FLAGS: &[Flag] = &[
    switch("ignore-daemonsets", "Leave pods of daemon sets where they are"),
    switch("delete-emptydir-data", "Go on where pods have data of their own on the node"),
    switch("force", "Go on where pods have nobody who replaces them"),
    switch("disable-eviction", "Delete instead of evicting: budgets don't count"),
    value("grace-period", "SECONDS", "How long pods may take to end"),
    value("pod-selector", "SELECTOR", "Only pods with these labels"),
    value("chunk-size", "NUMBER", "Taken and ignored"),
    value(
        "skip-wait-for-delete-timeout",
        "SECONDS",
        "Don't wait for pods that have been leaving for this long",
    ),
];

pub(crate) static DRAIN: Command = Command {
    name: "drain",
    about: "Move all pods away from nodes, minding disruption budgets",
    usage: "NODE…",
    examples: &["drain n1 --ignore-daemonsets --delete-emptydir-data"],
    flags: &[DRAIN_FLAGS, SELECT, WRITE, TIMEOUT],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(drain::run(session, typed))),
    ..Command::EMPTY
};

/// The nodes that the words name, with or without their kind.
async fn nodes<'m>(session: &'m Session<'_>, typed: &Typed) -> Result<Vec<Found<'m>>, CliError> {
    let mut words = vec!["nodes".to_owned()];
    words.extend(typed.words.iter().map(|word| match word.split_once('/') {
        Some((_, name)) => name.to_owned(),
        None => word.clone(),
    }));
    let verb = typed.path.join(" ");
    let wrong = |message: String| CliError::Usage {
        message,
        help: Some(format!("{} {verb} --help", session.program)),
    };
    match (words.len(), typed.given("selector")) {
        (1, false) => return Err(wrong(format!("USAGE: {verb} NODE [flags]"))),
        (2.., true) => {
            return Err(wrong("cannot specify both a node name and a --selector option".to_owned()));
        }
        _ => {}
    }
    select::found(session, typed, &words).await
}

async fn cordon(session: &Session<'_>, typed: &Typed, closed: bool) -> Result<(), CliError> {
    for node in nodes(session, typed).await? {
        close(session, &node, closed).await?;
    }
    Ok(())
}

async fn close(session: &Session<'_>, node: &Found<'_>, closed: bool) -> Result<(), CliError> {
    let (done, already) =
        if closed { ("cordoned", "already cordoned") } else { ("uncordoned", "already uncordoned") };
    let changed = change(session, node, "kubectl-cordon", |object| {
        match (closed, object["spec"].as_object_mut()) {
            (true, _) => object["spec"]["unschedulable"] = true.into(),
            (false, Some(spec)) => drop(spec.remove("unschedulable")),
            (false, None) => {}
        }
        Ok(())
    })
    .await?;
    let done = if changed.differs { done } else { already };
    session.screen.line(&format!("{} {done}{}", node.told(), session.dry_run()?.told()))
}
