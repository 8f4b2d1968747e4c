//! Programs on the path. Knows none of them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The folders that are looked through, each once.
pub(crate) fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if !folder.as_os_str().is_empty() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Every program of this name, in the order of the path.
pub(crate) fn programs(name: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let name = name.to_owned();
    folders().into_iter().map(move |folder| folder.join(&name)).filter(|path| is_program(path))
}

/// A file that somebody may run.
pub(crate) fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
