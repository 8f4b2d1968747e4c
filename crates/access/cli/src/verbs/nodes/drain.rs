//! `drain`: closes a node, then evicts its pods one after the other as budgets allow, and waits until they are gone.

use std::time::Duration;

use serde_json::{Value, json};

use super::{close, nodes};
use crate::args::Typed;
use crate::client::with;
use crate::error::CliError;
use crate::progress::Progress;
use crate::select::Found;
use crate::session::{DryRun, Session};

/// Between two tries of an eviction that a budget does not allow.
const AGAIN: Duration = Duration::from_secs(5);
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What becomes of a pod.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Evict,
    /// It stays, and this is said.
    Stay(Option<&'static str>),
    /// It is in the way.
    Refuse(&'static str),
}

pub(super) async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let most = typed.duration("timeout")?.filter(|most| !most.is_zero());
    let found = nodes(session, typed).await?;
    for node in &found {
        close(session, node, true).await?;
    }
    for node in &found {
        let drained = drain(session, typed, node);
        match most {
            None => drained.await?,
            Some(most) => tokio::time::timeout(most, drained).await.unwrap_or_else(|_| {
                Err(CliError::unmet(format!(
                    "unable to drain node {:?} within {most:?}: pods are still there; `get pods -A --field-selector spec.nodeName={}` shows them",
                    node.name, node.name
                )))
            })?,
        }
        session.screen.line(&format!("{} drained{}", node.told(), session.dry_run()?.told()))?;
    }
    Ok(())
}

async fn drain(session: &Session<'_>, typed: &Typed, node: &Found<'_>) -> Result<(), CliError> {
    let pods = session.mapping().await?.find("pods")?;
    let on_node = format!("spec.nodeName={}", node.name);
    let labels = typed.text("pod-selector").unwrap_or_default();
    let path = with(&pods.collection(None), [("fieldSelector", &*on_node), ("labelSelector", labels)]);
    let mut list = session.read(&path).await?;
    let Value::Array(found) = list["items"].take() else { return Ok(()) };
    let mut leaving = Vec::new();
    let mut refused: Vec<(&'static str, Vec<String>)> = Vec::new();
    let mut staying: Vec<(&'static str, Vec<String>)> = Vec::new();
    for pod in found {
        let told = format!("{}/{}", text(&pod, "namespace"), text(&pod, "name"));
        let note = |notes: &mut Vec<(&'static str, Vec<String>)>, why| match notes
            .iter_mut()
            .find(|(known, _)| *known == why)
        {
            Some((_, pods)) => pods.push(told.clone()),
            None => notes.push((why, vec![told.clone()])),
        };
        match fate(&pod, typed) {
            Fate::Evict => leaving.push(pod),
            Fate::Stay(Some(why)) => note(&mut staying, why),
            Fate::Stay(None) => {}
            Fate::Refuse(why) => note(&mut refused, why),
        }
    }
    if !refused.is_empty() {
        let said: Vec<String> =
            refused.iter().map(|(why, pods)| format!("cannot delete {why}: {}", pods.join(", "))).collect();
        return Err(CliError::unmet(format!(
            "unable to drain node {:?} due to error: {}",
            node.name,
            said.join(", ")
        )));
    }
    for (why, pods) in staying {
        session.screen.warn(&format!("Warning: {why}: {}", pods.join(", ")));
    }
    let each = leaving.iter().map(|pod| leave(session, typed, pods, pod));
    futures::future::try_join_all(each).await.map(drop)
}

fn text<'p>(pod: &'p Value, key: &str) -> &'p str {
    pod["metadata"][key].as_str().unwrap_or_default()
}

fn fate(pod: &Value, typed: &Typed) -> Fate {
    decide(pod, typed.is("ignore-daemonsets"), typed.is("delete-emptydir-data"), typed.is("force"))
}

fn decide(pod: &Value, ignore_daemon_sets: bool, delete_data: bool, force: bool) -> Fate {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let owner = owners.into_iter().find(|owner| owner["controller"] == json!(true));
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !pod["metadata"]["annotations"][MIRROR].is_null() {
        return Fate::Stay(None);
    }
    if owner.is_some_and(|owner| owner["kind"] == "DaemonSet") && !ended {
        return match ignore_daemon_sets {
            true => Fate::Stay(Some("ignoring DaemonSet-managed Pods")),
            false => Fate::Refuse("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"),
        };
    }
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    if !ended && !delete_data && volumes.into_iter().any(|volume| !volume["emptyDir"].is_null()) {
        return Fate::Refuse("Pods with local storage (use --delete-emptydir-data to override)");
    }
    if owner.is_none() && !ended && !force {
        return Fate::Refuse("Pods that declare no controller (use --force to override)");
    }
    Fate::Evict
}

/// Evicts one pod, again and again while its budget does not allow it, and waits until it is gone.
async fn leave(
    session: &Session<'_>,
    typed: &Typed,
    pods: &crate::mapping::Resource,
    pod: &Value,
) -> Result<(), CliError> {
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let path = pods.path(namespace, name);
    let delete = typed.is("disable-eviction");
    session
        .screen
        .line(&format!("{} pod {namespace}/{name}", if delete { "deleting" } else { "evicting" }))?;
    if session.dry_run()? == DryRun::Client {
        return Ok(());
    }
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
    loop {
        let asked = match delete {
            true => api.delete(&path, &options).await,
            false => api.post(&format!("{path}/eviction"), &eviction).await,
        };
        match asked {
            Ok(_) => break,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(CliError::Server(refusal)) if refusal.code == 429 => {
                session.screen.warn(&format!(
                    "error when evicting pods/{name:?} -n {namespace:?} (will retry after 5s): {refusal}"
                ));
                tokio::time::sleep(AGAIN).await;
            }
            Err(error) => return Err(error),
        }
    }
    if session.dry_run()? != DryRun::None {
        return Ok(());
    }
    let mut progress = Progress::new(session.screen, format!("waiting until {namespace}/{name} is gone"));
    loop {
        match session.read(&path).await {
            Ok(live) if live["metadata"]["uid"] == pod["metadata"]["uid"] => progress.tick().await,
            Ok(_) => break,
            Err(error) if error.is_not_found() => break,
            Err(error) => return Err(error),
        }
    }
    progress.end();
    session.screen.line(&format!("pod/{name} {}", if delete { "deleted" } else { "evicted" }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fate, decide};

    #[test]
    fn a_pod_leaves_unless_something_is_lost_with_it() {
        let owned = |kind| json!([{"controller": true, "kind": kind}]);
        let data = json!([{"emptyDir": {}}]);
        for (case, pod, evicted) in [
            ("of a set", json!({"metadata": {"ownerReferences": owned("ReplicaSet")}, "spec": {}}), true),
            ("of nobody", json!({"metadata": {}, "spec": {}}), false),
            ("of nobody, ended", json!({"metadata": {}, "spec": {}, "status": {"phase": "Failed"}}), true),
            (
                "with data",
                json!({"metadata": {"ownerReferences": owned("ReplicaSet")}, "spec": {"volumes": data}}),
                false,
            ),
            (
                "of every node",
                json!({"metadata": {"ownerReferences": owned("DaemonSet")}, "spec": {}}),
                false,
            ),
        ] {
            assert_eq!(decide(&pod, false, false, false) == Fate::Evict, evicted, "{case}");
        }
        let everywhere = json!({"metadata": {"ownerReferences": owned("DaemonSet")}, "spec": {}});
        assert_eq!(
            decide(&everywhere, true, true, true),
            Fate::Stay(Some("ignoring DaemonSet-managed Pods"))
        );
    }
}
