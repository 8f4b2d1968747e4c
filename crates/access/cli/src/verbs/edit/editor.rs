//! A text in the user's editor, and what the user makes of it. Knows no object.

use std::io::Write as _;

use crate::error::CliError;
use crate::input;

/// What the user makes of a text; `end` is how the file's name ends.
pub(super) fn edited(text: &str, end: &str) -> Result<String, CliError> {
    let file = file(text, end)?;
    let chosen = ["KUBE_EDITOR", "EDITOR"].iter().find_map(std::env::var_os).filter(|name| !name.is_empty());
    let chosen = chosen.unwrap_or_else(|| "vi".into());
    // An editor may be named with arguments, so a shell takes it apart.
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{} \"$1\"", chosen.to_string_lossy()))
        .arg("sh")
        .arg(file.path())
        .status()
        .map_err(|source| CliError::Io { what: "start the editor".to_owned(), source })?;
    let called = chosen.to_string_lossy();
    // The shell says itself what it cannot find.
    match status.code() {
        Some(0) => input::file(file.path()),
        Some(126 | 127) => Err(CliError::unmet(format!(
            "unable to launch the editor {called:?}\nKUBE_EDITOR or EDITOR names another"
        ))),
        _ => Err(CliError::unmet(format!(
            "there was a problem with the editor {called:?}\nIt ended with {status}; KUBE_EDITOR or EDITOR names another"
        ))),
    }
}

/// Keeps a text for later and says where.
pub(super) fn kept(text: &str, end: &str) -> Result<String, CliError> {
    let (_, path) = file(text, end)?
        .keep()
        .map_err(|error| CliError::Io { what: "keep the edited text".to_owned(), source: error.error })?;
    Ok(path.display().to_string())
}

fn file(text: &str, end: &str) -> Result<tempfile::NamedTempFile, CliError> {
    let wrong = |source| CliError::Io { what: "write the file to edit".to_owned(), source };
    let mut file = tempfile::Builder::new().prefix("kubectl-edit-").suffix(end).tempfile().map_err(wrong)?;
    file.write_all(text.as_bytes()).map_err(wrong)?;
    Ok(file)
}
