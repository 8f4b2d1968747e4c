//! `get`: objects as tables of the server's making, or in the form that `-o` names; once, or for as long as they change.

mod fetch;
mod sort;
mod watch;

use http::Method;
use serde_json::Value;

use crate::args::{Command, EVERYWHERE, FILES, Flag, OUTPUT, Part, SELECT, Typed, switch, value};
use crate::error::CliError;
use crate::input;
use crate::print::table::{Shape, Widths, aligned, rows};
use crate::print::{self, Output};
use crate::session::Session;

const FLAGS: &[Flag] = &[
    switch("watch", "Go on showing changes").or('w'),
    switch("watch-only", "Show changes only"),
    switch("output-watch-events", "Say what happened to each"),
    value("sort-by", "PATH", "Sort by this field: .metadata.creationTimestamp"),
    switch("show-labels", "Show all labels in the last column"),
    value("label-columns", "LABELS", "Show these labels in columns of their own").or('L'),
    switch("no-headers", "Leave the headings out"),
    switch("show-kind", "Put the kind before each name"),
    switch("ignore-not-found", "Say nothing if it isn't there"),
    value("chunk-size", "NUMBER", "Ask for this many at a time; 0 is all at once"),
    value("subresource", "NAME", "Get this part of it: status, scale"),
    value("raw", "PATH", "Get this path of the API as it is"),
    switch("server-print", "Taken: tables always come from the server"),
];

pub(crate) static COMMAND: Command = Command {
    name: "get",
    about: "Show objects",
    usage: "(KIND [NAME…] | KIND/NAME… | -f FILE)",
    examples: &[
        "get pods",
        "get pods,services -A -o wide",
        "get deployment web -o yaml",
        "get pods -l app=web -w",
        "get pods -o jsonpath='{.items[*].metadata.name}'",
        "get nodes --sort-by=.metadata.creationTimestamp",
    ],
    flags: &[FLAGS, OUTPUT, SELECT, EVERYWHERE, FILES],
    part: Part::Look,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if let Some(path) = typed.text("raw") {
        alone(typed)?;
        let answer = session.api().await?.raw(Method::GET, path, bytes::Bytes::new()).await?;
        return session.screen.bytes(&answer);
    }
    if typed.words.is_empty() && !input::named(typed) {
        session.screen.warn(&format!(
            "You must specify the type of resource to get. Use \"{} api-resources\" for a complete list of supported resources.\n",
            session.program
        ));
        return Err(typed.wrong(format!(
            "Required resource not specified.\nUse \"{} explain <resource>\" for a detailed description of that resource (e.g. {} explain pods).",
            session.program, session.program
        )));
    }
    let output = Output::of(typed)?;
    if let Some(form) = typed.text("output").filter(|_| typed.is("show-labels") && !output.is_human()) {
        return Err(CliError::usage(format!("--show-labels option cannot be used with {form} printer")));
    }
    let asked = fetch::asked(session, typed).await?;
    if typed.is("watch") || typed.is("watch-only") {
        return watch::run(session, typed, &output, &asked).await;
    }
    match &output {
        Output::Human { wide } => tables(session, typed, *wide, &asked).await,
        other => objects(session, typed, other, &asked).await,
    }
}

/// Nothing that would change the answer may stand beside `--raw`.
fn alone(typed: &Typed) -> Result<(), CliError> {
    if !typed.words.is_empty() {
        return Err(CliError::usage("arguments may not be passed when --raw is specified"));
    }
    if typed.given("output") {
        return Err(CliError::usage("--raw and --output are mutually exclusive"));
    }
    let others =
        ["watch", "watch-only", "selector", "field-selector", "filename", "label-columns", "sort-by"];
    match others.into_iter().any(|flag| typed.given(flag)) {
        true => Err(CliError::usage(
            "--raw may not be specified with other flags that filter the server request or alter the output",
        )),
        false => Ok(()),
    }
}

async fn tables(
    session: &Session<'_>,
    typed: &Typed,
    wide: bool,
    asked: &[fetch::Query<'_>],
) -> Result<(), CliError> {
    let mut errors = Vec::new();
    let mut tables: Vec<fetch::Table<'_>> = Vec::new();
    for query in asked {
        match fetch::table(session, typed, query).await {
            Ok(table) => match tables.last_mut() {
                // Several names of one kind make one table.
                Some(last) if last.resource == table.resource => last.rows.extend(table.rows),
                _ => tables.push(table),
            },
            Err(error) if error.is_not_found() && typed.is("ignore-not-found") => {}
            Err(error) => errors.push(error),
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    let several = typed.is("show-kind") || fetch::several(asked);
    let labels = typed.list("label-columns");
    for (place, table) in tables.iter_mut().enumerate() {
        if let Some(path) = typed.text("sort-by") {
            sort::rows(&mut table.rows, path)?;
        }
        if place > 0 && !typed.is("no-headers") {
            session.screen.say("\n")?;
        }
        let shape = Shape {
            wide,
            headings: !typed.is("no-headers"),
            namespace: typed.is("all-namespaces") && table.resource.namespaced,
            prefix: if several { format!("{}/", table.resource.told()) } else { String::new() },
            labels: typed.is("show-labels"),
            label_columns: &labels,
            event: None,
        };
        let lines = rows(&table.columns, &table.rows, &shape);
        session.screen.say(&aligned(&lines, &mut Widths::default()))?;
    }
    match errors.is_empty() {
        true if tables.is_empty() && !typed.is("ignore-not-found") => nothing(session, typed, asked),
        true => Ok(()),
        false => Err(CliError::Several(errors)),
    }
}

fn nothing(session: &Session<'_>, typed: &Typed, asked: &[fetch::Query<'_>]) -> Result<(), CliError> {
    let somewhere = asked.iter().all(|query| query.resource.namespaced) && !typed.is("all-namespaces");
    session.screen.warn(&match somewhere {
        true => format!("No resources found in {} namespace.", session.namespace()?),
        false => "No resources found".to_owned(),
    });
    Ok(())
}

async fn objects(
    session: &Session<'_>,
    typed: &Typed,
    output: &Output,
    asked: &[fetch::Query<'_>],
) -> Result<(), CliError> {
    let mut errors = Vec::new();
    let mut found = Vec::new();
    let mut single = asked.len() == 1;
    for query in asked {
        single &= query.name.is_some();
        match fetch::objects(session, typed, query).await {
            Ok(objects) => found.extend(objects.into_iter().map(|object| (query.resource, object))),
            Err(error) if error.is_not_found() && typed.is("ignore-not-found") => {}
            Err(error) => errors.push(error),
        }
    }
    if let Some(path) = typed.text("sort-by") {
        sort::objects(&mut found, path)?;
    }
    if single && found.is_empty() {
        return if errors.is_empty() { Ok(()) } else { Err(CliError::Several(errors)) };
    }
    match output {
        Output::Name => {
            for (resource, object) in &found {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                session.screen.line(&format!("{}/{name}", resource.told()))?;
            }
        }
        Output::Columns(columns) => {
            let objects: Vec<Value> = found.into_iter().map(|(_, object)| object).collect();
            session.screen.say(&columns.table(&objects, !typed.is("no-headers"))?)?;
        }
        other => {
            let mut objects: Vec<Value> =
                found.iter().map(|(_, object)| print::shown(object, typed)).collect();
            let whole = match single {
                true => objects.swap_remove(0),
                false => print::list(objects),
            };
            session.screen.say(&other.object(&whole)?)?;
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(CliError::Several(errors)) }
}
