//! The differences that we chose (`known.yaml`), each with its reason. Knows no server.

use std::path::Path;

use serde::Deserialize;

use crate::{AgreementError, Difference};

/// A difference that is meant; in each of the three, `*` stands for anything.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    pub topic: String,
    pub step: String,
    pub path: String,
    pub reason: String,
}

impl Known {
    fn covers(&self, difference: &Difference) -> bool {
        fits(&self.topic, &difference.topic)
            && fits(&self.step, &difference.step)
            && fits(&self.path, &difference.path)
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).filter_map(|at| text.get(at..)).any(|tail| fits(rest, tail))
        }),
    }
}

/// What remains to be said after the chosen differences are taken out.
#[derive(Debug)]
pub struct Verdict {
    pub unexpected: Vec<Difference>,
    /// Entries of `known.yaml` that no longer describe anything: delete them.
    pub outdated: Vec<Known>,
}

pub fn read_known(path: &Path) -> Result<Vec<Known>, AgreementError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| AgreementError::File { path: path.to_owned(), source })?;
    serde_saphyr::from_str(&text)
        .map_err(|reason| AgreementError::Malformed { path: path.to_owned(), reason: reason.to_string() })
}

pub fn judge(found: Vec<Difference>, known: &[Known]) -> Verdict {
    let outdated = known.iter().filter(|entry| !found.iter().any(|d| entry.covers(d))).cloned().collect();
    let unexpected = found.into_iter().filter(|d| !known.iter().any(|entry| entry.covers(d))).collect();
    Verdict { unexpected, outdated }
}

#[cfg(test)]
mod tests;
