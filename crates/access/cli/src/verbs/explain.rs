//! `explain`: what a kind and its fields are, from the server's own OpenAPI document.

mod schema;

use serde_json::Value;

use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::error::CliError;
use crate::mapping::Resource;
use crate::session::Session;

const FLAGS: &[Flag] = &[
    switch("recursive", "All fields and those below them, by name").or('R'),
    value("api-version", "GROUP/VERSION", "This version of the kind"),
    value("output", "FORMAT", "plaintext, or plaintext-openapiv2 without the names of structs").or('o'),
];

pub(crate) static COMMAND: Command = Command {
    name: "explain",
    about: "Say what a kind and its fields are",
    usage: "KIND[.FIELD…]",
    examples: &["explain pods", "explain deployment.spec.strategy", "explain pod --recursive"],
    flags: &[FLAGS],
    part: Part::Look,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let word = match &typed.words[..] {
        [word] => word,
        [] => {
            return Err(CliError::usage(format!(
                "You must specify the type of resource to explain. Use \"{} api-resources\" for a complete list of supported resources.",
                session.program
            )));
        }
        _ => return Err(typed.wrong("We accept only this format: explain RESOURCE")),
    };
    if let Some(form) = typed.text("output").filter(|form| !form.starts_with("plaintext")) {
        return Err(typed.wrong(format!("unrecognized format: {form}")));
    }
    let (document, resource, path) = described(session, word, typed.text("api-version")).await?;
    let page = schema::Page::of(&document, resource)?;
    session.screen.say(&page.heading())?;
    let plain = typed.text("output") == Some("plaintext-openapiv2");
    session.screen.say(&page.body(&path, typed.is("recursive"), plain)?)
}

/// The names of the fields that a kind, or a field of it, has.
pub(super) async fn fields(session: &Session<'_>, word: &str) -> Result<Vec<String>, CliError> {
    let (document, resource, path) = described(session, word, None).await?;
    schema::Page::of(&document, resource)?.names(&path)
}

/// What the server says of a kind's group, the kind, and the path of fields that the word goes on with.
async fn described<'s, 'w>(
    session: &'s Session<'_>,
    word: &'w str,
    version: Option<&str>,
) -> Result<(Value, &'s Resource, Vec<&'w str>), CliError> {
    let mapping = session.mapping().await?;
    let mut parts: Vec<&str> = word.trim_end_matches('.').split('.').collect();
    // A group has dots too: the longest beginning that means a kind is the kind.
    let known = (1..=parts.len()).rev().find_map(|length| {
        let kind = parts.get(..length)?.join(".");
        mapping.matching(&kind).map(|found| (found, length))
    });
    let (mut resource, length) = match known {
        // A field may look like a group, and `pods.spec` is not a kind of group `spec`.
        Some((found, length))
            if length == 1
                || found.group.starts_with(&parts.get(1..length).unwrap_or_default().join(".")) =>
        {
            (found, length)
        }
        _ => (mapping.find(parts.first().copied().unwrap_or_default())?, 1),
    };
    parts.drain(..length);
    if let Some(version) = version {
        resource = mapping.of_kind(version, &resource.kind).ok_or_else(|| {
            CliError::unmet(format!(
                "couldn't find resource for \"/{version}, Resource={}\"",
                resource.plural
            ))
        })?;
    }
    let path = match resource.group.is_empty() {
        true => format!("/openapi/v3/api/{}", resource.version),
        false => format!("/openapi/v3/apis/{}/{}", resource.group, resource.version),
    };
    Ok((session.read(&path).await?, resource, parts))
}
