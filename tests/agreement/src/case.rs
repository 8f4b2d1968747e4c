//! The requests of one topic, as written in `cases/<topic>.yaml`. Knows no server.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::AgreementError;

/// Requests that are sent in order to one namespace of their own.
#[derive(Debug)]
pub struct Topic {
    pub name: String,
    pub file: File,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct File {
    /// The content type of every PATCH step that names none.
    #[serde(default)]
    pub patch: Option<String>,
    /// The `Accept` header of every step that names none.
    #[serde(default)]
    pub accept: Option<String>,
    pub steps: Vec<Step>,
}

/// One request. In `path` and `body`, `$ns` is the topic's namespace and `${step/metadata/uid}` is what an
/// earlier step was answered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Step {
    pub name: String,
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub content_type: Option<String>,
    #[serde(default)]
    pub accept: Option<String>,
    /// The user in whose name the request is made; the administrator's own if absent.
    #[serde(default, rename = "as")]
    pub user: Option<String>,
    /// An object is sent as JSON, a string as it stands.
    #[serde(default)]
    pub body: Option<Value>,
    /// Ask again until the answer has this status: what the server learns from its own watches takes a moment.
    #[serde(default)]
    pub until: Option<u16>,
    #[serde(default)]
    pub check: Check,
}

/// How much of an answer a step is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Check {
    #[default]
    Whole,
    /// The step only prepares later ones.
    Status,
}

impl Topic {
    pub fn namespace(&self) -> String {
        format!("agree-{}", self.name)
    }
}

/// Every topic of a folder, by name.
pub fn read_topics(folder: &Path) -> Result<Vec<Topic>, AgreementError> {
    let at = |source| AgreementError::File { path: folder.to_owned(), source };
    let mut topics = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(at)? {
        let path = entry.map_err(at)?.path();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let text = std::fs::read_to_string(&path)
            .map_err(|source| AgreementError::File { path: path.clone(), source })?;
        // As in Kubernetes' own YAML, `y` and `no` are texts.
        let options = serde_saphyr::options! { strict_booleans: true };
        let file = serde_saphyr::from_str_with_options(&text, options)
            .map_err(|reason| AgreementError::Malformed { path: path.clone(), reason: reason.to_string() })?;
        topics.push(Topic { name: name.to_owned(), file });
    }
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(topics)
}
