//! Writes `crates/api/kinds/src/builtin/table.txt`: every built-in kind and every struct it is made of. Facts come from the sources
//! of the crates k8s-openapi (fields, types, what is required, how lists merge) and k8s-pb (protobuf numbers), and where these
//! are silent or wrong from the two hand-kept files beside this one. No description is ever copied.

mod facts;
mod model;
mod openapi;
mod protobuf;
mod table;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const RESOURCES: &str = include_str!("kinds/resources.txt");
const FACTS: &str = include_str!("kinds/facts.txt");
const TABLE: &str = "crates/api/kinds/src/builtin/table.txt";

#[derive(Debug, thiserror::Error)]
pub(crate) enum TableError {
    #[error("cannot run cargo metadata: {0}")]
    Metadata(io::Error),
    #[error("cannot read what cargo metadata said: {0}")]
    MetadataForm(#[from] serde_json::Error),
    #[error("cargo metadata knows no package {0}; it is a dev-dependency of kedge-kinds")]
    NoPackage(&'static str),
    #[error("cannot use {path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{type_name}.{field}: cannot read the type {rust:?}")]
    FieldType { type_name: String, field: String, rust: String },
    #[error("{file}, line {line}: {why}: {text:?}")]
    Facts { file: &'static str, line: usize, why: &'static str, text: String },
    #[error("{user} uses {missing}, which no source defines")]
    Missing { user: String, missing: String },
}

pub(crate) fn write_table() -> Result<String, TableError> {
    let made = make()?;
    std::fs::write(&made.path, &made.text).map_err(|source| TableError::File { path: made.path, source })?;
    Ok(made.told)
}

struct Made {
    path: PathBuf,
    text: String,
    /// What there is to say about it.
    told: String,
}

fn make() -> Result<Made, TableError> {
    let metadata = metadata()?;
    let root = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or("."));
    let mut types = openapi::read(&source_of(&metadata, "k8s-openapi")?.join("v1_36"))?;
    let messages = protobuf::read(&source_of(&metadata, "k8s-pb")?)?;
    let untagged = protobuf::number(&mut types, &messages);
    facts::apply(FACTS, &mut types)?;
    let resources = facts::resources(RESOURCES)?;
    let (text, counts) = table::render(&resources, &types)?;
    let loose = table::loose(&text, &untagged);
    let told = format!("{TABLE}: {counts}, {} bytes\nnumbered by hand: {}", text.len(), loose.join(" "));
    Ok(Made { path: root.join(TABLE), text, told })
}

fn metadata() -> Result<Value, TableError> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .output()
        .map_err(TableError::Metadata)?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn source_of(metadata: &Value, package: &'static str) -> Result<PathBuf, TableError> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest =
        packages.filter(|found| found["name"] == package).find_map(|found| found["manifest_path"].as_str());
    let folder = manifest.and_then(|manifest| Path::new(manifest).parent());
    folder.map(|folder| folder.join("src")).ok_or(TableError::NoPackage(package))
}

/// All Rust files under a folder with their text, in a stable order.
fn rust_files(root: &Path) -> Result<BTreeMap<PathBuf, String>, TableError> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let fail = |source| TableError::File { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path)
                    .map_err(|source| TableError::File { path: path.clone(), source })?;
                found.insert(path, text);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_table_is_what_the_sources_say() {
        let made = super::make().unwrap();
        let committed = std::fs::read_to_string(&made.path).unwrap();
        assert!(made.text == committed, "run `cargo run -p xtask -- kinds`");
    }
}
