//! `taint`: marks of nodes that keep pods away. What the words say is judged before anybody is asked.

use kedge_kinds::names;
use serde_json::{Value, json};

use crate::args::{ALL, Command, OUTPUT, Part, SELECT, Typed, WRITE, switch};
use crate::change::change;
use crate::error::CliError;
use crate::print::Output;
use crate::select;
use crate::session::Session;

pub(crate) static TAINT: Command = Command {
    name: "taint",
    about: "Set or remove taints of nodes",
    usage: "nodes NODE… KEY=VALUE:EFFECT… KEY[:EFFECT]-…",
    examples: &["taint nodes n1 dedicated=gpu:NoSchedule", "taint nodes n1 dedicated-"],
    flags: &[&[switch("overwrite", "Change taints that are there")], OUTPUT, SELECT, ALL, WRITE],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(taint(session, typed))),
    ..Command::EMPTY
};

/// What the words say of taints.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Set { key: String, value: String, effect: String },
    Remove { key: String, effect: Option<String> },
}

impl Change {
    /// `key=value:Effect`, `key:Effect`, `key-`, `key:Effect-`.
    fn parse(word: &str) -> Result<Self, String> {
        let removed = word.strip_suffix('-');
        let word = removed.unwrap_or(word);
        let wrong = |why: Vec<String>| match &why[..] {
            [] => Ok(()),
            why => Err(format!("invalid taint spec: {word}, {}", why.join("; "))),
        };
        let mut parts = word.split(':');
        let (key, value, effect) = match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
            (key, None, _) => (key, "", None),
            (pair, Some(effect), None) => {
                if !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
                    return Err(format!(
                        "invalid taint effect: {effect}, unsupported taint effect\nThere are NoSchedule, PreferNoSchedule and \
                         NoExecute"
                    ));
                }
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                if value.contains('=') {
                    return Err(format!("invalid taint spec: {word}"));
                }
                wrong(names::label_value(value))?;
                (key, value, Some(effect.to_owned()))
            }
            _ => return Err(format!("invalid taint spec: {word}")),
        };
        wrong(names::qualified_name(key))?;
        match (removed, effect) {
            (Some(_), effect) => Ok(Self::Remove { key: key.to_owned(), effect }),
            (None, Some(effect)) => Ok(Self::Set { key: key.to_owned(), value: value.to_owned(), effect }),
            (None, None) => Err(format!("invalid taint spec: {word}")),
        }
    }

    fn sets(&self) -> Option<(&str, &str)> {
        match self {
            Self::Set { key, effect, .. } => Some((key, effect)),
            Self::Remove { .. } => None,
        }
    }
}

/// The changes that the words say; none is another's twin.
fn wanted(words: &[String]) -> Result<Vec<Change>, String> {
    let mut changes: Vec<Change> = Vec::new();
    for word in words {
        let change = Change::parse(word)?;
        if let Change::Set { key, value, effect } = &change
            && changes.iter().any(|other| other.sets() == change.sets())
        {
            return Err(format!(
                "duplicated taints with the same key and effect: {{{key} {value} {effect} <nil>}}"
            ));
        }
        changes.push(change);
    }
    Ok(changes)
}

/// What is both set and taken away: `a=NoSchedule`.
fn at_odds(changes: &[Change]) -> Vec<String> {
    let removed = changes.iter().filter_map(|change| match change {
        Change::Remove { key, effect } => Some((&**key, effect.as_deref())),
        Change::Set { .. } => None,
    });
    let is_set = |key: &str, effect: Option<&str>| {
        let mut set = changes.iter().filter_map(Change::sets);
        set.any(|(other, its)| other == key && effect.is_none_or(|effect| effect == its))
    };
    removed
        .filter(|(key, effect)| is_set(key, *effect))
        .map(|(key, effect)| format!("{key}={}", effect.unwrap_or_default()))
        .collect()
}

async fn taint(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let is_change = |word: &String| word.contains(['=', ':']) || word.ends_with('-');
    let at = typed.words.iter().position(is_change).unwrap_or(typed.words.len());
    let (objects, words) = typed.words.split_at(at);
    if let Some(word) = words.iter().find(|word| !is_change(word)) {
        return Err(CliError::usage(format!("all resources must be specified before taint changes: {word}")));
    }
    if objects.is_empty() {
        return Err(CliError::usage("one or more resources must be specified as <resource> <name>"));
    }
    if words.is_empty() {
        return Err(CliError::usage("at least one taint update is required"));
    }
    let changes = wanted(words).map_err(|why| typed.wrong(why))?;
    let at_odds = at_odds(&changes);
    if !at_odds.is_empty() {
        return Err(CliError::usage(format!(
            "can not both modify and remove the following taint(s) in the same command: {}",
            at_odds.join(", ")
        )));
    }
    if matches!(objects, [_])
        && !typed.is("all")
        && !typed.given("selector")
        && !objects.concat().contains('/')
    {
        return Err(CliError::usage(
            "at least one resource name must be specified since 'all' parameter is not set",
        ));
    }
    let output = Output::of(typed)?;
    for node in select::found(session, typed, objects).await? {
        if node.resource.kind != "Node" {
            return Err(CliError::usage(format!(
                "invalid resource type {}, only node types are supported",
                node.resource.plural
            )));
        }
        let changed = change(session, &node, "kubectl-taint", |object| {
            let taints = object["spec"]["taints"].as_array().cloned().unwrap_or_default();
            let taints = tainted(&node.name, taints, &changes, typed.is("overwrite"))?;
            match (taints.is_empty(), object["spec"].as_object_mut()) {
                (true, Some(spec)) => drop(spec.remove("taints")),
                _ => object["spec"]["taints"] = taints.into(),
            }
            Ok(())
        })
        .await?;
        let removed = changes.iter().all(|change| matches!(change, Change::Remove { .. }));
        let there = |key: &str, effect: &str| {
            let taints = node.object["spec"]["taints"].as_array().into_iter().flatten();
            taints.into_iter().any(|taint| taint["key"] == *key && taint["effect"] == *effect)
        };
        let added = changes
            .iter()
            .all(|change| matches!(change, Change::Set { key, effect, .. } if !there(key, effect)));
        let done = match (removed, added) {
            (true, _) => "untainted",
            (_, true) => "tainted",
            _ => "modified",
        };
        output.done(session, node.resource, &changed.object, done)?;
    }
    Ok(())
}

fn tainted(
    node: &str,
    mut taints: Vec<Value>,
    changes: &[Change],
    overwrite: bool,
) -> Result<Vec<Value>, CliError> {
    for change in changes {
        match change {
            Change::Set { key, value, effect } => {
                let is_it = |taint: &Value| taint["key"] == **key && taint["effect"] == **effect;
                if taints.iter().any(is_it) && !overwrite {
                    return Err(CliError::unmet(format!(
                        "node {node} already has {key} taint(s) with same effect(s) and --overwrite is false"
                    )));
                }
                taints.retain(|taint| !is_it(taint));
                let mut taint = json!({"key": key, "effect": effect});
                if !value.is_empty() {
                    taint["value"] = value.clone().into();
                }
                taints.push(taint);
            }
            Change::Remove { key, effect } => {
                let is_it = |taint: &Value| {
                    taint["key"] == **key && effect.as_ref().is_none_or(|effect| taint["effect"] == **effect)
                };
                if !taints.iter().any(is_it) {
                    let what =
                        effect.as_ref().map_or_else(|| key.clone(), |effect| format!("{key}:{effect}"));
                    return Err(CliError::unmet(format!("taint {what:?} not found")));
                }
                taints.retain(|taint| !is_it(taint));
            }
        }
    }
    Ok(taints)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{at_odds, tainted, wanted};

    #[test]
    fn taints_change_as_the_words_say() {
        let before = vec![json!({"key": "a", "value": "1", "effect": "NoSchedule"})];
        for (words, overwrite, after) in [
            (
                "b:NoExecute",
                false,
                Some(
                    json!([{"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]),
                ),
            ),
            ("a=2:NoSchedule", false, None),
            ("a=2:NoSchedule", true, Some(json!([{"key": "a", "value": "2", "effect": "NoSchedule"}]))),
            ("a-", false, Some(json!([]))),
            ("a:NoSchedule-", false, Some(json!([]))),
            ("a:NoExecute-", false, None),
            ("c-", false, None),
        ] {
            let changes = wanted(&[words.to_owned()]).unwrap();
            let found = tainted("n", before.clone(), &changes, overwrite).ok().map(|taints| json!(taints));
            assert_eq!(found, after, "{words}");
        }
    }

    #[test]
    fn what_cannot_be_a_taint_is_refused() {
        const KEY: &str = "name part must consist of alphanumeric characters";
        for (words, said) in [
            ("_a:NoSchedule", &["invalid taint spec: _a:NoSchedule, ", KEY][..]),
            ("_a-", &["invalid taint spec: _a, ", KEY]),
            ("a=b", &["invalid taint spec: a=b, ", KEY]),
            (":NoExecute", &["invalid taint spec: :NoExecute, name part must be non-empty; ", KEY]),
            ("a=b/c:NoSchedule", &["invalid taint spec: a=b/c:NoSchedule, a valid label must be"]),
            ("a=b=c:NoSchedule", &["invalid taint spec: a=b=c:NoSchedule"]),
            ("a:b:c", &["invalid taint spec: a:b:c"]),
            ("a:", &["invalid taint effect: , unsupported taint effect"]),
            ("a:Never-", &["invalid taint effect: Never, unsupported taint effect"]),
            (
                "a:NoExecute a=2:NoExecute",
                &["duplicated taints with the same key and effect: {a 2 NoExecute <nil>}"],
            ),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let refused = wanted(&words).unwrap_err();
            assert!(refused.starts_with(said[0]), "{words:?}: {refused}");
            assert!(said.iter().all(|part| refused.contains(part)), "{words:?}: {refused}");
        }
    }

    #[test]
    fn what_is_set_is_not_taken_away_too() {
        for (words, both) in [
            ("a:NoSchedule a:NoSchedule-", "a=NoSchedule"),
            ("a:NoSchedule a-", "a="),
            ("a:NoSchedule a:NoExecute- b-", ""),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(at_odds(&wanted(&words).unwrap()).join(", "), both, "{words:?}");
        }
    }
}
