//! `kedge doctor`: whether this machine can be what it is to be, and whether the cluster on it is well. Each finding says why it
//! matters and what to do. Mends nothing.

mod cluster;
mod finding;
mod host;
mod kernel;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use kedge_clock::Clock;
use serde_json::{Value, json};

use self::finding::{Finding, Level, doubt, fine, wrong};
use crate::cluster::Cluster;
use crate::settings::Settings;
use crate::{agent, certs, control, door, gateway, hatch, ranges};

/// How long the API may take to answer all questions.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was found.
pub(crate) struct Diagnosis {
    host: Vec<Finding>,
    /// None where no cluster runs on this machine.
    cluster: Option<Vec<Finding>>,
}

/// Looks at a machine on which a server runs, or is to run, with these settings.
pub(crate) async fn look(settings: &Settings, kubeconfig: Option<PathBuf>, clock: &Clock) -> Diagnosis {
    let data = agent::absolute(&settings.node.data());
    let running = hatch::running(&data).await.ok();
    let has_node = running.as_ref().map_or(settings.no_agent != Some(true), |running| running.node.is_some());
    let cluster = Cluster::of(settings);
    let about = host::About {
        data: &data,
        has_node,
        // What runs has its ports already.
        ports: if running.is_some() { Vec::new() } else { ports(settings, &cluster) },
        ranges: ranges::apart(&cluster)
            .and_then(|()| if has_node { ranges::free(&cluster) } else { Ok(()) })
            .err()
            .map(|error| error.to_string()),
        now: clock.now(),
    };
    let mut host = host::judge(&host::look(about));
    host.extend(of_certificates(&data, clock.now()));
    let path = kubeconfig.clone().unwrap_or_else(|| data.join("kubeconfig"));
    let is_server = running.as_ref().is_some_and(|running| running.role == "server");
    let asked = kubeconfig.is_some() || is_server;
    let cluster = if asked { Some(of_cluster(&path, clock).await) } else { None };
    Diagnosis { host, cluster }
}

fn ports(settings: &Settings, cluster: &Cluster) -> Vec<(&'static str, &'static str, SocketAddr, bool)> {
    let any = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    let mut ports = vec![("the API", "--listen", settings.listen.unwrap_or(any(6443)), false)];
    if settings.no_agent != Some(true) {
        ports.push(("the node", "--node-listen", settings.node.node_listen.unwrap_or(door::LISTEN), false));
        ports.push(("tunnels to other nodes", "--vxlan-port", any(cluster.vxlan_port), true));
    }
    if settings.no_gateway != Some(true) {
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
            return vec![wrong(format!("{shown} cannot be used"), crate::told(&error).trim_end(), fix)];
        }
    };
    let read = tokio::select! {
        read = cluster::read(&client) => read.map_err(|error| crate::told(&*error).trim_end().to_owned()),
        () = clock.sleep(PATIENCE) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    };
    match read {
        Ok(read) => cluster::judge(&read, clock.now()),
        Err(why) => vec![wrong("the API does not answer", why, fix)],
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
            None => text.push_str("\nNo server runs on this data folder, so no cluster was looked at (--kubeconfig names another).\n"),
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "host": self.host, "cluster": self.cluster })
    }
}
