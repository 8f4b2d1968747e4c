//! `config`: shows and changes kubeconfig files. Asks no server anything.

mod file;
mod write;

use serde_json::{Value, json};

use self::file::Files;
use crate::args::{Command, Flag, OUTPUT, Part, Typed, switch, value};
use crate::error::CliError;
use crate::print::Output;
use crate::print::table::{Widths, aligned};
use crate::session::Session;

pub(crate) static COMMAND: Command = Command {
    name: "config",
    about: "Show and change kubeconfig files",
    children: &[
        &CURRENT,
        &write::DELETE_CLUSTER,
        &write::DELETE_CONTEXT,
        &write::DELETE_USER,
        &CLUSTERS,
        &CONTEXTS,
        &USERS,
        &write::RENAME_CONTEXT,
        &write::SET,
        &write::SET_CLUSTER,
        &write::SET_CONTEXT,
        &write::SET_CREDENTIALS,
        &write::UNSET,
        &write::USE_CONTEXT,
        &VIEW,
    ],
    part: Part::Setup,
    ..Command::EMPTY
};

const VIEW_FLAGS: &[Flag] = &[
    switch("minify", "Only what the current context uses"),
    switch("flatten", "Put files that are named into it"),
    switch("raw", "Show certificates, keys and tokens too"),
    switch("merge", "Taken: all files are always taken together"),
];

static VIEW: Command = Command {
    name: "view",
    about: "Show all kubeconfig files as one",
    examples: &["config view --minify"],
    flags: &[VIEW_FLAGS, OUTPUT],
    run: Some(|session, typed| Box::pin(async { view(session, typed) })),
    ..Command::EMPTY
};

static CURRENT: Command = Command {
    name: "current-context",
    about: "Show the current context",
    run: Some(|session, _| {
        Box::pin(async {
            let config = Files::read(session)?.merged();
            match config["current-context"].as_str().filter(|name| !name.is_empty()) {
                Some(name) => session.screen.line(name),
                None => Err(CliError::unmet("current-context is not set")),
            }
        })
    }),
    ..Command::EMPTY
};

static CONTEXTS: Command = Command {
    name: "get-contexts",
    about: "Show the contexts",
    usage: "[NAME…]",
    flags: &[&[switch("no-headers", "Leave the headings out"), value("output", "FORMAT", "name").or('o')]],
    run: Some(|session, typed| Box::pin(async { contexts(session, typed) })),
    ..Command::EMPTY
};

static CLUSTERS: Command = Command {
    name: "get-clusters",
    about: "Show the clusters",
    run: Some(|session, _| Box::pin(async { names(session, "clusters") })),
    ..Command::EMPTY
};

static USERS: Command = Command {
    name: "get-users",
    about: "Show the users",
    run: Some(|session, _| Box::pin(async { names(session, "users") })),
    ..Command::EMPTY
};

fn names(session: &Session<'_>, list: &str) -> Result<(), CliError> {
    let config = Files::read(session)?.merged();
    let mut known: Vec<&str> = entries(&config, list).filter_map(|entry| entry["name"].as_str()).collect();
    known.sort_unstable();
    session.screen.line("NAME")?;
    known.into_iter().try_for_each(|name| session.screen.line(name))
}

/// The entries of `clusters`, `contexts` or `users`.
fn entries<'c>(config: &'c Value, list: &str) -> impl Iterator<Item = &'c Value> + use<'c> {
    config[list].as_array().into_iter().flatten()
}

fn contexts(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let config = Files::read(session)?.merged();
    let current = config["current-context"].as_str().unwrap_or_default();
    let by_name = typed.text("output") == Some("name");
    if let Some(form) = typed.text("output").filter(|form| !by_name && !form.is_empty()) {
        return Err(CliError::usage(format!(
            "--output {form} is not available in kubectl config get-contexts; resetting to default output format"
        )));
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    if !by_name && !typed.is("no-headers") {
        rows.push(["CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE"].map(str::to_owned).to_vec());
    }
    let mut known: Vec<&Value> = entries(&config, "contexts").collect();
    known.sort_by_key(|entry| entry["name"].as_str().unwrap_or_default());
    for wanted in &typed.words {
        if known.iter().all(|entry| entry["name"] != **wanted) {
            return Err(CliError::unmet(format!("context {wanted} not found")));
        }
    }
    for entry in known {
        let name = entry["name"].as_str().unwrap_or_default();
        if !typed.words.is_empty() && !typed.words.iter().any(|wanted| wanted == name) {
            continue;
        }
        let text = |key: &str| entry["context"][key].as_str().unwrap_or_default().to_owned();
        rows.push(match by_name {
            true => vec![name.to_owned()],
            false => {
                let mark = if name == current { "*" } else { "" };
                vec![mark.to_owned(), name.to_owned(), text("cluster"), text("user"), text("namespace")]
            }
        });
    }
    session.screen.say(&aligned(&rows, &mut Widths::default()))
}

fn view(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    typed.no_words("unexpected arguments")?;
    let mut config = Files::read(session)?.merged();
    if typed.is("minify") {
        minify(&mut config, typed.text("context"))?;
    }
    if typed.is("flatten") {
        write::embed(&mut config)?;
    }
    if !typed.is("raw") && !typed.is("flatten") {
        redact(&mut config);
    }
    let output = match Output::of(typed)? {
        Output::Human { .. } => Output::Yaml,
        other => other,
    };
    session.screen.say(&output.object(&config)?)
}

fn minify(config: &mut Value, named: Option<&str>) -> Result<(), CliError> {
    let current = named.or(config["current-context"].as_str()).unwrap_or_default().to_owned();
    let context = entries(config, "contexts").find(|entry| entry["name"] == *current).cloned();
    let context = context.ok_or_else(|| {
        CliError::unmet(match named {
            Some(named) => format!("cannot locate context {named}"),
            None => "current-context must exist in order to minify".to_owned(),
        })
    })?;
    for (list, name) in [
        ("contexts", json!(current)),
        ("clusters", context["context"]["cluster"].clone()),
        ("users", context["context"]["user"].clone()),
    ] {
        if let Some(entries) = config[list].as_array_mut() {
            entries.retain(|entry| entry["name"] == name);
        }
    }
    config["current-context"] = current.into();
    Ok(())
}

/// What opens doors is not shown by accident.
fn redact(config: &mut Value) {
    for (list, inner, key, word) in [
        ("clusters", "cluster", "certificate-authority-data", "DATA+OMITTED"),
        ("users", "user", "client-certificate-data", "DATA+OMITTED"),
        ("users", "user", "client-key-data", "DATA+OMITTED"),
        ("users", "user", "token", "REDACTED"),
        ("users", "user", "password", "REDACTED"),
    ] {
        for entry in config[list].as_array_mut().into_iter().flatten() {
            if !entry[inner][key].is_null() {
                entry[inner][key] = word.into();
            }
        }
    }
}
