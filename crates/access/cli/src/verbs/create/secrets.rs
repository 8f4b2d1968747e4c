//! Generators of config maps and secrets, from literals, files, folders and env files.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{generated, name};
use crate::args::{Command, Flag, OUTPUT, Typed, WRITE, value};
use crate::error::{CliError, why};
use crate::input;

const SOURCES: &[Flag] = &[
    value("from-literal", "KEY=VALUE", "A key and its value; can be repeated"),
    value("from-file", "[KEY=]PATH", "A file, or all files of a folder; can be repeated"),
    value("from-env-file", "PATH", "A file of lines KEY=VALUE; can be repeated"),
];

pub(super) static CONFIG_MAP: Command = Command {
    name: "configmap",
    aliases: &["cm"],
    about: "Create a config map",
    usage: "NAME [--from-literal=KEY=VALUE] [--from-file=[KEY=]PATH] [--from-env-file=PATH]",
    flags: &[SOURCES, OUTPUT, WRITE],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, config_map(typed)?).await })),
    ..Command::EMPTY
};

fn config_map(typed: &Typed) -> Result<Value, CliError> {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name(typed)?}});
    for (key, bytes) in values(typed)? {
        // What is no text goes where bytes go.
        match String::from_utf8(bytes) {
            Ok(text) => crate::change::object_at(&mut object, "data")[key] = text.into(),
            Err(error) => {
                let bytes = STANDARD.encode(error.into_bytes());
                crate::change::object_at(&mut object, "binaryData")[key] = bytes.into();
            }
        }
    }
    Ok(object)
}

pub(super) static SECRET: Command = Command {
    name: "secret",
    about: "Create a secret",
    children: &[&DOCKER, &GENERIC, &TLS],
    ..Command::EMPTY
};

static GENERIC: Command = Command {
    name: "generic",
    about: "Create a secret from literals and files",
    usage: "NAME [--from-literal=KEY=VALUE] [--from-file=[KEY=]PATH] [--from-env-file=PATH]",
    flags: &[SOURCES, &[value("type", "TYPE", "The secret's type")], OUTPUT, WRITE],
    run: Some(|session, typed| {
        Box::pin(async {
            let object = secret(typed, typed.text("type").unwrap_or_default(), values(typed)?)?;
            generated(session, typed, object).await
        })
    }),
    ..Command::EMPTY
};

static TLS: Command = Command {
    name: "tls",
    about: "Create a secret with a certificate and its key",
    usage: "NAME --cert=FILE --key=FILE",
    flags: &[
        &[value("cert", "FILE", "The certificate (PEM)"), value("key", "FILE", "Its key (PEM)")],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| {
        Box::pin(async {
            name(typed)?;
            let (Some(cert), Some(key)) = (typed.text("cert"), typed.text("key")) else {
                return Err(CliError::usage("key and cert must be specified"));
            };
            let values = vec![("tls.crt".to_owned(), pem(cert)?), ("tls.key".to_owned(), pem(key)?)];
            generated(session, typed, secret(typed, "kubernetes.io/tls", values)?).await
        })
    }),
    ..Command::EMPTY
};

fn pem(path: &str) -> Result<Vec<u8>, CliError> {
    let bytes = std::fs::read(path)
        .map_err(|error| CliError::usage(format!("Cannot read file {path}, open {path}: {}", why(&error))))?;
    match bytes.windows(11).any(|part| part == b"-----BEGIN ") {
        true => Ok(bytes),
        false => Err(CliError::usage(format!(
            "tls: failed to find any PEM data in certificate input\n{path} has no line -----BEGIN …-----"
        ))),
    }
}

static DOCKER: Command = Command {
    name: "docker-registry",
    about: "Create a secret with which images are pulled",
    usage: "NAME --docker-server=HOST --docker-username=USER --docker-password=PASSWORD",
    flags: &[
        &[
            value("docker-server", "HOST", "The registry"),
            value("docker-username", "USER", "Who to be there"),
            value("docker-password", "PASSWORD", "The password"),
            value("docker-email", "ADDRESS", "A mail address"),
            value("from-file", "[KEY=]PATH", "A file that has all of it"),
        ],
        OUTPUT,
        WRITE,
    ],
    run: Some(|session, typed| Box::pin(async { generated(session, typed, docker(typed)?).await })),
    ..Command::EMPTY
};

fn docker(typed: &Typed) -> Result<Value, CliError> {
    const KEY: &str = ".dockerconfigjson";
    name(typed)?;
    let text = match typed.text("from-file") {
        Some(given) => {
            let path = given.strip_prefix(&format!("{KEY}=")).unwrap_or(given);
            input::file(path.as_ref())?
        }
        None => {
            let [Some(user), Some(password), Some(server)] =
                ["docker-username", "docker-password", "docker-server"].map(|flag| typed.text(flag))
            else {
                return Err(CliError::usage(
                    "either --from-file or the combination of --docker-username, --docker-password and --docker-server is required",
                ));
            };
            let mut entry = json!({
                "username": user, "password": password, "auth": STANDARD.encode(format!("{user}:{password}")),
            });
            if let Some(address) = typed.text("docker-email") {
                entry["email"] = address.into();
            }
            json!({"auths": {server: entry}}).to_string()
        }
    };
    secret(typed, "kubernetes.io/dockerconfigjson", vec![(KEY.to_owned(), text.into_bytes())])
}

fn secret(typed: &Typed, kind: &str, values: Vec<(String, Vec<u8>)>) -> Result<Value, CliError> {
    let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name(typed)?}});
    if !kind.is_empty() {
        object["type"] = kind.into();
    }
    let data: Map<String, Value> =
        values.into_iter().map(|(key, bytes)| (key, STANDARD.encode(bytes).into())).collect();
    if !data.is_empty() {
        object["data"] = data.into();
    }
    Ok(object)
}

/// Everything that the flags name, each key once.
fn values(typed: &Typed) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    if typed.given("from-env-file") && (typed.given("from-file") || typed.given("from-literal")) {
        return Err(CliError::usage("from-env-file cannot be combined with from-file or from-literal"));
    }
    let mut values: Vec<(String, Vec<u8>)> = Vec::new();
    for text in typed.all("from-literal") {
        let (key, value) = text
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| CliError::usage(format!("invalid literal source {text}, expected key=value")))?;
        values.push((key.to_owned(), unquoted(value).as_bytes().to_vec()));
    }
    for text in typed.all("from-file") {
        files(text, &mut values)?;
    }
    for path in typed.all("from-env-file") {
        let text = std::fs::read_to_string(path)
            .map_err(|error| CliError::usage(format!("error reading {path}: {}", why(&error))))?;
        for line in text.lines() {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = match line.split_once('=') {
                Some((key, value)) => (key, value.to_owned()),
                None => (line, std::env::var(line).unwrap_or_default()),
            };
            values.push((key.to_owned(), value.into_bytes()));
        }
    }
    for (place, (key, _)) in values.iter().enumerate() {
        if values.iter().skip(place + 1).any(|(other, _)| other == key) {
            let kind = if typed.path.contains(&"secret") { "Secret" } else { "ConfigMap" };
            return Err(CliError::unmet(format!(
                "cannot add key {key:?}, another key by that name already exists in Data for {kind} {:?}",
                name(typed)?
            )));
        }
    }
    Ok(values)
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote)) {
            return inner;
        }
    }
    value
}

fn files(text: &str, values: &mut Vec<(String, Vec<u8>)>) -> Result<(), CliError> {
    let (key, path) = match text.split_once('=') {
        Some((_, path)) if path.contains('=') => {
            return Err(CliError::usage("key names or file paths cannot contain '='"));
        }
        Some(("", path)) => {
            return Err(CliError::usage(format!("key name for file path {path} missing")));
        }
        Some((key, "")) => {
            return Err(CliError::usage(format!("file path for key name {key} missing")));
        }
        Some((key, path)) => (Some(key), Path::new(path)),
        None => (None, Path::new(text)),
    };
    let wrong = |path: &Path, error: std::io::Error| {
        CliError::usage(format!("error reading {}: {}", path.display(), why(&error)))
    };
    let called = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !path.is_dir() {
        let bytes = std::fs::read(path).map_err(|source| wrong(path, source))?;
        values.push((key.map_or_else(|| called(path), str::to_owned), bytes));
        return Ok(());
    }
    if key.is_some() {
        return Err(CliError::usage("cannot give a key name for a directory path"));
    }
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|source| wrong(path, source))? {
        inside.push(entry.map_err(|source| wrong(path, source))?.path());
    }
    inside.sort();
    for file in inside.into_iter().filter(|file| file.is_file()) {
        values.push((called(&file), std::fs::read(&file).map_err(|source| wrong(&file, source))?));
    }
    Ok(())
}
