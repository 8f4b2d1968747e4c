//! Who has which CPUs, on disk.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Given;

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) given: Given,
}

impl Record {
    /// None if there is none, or one that nobody understands.
    pub(super) fn read(file: &Path) -> Option<Self> {
        let text = fs::read(file).ok()?;
        serde_json::from_slice(&text)
            .map_err(|error| tracing::warn!(%error, "cannot read who has which CPUs"))
            .ok()
    }

    /// Whole or not at all.
    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let new = file.with_extension("new");
        fs::write(&new, serde_json::to_vec(self)?)?;
        fs::rename(new, file)
    }
}

/// Whoever asks later for CPUs of his own starts anew.
pub(super) fn forget(file: &Path) {
    if file.exists()
        && let Err(error) = fs::remove_file(file)
    {
        tracing::warn!(%error, "cannot forget who had which CPUs");
    }
}
