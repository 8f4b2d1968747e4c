//! How far a rollout is: one pure function for each kind, and waiting until it says that it is done.

use serde_json::Value;

use crate::args::Typed;
use crate::error::CliError;
use crate::progress::{Progress, bar};
use crate::select::Found;
use crate::session::Session;

/// What is to be said, and whether there is more to wait for.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Waiting(String),
    Done(String),
}

pub(super) async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let most = typed.duration("timeout")?.filter(|most| !most.is_zero());
    for found in super::meant(session, typed).await? {
        let done = follow(session, typed, &found);
        match most {
            None => done.await?,
            Some(most) => match tokio::time::timeout(most, done).await {
                Ok(done) => done?,
                Err(_) => return Err(CliError::unmet("timed out waiting for the condition")),
            },
        }
    }
    Ok(())
}

async fn follow(session: &Session<'_>, typed: &Typed, found: &Found<'_>) -> Result<(), CliError> {
    let mut progress = Progress::new(session.screen, format!("{} rolls out", found.told()));
    let mut object = found.object.clone();
    let mut said = String::new();
    loop {
        if let Some(wanted) = typed.number("revision")?.filter(|wanted| *wanted > 0) {
            let running = super::history::revision(&object);
            if running != wanted {
                return Err(CliError::unmet(format!(
                    "desired revision ({wanted}) is different from the running revision ({running})"
                )));
            }
        }
        let (text, done) = match state(&found.resource.kind, &object)? {
            State::Waiting(text) => (text, false),
            State::Done(text) => (text, true),
        };
        if text != said {
            progress.end();
            session.screen.line(&text)?;
            said = text;
        }
        if done || !typed.is_or("watch", true) {
            return Ok(());
        }
        let (now, all) = share(&object);
        progress.now(format!("{} {now} of {all}, {} rolls out", bar(now, all), found.told()));
        progress.tick().await;
        object = session.read(&found.path()).await?;
    }
}

/// How many of the pods are as they shall be, of all that are wanted.
fn share(object: &Value) -> (u64, u64) {
    let (spec, status) = (&object["spec"], &object["status"]);
    let count = |keys: [&str; 2]| keys.iter().find_map(|key| status[*key].as_u64()).unwrap_or_default();
    let updated = count(["updatedReplicas", "updatedNumberScheduled"]);
    let usable = count(["availableReplicas", "numberAvailable"]);
    let all = status["desiredNumberScheduled"].as_u64().or(spec["replicas"].as_u64()).unwrap_or(1);
    // What an older generation says is of another rollout.
    if observed(object) { (updated.min(usable), all) } else { (0, all) }
}

fn state(kind: &str, object: &Value) -> Result<State, CliError> {
    match kind {
        "Deployment" => deployment(object),
        "DaemonSet" => daemon_set(object),
        "StatefulSet" => stateful_set(object),
        other => Err(CliError::unmet(format!("no status viewer has been implemented for {other}"))),
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn observed(object: &Value) -> bool {
    number(&object["metadata"]["generation"]) <= number(&object["status"]["observedGeneration"])
}

fn deployment(object: &Value) -> Result<State, CliError> {
    let (name, status) = (name(object), &object["status"]);
    if !observed(object) {
        return Ok(State::Waiting("Waiting for deployment spec update to be observed...".to_owned()));
    }
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let late = conditions.into_iter().any(|condition| {
        condition["type"] == "Progressing" && condition["reason"] == "ProgressDeadlineExceeded"
    });
    if late {
        return Err(CliError::unmet(format!("deployment {name:?} exceeded its progress deadline")));
    }
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let updated = number(&status["updatedReplicas"]);
    let (all, available) = (number(&status["replicas"]), number(&status["availableReplicas"]));
    let begins = format!("Waiting for deployment {name:?} rollout to finish:");
    Ok(if updated < wanted {
        State::Waiting(format!("{begins} {updated} out of {wanted} new replicas have been updated..."))
    } else if all > updated {
        State::Waiting(format!("{begins} {} old replicas are pending termination...", all - updated))
    } else if available < updated {
        State::Waiting(format!("{begins} {available} of {updated} updated replicas are available..."))
    } else {
        State::Done(format!("deployment {name:?} successfully rolled out"))
    })
}

fn rolling(object: &Value) -> Result<(), CliError> {
    match object["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
        true => Ok(()),
        false => Err(CliError::unmet("rollout status is only available for RollingUpdate strategy type")),
    }
}

fn daemon_set(object: &Value) -> Result<State, CliError> {
    rolling(object)?;
    let (name, status) = (name(object), &object["status"]);
    if !observed(object) {
        return Ok(State::Waiting("Waiting for daemon set spec update to be observed...".to_owned()));
    }
    let wanted = number(&status["desiredNumberScheduled"]);
    let (updated, available) =
        (number(&status["updatedNumberScheduled"]), number(&status["numberAvailable"]));
    let begins = format!("Waiting for daemon set {name:?} rollout to finish:");
    Ok(if updated < wanted {
        State::Waiting(format!("{begins} {updated} out of {wanted} new pods have been updated..."))
    } else if available < wanted {
        State::Waiting(format!("{begins} {available} of {wanted} updated pods are available..."))
    } else {
        State::Done(format!("daemon set {name:?} successfully rolled out"))
    })
}

fn stateful_set(object: &Value) -> Result<State, CliError> {
    rolling(object)?;
    let (spec, status) = (&object["spec"], &object["status"]);
    if number(&status["observedGeneration"]) == 0 || !observed(object) {
        return Ok(State::Waiting("Waiting for statefulset spec update to be observed...".to_owned()));
    }
    let wanted = spec["replicas"].as_i64().unwrap_or(1);
    let (ready, updated) = (number(&status["readyReplicas"]), number(&status["updatedReplicas"]));
    if ready < wanted {
        return Ok(State::Waiting(format!("Waiting for {} pods to be ready...", wanted - ready)));
    }
    if !spec["updateStrategy"]["rollingUpdate"].is_null() {
        let new = wanted - number(&spec["updateStrategy"]["rollingUpdate"]["partition"]);
        return Ok(match updated < new {
            true => State::Waiting(format!(
                "Waiting for partitioned roll out to finish: {updated} out of {new} new pods have been updated..."
            )),
            false => {
                State::Done(format!("partitioned roll out complete: {updated} new pods have been updated..."))
            }
        });
    }
    let revision = |key: &str| status[key].as_str().unwrap_or_default();
    Ok(match revision("updateRevision") == revision("currentRevision") {
        true => State::Done(format!(
            "statefulset rolling update complete {} pods at revision {}...",
            number(&status["currentReplicas"]),
            revision("currentRevision")
        )),
        false => State::Waiting(format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {}...",
            revision("updateRevision")
        )),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{State, state};

    #[test]
    fn a_rollout_is_told_in_kubectls_words() {
        let deployment = |status| json!({"metadata": {"name": "web", "generation": 2}, "spec": {"replicas": 3}, "status": status});
        for (status, said) in [
            (json!({"observedGeneration": 1}), "~Waiting for deployment spec update to be observed..."),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 1, "replicas": 3}),
                "~Waiting for deployment \"web\" rollout to finish: 1 out of 3 new replicas have been updated...",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 4}),
                "~Waiting for deployment \"web\" rollout to finish: 1 old replicas are pending termination...",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 2}),
                "~Waiting for deployment \"web\" rollout to finish: 2 of 3 updated replicas are available...",
            ),
            (
                json!({"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3}),
                "deployment \"web\" successfully rolled out",
            ),
        ] {
            let found = match state("Deployment", &deployment(status.clone())) {
                Ok(State::Waiting(text)) => format!("~{text}"),
                Ok(State::Done(text)) => text,
                Err(error) => error.to_string(),
            };
            assert_eq!(found, said, "{status}");
        }
        let late = json!({"observedGeneration": 2, "conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]});
        assert!(state("Deployment", &deployment(late)).is_err());
    }
}
