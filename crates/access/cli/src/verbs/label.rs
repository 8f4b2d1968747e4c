//! `label` and `annotate`: the same verb for two maps of an object's metadata.

use kedge_kinds::{Cause, names};
use serde_json::Value;

use crate::args::{
    ALL, Command, EVERYWHERE, FILES, Flag, LOCAL, OUTPUT, Part, SELECT, Typed, WRITE, switch, value,
};
use crate::change::{change, object_at};
use crate::error::{CliError, Refusal};
use crate::input;
use crate::print::Output;
use crate::select::{self, Found};
use crate::session::{DryRun, Session};

const FLAGS: &[Flag] = &[
    switch("overwrite", "Change values that are there"),
    switch("list", "Show what there is"),
    value("resource-version", "VERSION", "Only if it is at this version"),
];

pub(crate) static LABEL: Command = Command {
    name: "label",
    about: "Set or remove labels",
    usage: "(-f FILE | KIND NAME…) KEY=VALUE… KEY-…",
    examples: &["label pod web tier=front", "label pods --all tier-", "label node n1 disk=ssd --overwrite"],
    flags: &[FLAGS, FILES, LOCAL, OUTPUT, WRITE, SELECT, ALL, EVERYWHERE],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed, &LABELS))),
    ..Command::EMPTY
};

pub(crate) static ANNOTATE: Command = Command {
    name: "annotate",
    about: "Set or remove annotations",
    usage: "(-f FILE | KIND NAME…) KEY=VALUE… KEY-…",
    examples: &["annotate pod web owner=shop", "annotate pod web owner-"],
    flags: &[FLAGS, FILES, LOCAL, OUTPUT, WRITE, SELECT, ALL, EVERYWHERE],
    part: Part::Change,
    run: Some(|session, typed| Box::pin(run(session, typed, &ANNOTATIONS))),
    ..Command::EMPTY
};

struct Words {
    map: &'static str,
    one: &'static str,
    set: &'static str,
    removed: &'static str,
    unchanged: &'static str,
    manager: &'static str,
}

static LABELS: Words = Words {
    map: "labels",
    one: "label",
    set: "labeled",
    removed: "unlabeled",
    unchanged: "not labeled",
    manager: "kubectl-label",
};

static ANNOTATIONS: Words = Words {
    map: "annotations",
    one: "annotation",
    set: "annotated",
    removed: "annotated",
    unchanged: "annotated",
    manager: "kubectl-annotate",
};

/// What the words say: to set, and to take away.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    set: Vec<(String, String)>,
    remove: Vec<String>,
}

async fn run(session: &Session<'_>, typed: &Typed, words: &Words) -> Result<(), CliError> {
    let (objects, changes) = split(&typed.words);
    if objects.is_empty() && !input::named(typed) {
        return Err(CliError::usage(
            "one or more resources must be specified as <resource> <name> or <resource>/<name>",
        ));
    }
    if typed.is("all") && typed.given("selector") {
        return Err(CliError::usage("cannot set --all and --selector at the same time"));
    }
    let wanted = wanted(changes, words)?;
    if wanted == Wanted::default() && !typed.is("list") {
        return Err(CliError::usage(format!("at least one {} update is required", words.one)));
    }
    let output = Output::of(typed)?;
    let found = select::found(session, typed, objects).await?;
    if found.is_empty() {
        session.screen.warn("No resources found");
    }
    if session.dry_run()? != DryRun::Client && !typed.is("local") {
        wrong_keys(&found, &wanted, words)?;
    }
    for one in found {
        if let Some(version) = typed.text("resource-version")
            && one.object["metadata"]["resourceVersion"] != version
        {
            return Err(CliError::unmet(format!("{} is not at version {version}", one.told())));
        }
        let changed = change(session, &one, words.manager, |object| {
            apply(object, &wanted, words, typed.is("overwrite"))
        })
        .await?;
        for key in &wanted.remove {
            if one.object["metadata"][words.map][key].is_null() {
                session.screen.say(&format!("{} {key:?} not found.\n", words.one))?;
            }
        }
        if typed.is("list") {
            for (key, value) in changed.object["metadata"][words.map].as_object().into_iter().flatten() {
                session.screen.line(&format!("{key}={}", value.as_str().unwrap_or_default()))?;
            }
            continue;
        }
        let done = match (changed.differs, wanted.set.is_empty()) {
            (false, _) => words.unchanged,
            (true, true) => words.removed,
            (true, false) => words.set,
        };
        output.done(session, one.resource, &changed.object, done)?;
    }
    Ok(())
}

fn apply(object: &mut Value, wanted: &Wanted, words: &Words, overwrite: bool) -> Result<(), CliError> {
    let map = object_at(&mut object["metadata"], words.map);
    for (key, value) in &wanted.set {
        if let Some(before) = map[key].as_str().filter(|before| !overwrite && before != value) {
            return Err(CliError::unmet(format!(
                "'{key}' already has a value ({before}), and --overwrite is false"
            )));
        }
        map[key] = value.clone().into();
    }
    if let Some(map) = map.as_object_mut() {
        wanted.remove.iter().for_each(|key| drop(map.remove(key)));
        // An index that isn't there leaves a null behind.
        map.retain(|_, value| !value.is_null());
    }
    if object["metadata"][words.map].as_object().is_some_and(serde_json::Map::is_empty)
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove(words.map);
    }
    Ok(())
}

/// The changes are what has a `=` or ends with `-`; no name does.
pub(crate) fn split(words: &[String]) -> (&[String], &[String]) {
    let is_change = |word: &String| word.contains('=') || word.ends_with('-');
    let at = words.iter().position(is_change).unwrap_or(words.len());
    words.split_at(at)
}

fn wanted(changes: &[String], words: &Words) -> Result<Wanted, CliError> {
    let mut wanted = Wanted::default();
    for word in changes {
        if words.one == "label" {
            check_value(word)?;
        }
        match (word.split_once('='), word.strip_suffix('-')) {
            (Some((key, value)), _) if !key.is_empty() => wanted.set.push((key.to_owned(), value.to_owned())),
            (None, Some(key)) if !key.is_empty() => wanted.remove.push(key.to_owned()),
            (None, None) => {
                return Err(CliError::usage(format!(
                    "all resources must be specified before {} changes: {word}\nA change is KEY=VALUE or KEY-",
                    words.one
                )));
            }
            _ => {
                return Err(CliError::usage(format!(
                    "at least one {} update is required\n{word:?} is neither KEY=VALUE nor KEY-",
                    words.one
                )));
            }
        }
    }
    if let Some((key, _)) = wanted.set.iter().find(|(key, _)| wanted.remove.contains(key)) {
        return Err(CliError::usage(match words.one {
            "label" => format!("can not both modify and remove a label in the same command\nIt is {key}"),
            _ => format!(
                "can not both modify and remove the following annotation(s) in the same command: {key}"
            ),
        }));
    }
    Ok(wanted)
}

/// A label's value, which kubectl judges before it asks anybody.
fn check_value(word: &str) -> Result<(), CliError> {
    let Some((_, value)) = word.split_once('=') else { return Ok(()) };
    if value.contains('=') {
        return Err(CliError::usage(format!("invalid label spec: {word}")));
    }
    match &names::label_value(value)[..] {
        [] => Ok(()),
        wrong => Err(CliError::usage(format!("invalid label value: {word:?}: {}", wrong.join(";")))),
    }
}

/// What the server would say of keys is said before it is asked to write anything, in its words.
fn wrong_keys(found: &[Found<'_>], wanted: &Wanted, words: &Words) -> Result<(), CliError> {
    let mut keys: Vec<&String> = wanted.set.iter().map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    let causes = keys.into_iter().flat_map(|key| {
        // Keys of annotations may have capitals before the slash, too.
        let judged = if words.one == "label" { key.clone() } else { key.to_lowercase() };
        names::qualified_name(&judged).into_iter().map(move |why| Cause {
            reason: "FieldValueInvalid".to_owned(),
            message: format!("Invalid value: {key:?}: {why}"),
            field: format!("metadata.{}", words.map),
        })
    });
    let causes: Vec<Cause> = causes.collect();
    if causes.is_empty() || found.is_empty() {
        return Ok(());
    }
    let refusal = |one: &Found<'_>| CliError::Server(Refusal::invalid(one.resource, &one.name, &causes));
    Err(CliError::Several(found.iter().map(refusal).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ANNOTATIONS, LABELS, apply, split, wanted, wrong_keys};
    use crate::error::CliError;
    use crate::mapping::Resource;
    use crate::select::Found;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn changes_come_behind_the_objects() {
        for (line, objects, set, removed) in [
            ("pods a b x=1 y-", "pods a b", 1, 1),
            ("pod/a x=", "pod/a", 1, 0),
            ("pods --all", "pods --all", 0, 0),
        ] {
            let all = words(line);
            let (found, changes) = split(&all);
            let wanted = wanted(changes, &LABELS).unwrap();
            assert_eq!(
                (found.join(" ").as_str(), wanted.set.len(), wanted.remove.len()),
                (objects, set, removed),
                "{line}"
            );
        }
        assert!(wanted(&words("x=1 x-"), &LABELS).is_err());
    }

    #[test]
    fn a_value_that_is_there_is_changed_only_when_asked_for() {
        let before = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        for (line, overwrite, after) in [
            ("a=1", false, Some(json!({"metadata": {"labels": {"a": "1", "b": "2"}}}))),
            ("a=3", false, None),
            ("a=3", true, Some(json!({"metadata": {"labels": {"a": "3", "b": "2"}}}))),
            ("a- b-", false, Some(json!({"metadata": {}}))),
        ] {
            let mut object = before.clone();
            let done = apply(&mut object, &wanted(&words(line), &LABELS).unwrap(), &LABELS, overwrite);
            assert_eq!(done.is_ok().then_some(object), after, "{line}");
        }
    }

    #[test]
    fn values_that_no_label_has_are_refused_before_anybody_is_asked() {
        for (line, said) in [
            ("a=b/c", "invalid label value: \"a=b/c\": a valid label must be an empty string or"),
            ("a=b-", "invalid label value: \"a=b-\": a valid label must be"),
            ("a=b=c", "invalid label spec: a=b=c"),
        ] {
            let refused = wanted(&words(line), &LABELS).unwrap_err().to_string();
            assert!(refused.starts_with(said), "{line}: {refused}");
            assert!(wanted(&words(line), &ANNOTATIONS).is_ok(), "{line} can be an annotation");
        }
    }

    #[test]
    fn keys_are_judged_for_every_object() {
        let resource =
            Resource { kind: "Deployment".to_owned(), group: "apps".to_owned(), ..Resource::default() };
        let found = ["web", "shop"].map(|name| Found {
            resource: &resource,
            namespace: String::new(),
            name: name.to_owned(),
            object: json!({}),
        });
        for (line, maps, refused) in [
            ("a=1 example.com/b=2", &LABELS, None),
            ("_a-", &LABELS, None),
            ("EXAMPLE.com/Key=1", &ANNOTATIONS, None),
            (
                "EXAMPLE.com/Key=1",
                &LABELS,
                Some("metadata.labels: Invalid value: \"EXAMPLE.com/Key\": prefix part"),
            ),
            ("/a=1", &LABELS, Some("metadata.labels: Invalid value: \"/a\": prefix part must be non-empty")),
            ("b=1 _a=1", &ANNOTATIONS, Some("metadata.annotations: Invalid value: \"_a\": name part must")),
            ("b_=1 _a=1", &LABELS, Some("[metadata.labels: Invalid value: \"_a\": name part must")),
        ] {
            let judged = wrong_keys(&found, &wanted(&words(line), maps).unwrap(), maps);
            let Some(said) = refused else {
                assert!(judged.is_ok(), "{line}");
                continue;
            };
            let Err(CliError::Several(errors)) = judged else { panic!("{line} is not refused") };
            let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
            for (told, name) in told.iter().zip(["web", "shop"]) {
                let said = format!("Deployment.apps \"{name}\" is invalid: {said}");
                assert!(told.starts_with(&said), "{line}: {told}");
            }
            assert_eq!(told.len(), 2, "{line}");
        }
    }
}
