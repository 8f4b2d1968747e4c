//! `exec` and `attach`: a command in a container, or the process that runs there, with this terminal at its other end.

use std::io::Write;

use serde_json::Value;

use super::pods::{self, Meant};
use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::client::with;
use crate::describe::shown::{items, text};
use crate::error::CliError;
use crate::session::Session;
use crate::stream::channels::{Output, Said, talk};
use crate::stream::input;
use crate::stream::terminal::{Raw, is_terminal, sizes};

const FLAGS: &[Flag] = &[
    value("container", "NAME", "The container").or('c'),
    switch("stdin", "Give it our input").or('i'),
    switch("tty", "Give it a terminal").or('t'),
    switch("quiet", "Show only what it says").or('q'),
    value("pod-running-timeout", "DURATION", "Taken and ignored"),
];

const FROM: &[Flag] = &[value("filename", "FILE", "A manifest that names the pod, or what has pods").or('f')];

pub(crate) static EXEC: Command = Command {
    name: "exec",
    about: "Run a command in a container",
    usage: "(POD | KIND/NAME | -f FILE) [-c CONTAINER] -- COMMAND [ARGUMENT…]",
    examples: &["exec web-1 -- date", "exec -it deploy/web -c app -- sh", "exec -f web.yaml -- date"],
    flags: &[FLAGS, FROM],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(exec(session, typed))),
    ..Command::EMPTY
};

pub(crate) static ATTACH: Command = Command {
    name: "attach",
    about: "Attach to a process that runs in a container",
    usage: "(POD | KIND/NAME) [-c CONTAINER]",
    examples: &["attach web-1", "attach -it web-1 -c app"],
    flags: &[FLAGS],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(attach(session, typed))),
    ..Command::EMPTY
};

async fn exec(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let named = usize::from(!typed.given("filename"));
    if typed.dash.is_none() && typed.words.len() > named {
        return Err(
            typed.wrong("exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead")
        );
    }
    let (target, command) = typed.words.split_at(typed.dash.unwrap_or(typed.words.len()));
    if target.is_empty() && named > 0 {
        return Err(CliError::usage("pod, type/name or --filename must be specified"));
    }
    if command.is_empty() {
        return Err(CliError::usage(
            "you must specify at least one command for the container\nAs in: exec POD -- COMMAND",
        ));
    }
    let pod = match named {
        0 => usable(pods::in_file(session, typed, target).await?, "the manifest")?,
        _ => one(session, target).await?,
    };
    let container = pods::container(session, &pod, typed.text("container"));
    let (stdin, tty) = wishes(session, typed);
    let path = path(&pod, command.iter().map(String::as_str), &asked(container, stdin, tty));
    interactive(session, &path, stdin, tty, None).await
}

async fn attach(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if typed.words.is_empty() {
        return Err(CliError::usage("at least 1 argument is required for attach"));
    }
    let pod = one(session, &typed.words).await?;
    attached(session, typed, &pod).await
}

/// What a pod writes, and what is typed to it, until either ends.
pub(super) async fn attached(session: &Session<'_>, typed: &Typed, pod: &Value) -> Result<(), CliError> {
    attached_to(session, typed, pod, pods::container(session, pod, typed.text("container"))).await
}

/// The same for a container that is chosen already.
pub(super) async fn attached_to(
    session: &Session<'_>,
    typed: &Typed,
    pod: &Value,
    name: &str,
) -> Result<(), CliError> {
    let (stdin, mut tty) = wishes(session, typed);
    let lists = ["containers", "ephemeralContainers", "initContainers"];
    let container = lists
        .into_iter()
        .flat_map(|list| items(&pod["spec"][list]))
        .find(|container| container["name"] == name);
    if tty && container.is_some_and(|container| container["tty"] != true) {
        session.screen.warn(&format!("error: Unable to use a TTY - container {name} did not allocate one"));
        tty = false;
    }
    let path = with(&pods::path(pod, "attach"), asked(name, stdin, tty));
    let hint =
        (stdin && !typed.is("quiet")).then_some("If you don't see a command prompt, try pressing enter.");
    interactive(session, &path, stdin, tty, hint).await
}

/// Where a command is run. Its words may be empty and still count.
pub(super) fn path<'w>(
    pod: &Value,
    command: impl Iterator<Item = &'w str>,
    asked: &[(&str, &str)],
) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(command.map(|word| ("command", word)));
    query.extend_pairs(asked);
    format!("{}?{}", pods::path(pod, "exec"), query.finish())
}

/// The pod itself, or the best of several.
pub(super) async fn one(session: &Session<'_>, words: &[String]) -> Result<Value, CliError> {
    usable(pods::meant(session, words, "attach to").await?, &words.join(" "))
}

fn usable(meant: Meant, told: &str) -> Result<Value, CliError> {
    let pod = meant.pods.into_iter().next();
    let pod = pod.ok_or_else(|| CliError::unmet(format!("{told} has no pod")))?;
    let phase = text(&pod["status"]["phase"]);
    if matches!(phase, "Succeeded" | "Failed") {
        return Err(CliError::unmet(format!(
            "cannot exec into or attach to a container in a completed pod; current phase is {phase}"
        )));
    }
    Ok(pod)
}

/// Input and terminal, as far as there are any.
fn wishes(session: &Session<'_>, typed: &Typed) -> (bool, bool) {
    let (stdin, tty) = (typed.is("stdin"), typed.is("tty"));
    if tty && !is_terminal() {
        if stdin {
            session.screen.warn("Unable to use a TTY - input is not a terminal or the right kind of file");
        }
        return (stdin, false);
    }
    (stdin, tty)
}

/// What the server is to connect. A terminal has one output for both.
pub(super) fn asked(container: &str, stdin: bool, tty: bool) -> Vec<(&str, &str)> {
    let mut query = vec![("container", container), ("stdout", "true")];
    if stdin {
        query.push(("stdin", "true"));
    }
    query.push(if tty { ("tty", "true") } else { ("stderr", "true") });
    query
}

async fn interactive(
    session: &Session<'_>,
    path: &str,
    stdin: bool,
    tty: bool,
    hint: Option<&str>,
) -> Result<(), CliError> {
    let api = session.api().await?;
    let done = {
        let _raw = if stdin && tty { Raw::enter()? } else { None };
        if let Some(hint) = hint {
            session.screen.murmur(&format!("{hint}\r\n"));
        }
        let said = Said { input: stdin.then(input::standard), sizes: if tty { sizes() } else { None } };
        let screen = session.screen;
        let mut hear = |output: Output, bytes: &[u8]| match output {
            Output::Out => screen.bytes(bytes),
            Output::Err => {
                // If even this cannot be written there is nobody left to tell.
                let _told = std::io::stderr().lock().write_all(bytes);
                Ok(())
            }
        };
        talk(api, &session.clock, path, said, &mut hear).await
    };
    if let Err(CliError::Exit(code @ 1..)) = done {
        session.screen.warn(&format!("command terminated with exit code {code}"));
    }
    done
}
