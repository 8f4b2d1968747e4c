//! `describe`: objects with what belongs to them and what happened to them, for people. What a page says is decided in `crate::describe`.

mod gather;

use crate::args::{Command, EVERYWHERE, FILES, Flag, Part, SELECT, Typed, switch, value};
use crate::describe::shown::{Now, local_zone};
use crate::describe::{describe, shown};
use crate::error::CliError;
use crate::select::{self, Found};
use crate::session::Session;

const FLAGS: &[Flag] = &[
    switch("show-events", "Show events too; on unless several objects are described"),
    value("chunk-size", "NUMBER", "Taken and ignored: everything is asked for at once"),
];

pub(crate) static COMMAND: Command = Command {
    name: "describe",
    about: "Show objects in detail, with their events",
    usage: "(KIND [NAME_PREFIX…] | KIND/NAME… | -l SELECTOR | -f FILE)",
    examples: &[
        "describe pod web-1",
        "describe nodes",
        "describe deploy/web svc/web",
        "describe pods -l app=web",
    ],
    flags: &[FLAGS, SELECT, EVERYWHERE, FILES],
    part: Part::Look,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let mut errors = Vec::new();
    let mut found = meant(session, typed, &mut errors).await?;
    // Pages of objects that were asked for stand apart; each that was found by its beginning ends with a line.
    let (mut between, mut end) = ("\n\n", "");
    if let ([CliError::Server(_)], true) = (errors.as_slice(), found.is_empty()) {
        let prefixed = prefixed(session, typed).await?;
        if !prefixed.is_empty() {
            errors.clear();
            found = prefixed;
            (between, end) = ("", "\n");
        }
    }
    if found.is_empty() && errors.is_empty() {
        match typed.is("all-namespaces") {
            true => session.screen.warn("No resources found"),
            false => {
                session.screen.warn(&format!("No resources found in {} namespace.", session.namespace()?))
            }
        }
    }
    let with_events = typed.is_or("show-events", found.len() == 1 && errors.is_empty() && end.is_empty());
    let now = Now { at: session.clock.now(), zone: local_zone() };
    let mut first = true;
    for one in &found {
        match page(session, one, with_events, &now).await {
            Ok(page) => {
                let before = if first { "" } else { between };
                first = false;
                session.screen.say(&format!("{before}{page}{end}"))?;
            }
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        0 => Ok(()),
        _ => Err(CliError::Several(errors)),
    }
}

async fn page(
    session: &Session<'_>,
    one: &Found<'_>,
    with_events: bool,
    now: &Now,
) -> Result<String, CliError> {
    let api = session.api().await?;
    let related = gather::related(api, &one.object).await?;
    // Who may not see events still sees the object.
    let events = match with_events {
        true => gather::events(api, &one.object).await.ok(),
        false => None,
    };
    Ok(describe(&one.object, &related, events.as_deref(), now))
}

/// What was asked for and is there; what is not, beside it.
async fn meant<'m>(
    session: &'m Session<'_>,
    typed: &Typed,
    errors: &mut Vec<CliError>,
) -> Result<Vec<Found<'m>>, CliError> {
    if crate::input::named(typed) {
        return select::found(session, typed, &typed.words).await;
    }
    if typed.words.is_empty() {
        return Err(CliError::usage(format!(
            "You must specify the type of resource to describe. Use \"{} api-resources\" for a complete list of supported resources.",
            session.program
        )));
    }
    let mapping = session.mapping().await?;
    let namespace = session.namespace()?;
    let everywhere = typed.is("all-namespaces");
    let mut found = Vec::new();
    for asked in select::asked(mapping, &typed.words)? {
        if asked.names.is_empty() {
            let scope = (!everywhere).then_some(&*namespace);
            found.extend(select::listed(session, typed, asked.resource, scope).await?);
        }
        if !asked.names.is_empty() && (typed.given("selector") || typed.given("field-selector")) {
            return Err(CliError::usage("name cannot be provided when a selector is specified"));
        }
        if !asked.names.is_empty() && everywhere && asked.resource.namespaced {
            return Err(CliError::usage("a resource cannot be retrieved by name across all namespaces"));
        }
        for name in asked.names {
            match session.read(&asked.resource.path(&namespace, &name)).await {
                Ok(object) => {
                    found.push(Found {
                        resource: asked.resource,
                        namespace: namespace.clone(),
                        name,
                        object,
                    });
                }
                Err(error) => errors.push(error),
            }
        }
    }
    Ok(found)
}

/// Those whose names begin with what was typed, if nothing is called just so.
async fn prefixed<'m>(session: &'m Session<'_>, typed: &Typed) -> Result<Vec<Found<'m>>, CliError> {
    let [kind, prefix] = typed.words.as_slice() else { return Ok(Vec::new()) };
    let resource = session.mapping().await?.find(kind)?;
    let namespace = session.namespace()?;
    let mut found = select::listed(session, typed, resource, Some(&namespace)).await?;
    found.retain(|one| shown::text(&one.object["metadata"]["name"]).starts_with(&**prefix));
    Ok(found)
}
