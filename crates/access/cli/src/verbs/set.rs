//! `set`: the parts of a pod's template that are changed most, in anything that has one.

mod env;
mod subject;

use kedge_kinds::Quantity;
use serde_json::Value;

use crate::args::{ALL, Command, EVERYWHERE, FILES, LOCAL, OUTPUT, Part, SELECT, Typed, WRITE, value};
use crate::change::{change, object_at, pod_spec};
use crate::error::CliError;
use crate::input;
use crate::mapping::Resource;
use crate::print::Output;
use crate::select;
use crate::session::Session;
use crate::verbs::label::split;

pub(crate) static COMMAND: Command = Command {
    name: "set",
    about: "Set images, variables, resources or the service account of a workload, or who is bound",
    children: &[&env::COMMAND, &IMAGE, &RESOURCES, &SERVICE_ACCOUNT, &SELECTOR, &subject::COMMAND],
    part: Part::Change,
    ..Command::EMPTY
};

static IMAGE: Command = Command {
    name: "image",
    about: "Set images of containers",
    usage: "(-f FILE | KIND NAME) CONTAINER=IMAGE…",
    examples: &["set image deployment/web web=nginx:1.27", "set image ds log *=busybox"],
    flags: &[FILES, LOCAL, OUTPUT, WRITE, SELECT, ALL, EVERYWHERE],
    run: Some(|session, typed| Box::pin(image(session, typed))),
    ..Command::EMPTY
};

static RESOURCES: Command = Command {
    name: "resources",
    about: "Set requests and limits of containers",
    usage: "(-f FILE | KIND NAME) [--requests=cpu=100m,memory=64Mi] [--limits=…]",
    examples: &["set resources deployment web -c=web --limits=cpu=200m,memory=512Mi"],
    flags: &[
        &[
            value("containers", "NAMES", "Which containers; * is any text").or('c'),
            value("limits", "KEY=AMOUNT,…", "The limits"),
            value("requests", "KEY=AMOUNT,…", "The requests"),
        ],
        FILES,
        LOCAL,
        OUTPUT,
        WRITE,
        SELECT,
        ALL,
        EVERYWHERE,
    ],
    run: Some(|session, typed| Box::pin(resources(session, typed))),
    ..Command::EMPTY
};

static SERVICE_ACCOUNT: Command = Command {
    name: "serviceaccount",
    aliases: &["sa"],
    about: "Set the service account of a workload",
    usage: "(-f FILE | KIND NAME) ACCOUNT",
    flags: &[FILES, LOCAL, OUTPUT, WRITE, ALL],
    run: Some(|session, typed| Box::pin(service_account(session, typed))),
    ..Command::EMPTY
};

static SELECTOR: Command = Command {
    name: "selector",
    about: "Set the selector of a service",
    usage: "(-f FILE | KIND NAME) LABELS",
    flags: &[
        FILES,
        LOCAL,
        OUTPUT,
        WRITE,
        ALL,
        &[value("resource-version", "VERSION", "Only if it is at this version")],
    ],
    run: Some(|session, typed| Box::pin(selector(session, typed))),
    ..Command::EMPTY
};

async fn image(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let (objects, changes) = split(&typed.words);
    if objects.is_empty() && !input::named(typed) {
        return Err(select::nothing_named());
    }
    let mut images = Vec::new();
    for change in changes {
        match change.split_once('=') {
            Some((container, image)) if !container.is_empty() && !image.is_empty() => {
                images.push((container, image))
            }
            _ => return Err(CliError::usage(format!("{change:?} is not CONTAINER=IMAGE"))),
        }
    }
    if images.is_empty() {
        return Err(CliError::usage("at least one image update is required"));
    }
    each(session, typed, objects, "image updated", |spec, told| {
        for (name, image) in &images {
            let mut hit = false;
            containers(spec, name, |container| {
                container["image"] = (*image).into();
                hit = true;
            });
            if !hit {
                return Err(CliError::unmet(format!(
                    "unable to find container named {name:?}\nIt is not in {told}"
                )));
            }
        }
        Ok(())
    })
    .await
}

async fn resources(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let (limits, requests) = (amounts(typed, "limits")?, amounts(typed, "requests")?);
    if limits.is_empty() && requests.is_empty() {
        return Err(CliError::usage(
            "you must specify an update to requests or limits (in the form of --requests/--limits)",
        ));
    }
    let names = typed.text("containers").unwrap_or("*");
    each(session, typed, &typed.words, "resource requirements updated", |spec, told| {
        let mut hit = false;
        for name in names.split(',') {
            containers(spec, name, |container| {
                hit = true;
                let resources = object_at(container, "resources");
                for (field, amounts) in [("limits", &limits), ("requests", &requests)] {
                    for (key, amount) in amounts {
                        object_at(resources, field)[key] = amount.clone().into();
                    }
                }
            });
        }
        if hit {
            Ok(())
        } else {
            Err(CliError::unmet(format!("unable to find container named {names}\nIt is not in {told}")))
        }
    })
    .await
}

/// `cpu=1,memory=1Gi`
pub(super) fn amounts(typed: &Typed, flag: &str) -> Result<Vec<(String, String)>, CliError> {
    let mut amounts = Vec::new();
    for text in typed.list(flag).into_iter().filter(|text| !text.is_empty()) {
        let Some((key, amount)) = text.split_once('=') else {
            return Err(CliError::usage(format!(
                "Invalid argument syntax {text}, expected <resource>=<value>"
            )));
        };
        amount.parse::<Quantity>().map_err(|error| CliError::usage(error.to_string()))?;
        amounts.push((key.to_owned(), amount.to_owned()));
    }
    Ok(amounts)
}

async fn service_account(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let Some((account, objects)) = typed.words.split_last() else {
        return Err(CliError::usage("serviceaccount is required"));
    };
    each(session, typed, objects, "serviceaccount updated", |spec, _| {
        spec["serviceAccountName"] = account.clone().into();
        // The server keeps it under its old name too.
        if !typed.is("local") {
            spec["serviceAccount"] = account.clone().into();
        }
        Ok(())
    })
    .await
}

async fn selector(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let (objects, changes) = split(&typed.words);
    let output = Output::of(typed)?;
    let labels: serde_json::Map<String, Value> = changes
        .iter()
        .flat_map(|change| change.split(','))
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    if changes.is_empty() {
        return Err(CliError::usage("one selector is required"));
    }
    for found in select::found(session, typed, objects).await? {
        if found.resource.kind != "Service" {
            return Err(CliError::unmet("setting a selector is only supported for Services"));
        }
        let changed = change(session, &found, "kubectl-set", |object| {
            object["spec"]["selector"] = labels.clone().into();
            Ok(())
        })
        .await?;
        output.done(session, found.resource, &changed.object, "selector updated")?;
    }
    Ok(())
}

/// Changes the pods' specification of every object meant.
async fn each(
    session: &Session<'_>,
    typed: &Typed,
    objects: &[String],
    done: &str,
    wanted: impl Fn(&mut Value, &str) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let output = Output::of(typed)?;
    for found in select::found(session, typed, objects).await? {
        let told = found.told();
        let place = pod_spec(&found.resource.kind).ok_or_else(|| {
            let Resource { plural, version, kind, .. } = found.resource;
            CliError::unmet(format!(
                "{plural}/{} the object is not a pod or does not have a pod template: *{version}.{kind}",
                found.name
            ))
        })?;
        let changed = change(session, &found, "kubectl-set", |object| match object.pointer_mut(place) {
            Some(spec) => wanted(spec, &told),
            None => Err(CliError::unmet(format!("{told} has no pod template"))),
        })
        .await?;
        // Like kubectl, nothing is said where nothing changes.
        if changed.differs || !output.is_human() {
            output.done(session, found.resource, &changed.object, done)?;
        }
    }
    Ok(())
}

/// The containers of this name, in which `*` stands for any text.
fn containers(spec: &mut Value, name: &str, mut change: impl FnMut(&mut Value)) {
    for list in ["initContainers", "containers"] {
        // Without the list there would be a null in its place.
        let Some(list) = spec.get_mut(list).and_then(Value::as_array_mut) else { continue };
        for container in list {
            if container["name"].as_str().is_some_and(|found| matches(name, found)) {
                change(container);
            }
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => {
            let Some(behind) = name.strip_prefix(start) else { return false };
            match rest.is_empty() {
                true => true,
                false => {
                    (0..=behind.len()).filter_map(|at| behind.get(at..)).any(|behind| matches(rest, behind))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn names_may_have_stars() {
        for (pattern, name, fits) in [
            ("*", "web", true),
            ("web", "web", true),
            ("w*b", "web", true),
            ("w*", "log", false),
            ("*b", "web", true),
        ] {
            assert_eq!(super::matches(pattern, name), fits, "{pattern} {name}");
        }
        let mut spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        super::containers(&mut spec, "b", |container| container["image"] = "x".into());
        assert_eq!(spec, json!({"containers": [{"name": "a"}, {"name": "b", "image": "x"}]}));
    }
}
