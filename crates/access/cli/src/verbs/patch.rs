//! `patch`: sends a patch as it is.

use serde_json::Value;

use crate::args::{ALL, Command, FILES, Flag, LOCAL, OUTPUT, Part, SELECT, Typed, WRITE, value};
use crate::client::{JSON_PATCH, MERGE, STRATEGIC, with_all};
use crate::error::{CliError, why};
use crate::input;
use crate::merge::{Form, patched};
use crate::print::Output;
use crate::select;
use crate::session::{DryRun, Session};

const MANAGER: &str = "kubectl-patch";

const FLAGS: &[Flag] = &[
    value("patch", "PATCH", "The patch, JSON or YAML").or('p'),
    value("patch-file", "FILE", "A file with the patch"),
    value("type", "TYPE", "strategic, merge or json"),
    value("subresource", "NAME", "The part that is patched: status, scale"),
];

pub(crate) static COMMAND: Command = Command {
    name: "patch",
    about: "Change fields of objects with a patch",
    usage: "(-f FILE | KIND NAME) (-p PATCH | --patch-file FILE)",
    examples: &[
        r#"patch deployment web -p {"spec":{"replicas":2}}"#,
        r#"patch node n1 --type=json -p [{"op":"remove","path":"/spec/taints"}]"#,
    ],
    flags: &[FLAGS, FILES, LOCAL, OUTPUT, WRITE, SELECT, ALL],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let text = match (typed.text("patch"), typed.text("patch-file")) {
        (Some(text), None) if !text.is_empty() => text.to_owned(),
        (None, Some(path)) => std::fs::read_to_string(path).map_err(|error| {
            CliError::usage(format!("unable to read patch file: open {path}: {}", why(&error)))
        })?,
        (Some(_), None) | (None, None) => {
            return Err(CliError::usage(
                "must specify --patch or --patch-file containing the contents of the patch",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(CliError::usage("cannot specify --patch and --patch-file together"));
        }
    };
    let (form, media) = match typed.text("type").unwrap_or("strategic") {
        "strategic" => (Form::Strategic, STRATEGIC),
        "merge" => (Form::Merge, MERGE),
        "json" => (Form::Json, JSON_PATCH),
        other => {
            return Err(CliError::usage(format!(
                "--type must be one of [json merge strategic], not {other:?}"
            )));
        }
    };
    let patch = read(&text).map_err(|error| CliError::usage(format!("unable to parse {text:?}: {error}")))?;
    let output = Output::of(typed)?;
    for found in select::found(session, typed, &typed.words).await? {
        let mut path = found.path();
        if let Some(part) = typed.text("subresource") {
            path = format!("{path}/{part}");
        }
        let after = match session.dry_run()? {
            DryRun::Client => here(&found, &patch, form)?,
            _ if typed.is("local") => here(&found, &patch, form)?,
            DryRun::None | DryRun::Server => {
                let path = with_all(&path, &session.writing(MANAGER)?);
                session.api().await?.patch(&path, media, &patch).await?
            }
        };
        let same = match typed.is("local") {
            true => after == found.object,
            false => after["metadata"]["resourceVersion"] == found.object["metadata"]["resourceVersion"],
        };
        let changed = !same || session.dry_run()? != DryRun::None;
        output.done(
            session,
            found.resource,
            &after,
            if changed { "patched" } else { "patched (no change)" },
        )?;
    }
    Ok(())
}

/// What it becomes, without asking the server.
fn here(found: &select::Found<'_>, patch: &Value, form: Form) -> Result<Value, CliError> {
    let select::Found { resource, object, .. } = found;
    let schema = kedge_kinds::builtin().schema_of(&resource.group, &resource.version, &resource.kind);
    patched(object, patch, form, schema)
        .map_err(|wrong| CliError::unmet(format!("{} cannot be patched: {wrong}", found.told())))
}

/// JSON, or YAML with an object or a list of operations.
fn read(text: &str) -> Result<Value, CliError> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    // A list stands inside an object for the reader of manifests, which knows objects only.
    match text.trim_start().starts_with('-') {
        true => {
            let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
            let mut whole = input::read(&format!("patch:\n{indented}"), "the patch")?;
            Ok(whole["patch"].take())
        }
        false => input::read(text, "the patch"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn patches_are_json_or_yaml() {
        for (text, value) in [
            (r#"{"a":1}"#, json!({"a": 1})),
            ("a: 1", json!({"a": 1})),
            ("- op: remove\n  path: /a", json!([{"op": "remove", "path": "/a"}])),
        ] {
            assert_eq!(super::read(text).ok(), Some(value), "{text}");
        }
    }
}
