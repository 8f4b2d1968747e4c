//! What a server answered to each step of a topic, as kept in `answers/<topic>.json`. Knows no server.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AgreementError;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub name: String,
    pub status: u16,
    /// Texts of the `Warning` headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    pub body: Value,
}

fn file_of(folder: &Path, topic: &str) -> PathBuf {
    folder.join(format!("{topic}.json"))
}

pub fn read_answers(folder: &Path, topic: &str) -> Result<Vec<Answer>, AgreementError> {
    let path = file_of(folder, topic);
    let text = std::fs::read(&path).map_err(|source| AgreementError::File { path: path.clone(), source })?;
    serde_json::from_slice(&text)
        .map_err(|reason| AgreementError::Malformed { path, reason: reason.to_string() })
}

/// Writes one line per step, so that a change of one answer is a change of one line.
pub fn write_answers(folder: &Path, topic: &str, answers: &[Answer]) -> Result<(), AgreementError> {
    let path = file_of(folder, topic);
    let mut lines = Vec::with_capacity(answers.len());
    for answer in answers {
        let line = serde_json::to_string(answer)
            .map_err(|reason| AgreementError::Malformed { path: path.clone(), reason: reason.to_string() })?;
        lines.push(line);
    }
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    std::fs::write(&path, text).map_err(|source| AgreementError::File { path, source })
}
