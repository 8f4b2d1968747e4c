//! `diff`: what `apply` would change, as the server sees it, shown by `diff` or the program that `KUBECTL_EXTERNAL_DIFF` names.

use std::path::Path;

use serde_json::{Value, json};

use crate::args::{Command, FILES, Flag, Part, SELECT, Typed, switch, value};
use crate::client::{APPLY, MERGE, with_all};
use crate::error::CliError;
use crate::input;
use crate::merge::{difference, has_list};
use crate::print::{shown, yaml};
use crate::select;
use crate::session::Session;
use crate::verbs::apply::merged;
use crate::verbs::create::LAST_APPLIED;

const FLAGS: &[Flag] = &[
    switch("server-side", "As apply --server-side would"),
    switch("force-conflicts", "Take fields from whoever else has them (server side)"),
    value("field-manager", "NAME", "Whose the fields would be"),
    switch("show-managed-fields", "Compare metadata.managedFields too"),
    switch("prune", "Taken and ignored"),
    value("concurrency", "NUMBER", "Taken and ignored"),
];

pub(crate) static COMMAND: Command = Command {
    name: "diff",
    about: "Show what apply would change",
    usage: "-f FILE",
    examples: &["diff -f web.yaml"],
    flags: &[FLAGS, FILES, SELECT],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// Whoever asks by the exit code takes 1 for a difference, so what goes wrong is more than that.
async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    match compare(session, typed).await {
        Err(error) if !matches!(error, CliError::Exit(_)) => {
            error.say(session.screen);
            Err(CliError::Exit(2))
        }
        done => done,
    }
}

async fn compare(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    typed.no_words("Unexpected args")?;
    if !input::named(typed) {
        return Err(CliError::usage("must specify one of -f and -k"));
    }
    let wrong = |source| CliError::Io { what: "make a folder to compare in".to_owned(), source };
    let live_folder = tempfile::Builder::new().prefix("LIVE-").tempdir().map_err(wrong)?;
    let merged_folder = tempfile::Builder::new().prefix("MERGED-").tempdir().map_err(wrong)?;
    for (source, manifest) in input::sourced(typed)? {
        let compared = compared(session, typed, manifest).await;
        let (name, live, after) = compared.map_err(|error| error.from(&source))?;
        let write = |folder: &Path, object: &Value| match object.is_null() {
            true => Ok(()),
            false => std::fs::write(folder.join(&name), yaml::text(&shown(object, typed))).map_err(wrong),
        };
        let (live, after) = masked(live, after);
        write(live_folder.path(), &live)?;
        write(merged_folder.path(), &after)?;
    }
    show(live_folder.path(), merged_folder.path())
}

/// The file's name, the object as it is and as it would be.
async fn compared(
    session: &Session<'_>,
    typed: &Typed,
    mut manifest: Value,
) -> Result<(String, Value, Value), CliError> {
    let (resource, namespace, name) = select::placed(session, &manifest).await?;
    if resource.namespaced {
        manifest["metadata"]["namespace"] = namespace.clone().into();
    }
    let path = resource.path(&namespace, &name);
    let live = match session.read(&path).await {
        Ok(live) => live,
        Err(error) if error.is_not_found() => Value::Null,
        Err(error) => return Err(error),
    };
    let file = [
        &*resource.group,
        &resource.version,
        &resource.kind,
        if resource.namespaced { &namespace } else { "" },
        &name,
    ];
    let file = file.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    let mut parameters = session.writing("kubectl-client-side-apply")?;
    parameters.push(("dryRun", "All".to_owned()));
    let api = session.api().await?;
    let after = if typed.is("server-side") {
        parameters.push(("force", typed.is("force-conflicts").to_string()));
        api.patch(&with_all(&path, &parameters), APPLY, &manifest).await?
    } else if live.is_null() {
        api.post(&with_all(&resource.collection(Some(&namespace)), &parameters), &manifest).await?
    } else {
        // The note of what was applied is no difference that anybody asks for: it stays as it is, among annotations that are as last.
        let annotations = crate::change::object_at(&mut manifest["metadata"], "annotations");
        let _former = annotations.as_object_mut().and_then(|annotations| annotations.remove(LAST_APPLIED));
        match difference(&live, &merged(resource, &manifest, &live)) {
            None => live.clone(),
            Some(mut patch) => {
                if has_list(&patch) {
                    patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
                }
                api.patch(&with_all(&path, &parameters), MERGE, &patch).await?
            }
        }
    };
    Ok((file, live, after))
}

/// A secret's values are never shown; only whether they differ.
fn masked(mut live: Value, mut after: Value) -> (Value, Value) {
    if after["kind"] == "Secret" {
        for map in ["data", "stringData"] {
            let keys: Vec<String> = [&live, &after]
                .iter()
                .filter_map(|object| object[map].as_object())
                .flat_map(|values| values.keys().cloned())
                .collect();
            for key in keys {
                let same = live[map][&key] == after[map][&key];
                for (object, word) in [(&mut live, "before"), (&mut after, "after")] {
                    if !object[map][&key].is_null() {
                        object[map][&key] = if same { json!("***") } else { json!(format!("*** ({word})")) };
                    }
                }
            }
        }
        // What was applied last has the values in it as well.
        for object in [&mut live, &mut after] {
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.remove(LAST_APPLIED);
            }
        }
    }
    (live, after)
}

fn show(live: &Path, after: &Path) -> Result<(), CliError> {
    let named = std::env::var("KUBECTL_EXTERNAL_DIFF").unwrap_or_default();
    let mut words = named.split_whitespace();
    let (program, arguments): (&str, Vec<&str>) = match words.next() {
        Some(program) => (program, words.collect()),
        None => ("diff", vec!["-u", "-N"]),
    };
    let status = std::process::Command::new(program).args(arguments).arg(live).arg(after).status();
    let status = status.map_err(|source| CliError::Io {
        what: format!("start {program}; KUBECTL_EXTERNAL_DIFF names another"),
        source,
    })?;
    match status.code() {
        Some(0) => Ok(()),
        code => Err(CliError::Exit(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn secrets_stay_secret() {
        let live = json!({"kind": "Secret", "data": {"a": "MQ==", "b": "MQ=="}});
        let after = json!({"kind": "Secret", "data": {"a": "MQ==", "b": "Mg==", "c": "Mw=="}});
        let (live, after) = super::masked(live, after);
        assert_eq!(live["data"], json!({"a": "***", "b": "*** (before)"}));
        assert_eq!(after["data"], json!({"a": "***", "b": "*** (after)", "c": "*** (after)"}));
    }
}
