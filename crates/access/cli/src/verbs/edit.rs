//! `edit`: opens objects in the user's editor, several as one list, and sends what was changed of each. What the server refuses is opened
//! again with its reasons, until it is mended or left as it is. What was applied last and what is yet to be created are edited here, too.

mod editor;
mod file;

use serde_json::{Value, json};

use self::file::{File, bare};
use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, Typed, WRITE, value};
use crate::client::{MERGE, with_all};
use crate::error::CliError;
use crate::input;
use crate::mapping::Resource;
use crate::merge::{difference, has_list};
use crate::print::{Output, shown};
use crate::select;
use crate::session::Session;
use crate::verbs::{apply, create};

const FLAGS: &[Flag] = &[value("subresource", "NAME", "The part that is edited: status, scale")];

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

/// What is done with what was edited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// The objects are changed.
    Change,
    /// What their annotations say was applied last is changed, and nothing else of them.
    LastApplied,
    /// An object is created.
    Create,
}

/// An object as it was opened.
pub(super) struct Open<'m> {
    pub(super) resource: &'m Resource,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) before: Value,
}

impl<'m> Open<'m> {
    /// A manifest, of an object that need not be there.
    pub(super) async fn manifest(session: &'m Session<'_>, mut before: Value) -> Result<Self, CliError> {
        let (resource, namespace, name) = select::placed(session, &before).await?;
        if resource.namespaced {
            before["metadata"]["namespace"] = namespace.clone().into();
        }
        Ok(Self { resource, path: resource.path(&namespace, &name), name, before })
    }

    /// `deployments.apps "web"`
    fn told(&self) -> String {
        format!("{} {:?}", self.resource.qualified(), self.name)
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
    File::of(typed, Aim::Change)?;
    let mut open = Vec::new();
    for found in select::found_or_all(session, typed, &typed.words).await? {
        let path = match typed.text("subresource") {
            Some(part) => format!("{}/{part}", found.path()),
            None => found.path(),
        };
        let before = shown(&session.read(&path).await?, typed);
        open.push(Open { resource: found.resource, name: found.name, path, before });
    }
    until_done(session, typed, Aim::Change, open).await
}

/// Opens them in one editor, again and again until there is nothing left that is refused.
pub(super) async fn until_done(
    session: &Session<'_>,
    typed: &Typed,
    aim: Aim,
    mut open: Vec<Open<'_>>,
) -> Result<(), CliError> {
    let file = File::of(typed, aim)?;
    let mut text = match &open[..] {
        [] => return Err(CliError::unmet("edit cancelled, no objects found")),
        [one] => file.text(&one.before),
        several => file.text(&file.list(several.iter().map(|one| one.before.clone()).collect())),
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
        if let (Aim::Change, [one], [after]) = (aim, &open[..], &items[..])
            && !one.is(after)
        {
            let error = CliError::unmet("At least one of apiVersion, kind and name was changed");
            return Err(keep(session, &file, &saved, error));
        }
        let changed = items.iter().any(|after| open.iter().all(|one| *after != one.before));
        if !changed && !again {
            session.screen.warn("Edit cancelled, no changes made.");
            return Ok(());
        }
        let left = sent(session, typed, aim, &file, &mut open, items).await;
        let Some((left, why)) = left.map_err(|error| keep(session, &file, &saved, error))? else {
            return Ok(());
        };
        let left = if several { file.list(left) } else { left.into_iter().next().unwrap_or_default() };
        (reasons, text) = (why, file.text(&left));
    }
}

/// Sends what was changed. What the server refused stays open, as it was edited and with the reasons.
async fn sent(
    session: &Session<'_>,
    typed: &Typed,
    aim: Aim,
    file: &File,
    open: &mut Vec<Open<'_>>,
    items: Vec<Value>,
) -> Result<Option<(Vec<Value>, String)>, CliError> {
    let (mut left, mut gone, mut refused, mut reasons) = (Vec::new(), Vec::new(), Vec::new(), String::new());
    for after in items {
        let Some(at) = open.iter().position(|one| one.is(&after)) else {
            if aim == Aim::Change {
                let name = after["metadata"]["name"].as_str().unwrap_or_default();
                session.screen.warn(&format!(
                    "Warning: {name:?} is none of the objects that were opened and is left out"
                ));
            } else {
                // A manifest says itself where it belongs.
                let other = Open { before: Value::Null, ..Open::manifest(session, after.clone()).await? };
                send(session, typed, aim, &other, after).await?;
            }
            continue;
        };
        let one = open.swap_remove(at);
        match send(session, typed, aim, &one, after).await? {
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
        let kept = editor::kept(&file.text(&file.list(gone)), file.end)?;
        session.screen.warn(&format!("The edits you made on deleted resources have been saved to {kept:?}"));
        if left.is_empty() {
            return Err(CliError::Exit(1));
        }
    }
    Ok((!left.is_empty()).then_some((left, reasons)))
}

async fn send(
    session: &Session<'_>,
    typed: &Typed,
    aim: Aim,
    one: &Open<'_>,
    after: Value,
) -> Result<Fate, CliError> {
    let output = Output::of(typed)?;
    match aim {
        Aim::Change => change(session, &output, one, after).await,
        Aim::LastApplied => remember(session, &output, one, &after).await.map(|()| Fate::Done),
        Aim::Create => {
            let made = create::one(session, typed, &output, after, create::MANAGER, "created").await;
            made.map(|_| Fate::Done)
        }
    }
}

async fn remember(
    session: &Session<'_>,
    output: &Output,
    one: &Open<'_>,
    after: &Value,
) -> Result<(), CliError> {
    if *after == one.before {
        return output.done(session, one.resource, after, "skipped");
    }
    let patch = json!({"metadata": {"annotations": {create::LAST_APPLIED: format!("{after}\n")}}});
    let path = with_all(&one.path, &session.writing(apply::MANAGER)?);
    session.api().await?.patch(&path, MERGE, &patch).await?;
    output.done(session, one.resource, after, "edited")
}

async fn change(
    session: &Session<'_>,
    output: &Output,
    one: &Open<'_>,
    after: Value,
) -> Result<Fate, CliError> {
    let Some(mut patch) = difference(&one.before, &after) else {
        session.screen.line(&format!("{}/{} skipped", one.resource.told(), one.name))?;
        return Ok(Fate::Done);
    };
    if has_list(&patch) {
        patch["metadata"]["resourceVersion"] = one.before["metadata"]["resourceVersion"].clone();
    }
    let path = with_all(&one.path, &session.writing("kubectl-edit")?);
    let told = one.told();
    match session.api().await?.patch(&path, MERGE, &patch).await {
        Ok(object) => {
            output.done(session, one.resource, &object, "edited")?;
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
