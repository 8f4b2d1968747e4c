//! Manifests from files, folders, addresses and standard input: YAML or JSON, many documents, lists taken apart. Knows no kind.

mod address;
pub(crate) mod kustomize;

use std::io::Read;
use std::path::{Path, PathBuf};

use kedge_kinds::decode::{self, Media};
use serde_json::Value;

use crate::args::Typed;
use crate::error::CliError;

/// Manifests are meant, not objects by their names.
pub(crate) fn named(typed: &Typed) -> bool {
    typed.given("filename") || typed.given("kustomize")
}

/// What `-f` or `-k` names, in order. Nothing was named: nothing.
pub(crate) fn manifests(typed: &Typed) -> Result<Vec<Value>, CliError> {
    Ok(sourced(typed)?.into_iter().map(|(_, manifest)| manifest).collect())
}

/// The same, each with the name of what it came from.
pub(crate) fn sourced(typed: &Typed) -> Result<Vec<(String, Value)>, CliError> {
    let mut all = Vec::new();
    let mut found = Vec::new();
    for name in typed.list("filename") {
        found.extend(texts(&name, typed.is("recursive"))?);
    }
    match typed.text("kustomize") {
        Some(_) if typed.given("filename") => {
            return Err(CliError::usage("only one of -f or -k can be specified"));
        }
        Some(folder) => found.push((folder.to_owned(), kustomize::build(folder, &[])?)),
        None => {}
    }
    for (what, text) in found {
        let mut objects = Vec::new();
        for document in documents(&text) {
            flatten(read(document, &what)?, &what, is_checked(typed), &mut objects)?;
        }
        all.extend(objects.into_iter().map(|manifest| (what.clone(), manifest)));
    }
    Ok(all)
}

/// Manifests are checked before they are sent.
fn is_checked(typed: &Typed) -> bool {
    let writes = typed.path.first().is_some_and(|verb| ["apply", "create", "replace"].contains(verb));
    writes && !matches!(typed.text("validate"), Some("false" | "ignore"))
}

/// One document that has to be an object.
pub(crate) fn read(document: &str, what: &str) -> Result<Value, CliError> {
    let wrong = |message: String| CliError::Manifest { what: format!("error parsing {what}"), message };
    // JSON is YAML too, and a YAML document may begin like JSON.
    let decoded = decode::body(document.as_bytes(), Media::Yaml)
        .map_err(|error| wrong(format!("error converting YAML to JSON: {error}")))?;
    Ok(decoded.value)
}

/// All of standard input.
pub(crate) fn standard_input() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|source| CliError::Io { what: "read standard input".to_owned(), source })?;
    Ok(text)
}

pub(crate) fn file(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => {
            CliError::unmet(format!("the path {:?} does not exist", path.display().to_string()))
        }
        _ => CliError::Io { what: format!("read {}", path.display()), source },
    })
}

fn texts(name: &str, recursive: bool) -> Result<Vec<(String, String)>, CliError> {
    if name == "-" {
        return Ok(vec![("STDIN".to_owned(), standard_input()?)]);
    }
    if name.starts_with("http://") || name.starts_with("https://") {
        return Ok(vec![(name.to_owned(), address::fetch(name)?)]);
    }
    let path = PathBuf::from(name);
    let mut files = Vec::new();
    match path.is_dir() {
        true => folder(&path, recursive, &mut files)?,
        false => files.push(path),
    }
    if files.is_empty() {
        return Err(CliError::usage(format!(
            "error reading [{name}]: recognized file extensions are [.json .yaml .yml]"
        )));
    }
    files.into_iter().map(|path| Ok((path.display().to_string(), file(&path)?))).collect()
}

fn folder(path: &Path, recursive: bool, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let wrong = |source| CliError::Io { what: format!("read {}", path.display()), source };
    let mut inside: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(wrong)? {
        inside.push(entry.map_err(wrong)?.path());
    }
    inside.sort();
    for path in inside {
        let is_manifest =
            path.extension().is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known));
        match path.is_dir() {
            true if recursive => folder(&path, recursive, files)?,
            false if is_manifest => files.push(path),
            true | false => {}
        }
    }
    Ok(())
}

/// Cuts a text into documents; those with nothing but comments are none.
fn documents(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mark = line.trim_end();
        if mark == "---" || mark.starts_with("--- ") {
            found.push(text.get(start..at).unwrap_or_default());
            start = at + line.len();
        }
        at += line.len();
    }
    found.push(text.get(start..).unwrap_or_default());
    found.retain(|document| {
        document.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
    });
    found.into_iter().flat_map(stream).collect()
}

/// JSON documents may follow each other without anything between them.
fn stream(document: &str) -> Vec<&str> {
    if !document.trim_start().starts_with('{') {
        return vec![document];
    }
    let mut found = Vec::new();
    let mut values = serde_json::Deserializer::from_str(document).into_iter::<&serde_json::value::RawValue>();
    while let Some(Ok(value)) = values.next() {
        found.push(value.get());
    }
    match found.is_empty() || values.byte_offset() < document.trim_end().len() {
        true => vec![document],
        false => found,
    }
}

/// A list's items in the place of the list.
fn flatten(mut object: Value, what: &str, checked: bool, found: &mut Vec<Value>) -> Result<(), CliError> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let mut missing = vec!["apiVersion", "kind"];
    missing.retain(|key| object[*key].as_str().unwrap_or_default().is_empty());
    if !missing.is_empty() {
        return Err(incomplete(&object, what, checked, &missing));
    }
    if !kind.ends_with("List") || !object["items"].is_array() {
        found.push(object);
        return Ok(());
    }
    let Value::Array(items) = object["items"].take() else { return Ok(()) };
    for mut item in items {
        // Items of a typed list need not say what they are.
        if item["kind"].is_null() && kind != "List" {
            item["kind"] = kind.trim_end_matches("List").into();
            item["apiVersion"] = object["apiVersion"].clone();
        }
        flatten(item, what, checked, found)?;
    }
    Ok(())
}

fn incomplete(object: &Value, what: &str, checked: bool, missing: &[&str]) -> CliError {
    let unset: Vec<String> = missing.iter().map(|key| format!("{key} not set")).collect();
    let (what, message) = match (checked, &unset[..]) {
        (true, unset) => {
            let unset = if let [one] = unset { one.clone() } else { format!("[{}]", unset.join(", ")) };
            let said = format!(
                "error validating data: {unset}; if you choose to ignore these errors, turn validation off with --validate=false"
            );
            (format!("error validating {what:?}"), said)
        }
        (false, _) => {
            let key = if missing.contains(&"kind") { "Kind" } else { "apiVersion" };
            (format!("unable to decode {what:?}"), format!("Object '{key}' is missing in '{object}'"))
        }
    };
    CliError::Manifest { what, message }
}

#[cfg(test)]
mod tests;
