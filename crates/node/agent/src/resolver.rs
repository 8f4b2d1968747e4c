//! How the node finds names, and what of it pods can use: a server on the node's own loopback is nobody's in the network of a pod.
//! Reads files and decides; who gets what is decided by each pod's policy.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use kedge_runtime::wire::DnsConfig;

use crate::spec::names;

/// Where resolvers look if nobody says otherwise.
const USUAL: &str = "/etc/resolv.conf";
/// Where systemd-resolved names the servers that it asks itself, while the usual file names only it.
const BEHIND: &str = "/run/systemd/resolve/resolv.conf";

/// How a node finds names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeDns {
    /// In its own network.
    pub(crate) own: DnsConfig,
    /// From the networks of pods.
    pub(crate) pods: DnsConfig,
}

/// Where it is written how the node finds names.
#[derive(Clone, Debug)]
pub(crate) struct Resolver {
    file: PathBuf,
    behind: Option<PathBuf>,
}

impl Resolver {
    /// A file that somebody named is the whole truth.
    pub(crate) fn of(told: Option<&Path>) -> Self {
        match told {
            Some(file) => Self { file: file.to_owned(), behind: None },
            None => Self { file: USUAL.into(), behind: Some(BEHIND.into()) },
        }
    }

    /// What it says now. `cluster` are the servers of the cluster's own names.
    pub(crate) fn read(&self, cluster: &[String]) -> NodeDns {
        let text = |file: &Path| std::fs::read_to_string(file).map(|text| names::of_node(&text));
        // A machine without the file has no servers.
        let own = text(&self.file).unwrap_or_default();
        let behind = || self.behind.as_deref().and_then(|file| text(file).ok());
        NodeDns { pods: for_pods(&own, behind, cluster), own }
    }
}

/// What can be reached from a pod. If that is nothing although the node has a server of its own, the servers behind that one are
/// asked, else the cluster's, which run in the node's network and ask it.
fn for_pods(own: &DnsConfig, behind: impl FnOnce() -> Option<DnsConfig>, cluster: &[String]) -> DnsConfig {
    let mut dns = DnsConfig { servers: reachable(&own.servers), ..own.clone() };
    if !dns.servers.is_empty() || own.servers.is_empty() {
        return dns;
    }
    if let Some(behind) = behind() {
        let servers = reachable(&behind.servers);
        if !servers.is_empty() {
            return DnsConfig { servers, ..behind };
        }
    }
    dns.servers = reachable(cluster);
    if dns.servers.is_empty() && dns.options.is_empty() {
        // Told nothing at all, a runtime would give the pod the node's file as it is. This says no more than what is usual.
        dns.options.push("ndots:1".to_owned());
    }
    dns
}

fn reachable(servers: &[String]) -> Vec<String> {
    let is_local = |server: &&String| {
        let at = server.split('%').next().unwrap_or_default().parse::<IpAddr>();
        at.is_ok_and(|at| at.to_canonical().is_loopback())
    };
    servers.iter().filter(|server| !is_local(server)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_ask_nobody_whom_they_cannot_reach() {
        let stub = "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch lan\n";
        let uplink = "nameserver 192.0.2.1\nsearch lan\n";
        let cluster = ["10.96.0.10"];
        for (case, own, behind, cluster, expected) in [
            ("servers elsewhere", "nameserver 192.0.2.53\n", Some(uplink), &cluster[..], "192.0.2.53 | "),
            ("a stub", stub, Some(uplink), &cluster[..], "192.0.2.1 | "),
            (
                "one of two",
                "nameserver ::1\nnameserver 192.0.2.53\n",
                Some(uplink),
                &cluster[..],
                "192.0.2.53 | ",
            ),
            ("another's stub", stub, None, &cluster[..], "10.96.0.10 | edns0 trust-ad"),
            ("a stub behind a stub", stub, Some(stub), &cluster[..], "10.96.0.10 | edns0 trust-ad"),
            ("mapped", "nameserver ::ffff:127.0.0.1\n", None, &cluster[..], "10.96.0.10 | "),
            ("nobody at all", "nameserver 127.0.0.1\n", None, &[], " | ndots:1"),
            ("no server", "options rotate\n", Some(uplink), &cluster[..], " | rotate"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let (file, other) = (folder.path().join("resolv.conf"), folder.path().join("behind"));
            std::fs::write(&file, own).unwrap();
            if let Some(behind) = behind {
                std::fs::write(&other, behind).unwrap();
            }
            let cluster: Vec<String> = cluster.iter().map(|&at| at.to_owned()).collect();
            let read = Resolver { file: file.clone(), behind: Some(other) }.read(&cluster);
            assert_eq!(
                format!("{} | {}", read.pods.servers.join(" "), read.pods.options.join(" ")),
                expected,
                "{case}"
            );
            assert_eq!(read.own, names::of_node(own), "{case}: the node itself goes on as it did");
            // What a person named is not looked behind.
            let told = Resolver::of(Some(&file)).read(&cluster).pods.servers;
            assert!(!told.contains(&"192.0.2.1".to_owned()), "{case}: {told:?}");
        }
    }
}
