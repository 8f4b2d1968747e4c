//! `auth`: who we are and what we may do.

mod reconcile;
mod rules;

use serde_json::{Value, json};

use crate::args::{Command, EVERYWHERE, Flag, OUTPUT, Part, Typed, switch, value};
use crate::describe::access::{HEADINGS, rows};
use crate::error::CliError;
use crate::print::Output;
use crate::print::table::{Widths, aligned};
use crate::session::Session;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

pub(crate) static COMMAND: Command = Command {
    name: "auth",
    about: "Show who you are and what you may do, or say who may do what",
    children: &[&CAN_I, &reconcile::COMMAND, &WHO_AM_I],
    part: Part::Setup,
    ..Command::EMPTY
};

const FLAGS: &[Flag] = &[
    switch("list", "Everything that you may do in the namespace"),
    switch("quiet", "Answer with the exit code alone").or('q'),
    value("subresource", "NAME", "This part of it: log, exec, scale"),
    switch("no-headers", "Leave the headings out"),
];

static CAN_I: Command = Command {
    name: "can-i",
    about: "Ask whether something is allowed",
    usage: "VERB (KIND | KIND/NAME | /PATH) | --list",
    examples: &["auth can-i create pods", "auth can-i get pods/log -n shop", "auth can-i --list"],
    flags: &[FLAGS, EVERYWHERE],
    run: Some(|session, typed| Box::pin(can_i(session, typed))),
    ..Command::EMPTY
};

static WHO_AM_I: Command = Command {
    name: "whoami",
    about: "Show who the server takes you for",
    flags: &[OUTPUT],
    run: Some(|session, typed| Box::pin(who_am_i(session, typed))),
    ..Command::EMPTY
};

async fn can_i(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if typed.is("list") {
        return list(session, typed).await;
    }
    let (verb, what, rest) = match &typed.words[..] {
        [verb, what] => (verb, what, None),
        [verb, what, name] if !what.contains('/') => (verb, what, Some(name)),
        _ => {
            return Err(
                typed.wrong("you must specify two arguments: verb resource or verb resource/resourceName.")
            );
        }
    };
    if what.starts_with('/') && typed.given("subresource") {
        return Err(CliError::usage("--subresource can not be used with NonResourceURL"));
    }
    let spec = match what.starts_with('/') {
        true => json!({"nonResourceAttributes": {"verb": verb, "path": what}}),
        false => {
            let (word, name) = match (what.split_once('/'), rest) {
                (Some((word, name)), _) => (word, name),
                (None, Some(name)) => (what.as_str(), name.as_str()),
                (None, None) => (what.as_str(), ""),
            };
            let found = session.mapping().await?.matching(word);
            if found.is_none() && word != "*" {
                session.screen.warn(&format!("Warning: the server doesn't have a resource type '{word}'"));
            }
            if let Some(found) = found.filter(|found| !found.namespaced && !typed.is("all-namespaces")) {
                let group = if found.group.is_empty() {
                    String::new()
                } else {
                    format!(" in group '{}'", found.group)
                };
                session
                    .screen
                    .warn(&format!("Warning: resource '{}' is not namespace scoped{group}\n", found.plural));
            }
            let namespace = if typed.is("all-namespaces") { String::new() } else { session.namespace()? };
            json!({"resourceAttributes": {
                "verb": verb, "namespace": namespace, "name": name,
                "group": found.map_or("", |found| &found.group),
                "resource": found.map_or(word, |found| &found.plural),
                "subresource": typed.text("subresource").unwrap_or_default(),
            }})
        }
    };
    let review =
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
    let answer = session.api().await?.post(&format!("{REVIEWS}/selfsubjectaccessreviews"), &review).await?;
    let status = &answer["status"];
    let allowed = status["allowed"] == json!(true);
    if !typed.is("quiet") {
        let mut said = if allowed { "yes" } else { "no" }.to_owned();
        for key in ["reason", "evaluationError"] {
            if let Some(why) = status[key].as_str().filter(|why| !why.is_empty() && !allowed) {
                said.push_str(&format!(" - {why}"));
            }
        }
        session.screen.line(&said)?;
    }
    if allowed { Ok(()) } else { Err(CliError::Exit(1)) }
}

async fn list(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if !typed.words.is_empty() {
        return Err(CliError::usage("list option must be specified with no arguments"));
    }
    if typed.is("quiet") || typed.is("all-namespaces") || typed.given("subresource") {
        return Err(CliError::usage(
            "list option can't be specified with neither quiet, all-namespaces nor subresource options",
        ));
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": session.namespace()?},
    });
    let answer = session.api().await?.post(&format!("{REVIEWS}/selfsubjectrulesreviews"), &review).await?;
    let status = &answer["status"];
    if status["incomplete"] == true {
        let why = status["evaluationError"].as_str().unwrap_or_default();
        session.screen.warn(&format!("Warning: the list may be incomplete: {why}"));
    }
    let kinds = ["resourceRules", "nonResourceRules"];
    let rules = kinds.into_iter().filter_map(|kind| status[kind].as_array()).flatten();
    let mut lines: Vec<Vec<String>> = rows(rules).into_iter().map(Vec::from).collect();
    if !typed.is("no-headers") {
        lines.insert(0, HEADINGS.map(str::to_owned).to_vec());
    }
    session.screen.say(&aligned(&lines, &mut Widths::default()))
}

async fn who_am_i(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = session.api().await?.post(path, &review).await?;
    let output = Output::of(typed)?;
    if !output.is_human() {
        return session.screen.say(&output.object(&answer)?);
    }
    let user = &answer["status"]["userInfo"];
    let list = |value: &Value| {
        let words: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        format!("[{}]", words.join(" "))
    };
    let mut rows = vec![("ATTRIBUTE".to_owned(), "VALUE".to_owned())];
    if let Some(name) = user["username"].as_str() {
        rows.push(("Username".to_owned(), name.to_owned()));
    }
    if let Some(uid) = user["uid"].as_str().filter(|uid| !uid.is_empty()) {
        rows.push(("UID".to_owned(), uid.to_owned()));
    }
    if user["groups"].is_array() {
        rows.push(("Groups".to_owned(), list(&user["groups"])));
    }
    for (key, value) in user["extra"].as_object().into_iter().flatten() {
        rows.push((format!("Extra: {key}"), list(value)));
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(key, value)| vec![key, value]).collect();
    session.screen.say(&aligned(&rows, &mut Widths::default()))
}
