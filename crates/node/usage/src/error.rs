//! What goes wrong with the kernel's files.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    #[error("cannot {what} {}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot write {value:?} to {}", path.display())]
    Write { value: String, path: PathBuf, source: io::Error },
    #[error("{path:?} is no path of a cgroup")]
    Path { path: String },
}

impl UsageError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}
