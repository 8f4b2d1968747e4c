//! Kubeconfig files as they are, so that what we don't know stays in them.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::kubeconfig;
use crate::error::CliError;
use crate::input;
use crate::print::yaml;
use crate::session::Session;

pub(super) const LISTS: [&str; 3] = ["clusters", "contexts", "users"];

/// All files that count, first wins.
pub(super) struct Files(Vec<(PathBuf, Value)>);

impl Files {
    pub(super) fn read(session: &Session<'_>) -> Result<Self, CliError> {
        let mut files = Vec::new();
        for path in kubeconfig::files(session.typed, session.setting) {
            let config = match path.exists() {
                true => match input::file(&path)? {
                    empty if empty.trim().is_empty() => fresh(),
                    text => input::read(&text, &path.display().to_string())?,
                },
                false => fresh(),
            };
            files.push((path, config));
        }
        Ok(Self(files))
    }

    /// All of them as one.
    pub(super) fn merged(&self) -> Value {
        let mut merged = fresh();
        for (_, config) in &self.0 {
            for list in LISTS {
                let known: Vec<Value> = merged[list].as_array().cloned().unwrap_or_default();
                let more = config[list].as_array().cloned().unwrap_or_default();
                let more =
                    more.into_iter().filter(|entry| known.iter().all(|known| known["name"] != entry["name"]));
                merged[list] = known.iter().cloned().chain(more).collect();
            }
            let named = merged["current-context"].as_str().is_some_and(|name| !name.is_empty());
            if !named && let Some(name) = config["current-context"].as_str() {
                merged["current-context"] = name.into();
            }
        }
        merged
    }

    /// The first of them, which is what people mean by their kubeconfig.
    pub(super) fn told(&self) -> String {
        self.0.first().map_or_else(|| "the kubeconfig".to_owned(), |(path, _)| path.display().to_string())
    }

    /// Changes the file that has what is changed, or the first.
    pub(super) fn change(
        &mut self,
        has_it: impl Fn(&Value) -> bool,
        change: impl FnOnce(&mut Value) -> Result<(), CliError>,
    ) -> Result<PathBuf, CliError> {
        let at = self.0.iter().position(|(_, config)| has_it(config)).unwrap_or(0);
        let Some((path, config)) = self.0.get_mut(at) else {
            return Err(CliError::Kubeconfig {
                message: "there is no place for a kubeconfig: name one with --kubeconfig".to_owned(),
            });
        };
        change(config)?;
        write(path, config)?;
        Ok(path.clone())
    }
}

fn fresh() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "clusters": [], "contexts": [], "users": [], "current-context": "",
    })
}

/// Whoever reads it may be us, so nobody else may.
fn write(path: &PathBuf, config: &Value) -> Result<(), CliError> {
    let wrong = |source| CliError::Io { what: format!("write {}", path.display()), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    // A new file in the old one's place: whoever reads it meanwhile sees one or the other. It is readable by its owner alone.
    let mut file = match folder {
        Some(folder) => tempfile::NamedTempFile::new_in(folder),
        None => tempfile::NamedTempFile::new_in("."),
    }
    .map_err(wrong)?;
    file.write_all(yaml::text(config).as_bytes()).map_err(wrong)?;
    file.persist(path).map_err(|error| wrong(error.error))?;
    Ok(())
}
