//! `edit`: opens objects in the user's editor and sends what was changed.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::args::{Command, FILES, Flag, OUTPUT, Part, SELECT, Typed, WRITE, value};
use crate::client::{MERGE, with_all};
use crate::error::CliError;
use crate::input;
use crate::merge::difference;
use crate::print::{Output, shown, yaml};
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
    usage: "(KIND NAME | KIND/NAME | -f FILE)",
    examples: &["edit deployment/web"],
    flags: &[FLAGS, FILES, OUTPUT, SELECT, WRITE],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let found = select::found(session, typed, &typed.words).await?;
    if found.is_empty() {
        return Err(CliError::unmet("edit cancelled, no objects found"));
    }
    for one in &found {
        if !edited(session, typed, one).await? {
            // Of one it is an end, of several the next one's turn.
            match found.len() {
                1 => session.screen.warn("Edit cancelled, no changes made."),
                _ => session.screen.line(&format!("{} skipped", one.told()))?,
            }
        }
    }
    Ok(())
}

/// Whether something of it was changed.
async fn edited(session: &Session<'_>, typed: &Typed, found: &Found<'_>) -> Result<bool, CliError> {
    let path = match typed.text("subresource") {
        Some(part) => format!("{}/{part}", found.path()),
        None => found.path(),
    };
    let before = shown(&session.read(&path).await?, typed);
    let mut text = format!("{HEADER}{}", yaml::text(&before));
    loop {
        let edited = editor(&text)?;
        let bare: String =
            edited.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        if bare.trim().is_empty() || edited == text {
            return Ok(false);
        }
        let wrong = match send(session, typed, found, &path, &before, &bare).await {
            Ok(sent) => return Ok(sent),
            Err(error) => error,
        };
        // Without a person nobody would mend it.
        if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
            let kept = kept(&edited)?;
            session.screen.warn(&format!("A copy of your changes has been stored to {kept:?}"));
            return Err(wrong);
        }
        let said: String = wrong.told().lines().map(|line| format!("# {line}\n")).collect();
        text = format!("{HEADER}{said}#\n{bare}");
    }
}

async fn send(
    session: &Session<'_>,
    typed: &Typed,
    found: &Found<'_>,
    path: &str,
    before: &Value,
    text: &str,
) -> Result<bool, CliError> {
    let after = input::read(text, "the edited object")?;
    let Some(mut patch) = difference(before, &after) else { return Ok(false) };
    if patch["metadata"]["name"].is_string() || patch["kind"].is_string() {
        return Err(CliError::unmet("the kind and the name of an object cannot be changed"));
    }
    patch["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
    let sent = with_all(path, &session.writing("kubectl-edit")?);
    let object = session.api().await?.patch(&sent, MERGE, &patch).await?;
    Output::of(typed)?.done(session, found.resource, &object, "edited")?;
    Ok(true)
}

/// What the user makes of a text.
fn editor(text: &str) -> Result<String, CliError> {
    let wrong = |what: &str| {
        let what = what.to_owned();
        move |source| CliError::Io { what, source }
    };
    let mut file = tempfile::Builder::new()
        .prefix("kedge-edit-")
        .suffix(".yaml")
        .tempfile()
        .map_err(wrong("make a file to edit"))?;
    file.write_all(text.as_bytes()).map_err(wrong("write the file to edit"))?;
    let chosen = ["KUBE_EDITOR", "EDITOR"].iter().find_map(std::env::var_os).filter(|name| !name.is_empty());
    let chosen = chosen.unwrap_or_else(|| "vi".into());
    // An editor may be named with arguments, so a shell takes it apart.
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{} \"$1\"", chosen.to_string_lossy()))
        .arg("sh")
        .arg(file.path())
        .status()
        .map_err(wrong("start the editor"))?;
    if !status.success() {
        return Err(CliError::unmet(format!(
            "the editor {} ended with {status}; KUBE_EDITOR or EDITOR names another",
            chosen.to_string_lossy()
        )));
    }
    input::file(file.path())
}

fn kept(text: &str) -> Result<String, CliError> {
    let wrong = |source| CliError::Io { what: "keep the edited text".to_owned(), source };
    let mut file =
        tempfile::Builder::new().prefix("kedge-edit-").suffix(".yaml").tempfile().map_err(wrong)?;
    file.write_all(text.as_bytes()).map_err(wrong)?;
    let (_, path) = file.keep().map_err(|error| wrong(error.error))?;
    Ok(Path::new(&path).display().to_string())
}
