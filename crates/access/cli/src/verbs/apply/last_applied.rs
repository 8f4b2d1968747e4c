//! `apply view-last-applied`, `set-last-applied` and `edit-last-applied`: what was applied last, as the objects' annotations keep it.

use serde_json::{Value, json};

use super::MANAGER;
use crate::args::{Command, FILES, Flag, OUTPUT, SELECT, Typed, WRITE, optional, switch, value};
use crate::client::{MERGE, with_all};
use crate::error::CliError;
use crate::input;
use crate::print::Output;
use crate::select::{self, Found};
use crate::session::{DryRun, Session};
use crate::verbs::create::{LAST_APPLIED, remember};
use crate::verbs::edit::{self, Aim, Open};

pub(super) static VIEW: Command = Command {
    name: "view-last-applied",
    about: "Show what was applied last",
    usage: "(KIND NAME | KIND/NAME | -f FILE)",
    flags: &[FILES, SELECT, OUTPUT],
    run: Some(|session, typed| Box::pin(view(session, typed))),
    ..Command::EMPTY
};

pub(super) static SET: Command = Command {
    name: "set-last-applied",
    about: "Say that a manifest is what was applied last, without applying it",
    usage: "-f FILE",
    flags: &[FILES, OUTPUT, WRITE, &[switch("create-annotation", "Also where there was none")]],
    run: Some(|session, typed| Box::pin(set(session, typed))),
    ..Command::EMPTY
};

const EDIT_FLAGS: &[Flag] = &[
    value("field-manager", "NAME", "Whose the annotation is"),
    optional("validate", "strict", "What becomes of unknown fields: strict, warn or ignore"),
];

pub(super) static EDIT: Command = Command {
    name: "edit-last-applied",
    about: "Change what was applied last in your editor, without applying it",
    usage: "(KIND [NAME…] | KIND/NAME… | -f FILE)",
    examples: &["apply edit-last-applied deployment/web", "apply edit-last-applied -f web.yaml -o json"],
    flags: &[FILES, OUTPUT, EDIT_FLAGS],
    run: Some(|session, typed| Box::pin(edit(session, typed))),
    ..Command::EMPTY
};

/// What was applied last to an object, if that is known.
fn said(found: &Found<'_>) -> Result<Option<Value>, CliError> {
    let said = found.object["metadata"]["annotations"][LAST_APPLIED].as_str();
    said.map(serde_json::from_str)
        .transpose()
        .map_err(|error| CliError::Manifest { what: found.told(), message: error.to_string() })
}

async fn view(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let json = match typed.text("output") {
        None | Some("yaml") => false,
        Some("json") => true,
        Some(other) => {
            return Err(typed.wrong(format!(
                "Unexpected -o output mode: {other}, the flag 'output' must be one of yaml|json"
            )));
        }
    };
    for found in select::found(session, typed, &typed.words).await? {
        let said = said(&found)?.ok_or_else(|| {
            CliError::unmet(format!(
                "no last-applied-configuration annotation found on resource: {}",
                found.name
            ))
        })?;
        let text = if json { crate::print::json_text(&said) } else { crate::print::yaml::text(&said) };
        session.screen.say(&text)?;
    }
    Ok(())
}

async fn set(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let output = Output::of(typed)?;
    if !input::named(typed) {
        return Err(CliError::usage("must specify one of -f and -k"));
    }
    for mut manifest in input::manifests(typed)? {
        let (resource, namespace, name) = select::placed(session, &manifest).await?;
        let path = resource.path(&namespace, &name);
        let live = session.read(&path).await?;
        if live["metadata"]["annotations"][LAST_APPLIED].is_null() && !typed.is("create-annotation") {
            return Err(CliError::unmet(format!(
                "no last-applied-configuration annotation found on resource: {name}, to create the annotation, run the command with \
                 --create-annotation"
            )));
        }
        if resource.namespaced {
            manifest["metadata"]["namespace"] = namespace.into();
        }
        remember(&mut manifest);
        let said = &manifest["metadata"]["annotations"][LAST_APPLIED];
        let patch = json!({"metadata": {"annotations": {LAST_APPLIED: said}}});
        let object = match session.dry_run()? {
            DryRun::Client => manifest,
            _ => {
                session
                    .api()
                    .await?
                    .patch(&with_all(&path, &session.writing(MANAGER)?), MERGE, &patch)
                    .await?
            }
        };
        output.done(session, resource, &object, "configured")?;
    }
    Ok(())
}

async fn edit(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let mut open = Vec::new();
    for found in select::found_or_all(session, typed, &typed.words).await? {
        if let Some(before) = said(&found)? {
            open.push(Open { resource: found.resource, path: found.path(), name: found.name, before });
        }
    }
    if open.is_empty() {
        return Err(CliError::unmet(format!(
            "no last-applied-configuration annotation found on resources, to create the annotation, use command `{} apply \
             set-last-applied --create-annotation`",
            session.program
        )));
    }
    edit::until_done(session, typed, Aim::LastApplied, open).await
}
