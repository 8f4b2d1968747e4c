//! `kedge doctor`: whether this machine can be what it is to be, and whether the cluster on it is well. Each finding says why it
//! matters and what to do. Mends nothing.

mod cluster;
mod finding;
mod host;
mod kernel;
mod keys;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use kedge_clock::Clock;
use serde_json::{Value, json};

use self::finding::{Finding, Level, doubt, fine, wrong};
use crate::cluster::Cluster;
use crate::hatch::{HatchError, Running};
use crate::install::Role;
use crate::settings::Settings;
use crate::{agent, ask, certs, control, door, gateway, hatch, join, ranges};

/// How long the API may take to answer all questions.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long for the first.
const BRIEFLY: Duration = Duration::from_secs(5);

/// What was found.
pub(crate) struct Diagnosis {
    host: Vec<Finding>,
    /// None where no cluster runs on this machine.
    cluster: Option<Vec<Finding>>,
    /// Only another user may see whether one does.
    is_shut: bool,
}

/// Looks at a machine that is, or is to be, a server or a node with these settings.
pub(crate) async fn look(
    role: Option<Role>,
    settings: &Settings,
    kubeconfig: Option<PathBuf>,
    clock: &Clock,
) -> Diagnosis {
    let data = agent::absolute(&settings.node.data());
    let running = hatch::running(&data).await;
    let is_shut = matches!(running, Err(HatchError::Shut { .. }));
    let running = running.ok();
    let role = match &running {
        Some(running) if running.role == Role::Agent.word() => Role::Agent,
        Some(_) => Role::Server,
        None if join::has_joined(&data) => role.unwrap_or(Role::Agent),
        None => role.unwrap_or(Role::Server),
    };
    let is_told = role == Role::Agent || settings.no_agent != Some(true);
    let has_node = running.as_ref().map_or(is_told, |running| running.node.is_some());
    let cluster = Cluster::of(settings);
    let about = host::About {
        data: &data,
        has_node,
        // What runs, or may run, has its ports already.
        ports: if running.is_some() || is_shut {
            Vec::new()
        } else {
            ports(role, has_node, settings, &cluster)
        },
        ranges: ranges::apart(&cluster)
            .and_then(|()| if has_node { ranges::free(&cluster) } else { Ok(()) })
            .err()
            .map(|error| error.to_string()),
        now: clock.now(),
    };
    let mut host = host::judge(&host::look(about));
    host.extend(of_certificates(&data, clock.now()));
    host.extend(keys::judge(&keys::open_to_others(&data)));
    let cluster = match (kubeconfig, &running, role) {
        (Some(path), _, _) => Some(of_cluster(&path, clock).await),
        (None, Some(_), Role::Server) => Some(of_cluster(&data.join("kubeconfig"), clock).await),
        (None, Some(running), Role::Agent) => Some(of_own_node(running, &data, clock).await),
        (None, None, _) => None,
    };
    Diagnosis { host, cluster, is_shut }
}

fn ports(
    role: Role,
    has_node: bool,
    settings: &Settings,
    cluster: &Cluster,
) -> Vec<(&'static str, &'static str, SocketAddr, bool)> {
    let any = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    let mut ports = Vec::new();
    if role == Role::Server {
        ports.push(("the API", "--listen", settings.listen.unwrap_or(any(6443)), false));
    }
    if has_node {
        ports.push(("the node", "--node-listen", settings.node.node_listen.unwrap_or(door::LISTEN), false));
        // The tunnel of a node that was here before stays in the kernel, so that pods go on.
        if !settings.node.data().join("network").is_dir() {
            ports.push(("tunnels to other nodes", "--vxlan-port", any(cluster.vxlan_port), true));
        }
    }
    if role == Role::Server && settings.no_gateway != Some(true) {
        ports.push((
            "the gateway (HTTP)",
            "--gateway-http or --no-gateway",
            settings.gateway_http.unwrap_or(gateway::HTTP),
            false,
        ));
        ports.push((
            "the gateway (HTTPS)",
            "--gateway-https or --no-gateway",
            settings.gateway_https.unwrap_or(gateway::HTTPS),
            false,
        ));
    }
    ports
}

fn of_certificates(data: &Path, now: Timestamp) -> Vec<Finding> {
    let Ok(found) = certs::find(data) else { return Vec::new() };
    let fix = "start Kedge on this folder: it renews them by itself; read its log if it runs";
    let mut all: Vec<Finding> = Vec::new();
    for one in &found {
        let (file, ends) = (&one.file, one.looked.not_after);
        let left = ends.duration_since(now);
        if one.looked.not_before > now {
            let what = format!("certificate {file} is not valid before {}", one.looked.not_before);
            all.push(wrong(what, "this machine's clock is behind the one that made it", "set the clock"));
        } else if left.is_negative() {
            all.push(wrong(format!("certificate {file} ended at {ends}"), "nobody trusts it any more", fix));
        } else if left < certs::SOON {
            all.push(doubt(
                format!("certificate {file} ends at {ends}"),
                "it should have been renewed long ago",
                fix,
            ));
        }
    }
    if all.is_empty() && !found.is_empty() {
        all.push(fine(format!("{} certificates are valid", found.len())));
    }
    all
}

async fn of_cluster(kubeconfig: &Path, clock: &Clock) -> Vec<Finding> {
    let shown = kubeconfig.display();
    let fix = "see whether it runs (`kedge status`), and whether the kubeconfig names its address";
    let client = match control::remote(kubeconfig).await {
        Ok(client) => client,
        Err(error) => {
            return vec![wrong(format!("{shown} cannot be used"), crate::told(&error), fix)];
        }
    };
    let silent = |why| vec![wrong("the API does not answer", why, fix)];
    // First what it says of itself: while its store is away nothing else is answered.
    let ready = match ask::within(clock, BRIEFLY, async { Ok(cluster::ready(&client).await) }).await {
        Ok(ready) => ready,
        Err(why) => return silent(why),
    };
    if !cluster::is_ready(&ready) {
        return cluster::of_ready(&ready);
    }
    let read = async { cluster::read(&client, ready).await.map_err(|error| crate::told(&*error)) };
    match ask::within(clock, PATIENCE, read).await {
        Ok(read) => cluster::judge(&read, clock.now()),
        Err(why) => silent(why),
    }
}

/// What an agent sees of its cluster: itself.
async fn of_own_node(running: &Running, data: &Path, clock: &Clock) -> Vec<Finding> {
    let path = format!("/api/v1/nodes/{}", running.node.as_deref().unwrap_or_default());
    let asked = async {
        let client = join::client(data).map_err(|error| crate::told(&error))?;
        ask::object(&client, &path).await.map_err(|error| crate::told(&*error))
    };
    match ask::within(clock, PATIENCE, asked).await {
        Ok(node) => cluster::of_nodes(&[node]),
        Err(why) => {
            let fix = "see whether a server runs, and whether this machine reaches it; what runs here runs on meanwhile";
            vec![wrong(format!("no server answers ({})", running.servers.join(", ")), why, fix)]
        }
    }
}

impl Diagnosis {
    /// How many things don't work.
    pub(crate) fn wrong(&self) -> usize {
        self.host
            .iter()
            .chain(self.cluster.iter().flatten())
            .filter(|finding| finding.level == Level::Wrong)
            .count()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = finding::text("This machine", &self.host);
        match &self.cluster {
            Some(cluster) => text.push_str(&format!("\n{}", finding::text("The cluster", cluster))),
            None if self.is_shut => text.push_str(
                "\nOnly root may see what runs on this data folder, so no cluster and no ports were looked at: use sudo, or name another with --data-dir or --kubeconfig.\n",
            ),
            None => text.push_str(
                "\nNo server and no agent runs on this data folder, so no cluster was looked at (--data-dir or --kubeconfig name another).\n",
            ),
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "host": self.host, "cluster": self.cluster })
    }
}
