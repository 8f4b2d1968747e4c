//! `drain`: closes nodes, then evicts the pods of one after the other as budgets allow, and waits until they are gone. What cannot be
//! drained is told, and the next node is drained all the same.

mod fate;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use self::fate::{Allowed, Fate, Fates};
use super::{close, nodes};
use crate::args::Typed;
use crate::client::with;
use crate::error::CliError;
use crate::mapping::Resource;
use crate::print::age;
use crate::progress::Progress;
use crate::select::Found;
use crate::session::{DryRun, Session};

/// Between two tries of an eviction that is not allowed yet.
const AGAIN: Duration = Duration::from_secs(5);

pub(super) async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let most = typed.duration("timeout")?.filter(|most| !most.is_zero());
    // A wrong flag is told before a node is closed for it.
    typed.number("grace-period")?;
    if typed.text("pod-selector").is_some_and(|labels| kedge_kinds::LabelSelector::parse(labels).is_err()) {
        return Err(CliError::usage("--pod-selector=<pod_selector> must be a valid label selector"));
    }
    let found = nodes(session, typed).await?;
    for node in &found {
        close(session, node, true).await?;
    }
    let mut errors = Vec::new();
    let mut left = Vec::new();
    for node in &found {
        match drain(session, typed, node, most).await {
            Ok(()) => {
                session.screen.line(&format!("{} drained{}", node.told(), session.dry_run()?.told()))?;
            }
            Err(error) => {
                session.screen.warn(&format!(
                    "error: unable to drain node {:?} due to error: {}, continuing command...",
                    node.name,
                    several(&error)
                ));
                left.push(&node.name);
                errors.push(error);
            }
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    session.screen.warn("There are pending nodes to be drained:");
    left.iter().for_each(|name| session.screen.warn(&format!(" {name}")));
    for error in &errors {
        match error {
            CliError::Several(all) => all.iter().for_each(|error| session.screen.warn(&error.to_string())),
            one => session.screen.warn(&one.to_string()),
        }
    }
    Err(CliError::Exit(1))
}

/// What went wrong, in one line.
fn several(error: &CliError) -> String {
    match error {
        CliError::Several(all) if all.len() > 1 => {
            format!("[{}]", all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        CliError::Several(all) => all.iter().map(ToString::to_string).collect(),
        one => one.to_string(),
    }
}

async fn drain(
    session: &Session<'_>,
    typed: &Typed,
    node: &Found<'_>,
    most: Option<Duration>,
) -> Result<(), CliError> {
    let (leaving, warnings) = chosen(session, typed, node).await?;
    if !warnings.is_empty() {
        session.screen.warn(&format!("Warning: {warnings}"));
    }
    let pods = session.mapping().await?.find("pods")?;
    let until = most.map(|most| Limit { most, at: Instant::now() + most });
    let each = leaving.iter().map(|pod| leave(session, typed, pods, pod, until));
    let mut errors: Vec<CliError> =
        futures::future::join_all(each).await.into_iter().filter_map(Result::err).collect();
    if errors.is_empty() {
        return Ok(());
    }
    let error = if errors.len() == 1 { errors.remove(0) } else { CliError::Several(errors) };
    if let Ok((left, _)) = chosen(session, typed, node).await
        && !left.is_empty()
    {
        session.screen.warn(&format!(
            "There are pending pods in node {:?} when an error occurred: {}",
            node.name,
            several(&error)
        ));
        left.iter().for_each(|pod| session.screen.warn(&format!("pod/{}", text(pod, "name"))));
    }
    Err(error)
}

/// The pods of a node that leave it, and what is to be said of them.
async fn chosen(
    session: &Session<'_>,
    typed: &Typed,
    node: &Found<'_>,
) -> Result<(Vec<Value>, String), CliError> {
    let pods = session.mapping().await?.find("pods")?;
    let on_node = format!("spec.nodeName={}", node.name);
    let labels = typed.text("pod-selector").unwrap_or_default();
    let path = with(&pods.collection(None), [("fieldSelector", &*on_node), ("labelSelector", labels)]);
    let mut list = session.read(&path).await?;
    let Value::Array(found) = list["items"].take() else { return Ok(Default::default()) };
    let allowed = Allowed {
        daemons: typed.is("ignore-daemonsets"),
        data: typed.is("delete-emptydir-data"),
        force: typed.is("force"),
    };
    let lost = lost(session, &found).await?;
    let mut fates = Fates::default();
    for pod in found {
        let fate = match skipped(session, typed, &pod)? {
            Some(_) => Fate::Stay(None),
            None => fate::decide(&pod, allowed, &lost),
        };
        fates.add(pod, fate);
    }
    fates.told()
}

/// The daemon sets that pods say they are of and that are not there any more.
async fn lost(session: &Session<'_>, pods: &[Value]) -> Result<BTreeSet<(String, String)>, CliError> {
    let sets: BTreeSet<(String, String)> = pods.iter().filter_map(fate::daemon_set).collect();
    let mut lost = BTreeSet::new();
    if sets.is_empty() {
        return Ok(lost);
    }
    let resource = session.mapping().await?.find("daemonsets.apps")?;
    for (namespace, name) in sets {
        match session.read(&resource.path(&namespace, &name)).await {
            Err(error) if error.is_not_found() => drop(lost.insert((namespace, name))),
            found => drop(found?),
        }
    }
    Ok(lost)
}

/// It has been leaving for longer than anybody waits; says so.
fn skipped(session: &Session<'_>, typed: &Typed, pod: &Value) -> Result<Option<String>, CliError> {
    let Some(most) = typed.number("skip-wait-for-delete-timeout")?.filter(|most| *most > 0) else {
        return Ok(None);
    };
    let leaving = age::seconds(&pod["metadata"]["deletionTimestamp"], session.clock.now());
    let name = text(pod, "name");
    Ok(leaving
        .filter(|age| *age > most)
        .map(|_| format!("pod {name:?} has DeletionTimestamp older than {most} seconds, skipping")))
}

fn text<'p>(pod: &'p Value, key: &str) -> &'p str {
    pod["metadata"][key].as_str().unwrap_or_default()
}

/// Until when a node may take to be drained.
#[derive(Clone, Copy)]
struct Limit {
    most: Duration,
    at: Instant,
}

/// Evicts one pod, again and again while that is not allowed, and waits until it is gone.
async fn leave(
    session: &Session<'_>,
    typed: &Typed,
    pods: &Resource,
    pod: &Value,
    limit: Option<Limit>,
) -> Result<(), CliError> {
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let path = pods.path(namespace, name);
    let delete = typed.is("disable-eviction");
    let dry = session.dry_run()?;
    // Who deletes says nothing before it is done.
    let announced =
        (!delete || dry == DryRun::Client).then(|| format!("evicting pod {namespace}/{name}{}", dry.told()));
    if dry == DryRun::Client {
        return announced.map_or(Ok(()), |line| session.screen.line(&line));
    }
    let going = |error: String| {
        CliError::unmet(format!("error when evicting pods/{name:?} -n {namespace:?}: {error}"))
    };
    let asked = asked_to_go(session, typed, pod, &path, announced);
    match within(limit, asked).await {
        Some(Ok(Asked::Gone)) => return Ok(()),
        Some(Ok(Asked::Leaves)) if dry == DryRun::Server => return Ok(()),
        Some(Ok(Asked::Leaves)) => {}
        Some(Err(error)) if delete => return Err(error),
        Some(Err(error)) => return Err(going(error.to_string())),
        None => return Err(going(over(limit))),
    }
    match within(limit, until_gone(session, typed, pod, &path)).await {
        Some(Ok(())) => {}
        Some(Err(error)) => return Err(still(name, namespace, &error.to_string())),
        None => return Err(still(name, namespace, &over(limit))),
    }
    session.screen.line(&format!("pod/{name} {}", if delete { "deleted" } else { "evicted" }))
}

fn still(name: &str, namespace: &str, why: &str) -> CliError {
    CliError::unmet(format!(
        "error when waiting for pod {name:?} in namespace {namespace:?} to terminate: {why}"
    ))
}

fn over(limit: Option<Limit>) -> String {
    let nanos = limit.map_or(0, |limit| i64::try_from(limit.most.as_nanos()).unwrap_or(i64::MAX));
    format!("global timeout reached: {}", kedge_kinds::duration::write(nanos))
}

async fn within<T>(limit: Option<Limit>, done: impl Future<Output = T>) -> Option<T> {
    match limit {
        None => Some(done.await),
        Some(limit) => tokio::time::timeout_at(limit.at, done).await.ok(),
    }
}

enum Asked {
    Leaves,
    /// It was gone before.
    Gone,
}

async fn asked_to_go(
    session: &Session<'_>,
    typed: &Typed,
    pod: &Value,
    path: &str,
    announced: Option<String>,
) -> Result<Asked, CliError> {
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let mut options = json!({});
    if let Some(grace) = typed.number("grace-period")?.filter(|grace| *grace >= 0) {
        options["gracePeriodSeconds"] = grace.into();
    }
    if session.dry_run()? == DryRun::Server {
        options["dryRun"] = json!(["All"]);
    }
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace}, "deleteOptions": options,
    });
    let api = session.api().await?;
    let mut leaves = !pod["metadata"]["deletionTimestamp"].is_null();
    loop {
        if let Some(line) = &announced {
            session.screen.line(line)?;
        }
        let asked = match typed.is("disable-eviction") {
            true => api.delete(path, &options).await,
            false => api.post(&format!("{path}/eviction"), &eviction).await,
        };
        let again = match asked {
            Ok(_) => return Ok(Asked::Leaves),
            Err(error) if error.is_not_found() => return Ok(Asked::Gone),
            Err(CliError::Server(refusal)) if refusal.code == 429 => {
                format!("error when evicting pods/{name:?} -n {namespace:?} (will retry after 5s): {refusal}")
            }
            // A namespace that is going away lets nothing in, not even an eviction, and takes its pods with it.
            Err(CliError::Server(refusal)) if refusal.has_cause("NamespaceTerminating") => match leaves {
                true => return Ok(Asked::Leaves),
                false => format!(
                    "error when evicting pod {name:?} from terminating namespace {namespace:?} (will retry after 5s): {refusal}"
                ),
            },
            Err(error) => return Err(error),
        };
        session.screen.warn(&again);
        let mut progress =
            Progress::new(session.screen, format!("waiting until {namespace}/{name} may be evicted"));
        progress.rest(AGAIN).await;
        if let Ok(live) = session.read(path).await {
            leaves = !live["metadata"]["deletionTimestamp"].is_null();
        }
    }
}

async fn until_gone(session: &Session<'_>, typed: &Typed, pod: &Value, path: &str) -> Result<(), CliError> {
    let what = format!("waiting until {}/{} is gone", text(pod, "namespace"), text(pod, "name"));
    let mut progress = Progress::new(session.screen, what);
    loop {
        match session.read(path).await {
            Ok(live) if live["metadata"]["uid"] == pod["metadata"]["uid"] => {
                if let Some(said) = skipped(session, typed, &live)? {
                    return session.screen.line(&said);
                }
            }
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        }
        progress.tick().await;
    }
}
