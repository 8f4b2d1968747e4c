//! Secrets on disk: readable by their owner only, and never half written.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::PkiError;

/// Puts `text` at `path` with mode 0600. A reader sees the old file or the new one, never a part of one.
pub fn write_private(path: &Path, text: &str) -> Result<(), PkiError> {
    replace(path, text).map_err(|source| PkiError::Write { path: path.to_owned(), source })
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    // A leftover of an interrupted write may have other permissions; it is made anew.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// What `path` holds, or `None` if there is no such file.
pub fn read(path: &Path) -> Result<Option<String>, PkiError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PkiError::Read { path: path.to_owned(), source }),
    }
}

/// What `path` holds; made and kept if there is no such file.
pub fn read_or_make(
    path: &Path,
    make: impl FnOnce() -> Result<String, PkiError>,
) -> Result<String, PkiError> {
    if let Some(text) = read(path)? {
        return Ok(text);
    }
    let text = make()?;
    write_private(path, &text)?;
    Ok(text)
}
