//! `port-forward`: local ports that lead to a pod's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use tokio::net::TcpListener;

use super::pods;
use crate::args::{Command, Flag, Part, Typed, value};
use crate::client::with_all;
use crate::describe::shown::{items, text};
use crate::error::CliError;
use crate::session::Session;
use crate::stream::tunnel::Tunnel;

/// How long a pod may take to run unless told otherwise, and how often it is looked for.
const RUNNING: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(500);

const FLAGS: &[Flag] = &[
    value("address", "ADDRESSES", "Where to listen: localhost or addresses, with commas"),
    value("pod-running-timeout", "DURATION", "How long to wait for a pod that runs"),
];

pub(crate) static COMMAND: Command = Command {
    name: "port-forward",
    about: "Lead local ports to a pod's",
    usage: "(POD | KIND/NAME) [LOCAL:]REMOTE…",
    examples: &[
        "port-forward web-1 8080:80",
        "port-forward svc/web 8443:https",
        "port-forward deploy/web :80 9090",
    ],
    flags: &[FLAGS],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// A local port (0 is any) and the pod's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    local: u16,
    remote: u16,
}

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let Some((target, ports)) = typed.words.split_first().filter(|(_, ports)| !ports.is_empty()) else {
        return Err(CliError::usage("TYPE/NAME and list of ports are required for port-forward"));
    };
    let (pod, through) = running(session, typed, target).await?;
    let pairs = ports.iter().map(|word| pair(word, &pod, through.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let query: Vec<(&'static str, String)> =
        pairs.iter().map(|pair| ("ports", pair.remote.to_string())).collect();
    let api = session.api().await?;
    let tunnel =
        Tunnel::open(api, &session.clock, &with_all(&pods::path(&pod, "portforward"), &query)).await?;
    let doors = listen(session, typed, &pairs).await?;
    serve(session, &tunnel, &doors).await
}

/// A pod of what was named that runs, and the service it stands behind if it was one.
async fn running(
    session: &Session<'_>,
    typed: &Typed,
    target: &str,
) -> Result<(Value, Option<Value>), CliError> {
    let most = typed.duration("pod-running-timeout")?.unwrap_or(RUNNING);
    let look = async {
        loop {
            let meant = pods::meant(session, std::slice::from_ref(&target.to_owned()), "attach to").await?;
            let pod = meant.pods.into_iter().next();
            match pod {
                Some(pod) if pods::is_running(&pod) => {
                    return Ok((pod, meant.through.filter(|object| object["kind"] == "Service")));
                }
                // A pod that was named itself will not become another.
                Some(pod) if meant.through.is_none() => {
                    return Err(CliError::unmet(format!(
                        "unable to forward port because pod is not running. Current status={}",
                        text(&pod["status"]["phase"])
                    )));
                }
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    };
    match tokio::time::timeout(most, look).await {
        Ok(found) => found,
        Err(_) => Err(CliError::Timeout(format!("{target}: no pod of it runs"))),
    }
}

/// `8080:80`, `80`, `:80`, `8080:http`; a service's port leads to the pod's behind it.
fn pair(word: &str, pod: &Value, service: Option<&Value>) -> Result<Pair, CliError> {
    let wrong = || CliError::usage(format!("invalid port {word:?}: expected [LOCAL:]REMOTE"));
    let (local, remote) = word.split_once(':').unwrap_or((word, word));
    let remote = match service {
        None => pod_port(remote, pod).ok_or_else(wrong)?,
        Some(service) => {
            let name = text(&service["metadata"]["name"]);
            service_port(remote, service, pod).ok_or_else(|| {
                CliError::unmet(format!("Service {name} does not have a service port {remote}"))
            })?
        }
    };
    let local = match local {
        "" => 0,
        local if local.bytes().all(|digit| digit.is_ascii_digit()) => local.parse().map_err(|_| wrong())?,
        // A name alone stands for the port that it names.
        _ if !word.contains(':') => remote,
        _ => return Err(wrong()),
    };
    Ok(Pair { local, remote })
}

fn pod_port(typed: &str, pod: &Value) -> Option<u16> {
    if let Ok(number) = typed.parse::<u16>() {
        return Some(number).filter(|number| *number > 0);
    }
    let ports = items(&pod["spec"]["containers"]).iter().flat_map(|container| items(&container["ports"]));
    let named = ports.into_iter().find(|port| port["name"] == typed)?;
    u16::try_from(named["containerPort"].as_i64()?).ok()
}

fn service_port(typed: &str, service: &Value, pod: &Value) -> Option<u16> {
    let number: Option<i64> = typed.parse().ok();
    let ports = items(&service["spec"]["ports"]);
    let port = ports.iter().find(|port| match number {
        Some(number) => port["port"].as_i64() == Some(number),
        None => port["name"] == typed,
    })?;
    if service["spec"]["clusterIP"] == "None" {
        return u16::try_from(port["port"].as_i64()?).ok();
    }
    match &port["targetPort"] {
        Value::Number(target) => u16::try_from(target.as_i64()?).ok(),
        Value::String(target) => pod_port(target, pod),
        _ => u16::try_from(port["port"].as_i64()?).ok(),
    }
}

/// A door that is open here, and where it leads.
struct Door {
    listener: TcpListener,
    local: u16,
    remote: u16,
}

async fn listen(session: &Session<'_>, typed: &Typed, pairs: &[Pair]) -> Result<Vec<Door>, CliError> {
    let named = match typed.given("address") {
        true => typed.list("address"),
        false => vec!["localhost".to_owned()],
    };
    let mut doors = Vec::new();
    for pair in pairs {
        for address in &named {
            let hosts: Vec<IpAddr> = match &**address {
                // The older address comes first, and one of the two is enough.
                "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
                other => vec![other.parse().map_err(|_| {
                    CliError::usage(format!(
                        "{other:?} is not a valid IP: --address takes addresses or localhost"
                    ))
                })?],
            };
            let mut local = pair.local;
            let mut opened = false;
            for host in &hosts {
                match TcpListener::bind(SocketAddr::new(*host, local)).await {
                    Ok(listener) => {
                        let at = listener.local_addr().map_err(|source| unheard(pair.local, source))?;
                        local = at.port();
                        opened = true;
                        session.screen.line(&format!("Forwarding from {at} -> {}", pair.remote))?;
                        doors.push(Door { listener, local, remote: pair.remote });
                    }
                    Err(source) if *host == hosts[0] => return Err(unheard(pair.local, source)),
                    // A machine without the newer addresses is as good.
                    Err(_) if opened => {}
                    Err(source) => return Err(unheard(pair.local, source)),
                }
            }
        }
    }
    Ok(doors)
}

fn unheard(port: u16, source: std::io::Error) -> CliError {
    CliError::Io { what: format!("listen on port {port}"), source }
}

/// Until the pod is gone.
async fn serve(session: &Session<'_>, tunnel: &Tunnel, doors: &[Door]) -> Result<(), CliError> {
    let lost = tunnel.lost();
    tokio::pin!(lost);
    let mut carried = FuturesUnordered::new();
    loop {
        let accepted = futures::future::select_all(
            doors.iter().map(|door| Box::pin(async move { (door, door.listener.accept().await) })),
        );
        tokio::select! {
            ((door, accepted), ..) = accepted => {
                let (connection, _) = accepted.map_err(|source| unheard(door.local, source))?;
                // Whoever stopped reading what we say still wants the port.
                let _unheard = session.screen.line(&format!("Handling connection for {}", door.local));
                let (local, remote) = (door.local, door.remote);
                carried.push(async move { (local, remote, tunnel.carry(connection, remote).await) });
            }
            Some((local, remote, done)) = carried.next(), if !carried.is_empty() => {
                if let Err(complaint) = done {
                    session.screen.warn(&format!(
                        "an error occurred forwarding {local} -> {remote}: {complaint}"
                    ));
                }
            }
            () = &mut lost => return Err(CliError::unmet("lost connection to pod")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Pair, pair};

    #[test]
    fn ports_are_understood() {
        let pod = json!({"spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080}]}]}});
        let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [
            {"name": "web", "port": 80, "targetPort": "http"},
            {"name": "raw", "port": 90, "targetPort": 9090},
        ]}});
        let none = json!({"metadata": {"name": "web"}, "spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": 8080}]}});
        for (word, service, expected) in [
            ("80", None, Some((80, 80))),
            ("8080:80", None, Some((8080, 80))),
            (":80", None, Some((0, 80))),
            ("http", None, Some((8080, 8080))),
            ("1:http", None, Some((1, 8080))),
            ("80", Some(&service), Some((80, 8080))),
            ("1:web", Some(&service), Some((1, 8080))),
            ("90", Some(&service), Some((90, 9090))),
            ("80", Some(&none), Some((80, 80))),
            ("91", Some(&service), None),
            ("x:80", None, None),
            ("0", None, None),
            ("http:80", None, None),
        ] {
            let got = pair(word, &pod, service).ok();
            assert_eq!(got, expected.map(|(local, remote)| Pair { local, remote }), "{word}");
        }
    }
}
