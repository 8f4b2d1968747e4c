//! `api-resources` and `api-versions`: what the server has.

use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::error::CliError;
use crate::mapping::Resource;
use crate::print::table::{Widths, aligned};
use crate::session::Session;

const FLAGS: &[Flag] = &[
    value("api-group", "GROUP", "Of this group alone"),
    switch("namespaced", "Those in namespaces; =false those without"),
    value("verbs", "VERBS", "With which all of this can be done"),
    value("categories", "NAMES", "In all of these categories"),
    value("output", "FORMAT", "wide or name").or('o'),
    value("sort-by", "COLUMN", "name or kind"),
    switch("no-headers", "Leave the headings out"),
    switch("cached", "Taken and ignored: nothing is cached"),
];

pub(crate) static RESOURCES: Command = Command {
    name: "api-resources",
    about: "Show the kinds that the server has",
    examples: &["api-resources", "api-resources --namespaced=false -o wide"],
    flags: &[FLAGS],
    part: Part::Look,
    run: Some(|session, typed| Box::pin(resources(session, typed))),
    ..Command::EMPTY
};

pub(crate) static VERSIONS: Command = Command {
    name: "api-versions",
    about: "Show the groups and versions that the server has",
    part: Part::Look,
    run: Some(|session, typed| Box::pin(versions(session, typed))),
    ..Command::EMPTY
};

async fn resources(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    typed.no_words("unexpected arguments")?;
    let (verbs, categories) = (typed.list("verbs"), typed.list("categories"));
    let wanted = |known: &&Resource| {
        known.preferred
            && !known.verbs.is_empty()
            && typed.text("api-group").is_none_or(|group| known.group == group)
            && (!typed.given("namespaced") || known.namespaced == typed.is("namespaced"))
            && verbs.iter().all(|verb| known.can(verb))
            && categories.iter().all(|category| known.categories.contains(category))
    };
    let mut found: Vec<&Resource> = session.mapping().await?.resources.iter().filter(wanted).collect();
    match typed.text("sort-by") {
        None => found.sort_by(|a, b| (&a.group, &a.plural).cmp(&(&b.group, &b.plural))),
        Some("name") => found.sort_by(|a, b| a.plural.cmp(&b.plural)),
        Some("kind") => found.sort_by(|a, b| a.kind.cmp(&b.kind)),
        Some(_) => return Err(CliError::usage("--sort-by accepts only name or kind")),
    }
    let wide = match typed.text("output") {
        None => false,
        Some("wide") => true,
        Some("name") => {
            return found.iter().try_for_each(|known| session.screen.line(&known.qualified()));
        }
        Some(other) => {
            return Err(CliError::usage(format!(
                "--output {other} is not available\nThere are wide and name"
            )));
        }
    };
    let mut rows = Vec::new();
    if !typed.is("no-headers") {
        let mut headings = vec!["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"];
        if wide {
            headings.extend(["VERBS", "CATEGORIES"]);
        }
        rows.push(headings.into_iter().map(str::to_owned).collect());
    }
    for known in found {
        let mut row = vec![
            known.plural.clone(),
            known.short_names.join(","),
            known.api_version(),
            known.namespaced.to_string(),
            known.kind.clone(),
        ];
        if wide {
            row.extend([known.verbs.join(","), known.categories.join(",")]);
        }
        rows.push(row);
    }
    session.screen.say(&aligned(&rows, &mut Widths::default()))
}

async fn versions(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    typed.no_words("unexpected arguments")?;
    let known = session.mapping().await?.resources.iter();
    let mut versions: Vec<String> = known.map(Resource::api_version).collect();
    versions.sort();
    versions.dedup();
    versions.iter().try_for_each(|version| session.screen.line(version))
}
