//! `logs`: what containers have written, and what they go on writing.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::Value;

use super::pods;
use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::client::{Lines, with_all};
use crate::describe::shown::text;
use crate::error::CliError;
use crate::select;
use crate::session::Session;

/// So many logs are followed at once unless told otherwise.
const MOST: i64 = 5;
/// What is shown of each of several pods unless told otherwise.
const TAIL_OF_MANY: i64 = 10;

const FLAGS: &[Flag] = &[
    switch("follow", "Go on with what is written from now on").or('f'),
    switch("previous", "Of the container that ran before this one").or('p'),
    value("container", "NAME", "The container").or('c'),
    switch("all-containers", "Of every container of the pod"),
    switch("all-pods", "Of every pod of what was named"),
    value("selector", "SELECTOR", "Of every pod with these labels").or('l'),
    value("tail", "LINES", "Only so many lines from the end; -1 is all"),
    value("since", "DURATION", "Only what is not older: 5s, 2m, 3h"),
    value("since-time", "TIME", "Only what was written after: 2024-05-01T10:00:00Z"),
    switch("timestamps", "Put the time before each line"),
    value("limit-bytes", "NUMBER", "At most so many bytes"),
    switch("prefix", "Put the pod's and the container's name before each line"),
    value("max-log-requests", "NUMBER", "How many logs may be followed at once"),
    switch("ignore-errors", "Go on with the others if one cannot be read"),
    value("pod-running-timeout", "DURATION", "Taken and ignored"),
    switch("insecure-skip-tls-verify-backend", "Trust whoever answers for the node"),
];

pub(crate) static COMMAND: Command = Command {
    name: "logs",
    aliases: &["log"],
    about: "Show what containers have written",
    usage: "(POD | KIND/NAME | -l SELECTOR) [-c CONTAINER]",
    examples: &[
        "logs web-1",
        "logs -f deploy/web",
        "logs web-1 -c sidecar --since=1h --tail=20",
        "logs -l app=web --prefix",
    ],
    flags: &[FLAGS],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// One container's log.
struct Log {
    path: String,
    /// `[pod/web-1/app] `, or nothing.
    prefix: String,
}

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    check(typed)?;
    let many = typed.given("selector");
    let pods = match (typed.words.as_slice(), typed.text("selector")) {
        ([], Some(labels)) => {
            let selected = pods::selected(session, &session.namespace()?, labels).await;
            let pods = session.mapping().await?.find("pods")?;
            selected.map_err(|error| select::unselected(error, typed, pods))?
        }
        (_, Some(_)) => return Err(CliError::usage("only a selector (-l) or a POD name is allowed")),
        ([] | [_, _, _, ..], None) => {
            return Err(CliError::usage(
                "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command",
            ));
        }
        (words, None) => named(session, typed, words).await?,
    };
    if pods.is_empty() {
        session.screen.warn(&format!("No resources found in {} namespace.", session.namespace()?));
        return Ok(());
    }
    let logs = logs(session, typed, &pods, many || pods.len() > 1)?;
    if typed.is("follow") {
        return together(session, typed, &logs).await;
    }
    for log in &logs {
        let shown = one(session, log).await;
        match shown {
            Err(error @ CliError::Server(_)) if typed.is("ignore-errors") => error.say(session.screen),
            shown => shown?,
        }
    }
    Ok(())
}

/// What is asked for can be.
fn check(typed: &Typed) -> Result<(), CliError> {
    let named = typed.text("container").filter(|name| !name.is_empty());
    if let Some(name) = named.filter(|_| typed.is("all-containers")) {
        return Err(CliError::usage(format!(
            "--all-containers=true should not be specified with container name {name}"
        )));
    }
    if named.is_some() && typed.words.len() == 2 {
        return Err(CliError::usage("only one of -c or an inline [CONTAINER] arg is allowed"));
    }
    if typed.text("since").is_some_and(|since| since.starts_with('-')) {
        return Err(CliError::usage("--since must be greater than 0"));
    }
    if typed.number("tail")?.is_some_and(|lines| lines < -1) {
        return Err(CliError::usage("--tail must be greater than or equal to -1"));
    }
    if typed.number("limit-bytes")?.is_some_and(|bytes| bytes < 0) {
        return Err(CliError::usage("--limit-bytes must be greater than 0"));
    }
    typed.number("max-log-requests").map(drop)
}

async fn named(session: &Session<'_>, typed: &Typed, words: &[String]) -> Result<Vec<Value>, CliError> {
    // A second word is the container, as it once was typed.
    let words = match words {
        [pod, _container] if !pod.contains('/') => &words[..1],
        words => words,
    };
    let meant = pods::meant(session, words, "get the logs from").await.map_err(|error| match error {
        CliError::Server(refusal)
            if refusal.is("NotFound") && refusal.status["details"]["kind"] != "namespaces" =>
        {
            let namespace = session.namespace().unwrap_or_default();
            CliError::unmet(format!(
                "error from server (NotFound): {} in namespace {namespace:?}",
                refusal.message
            ))
        }
        other => other,
    })?;
    let mut pods = meant.pods;
    if meant.through.is_some() && !typed.is("all-pods") {
        if let (2.., Some(first)) = (pods.len(), pods.first()) {
            let name = text(&first["metadata"]["name"]);
            session.screen.warn(&format!("Found {} pods, using pod/{name}", pods.len()));
        }
        if pods.is_empty() {
            return Err(CliError::unmet("there is no pod whose log could be shown yet"));
        }
        pods.truncate(1);
    }
    Ok(pods)
}

fn logs(session: &Session<'_>, typed: &Typed, pods: &[Value], many: bool) -> Result<Vec<Log>, CliError> {
    let query = query(session, typed, many)?;
    let container = match (typed.text("container"), typed.words.as_slice()) {
        (Some(named), _) => Some(named),
        (None, [pod, container]) if !pod.contains('/') => Some(&**container),
        (None, _) => None,
    };
    let mut logs = Vec::new();
    for pod in pods {
        let containers = match typed.is("all-containers") {
            true => pods::containers(pod),
            false => vec![pods::container(session, pod, container)],
        };
        let known = pods::containers(pod);
        if let Some(wrong) = containers.iter().find(|container| !known.contains(*container)) {
            return Err(CliError::unmet(format!(
                "container {wrong} is not valid for pod {} out of: {}",
                text(&pod["metadata"]["name"]),
                known.join(", ")
            )));
        }
        for container in containers {
            let mut query = query.clone();
            query.push(("container", container.to_owned()));
            let name = text(&pod["metadata"]["name"]);
            let prefix = match typed.is("prefix") || typed.is("all-pods") {
                true => format!("[pod/{name}/{container}] "),
                false => String::new(),
            };
            logs.push(Log { path: with_all(&pods::path(pod, "log"), &query), prefix });
        }
    }
    Ok(logs)
}

/// What the server is asked to leave out.
fn query(session: &Session<'_>, typed: &Typed, many: bool) -> Result<Vec<(&'static str, String)>, CliError> {
    if typed.given("since") && typed.given("since-time") {
        return Err(CliError::usage("at most one of `sinceTime` or `sinceSeconds` may be specified"));
    }
    let mut query = Vec::new();
    for (flag, parameter) in [
        ("follow", "follow"),
        ("previous", "previous"),
        ("timestamps", "timestamps"),
        ("insecure-skip-tls-verify-backend", "insecureSkipTLSVerifyBackend"),
    ] {
        if typed.is(flag) {
            query.push((parameter, "true".to_owned()));
        }
    }
    let tail = typed.number("tail")?.or(many.then_some(TAIL_OF_MANY));
    if let Some(lines) = tail.filter(|lines| *lines >= 0) {
        query.push(("tailLines", lines.to_string()));
    }
    if let Some(since) = typed.duration("since")? {
        // Whole seconds are all that can be asked for; a part of one is a whole one.
        let seconds = since.as_secs() + u64::from(since.subsec_nanos() > 0);
        query.push(("sinceSeconds", seconds.to_string()));
    }
    if let Some(since) = typed.text("since-time") {
        let read: Result<jiff::Timestamp, _> = since.parse();
        let since = read.map_err(|_| {
            CliError::usage(format!("--since-time takes a time like {}, not {since:?}", session.clock.now()))
        })?;
        query.push(("sinceTime", kedge_kinds::time::seconds(since)));
    }
    if let Some(bytes) = typed.number("limit-bytes")? {
        query.push(("limitBytes", bytes.to_string()));
    }
    Ok(query)
}

async fn one(session: &Session<'_>, log: &Log) -> Result<(), CliError> {
    let mut lines = session.api().await?.follow(&log.path).await?;
    if log.prefix.is_empty() {
        while let Some(bytes) = lines.bytes().await? {
            session.screen.bytes(&bytes)?;
        }
        return Ok(());
    }
    while let Some(line) = lines.next().await? {
        session.screen.bytes(&[log.prefix.as_bytes(), &line, b"\n"].concat())?;
    }
    Ok(())
}

/// All at once, line by line.
async fn together(session: &Session<'_>, typed: &Typed, logs: &[Log]) -> Result<(), CliError> {
    if let [log] = logs {
        return one(session, log).await;
    }
    let most = typed.number("max-log-requests")?.unwrap_or(MOST);
    if i64::try_from(logs.len()).unwrap_or(i64::MAX) > most {
        return Err(CliError::unmet(format!(
            "you are attempting to follow {} log streams, but maximum allowed concurrency is {most}, use --max-log-requests to increase the limit",
            logs.len()
        )));
    }
    let api = session.api().await?;
    let mut open = FuturesUnordered::new();
    for log in logs {
        match api.follow(&log.path).await {
            Ok(lines) => open.push(next(log, lines)),
            Err(error @ CliError::Server(_)) if typed.is("ignore-errors") => error.say(session.screen),
            Err(error) => return Err(error),
        }
    }
    while let Some((log, lines, line)) = open.next().await {
        if let Some(line) = line? {
            session.screen.bytes(&[log.prefix.as_bytes(), &line, b"\n"].concat())?;
            open.push(next(log, lines));
        }
    }
    Ok(())
}

type Next<'l> = (&'l Log, Lines, Result<Option<bytes::BytesMut>, CliError>);

async fn next(log: &Log, mut lines: Lines) -> Next<'_> {
    let line = lines.next().await;
    (log, lines, line)
}
