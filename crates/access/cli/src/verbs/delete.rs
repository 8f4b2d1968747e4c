//! `delete`: by manifest, name, label or all of a kind; waits until what was deleted is gone.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::args::{
    ALL, Command, EVERYWHERE, FILES, Flag, Part, SELECT, TIMEOUT, Typed, optional, switch, value,
};
use crate::error::CliError;
use crate::input;
use crate::progress::Progress;
use crate::select::{self, Found};
use crate::session::{DryRun, Session};

const FLAGS: &[Flag] = &[
    optional("cascade", "background", "What becomes of what it owns: background, foreground or orphan"),
    value("grace-period", "SECONDS", "How long it may take to end"),
    switch("force", "Don't wait for the node; with --grace-period=0"),
    switch("now", "Give it one second"),
    switch("wait", "Wait until it is gone [default: true]"),
    switch("ignore-not-found", "Say nothing if it isn't there"),
    optional("dry-run", "client", "none, client or server"),
    value("output", "FORMAT", "name").or('o'),
    value("raw", "PATH", "Send a DELETE to this path of the API"),
    switch("interactive", "Ask first").or('i'),
];

pub(crate) static COMMAND: Command = Command {
    name: "delete",
    about: "Delete objects and wait until they are gone",
    usage: "(-f FILE | KIND (NAME… | -l SELECTOR | --all) | KIND/NAME…)",
    examples: &[
        "delete -f web.yaml",
        "delete pod web --now",
        "delete pods,services -l app=web",
        "delete jobs --all",
    ],
    flags: &[FLAGS, FILES, SELECT, ALL, EVERYWHERE, TIMEOUT],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if let Some(path) = typed.text("raw") {
        let answer = session.api().await?.raw(Method::DELETE, path, bytes::Bytes::new()).await?;
        return session.screen.bytes(&answer);
    }
    let forced = typed.is("force");
    if typed.is("now") && typed.given("grace-period") {
        return Err(CliError::usage("--now and --grace-period cannot be specified together"));
    }
    if forced && typed.number("grace-period")?.is_some_and(|seconds| seconds > 0) {
        return Err(CliError::usage(
            "--force and --grace-period greater than 0 cannot be specified together",
        ));
    }
    if typed.is("all") && (typed.given("selector") || typed.given("field-selector")) {
        return Err(CliError::usage("setting 'all' parameter but found a non empty selector. "));
    }
    if let Some(form) = typed.text("output").filter(|form| !matches!(*form, "" | "name")) {
        return Err(CliError::usage(format!("unexpected -o output mode: {form}. We only support '-o name'")));
    }
    if typed.number("grace-period")? == Some(0) && !forced {
        // Zero is dangerous and has to be asked for; without --force one second is what is meant.
        session.screen.warn("Warning: without --force, a grace period of 0 is taken as 1");
    }
    if forced {
        session.screen.warn(
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may \
             continue to run on the cluster indefinitely.",
        );
    }
    // A wrong flag is told before anything is deleted.
    let most = typed.duration("timeout")?.filter(|most| !most.is_zero());
    let found = meant(session, typed).await?;
    let mut errors = Vec::new();
    if found.is_empty() {
        if !typed.is("ignore-not-found") {
            session.screen.line("No resources found")?;
        }
        return Ok(());
    }
    if typed.is("interactive") && !agreed(session, &found)? {
        return session.screen.line("deletion is cancelled");
    }
    let dry = session.dry_run()?;
    let mut gone = Vec::new();
    for one in &found {
        let path = one.path();
        let done = match dry {
            DryRun::Client => Ok(Value::Null),
            DryRun::None | DryRun::Server => quietly(session, typed, &path).await,
        };
        match done {
            Ok(uid) => {
                let verb = if forced { "force deleted" } else { "deleted" };
                session.screen.line(&match typed.text("output") {
                    Some("name") => one.told(),
                    _ => format!("{} {:?} {verb}{}", one.resource.told(), one.name, dry.told()),
                })?;
                gone.push((one, uid));
            }
            Err(error) if error.is_not_found() && typed.is("ignore-not-found") => {}
            Err(error) => errors.push(error),
        }
    }
    if typed.is_or("wait", !forced) && dry == DryRun::None {
        for (one, uid) in gone {
            until_gone(session, &one.path(), &uid, most, &one.told()).await?;
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(CliError::Several(errors)) }
}

/// What is meant. What is named is not asked for first: who may delete need not be somebody who may read.
async fn meant<'m>(session: &'m Session<'_>, typed: &Typed) -> Result<Vec<Found<'m>>, CliError> {
    let mut wanted: Vec<(&'m crate::mapping::Resource, String, String)> = Vec::new();
    let namespace = session.namespace()?;
    let selected = typed.given("selector") || typed.given("field-selector") || typed.is("all");
    if input::named(typed) {
        wanted = select::in_files(session, typed, &typed.words).await?;
    } else if selected || typed.words.is_empty() {
        return select::found(session, typed, &typed.words).await;
    } else {
        for asked in select::asked(session.mapping().await?, &typed.words)? {
            if asked.names.is_empty() {
                return Err(CliError::usage("resource(s) were provided, but no name was specified"));
            }
            if typed.is("all-namespaces") && asked.resource.namespaced {
                return Err(CliError::usage("a resource cannot be retrieved by name across all namespaces"));
            }
            wanted.extend(asked.names.into_iter().map(|name| (asked.resource, namespace.clone(), name)));
        }
    }
    let named = |(resource, namespace, name)| Found { resource, namespace, name, object: Value::Null };
    Ok(wanted.into_iter().map(named).collect())
}

fn agreed(session: &Session<'_>, found: &[Found<'_>]) -> Result<bool, CliError> {
    session.screen.line("You are about to delete the following resources:")?;
    for one in found {
        session.screen.line(&one.told())?;
    }
    session.screen.say("Do you want to continue? (y/N): ")?;
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|source| CliError::Io { what: "read the answer".to_owned(), source })?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Sends the deletion as the flags say and says nothing. Answers with the UID of what goes.
pub(crate) async fn quietly(session: &Session<'_>, typed: &Typed, path: &str) -> Result<Value, CliError> {
    let mut answer = session.api().await?.delete(path, &options(session, typed)?).await?;
    // What is gone at once is told of in a `Status`; what takes its time is sent as it is.
    let of = if answer["kind"] == "Status" { "details" } else { "metadata" };
    Ok(answer[of]["uid"].take())
}

/// Deletes and waits until it is gone.
pub(crate) async fn and_wait(session: &Session<'_>, typed: &Typed, path: &str) -> Result<(), CliError> {
    let uid = quietly(session, typed, path).await?;
    until_gone(session, path, &uid, typed.duration("timeout")?, path).await
}

fn options(session: &Session<'_>, typed: &Typed) -> Result<Value, CliError> {
    let policy = match typed.text("cascade") {
        None | Some("background" | "true") => "Background",
        Some("foreground") => "Foreground",
        Some("orphan" | "false") => "Orphan",
        Some(other) => {
            return Err(CliError::usage(format!(
                "invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\""
            )));
        }
    };
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
    let grace = match typed.number("grace-period")?.filter(|grace| *grace >= 0) {
        Some(0) if !typed.is("force") => Some(1),
        None if typed.is("now") => Some(1),
        None if typed.is("force") => Some(0),
        given => given,
    };
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = grace.into();
    }
    if session.dry_run()? == DryRun::Server {
        options["dryRun"] = json!(["All"]);
    }
    Ok(options)
}

/// Waits until there is no such object, or another one of its name.
async fn until_gone(
    session: &Session<'_>,
    path: &str,
    uid: &Value,
    most: Option<Duration>,
    told: &str,
) -> Result<(), CliError> {
    let mut progress = Progress::new(session.screen, format!("waiting until {told} is gone"));
    let gone = async {
        loop {
            match session.read(path).await {
                Ok(object) if uid.is_null() || object["metadata"]["uid"] == *uid => {}
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                // Who may not look cannot wait; deleted it is.
                Err(CliError::Server(refusal))
                    if refusal.is("Forbidden") || refusal.is("MethodNotAllowed") =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            progress.tick().await;
        }
    };
    let done = match most {
        None => gone.await,
        Some(most) => {
            tokio::time::timeout(most, gone).await.unwrap_or_else(|_| Err(CliError::Timeout(told.to_owned())))
        }
    };
    progress.end();
    done
}
