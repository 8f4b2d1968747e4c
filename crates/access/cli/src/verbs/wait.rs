//! `wait`: until objects are there, gone, or as a condition or a field says.

use std::time::Duration;

use serde_json::Value;

use crate::args::{ALL, Command, EVERYWHERE, FILES, Flag, Part, SELECT, TIMEOUT, Typed, value};
use crate::error::CliError;
use crate::input;
use crate::mapping::Resource;
use crate::print::jsonpath::{Path, relaxed, told};
use crate::progress::{Progress, bar};
use crate::select;
use crate::session::Session;

const PATIENCE: Duration = Duration::from_secs(30);

const FLAGS: &[Flag] = &[
    value("for", "WHAT", "create, delete, condition=NAME[=VALUE] or jsonpath={PATH}[=VALUE]"),
    value("output", "FORMAT", "name").or('o'),
];

pub(crate) static COMMAND: Command = Command {
    name: "wait",
    about: "Wait until objects are there, gone or as they should be",
    usage: "(-f FILE | KIND NAME… | KIND -l SELECTOR | KIND --all) --for=WHAT",
    examples: &[
        "wait pod/web --for=condition=Ready",
        "wait deployment --all --for=condition=Available --timeout=60s",
        "wait pod/web --for=jsonpath={.status.phase}=Running",
        "wait pod/web --for=delete",
    ],
    flags: &[FLAGS, FILES, SELECT, ALL, EVERYWHERE, TIMEOUT],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

#[derive(Debug)]
enum For {
    Create,
    Delete,
    Condition { name: String, value: String },
    Field { path: Path, value: Option<String> },
}

impl For {
    fn parse(text: &str) -> Result<Self, CliError> {
        match text {
            "create" => return Ok(Self::Create),
            "delete" => return Ok(Self::Delete),
            _ => {}
        }
        if let Some(condition) = text.strip_prefix("condition=") {
            let (name, value) = condition.split_once('=').unwrap_or((condition, "True"));
            return Ok(Self::Condition { name: name.to_owned(), value: value.to_owned() });
        }
        if let Some(field) = text.strip_prefix("jsonpath=") {
            let field = field.trim_matches('\'');
            let end = field.rfind('}').filter(|_| field.starts_with('{'));
            let (path, value) = match end {
                Some(end) => (
                    field.get(..=end),
                    field.get(end + 1..).and_then(|rest| rest.trim_start_matches('\'').strip_prefix('=')),
                ),
                None => match field.split_once('=') {
                    Some((path, value)) => (Some(path), Some(value)),
                    None => (Some(field), None),
                },
            };
            if value == Some("") {
                return Err(CliError::usage(
                    "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
                ));
            }
            let path = relaxed(path.unwrap_or_default())?;
            return Ok(Self::Field { path, value: value.map(|value| value.trim_matches('\'').to_owned()) });
        }
        Err(CliError::usage(format!("unrecognized condition: {text:?}")))
    }

    /// An object that is there is as it should be.
    fn holds(&self, object: &Value) -> bool {
        match self {
            Self::Create => true,
            Self::Delete => false,
            Self::Condition { name, value } => {
                let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
                // A condition of an older generation says nothing about this one.
                let current = |condition: &Value| {
                    let seen = condition["observedGeneration"]
                        .as_i64()
                        .or(object["status"]["observedGeneration"].as_i64());
                    seen.zip(object["metadata"]["generation"].as_i64()).is_none_or(|(seen, now)| seen >= now)
                };
                conditions.into_iter().any(|condition| {
                    let text = |key: &str| condition[key].as_str().unwrap_or_default();
                    text("type").eq_ignore_ascii_case(name)
                        && text("status").eq_ignore_ascii_case(value)
                        && current(condition)
                })
            }
            Self::Field { path, value } => {
                let found = path.find(object, object);
                match value {
                    None => !found.is_empty(),
                    Some(value) => found.len() == 1 && found.iter().any(|found| told(found) == *value),
                }
            }
        }
    }
}

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let wanted = typed.text("for").ok_or_else(|| {
        let known = "--for is required: condition=Ready, delete, create, jsonpath=…";
        CliError::usage(format!("unrecognized condition: \"\"\n{known}"))
    })?;
    let wanted = For::parse(wanted)?;
    let most = match typed.text("timeout") {
        None => PATIENCE,
        Some(_) => typed.duration("timeout")?.unwrap_or(PATIENCE),
    };
    let until = tokio::time::Instant::now() + most;
    let objects = meant(session, typed, &wanted, until).await?;
    if objects.is_empty() {
        return match wanted {
            For::Delete => Ok(()),
            _ => Err(CliError::unmet("no matching resources found")),
        };
    }
    let mut errors = Vec::new();
    let all = objects.len();
    for (done, object) in objects.into_iter().enumerate() {
        let told = format!("{}/{}", object.resource.told(), object.name);
        // What was gone before needs no waiting.
        if matches!(wanted, For::Delete) && object.uid.is_null() {
            continue;
        }
        let progress = match all {
            1 => format!("waiting for {told}"),
            _ => format!("{} {done} of {all}, waiting for {told}", bar(done as u64, all as u64)),
        };
        let progress = Progress::new(session.screen, progress);
        match one(session, &object, &wanted, until, most, progress).await {
            Ok(()) if typed.text("output") == Some("name") => session.screen.line(&told)?,
            Ok(()) => session.screen.line(&format!("{told} condition met"))?,
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(CliError::Several(errors)) }
}

struct Meant<'m> {
    resource: &'m Resource,
    namespace: String,
    name: String,
    /// What is waited for when it is to be gone: another one of its name may come.
    uid: Value,
}

async fn meant<'m>(
    session: &'m Session<'_>,
    typed: &Typed,
    wanted: &For,
    until: tokio::time::Instant,
) -> Result<Vec<Meant<'m>>, CliError> {
    let mut meant = Vec::new();
    let namespace = session.namespace()?;
    let selected = typed.given("selector") || typed.given("field-selector") || typed.is("all");
    if input::named(typed) {
        for manifest in input::manifests(typed)? {
            let (resource, namespace, name) = select::placed(session, &manifest).await?;
            meant.push(Meant { resource, namespace, name, uid: Value::Null });
        }
    } else if selected {
        let found = |found: select::Found<'m>| Meant {
            resource: found.resource,
            namespace: found.namespace,
            name: found.name,
            uid: found.object["metadata"]["uid"].clone(),
        };
        let mut progress = Progress::new(session.screen, "waiting for the first".to_owned());
        loop {
            meant.extend(select::found(session, typed, &typed.words).await?.into_iter().map(found));
            let enough =
                !meant.is_empty() || !matches!(wanted, For::Create) || tokio::time::Instant::now() >= until;
            if enough {
                break;
            }
            progress.tick().await;
        }
        progress.end();
        return Ok(meant);
    } else {
        for asked in select::asked(session.mapping().await?, &typed.words)? {
            if asked.names.is_empty() {
                return Err(CliError::usage("resource(s) were provided, but no name was specified"));
            }
            let named = |name| Meant {
                resource: asked.resource,
                namespace: namespace.clone(),
                name,
                uid: Value::Null,
            };
            meant.extend(asked.names.into_iter().map(named));
        }
    }
    for one in &mut meant {
        match session.read(&one.resource.path(&one.namespace, &one.name)).await {
            Ok(object) => one.uid = object["metadata"]["uid"].clone(),
            // What is to be gone may be gone, and what is to be there may come.
            Err(error) if error.is_not_found() && matches!(wanted, For::Create | For::Delete) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(meant)
}

async fn one(
    session: &Session<'_>,
    object: &Meant<'_>,
    wanted: &For,
    until: tokio::time::Instant,
    most: Duration,
    mut progress: Progress,
) -> Result<(), CliError> {
    let path = object.resource.path(&object.namespace, &object.name);
    let what = format!("{}/{}", object.resource.plural, object.name);
    let done = loop {
        match session.read(&path).await {
            Ok(live) if matches!(wanted, For::Delete) && live["metadata"]["uid"] != object.uid => {
                break Ok(());
            }
            Ok(live) if wanted.holds(&live) => break Ok(()),
            Ok(_) => {}
            Err(error) if error.is_not_found() => match wanted {
                For::Delete => break Ok(()),
                For::Create => {}
                For::Condition { .. } | For::Field { .. } => break Err(error),
            },
            Err(error) => break Err(error),
        }
        if most.is_zero() {
            break Err(CliError::unmet(format!("condition not met for {what}")));
        }
        if tokio::time::Instant::now() >= until {
            break Err(CliError::Timeout(what.clone()));
        }
        progress.tick().await;
    };
    progress.end();
    done
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::For;

    #[test]
    fn what_is_waited_for_holds_when_it_should() {
        let object = json!({
            "metadata": {"generation": 2},
            "status": {
                "phase": "Running", "observedGeneration": 2,
                "conditions": [
                    {"type": "Ready", "status": "True"},
                    {"type": "Old", "status": "True", "observedGeneration": 1},
                ],
            },
        });
        for (text, holds) in [
            ("create", true),
            ("delete", false),
            ("condition=ready", true),
            ("condition=Ready=false", false),
            ("condition=Old", false),
            ("jsonpath={.status.phase}=Running", true),
            ("jsonpath='{.status.phase}'=Failed", false),
            ("jsonpath={.status.phase}", true),
            ("jsonpath={.status.nothing}", false),
            ("jsonpath=.status.conditions[?(@.type==\"Ready\")].status=True", false),
            ("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}=True", true),
        ] {
            assert_eq!(For::parse(text).is_ok_and(|wanted| wanted.holds(&object)), holds, "{text}");
        }
        assert!(For::parse("sometime").is_err());
    }
}
