//! `cordon`, `uncordon`, `drain` and `taint`: what may run on a node.

mod drain;

use serde_json::{Value, json};

use crate::args::{ALL, Command, Flag, OUTPUT, Part, SELECT, TIMEOUT, Typed, WRITE, switch, value};
use crate::change::change;
use crate::error::CliError;
use crate::print::Output;
use crate::select::{self, Found};
use crate::session::Session;

pub(crate) static CORDON: Command = Command {
    name: "cordon",
    about: "Let no new pods onto nodes",
    usage: "NODE…",
    examples: &["cordon n1"],
    flags: &[SELECT, WRITE],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(cordon(session, typed, true))),
    ..Command::EMPTY
};

pub(crate) static UNCORDON: Command = Command {
    name: "uncordon",
    about: "Let new pods onto nodes again",
    usage: "NODE…",
    examples: &["uncordon n1"],
    flags: &[SELECT, WRITE],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(cordon(session, typed, false))),
    ..Command::EMPTY
};

const DRAIN_FLAGS: &[Flag] = &[
    switch("ignore-daemonsets", "Leave pods of daemon sets where they are"),
    switch("delete-emptydir-data", "Go on where pods have data of their own on the node"),
    switch("force", "Go on where pods have nobody who replaces them"),
    switch("disable-eviction", "Delete instead of evicting: budgets don't count"),
    value("grace-period", "SECONDS", "How long pods may take to end"),
    value("pod-selector", "SELECTOR", "Only pods with these labels"),
    value("chunk-size", "NUMBER", "Taken and ignored"),
    value(
        "skip-wait-for-delete-timeout",
        "SECONDS",
        "Don't wait for pods that have been leaving for this long",
    ),
];

pub(crate) static DRAIN: Command = Command {
    name: "drain",
    about: "Move all pods away from nodes, minding disruption budgets",
    usage: "NODE…",
    examples: &["drain n1 --ignore-daemonsets --delete-emptydir-data"],
    flags: &[DRAIN_FLAGS, SELECT, WRITE, TIMEOUT],
    part: Part::Cluster,
    run: Some(|session, typed| Box::pin(drain::run(session, typed))),
    ..Command::EMPTY
};

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

/// The nodes that the words name, with or without their kind.
async fn nodes<'m>(session: &'m Session<'_>, typed: &Typed) -> Result<Vec<Found<'m>>, CliError> {
    let mut words = vec!["nodes".to_owned()];
    words.extend(typed.words.iter().map(|word| match word.split_once('/') {
        Some((_, name)) => name.to_owned(),
        None => word.clone(),
    }));
    let verb = typed.path.join(" ");
    let wrong = |message: String| CliError::Usage {
        message,
        help: Some(format!("{} {verb} --help", session.program)),
    };
    match (words.len(), typed.given("selector")) {
        (1, false) => return Err(wrong(format!("USAGE: {verb} NODE [flags]"))),
        (2.., true) => {
            return Err(wrong("cannot specify both a node name and a --selector option".to_owned()));
        }
        _ => {}
    }
    select::found(session, typed, &words).await
}

async fn cordon(session: &Session<'_>, typed: &Typed, closed: bool) -> Result<(), CliError> {
    for node in nodes(session, typed).await? {
        close(session, &node, closed).await?;
    }
    Ok(())
}

async fn close(session: &Session<'_>, node: &Found<'_>, closed: bool) -> Result<(), CliError> {
    let (done, already) =
        if closed { ("cordoned", "already cordoned") } else { ("uncordoned", "already uncordoned") };
    let changed = change(session, node, "kubectl-cordon", |object| {
        match (closed, object["spec"].as_object_mut()) {
            (true, _) => object["spec"]["unschedulable"] = true.into(),
            (false, Some(spec)) => drop(spec.remove("unschedulable")),
            (false, None) => {}
        }
        Ok(())
    })
    .await?;
    let done = if changed.differs { done } else { already };
    session.screen.line(&format!("{} {done}{}", node.told(), session.dry_run()?.told()))
}

/// What the words say of taints.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Set { key: String, value: String, effect: String },
    Remove { key: String, effect: Option<String> },
}

impl Change {
    /// `key=value:Effect`, `key:Effect`, `key-`, `key:Effect-`; anything else is no taint.
    fn parse(word: &str) -> Option<Self> {
        if let Some(word) = word.strip_suffix('-') {
            let (key, effect) = match word.split_once(':') {
                Some((key, effect)) => (key, Some(effect.to_owned())),
                None => (word, None),
            };
            let key = key.split('=').next().unwrap_or_default().to_owned();
            return Some(Self::Remove { key, effect });
        }
        let (pair, effect) = word.rsplit_once(':')?;
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some(Self::Set { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() })
    }
}

async fn taint(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let at = typed.words.iter().position(|word| Change::parse(word).is_some()).unwrap_or(typed.words.len());
    let (objects, words) = typed.words.split_at(at);
    if objects.is_empty() {
        return Err(CliError::usage("one or more resources must be specified as <resource> <name>"));
    }
    let changes: Option<Vec<Change>> = words.iter().map(|word| Change::parse(word)).collect();
    let changes = changes.filter(|changes| !changes.is_empty());
    let changes = changes.ok_or_else(|| CliError::usage("at least one taint update is required"))?;
    if let Some(word) = words.iter().find(|word| word.matches(':').count() > 1) {
        return Err(typed.wrong(format!("invalid taint spec: {word}")));
    }
    for change in &changes {
        let (Change::Set { effect, .. } | Change::Remove { effect: Some(effect), .. }) = change else {
            continue;
        };
        if !matches!(&**effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            return Err(typed.wrong(format!(
                "invalid taint effect: {effect}, unsupported taint effect\nThere are NoSchedule, PreferNoSchedule and NoExecute"
            )));
        }
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

    use super::{Change, tainted};

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
            let changes: Vec<Change> = words.split(' ').filter_map(Change::parse).collect();
            let found = tainted("n", before.clone(), &changes, overwrite).ok().map(|taints| json!(taints));
            assert_eq!(found, after, "{words}");
        }
    }
}
