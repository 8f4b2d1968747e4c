//! The verbs of `config` that change a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::file::{Files, LISTS};
use crate::args::{Command, Flag, Typed, switch, value};
use crate::change::object_at;
use crate::error::CliError;
use crate::session::Session;

pub(super) static USE_CONTEXT: Command = Command {
    name: "use-context",
    aliases: &["use"],
    about: "Make a context the current one",
    usage: "NAME",
    run: Some(|session, typed| {
        Box::pin(async {
            let name = name(typed)?;
            let mut files = Files::read(session)?;
            if !has(&files.merged(), "contexts", name) {
                return Err(CliError::unmet(format!(
                    "no context exists with the name: {name:?}\n`config get-contexts` shows those there are"
                )));
            }
            let named =
                |config: &Value| config["current-context"].as_str().is_some_and(|name| !name.is_empty());
            files.change(named, |config| {
                config["current-context"] = name.into();
                Ok(())
            })?;
            session.screen.line(&format!("Switched to context {name:?}."))
        })
    }),
    ..Command::EMPTY
};

pub(super) static SET_CONTEXT: Command = Command {
    name: "set-context",
    about: "Make or change a context",
    usage: "(NAME | --current) [--cluster=NAME] [--user=NAME] [--namespace=NAME]",
    examples: &["config set-context --current --namespace=shop"],
    flags: &[&[switch("current", "The current context")]],
    run: Some(|session, typed| Box::pin(async { set_context(session, typed) })),
    ..Command::EMPTY
};

fn set_context(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let files = Files::read(session)?;
    let current = files.merged()["current-context"].as_str().unwrap_or_default().to_owned();
    let named = match typed.is("current") {
        true if !typed.words.is_empty() => {
            return Err(CliError::usage("you cannot specify both a context name and --current"));
        }
        false if typed.words.is_empty() => {
            return Err(CliError::usage("you must specify a non-empty context name or --current"));
        }
        true if current.is_empty() => return Err(CliError::unmet("no current context is set")),
        true => current,
        false => name(typed)?.to_owned(),
    };
    let fields = ["cluster", "user", "namespace"].map(|field| (field, typed.text(field).map(Value::from)));
    let made = put(files, "contexts", "context", &named, fields)?;
    let verb = if made { "created" } else { "modified" };
    session.screen.line(&format!("Context {named:?} {verb}."))
}

const CLUSTER: &[Flag] =
    &[switch("embed-certs", "Put the certificate into the file"), value("proxy-url", "URL", "The way there")];

pub(super) static SET_CLUSTER: Command = Command {
    name: "set-cluster",
    about: "Make or change a cluster",
    usage: "NAME [--server=URL] [--certificate-authority=FILE] [--insecure-skip-tls-verify]",
    flags: &[CLUSTER],
    run: Some(|session, typed| Box::pin(async { set_cluster(session, typed) })),
    ..Command::EMPTY
};

fn set_cluster(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let named = name(typed)?;
    let authority = certificate(typed, "certificate-authority")?;
    let skip = typed.given("insecure-skip-tls-verify").then(|| typed.is("insecure-skip-tls-verify").into());
    let fields = [
        ("server", typed.text("server").map(Value::from)),
        ("tls-server-name", typed.text("tls-server-name").map(Value::from)),
        ("proxy-url", typed.text("proxy-url").map(Value::from)),
        ("insecure-skip-tls-verify", skip),
    ];
    put(Files::read(session)?, "clusters", "cluster", named, fields.into_iter().chain(authority))?;
    session.screen.line(&format!("Cluster {named:?} set."))
}

const USER: &[Flag] = &[
    switch("embed-certs", "Put the certificate and the key into the file"),
    value("username", "NAME", "For basic authentication"),
    value("password", "PASSWORD", "For basic authentication"),
];

pub(super) static SET_CREDENTIALS: Command = Command {
    name: "set-credentials",
    about: "Make or change a user",
    usage: "NAME [--token=TOKEN] [--client-certificate=FILE --client-key=FILE]",
    flags: &[USER],
    run: Some(|session, typed| Box::pin(async { set_credentials(session, typed) })),
    ..Command::EMPTY
};

fn set_credentials(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let named = name(typed)?;
    let files =
        certificate(typed, "client-certificate")?.into_iter().chain(certificate(typed, "client-key")?);
    let fields = ["token", "username", "password"].map(|field| (field, typed.text(field).map(Value::from)));
    put(Files::read(session)?, "users", "user", named, fields.into_iter().chain(files))?;
    session.screen.line(&format!("User {named:?} set."))
}

/// A file by its name, or its content; whichever it is, the other goes.
fn certificate(typed: &Typed, flag: &'static str) -> Result<Vec<(&'static str, Option<Value>)>, CliError> {
    let data = match flag {
        "certificate-authority" => "certificate-authority-data",
        "client-certificate" => "client-certificate-data",
        _ => "client-key-data",
    };
    let Some(path) = typed.text(flag) else { return Ok(Vec::new()) };
    Ok(match typed.is("embed-certs") {
        true => vec![(data, Some(read(path)?)), (flag, Some(Value::Null))],
        false => {
            let whole =
                std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string());
            vec![(flag, Some(whole.into())), (data, Some(Value::Null))]
        }
    })
}

fn read(path: &str) -> Result<Value, CliError> {
    let bytes =
        std::fs::read(path).map_err(|source| CliError::Io { what: format!("read {path}"), source })?;
    Ok(STANDARD.encode(bytes).into())
}

/// Files that are named become part of the configuration.
pub(super) fn embed(config: &mut Value) -> Result<(), CliError> {
    for (list, inner, key) in [
        ("clusters", "cluster", "certificate-authority"),
        ("users", "user", "client-certificate"),
        ("users", "user", "client-key"),
    ] {
        for entry in config[list].as_array_mut().into_iter().flatten() {
            let Some(inner) = entry[inner].as_object_mut() else { continue };
            if let Some(Value::String(path)) = inner.remove(key) {
                inner.insert(format!("{key}-data"), read(&path)?);
            }
        }
    }
    Ok(())
}

/// Sets fields of an entry, which is made if it isn't there. A null takes a field away. Answers whether it is new.
fn put(
    mut files: Files,
    list: &'static str,
    inner: &'static str,
    named: &str,
    fields: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Result<bool, CliError> {
    let mut made = false;
    files.change(
        |config| has(config, list, named),
        |config| {
            if !config[list].is_array() {
                config[list] = json!([]);
            }
            let Some(entries) = config[list].as_array_mut() else { return Ok(()) };
            let at = match entries.iter().position(|entry| entry["name"] == *named) {
                Some(at) => at,
                None => {
                    made = true;
                    entries.push(json!({"name": named, inner: {}}));
                    entries.len() - 1
                }
            };
            let Some(entry) = entries.get_mut(at) else { return Ok(()) };
            let values = object_at(entry, inner);
            for (field, value) in fields {
                match (value, values.as_object_mut()) {
                    (Some(Value::Null), Some(values)) => drop(values.remove(field)),
                    (Some(value), Some(values)) => drop(values.insert(field.to_owned(), value)),
                    _ => {}
                }
            }
            Ok(())
        },
    )?;
    Ok(made)
}

fn has(config: &Value, list: &str, named: &str) -> bool {
    super::entries(config, list).any(|entry| entry["name"] == *named)
}

fn name(typed: &Typed) -> Result<&str, CliError> {
    match &typed.words[..] {
        [name] => Ok(name),
        words => {
            Err(typed.wrong(format!("Unexpected args: [{}]\nExactly one NAME is taken", words.join(" "))))
        }
    }
}

pub(super) static DELETE_CONTEXT: Command = Command {
    name: "delete-context",
    about: "Remove a context",
    usage: "NAME",
    run: Some(|session, typed| Box::pin(async { remove(session, typed, "contexts", "context") })),
    ..Command::EMPTY
};

pub(super) static DELETE_CLUSTER: Command = Command {
    name: "delete-cluster",
    about: "Remove a cluster",
    usage: "NAME",
    run: Some(|session, typed| Box::pin(async { remove(session, typed, "clusters", "cluster") })),
    ..Command::EMPTY
};

pub(super) static DELETE_USER: Command = Command {
    name: "delete-user",
    about: "Remove a user",
    usage: "NAME",
    run: Some(|session, typed| Box::pin(async { remove(session, typed, "users", "user") })),
    ..Command::EMPTY
};

fn remove(session: &Session<'_>, typed: &Typed, list: &'static str, one: &str) -> Result<(), CliError> {
    let named = name(typed)?;
    let mut files = Files::read(session)?;
    let merged = files.merged();
    if list == "contexts" && merged["current-context"] == *named {
        session.screen.warn(&format!(
            "warning: this removed your active context, use \"{} config use-context\" to select a different one",
            session.program
        ));
    }
    if !has(&merged, list, named) {
        return Err(CliError::unmet(format!("cannot delete {one} {named}, not in {}", files.told())));
    }
    let path = files.change(
        |config| has(config, list, named),
        |config| {
            if let Some(entries) = config[list].as_array_mut() {
                entries.retain(|entry| entry["name"] != *named);
            }
            Ok(())
        },
    )?;
    session.screen.line(&format!("deleted {one} {named} from {}", path.display()))
}

pub(super) static RENAME_CONTEXT: Command = Command {
    name: "rename-context",
    about: "Give a context another name",
    usage: "OLD NEW",
    run: Some(|session, typed| Box::pin(async { rename(session, typed) })),
    ..Command::EMPTY
};

fn rename(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let [old, new] = &typed.words[..] else {
        return Err(
            typed.wrong(format!("Unexpected args: [{}]\nOLD and NEW are taken", typed.words.join(" ")))
        );
    };
    let mut files = Files::read(session)?;
    let merged = files.merged();
    if !has(&merged, "contexts", old) {
        return Err(CliError::unmet(format!(
            "cannot rename the context {old:?}, it's not in {}",
            files.told()
        )));
    }
    if has(&merged, "contexts", new) {
        return Err(CliError::unmet(format!(
            "cannot rename the context {old:?}, the context {new:?} already exists"
        )));
    }
    files.change(
        |config| has(config, "contexts", old),
        |config| {
            for entry in config["contexts"].as_array_mut().into_iter().flatten() {
                if entry["name"] == **old {
                    entry["name"] = new.clone().into();
                }
            }
            if config["current-context"] == **old {
                config["current-context"] = new.clone().into();
            }
            Ok(())
        },
    )?;
    session.screen.line(&format!("Context {old:?} renamed to {new:?}."))
}

pub(super) static SET: Command = Command {
    name: "set",
    about: "Set one value by its path",
    usage: "PATH VALUE",
    examples: &["config set contexts.kedge.namespace shop"],
    run: Some(|session, typed| {
        Box::pin(async {
            let [path, value] = &typed.words[..] else {
                return Err(typed.wrong(format!(
                    "Unexpected args: [{}]\nPATH and VALUE are taken",
                    typed.words.join(" ")
                )));
            };
            at(session, path, Some(value))?;
            session.screen.line(&format!("Property {path:?} set."))
        })
    }),
    ..Command::EMPTY
};

pub(super) static UNSET: Command = Command {
    name: "unset",
    about: "Take away one value by its path",
    usage: "PATH",
    run: Some(|session, typed| {
        Box::pin(async {
            let path = name(typed)?;
            at(session, path, None)?;
            session.screen.line(&format!("Property {path:?} unset."))
        })
    }),
    ..Command::EMPTY
};

/// `current-context`, `contexts.NAME.namespace`, `clusters.NAME.server`; names may have dots.
fn at(session: &Session<'_>, path: &str, value: Option<&String>) -> Result<(), CliError> {
    let root = path.split('.').next().unwrap_or_default();
    if !LISTS.contains(&root) && !["current-context", "preferences", "extensions"].contains(&root) {
        return Err(CliError::usage(format!(
            "unable to parse {path} after [] at api.Config\nPaths begin with clusters, contexts, users or current-context"
        )));
    }
    let mut files = Files::read(session)?;
    let Some((list, rest)) = path.split_once('.').filter(|(list, _)| LISTS.contains(list)) else {
        files.change(
            |config| !config[path].is_null(),
            |config| {
                config[path] = value.map_or(Value::Null, |value| value.clone().into());
                Ok(())
            },
        )?;
        return Ok(());
    };
    let list = LISTS.into_iter().find(|known| *known == list).unwrap_or_default();
    let inner = list.trim_end_matches('s');
    let merged = files.merged();
    let names = super::entries(&merged, list).filter_map(|entry| entry["name"].as_str());
    let named = names
        .filter(|name| rest == *name || rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
        .max_by_key(|name| name.len());
    let (named, field) = match named {
        Some(named) => (named.to_owned(), rest.get(named.len() + 1..).unwrap_or_default().to_owned()),
        None => match rest.rsplit_once('.') {
            Some((named, field)) => (named.to_owned(), field.to_owned()),
            None => (rest.to_owned(), String::new()),
        },
    };
    files.change(
        |config| has(config, list, &named),
        |config| {
            let Some(entries) = config[list].as_array_mut() else { return Ok(()) };
            if field.is_empty() {
                entries.retain(|entry| entry["name"] != *named);
                return Ok(());
            }
            if entries.iter().all(|entry| entry["name"] != *named) {
                entries.push(json!({"name": named, inner: {}}));
            }
            for entry in entries.iter_mut().filter(|entry| entry["name"] == *named) {
                match (value, object_at(entry, inner).as_object_mut()) {
                    (Some(value), Some(values)) => drop(values.insert(field.clone(), value.clone().into())),
                    (None, Some(values)) => drop(values.remove(&field)),
                    (_, None) => {}
                }
            }
            Ok(())
        },
    )?;
    Ok(())
}
