//! `edit`: opens objects in the user's editor, several as one list, and sends what was changed of each. What the server refuses is opened
//! again with its reasons, until it is mended or left as it is.

mod editor;

use serde_json::Value;

use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, Typed, WRITE, value};
use crate::client::{MERGE, with_all};
use crate::error::CliError;
use crate::input;
use crate::merge::{difference, has_list};
use crate::print::{Output, json_text, list, shown, yaml};
use crate::select::{self, Found};
use crate::session::Session;

const FLAGS: &[Flag] = &[value("subresource", "NAME", "The part that is edited: status, scale")];

const HEADER: &str = "\
# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
";

pub(crate) static COMMAND: Command = Command {
    name: "edit",
    about: "Change objects in your editor",
    usage: "(KIND [NAME…] | KIND/NAME… | -f FILE)",
    examples: &["edit deployment/web", "edit configmap one two"],
    flags: &[FLAGS, FILES, OUTPUT, SELECT, WRITE],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// An object as it was opened.
struct Open<'m> {
    found: Found<'m>,
    path: String,
    before: Value,
}

impl Open<'_> {
    /// `deployments.apps "web"`
    fn told(&self) -> String {
        format!("{} {:?}", self.found.resource.qualified(), self.found.name)
    }

    /// An edited object is still this one.
    fn is(&self, after: &Value) -> bool {
        let same = |path: &str| after.pointer(path) == self.before.pointer(path);
        ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"].into_iter().all(same)
    }
}

/// What became of one object of a saved file.
enum Fate {
    Done,
    /// The object as it was edited, and the reasons, a line each.
    Refused(Value, Vec<String>),
    Gone(Value),
}

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let file = File::of(typed)?;
    let mut open = Vec::new();
    for found in select::found_or_all(session, typed, &typed.words).await? {
        let path = match typed.text("subresource") {
            Some(part) => format!("{}/{part}", found.path()),
            None => found.path(),
        };
        let before = shown(&session.read(&path).await?, typed);
        open.push(Open { found, path, before });
    }
    let mut text = match &open[..] {
        [] => return Err(CliError::unmet("edit cancelled, no objects found")),
        [one] => file.text(&one.before),
        several => file.text(&list(several.iter().map(|one| one.before.clone()).collect())),
    };
    let several = open.len() > 1;
    let mut reasons = String::new();
    loop {
        let saved = bare(&editor::edited(&file.with(&reasons, &text), file.end)?);
        let again = !reasons.is_empty();
        if saved.trim().is_empty() {
            session.screen.warn("Edit cancelled, saved file was empty.");
            return Ok(());
        }
        if again && saved == bare(&text) {
            let error = CliError::unmet("Edit cancelled, no valid changes were saved.");
            return Err(keep(session, &file, &saved, error));
        }
        let edited = match input::read(&saved, "edited-file") {
            Ok(edited) => edited,
            Err(error) => {
                let Some(first) = open.first() else { return Err(error) };
                session.screen.warn(&format!("error: {} is invalid", first.told()));
                let why = format!("<nil>: Invalid value: \"The edited file failed validation\": {error}");
                (reasons, text) = (reason(first, &[why]), saved);
                continue;
            }
        };
        let items = if several { taken(edited) } else { vec![edited] };
        if let ([one], [after]) = (&open[..], &items[..])
            && !one.is(after)
        {
            let error = CliError::unmet("At least one of apiVersion, kind and name was changed");
            return Err(keep(session, &file, &saved, error));
        }
        let changed = open.iter().any(|one| items.iter().any(|after| one.is(after) && *after != one.before));
        if !changed && !again {
            session.screen.warn("Edit cancelled, no changes made.");
            return Ok(());
        }
        let left = sent(session, typed, &file, &mut open, items).await;
        let Some((left, why)) = left.map_err(|error| keep(session, &file, &saved, error))? else {
            return Ok(());
        };
        let left = if several { list(left) } else { left.into_iter().next().unwrap_or_default() };
        (reasons, text) = (why, file.text(&left));
    }
}

/// Sends what was changed. What the server refused stays open, as it was edited and with the reasons.
async fn sent(
    session: &Session<'_>,
    typed: &Typed,
    file: &File,
    open: &mut Vec<Open<'_>>,
    items: Vec<Value>,
) -> Result<Option<(Vec<Value>, String)>, CliError> {
    let (mut left, mut gone, mut refused, mut reasons) = (Vec::new(), Vec::new(), Vec::new(), String::new());
    for after in items {
        let Some(at) = open.iter().position(|one| one.is(&after)) else {
            let name = after["metadata"]["name"].as_str().unwrap_or_default();
            session
                .screen
                .warn(&format!("Warning: {name:?} is none of the objects that were opened and is left out"));
            continue;
        };
        let one = open.swap_remove(at);
        match send(session, typed, &one, after).await? {
            Fate::Done => {}
            Fate::Refused(after, why) => {
                reasons.push_str(&reason(&one, &why));
                left.push(after);
                refused.push(one);
            }
            Fate::Gone(after) => gone.push(after),
        }
    }
    *open = refused;
    if !gone.is_empty() {
        let kept = editor::kept(&file.text(&list(gone)), file.end)?;
        session.screen.warn(&format!("The edits you made on deleted resources have been saved to {kept:?}"));
        if left.is_empty() {
            return Err(CliError::Exit(1));
        }
    }
    Ok((!left.is_empty()).then_some((left, reasons)))
}

async fn send(session: &Session<'_>, typed: &Typed, one: &Open<'_>, after: Value) -> Result<Fate, CliError> {
    let Some(mut patch) = difference(&one.before, &after) else {
        session.screen.line(&format!("{} skipped", one.found.told()))?;
        return Ok(Fate::Done);
    };
    if has_list(&patch) {
        patch["metadata"]["resourceVersion"] = one.before["metadata"]["resourceVersion"].clone();
    }
    let path = with_all(&one.path, &session.writing("kubectl-edit")?);
    let told = one.told();
    match session.api().await?.patch(&path, MERGE, &patch).await {
        Ok(object) => {
            Output::of(typed)?.done(session, one.found.resource, &object, "edited")?;
            Ok(Fate::Done)
        }
        Err(error) if error.is_not_found() => {
            session.screen.warn(&format!("error: {told} could not be found on the server"));
            Ok(Fate::Gone(after))
        }
        Err(CliError::Server(refusal)) if refusal.is("Invalid") => {
            session.screen.warn(&format!("error: {told} is invalid"));
            let causes = refusal.status["details"]["causes"].as_array().into_iter().flatten();
            let cause = |cause: &Value| {
                let text = |key: &str| cause[key].as_str().unwrap_or_default();
                format!("{}: {}", text("field"), text("message"))
            };
            Ok(Fate::Refused(after, causes.map(cause).collect()))
        }
        Err(CliError::Server(refusal)) => {
            session.screen.warn(&format!("error: {told} could not be patched: {}", refusal.message));
            Ok(Fate::Refused(after, vec![refusal.message]))
        }
        Err(error) => Err(error),
    }
}

/// As it stands at the beginning of the file that is opened again.
fn reason(one: &Open<'_>, why: &[String]) -> String {
    let why: String = why.iter().flat_map(|why| why.lines()).map(|line| format!("# * {line}\n")).collect();
    format!("# {} was not valid:\n{why}#\n", one.told())
}

fn taken(mut edited: Value) -> Vec<Value> {
    match edited["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

fn bare(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// Nothing that was typed is lost; what has an exit of its own was kept already.
fn keep(session: &Session<'_>, file: &File, saved: &str, error: CliError) -> CliError {
    if matches!(error, CliError::Exit(_)) {
        return error;
    }
    match editor::kept(saved, file.end) {
        Ok(kept) => {
            session.screen.warn(&format!("A copy of your changes has been stored to {kept:?}"));
            error
        }
        Err(error) => error,
    }
}

/// What the user edits: YAML with comments, or JSON without.
struct File {
    end: &'static str,
}

impl File {
    fn of(typed: &Typed) -> Result<Self, CliError> {
        match typed.text("output") {
            None | Some("" | "yaml" | "kyaml" | "name") => Ok(Self { end: ".yaml" }),
            Some("json") => Ok(Self { end: ".json" }),
            Some(other) => Err(CliError::usage(format!(
                "unable to match a printer suitable for the output format {other:?}, allowed formats are: json,kyaml,yaml"
            ))),
        }
    }

    fn text(&self, object: &Value) -> String {
        if self.end == ".json" { json_text(object) } else { yaml::text(object) }
    }

    fn with(&self, reasons: &str, text: &str) -> String {
        match self.end {
            ".json" => format!("{reasons}{text}"),
            _ => format!("{HEADER}{reasons}{text}"),
        }
    }
}
