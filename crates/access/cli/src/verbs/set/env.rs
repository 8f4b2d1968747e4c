//! `set env`: environment variables of containers, by value, from config maps and secrets, listed or taken away.

use serde_json::{Value, json};

use super::{containers, each};
use crate::args::{
    ALL, Command, EVERYWHERE, FILES, Flag, LOCAL, OUTPUT, SELECT, Typed, WRITE, switch, value,
};
use crate::change::pod_spec;
use crate::error::CliError;
use crate::input;
use crate::select;
use crate::session::Session;
use crate::verbs::label::split;

const FLAGS: &[Flag] = &[
    value("containers", "NAMES", "Which containers; * is any text").or('c'),
    value("env", "KEY=VALUE", "A variable; can be repeated").or('e'),
    value("from", "KIND/NAME", "All keys of a config map or secret"),
    value("prefix", "TEXT", "Put before the keys of --from"),
    value("keys", "NAMES", "Which keys of --from"),
    switch("list", "Show the variables there are"),
    switch("resolve", "Taken and ignored"),
    switch("overwrite", "Taken: what is said counts"),
];

pub(super) static COMMAND: Command = Command {
    name: "env",
    about: "Set environment variables of containers",
    usage: "(-f FILE | KIND NAME) KEY=VALUE… KEY-…",
    examples: &[
        "set env deployment/web COLOUR=blue",
        "set env deployment/web COLOUR-",
        "set env deployment/web --list",
    ],
    flags: &[FLAGS, FILES, LOCAL, OUTPUT, WRITE, SELECT, ALL, EVERYWHERE],
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// One variable: what it becomes, or nothing to take it away.
type Variable = (String, Option<Value>);

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let (objects, changes) = split(&typed.words);
    let names = typed.text("containers").unwrap_or("*");
    if typed.is("list") {
        return list(session, typed, objects, names).await;
    }
    if objects.is_empty() && !input::named(typed) {
        return Err(CliError::usage(
            "one or more resources must be specified as <resource> <name> or <resource>/<name>",
        ));
    }
    let mut variables: Vec<Variable> = Vec::new();
    for word in changes.iter().chain(typed.all("env")) {
        variables.push(match (word.split_once('='), word.strip_suffix('-')) {
            (Some((key, value)), _) => (key.to_owned(), Some(json!({"name": key, "value": value}))),
            (None, Some(key)) => (key.to_owned(), None),
            (None, None) => {
                return Err(CliError::usage(format!(
                    "environment variables must be of the form KEY=VALUE, not {word:?}"
                )));
            }
        });
    }
    let both = |(key, value): &Variable| {
        value.is_none() && variables.iter().any(|(other, value)| other == key && value.is_some())
    };
    if variables.iter().any(both) {
        return Err(CliError::usage(
            "can not both modify and remove the same environment variable in the same command",
        ));
    }
    if let Some(from) = typed.text("from") {
        variables.extend(taken_from(session, typed, from).await?);
    }
    if variables.is_empty() {
        return Err(CliError::usage("at least one environment variable must be provided"));
    }
    each(session, typed, objects, "env updated", |spec, _| {
        for name in names.split(',') {
            containers(spec, name, |container| {
                variables.iter().for_each(|variable| put(container, variable))
            });
        }
        Ok(())
    })
    .await
}

fn put(container: &mut Value, (key, wanted): &Variable) {
    let mut variables = match container["env"].take() {
        Value::Array(variables) => variables,
        _ => Vec::new(),
    };
    let at = variables.iter().position(|variable| variable["name"] == **key);
    match (at, wanted) {
        (Some(at), Some(wanted)) => {
            if let Some(place) = variables.get_mut(at) {
                *place = wanted.clone();
            }
        }
        (Some(at), None) => drop(variables.remove(at)),
        (None, Some(wanted)) => variables.push(wanted.clone()),
        (None, None) => {}
    }
    match variables.is_empty() {
        false => container["env"] = variables.into(),
        true => {
            if let Some(container) = container.as_object_mut() {
                container.remove("env");
            }
        }
    }
}

async fn taken_from(session: &Session<'_>, typed: &Typed, from: &str) -> Result<Vec<Variable>, CliError> {
    let asked = select::asked(session.mapping().await?, &[from.to_owned()])?;
    let (resource, name) = match &asked[..] {
        [one] if one.names.len() == 1 => (one.resource, one.names.concat()),
        _ => return Err(CliError::usage("--from takes configmap/NAME or secret/NAME")),
    };
    let source = match &*resource.kind {
        "ConfigMap" => "configMapKeyRef",
        "Secret" => "secretKeyRef",
        _ => {
            return Err(CliError::usage(
                "unsupported resource specified in --from\nVariables come from configmap/NAME or secret/NAME",
            ));
        }
    };
    let object = session.read(&resource.path(&session.namespace()?, &name)).await?;
    let (wanted, prefix) = (typed.list("keys"), typed.text("prefix").unwrap_or_default());
    let keys =
        object["data"].as_object().into_iter().flat_map(|data| data.keys().cloned().collect::<Vec<_>>());
    let keys = keys.filter(|key| wanted.is_empty() || wanted.contains(key));
    let variable = |key: String| {
        let called: String = key
            .to_uppercase()
            .chars()
            .map(|letter| if letter.is_alphanumeric() { letter } else { '_' })
            .collect();
        let called = format!("{prefix}{called}");
        let value = json!({"name": called, "valueFrom": {source: {"name": name, "key": key}}});
        (called, Some(value))
    };
    Ok(keys.map(variable).collect())
}

async fn list(session: &Session<'_>, typed: &Typed, objects: &[String], names: &str) -> Result<(), CliError> {
    for mut found in select::found(session, typed, objects).await? {
        let Some(spec) = pod_spec(&found.resource.kind).and_then(|place| found.object.pointer_mut(place))
        else {
            continue;
        };
        let mut lines = Vec::new();
        containers(spec, names, |container| {
            lines.push(format!(
                "# {} {}, container {}",
                found.resource.kind,
                found.name,
                container["name"].as_str().unwrap_or_default()
            ));
            for variable in container["env"].as_array().into_iter().flatten() {
                let name = variable["name"].as_str().unwrap_or_default();
                lines.push(match variable["valueFrom"].as_object() {
                    None => format!("{name}={}", variable["value"].as_str().unwrap_or_default()),
                    Some(source) => format!("# {name} from {}", Value::from(source.clone())),
                });
            }
        });
        for line in lines {
            session.screen.line(&line)?;
        }
    }
    Ok(())
}
