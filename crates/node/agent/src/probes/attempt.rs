//! One attempt of a container's probe, on this node.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kedge_probes::{Outcome, Page, Ran, command, grpc, http, tcp};
use kedge_runtime::{Runtime, RuntimeError};

use crate::spec::expand::expand;

const AGENT: &str = "kube-probe/1.36";
/// What cannot be tried is tried again at once, so often.
const TRIES: usize = 3;

/// `ip` is the pod's.
pub(crate) async fn attempt(
    runtime: &Runtime,
    id: &str,
    container: &Container,
    probe: &Probe,
    ip: &str,
) -> Outcome {
    let mut outcome = once(runtime, id, container, probe, ip).await;
    for _ in 1..TRIES {
        if !matches!(outcome, Outcome::Unknown(_)) {
            break;
        }
        outcome = once(runtime, id, container, probe, ip).await;
    }
    outcome
}

async fn once(runtime: &Runtime, id: &str, container: &Container, probe: &Probe, ip: &str) -> Outcome {
    let seconds = probe.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let limit = Duration::from_secs(seconds.unwrap_or(1).max(1));
    if let Some(action) = &probe.exec {
        let listed = action.command.iter().flatten();
        let words: Vec<String> = listed.map(|word| expand(word, |name| plain(container, name))).collect();
        let ran = run(runtime, id, words.clone(), limit).await;
        return command(&words, limit, ran);
    }
    if let Some(action) = &probe.http_get {
        return match page(action, container, ip, AGENT) {
            Ok(page) => http(&page, limit).await,
            Err(reason) => Outcome::Unknown(reason),
        };
    }
    if let Some(action) = &probe.tcp_socket {
        let host = action.host.as_deref().filter(|host| !host.is_empty()).unwrap_or(ip);
        return match port(&action.port, container) {
            Ok(port) => tcp(host, port, limit).await,
            Err(reason) => Outcome::Unknown(reason),
        };
    }
    if let Some(action) = &probe.grpc {
        return match u16::try_from(action.port) {
            Ok(port) => grpc(ip, port, action.service.as_deref().unwrap_or_default(), limit).await,
            Err(_) => Outcome::Unknown(format!("invalid port number: {}", action.port)),
        };
    }
    Outcome::Unknown(format!("missing probe handler for {}", container.name))
}

/// Runs a command in a container.
pub(crate) async fn run(runtime: &Runtime, id: &str, words: Vec<String>, limit: Duration) -> Ran {
    match runtime.exec(id, words, limit).await {
        Ok(ended) => {
            let mut output = ended.stdout;
            output.extend(ended.stderr);
            Ran::Ended { code: ended.exit_code, output }
        }
        Err(error) if is_late(&error) => Ran::TimedOut,
        Err(error) => Ran::Not(error.to_string()),
    }
}

fn is_late(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Call(error) if error.is_late())
}

/// The page that is asked for; `ip` is the pod's.
pub(crate) fn page(
    action: &HTTPGetAction,
    container: &Container,
    ip: &str,
    agent: &'static str,
) -> Result<Page, String> {
    let headers = action.http_headers.iter().flatten();
    Ok(Page {
        tls: action.scheme.as_deref().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")),
        host: action.host.clone().filter(|host| !host.is_empty()).unwrap_or_else(|| ip.to_owned()),
        port: port(&action.port, container)?,
        path: action.path.clone().unwrap_or_default(),
        headers: headers.map(|header| (header.name.clone(), header.value.clone())).collect(),
        agent,
    })
}

/// A port that is given by its number, or by the name that the container has for it.
pub(crate) fn port(wanted: &IntOrString, container: &Container) -> Result<u16, String> {
    let number = match wanted {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            match ports.find(|port| port.name.as_deref() == Some(name)) {
                Some(port) => port.container_port,
                // What is no name may still be a number.
                None => name
                    .parse()
                    .map_err(|_| format!("couldn't find port: {name} in container {}", container.name))?,
            }
        }
    };
    u16::try_from(number)
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| format!("invalid port number: {number}"))
}

/// Commands of probes know the variables that are written out, and no others.
fn plain(container: &Container, name: &str) -> Option<String> {
    container.env.iter().flatten().find(|variable| variable.name == name)?.value.clone()
}
