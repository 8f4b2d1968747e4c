//! The objects by which others find the gateway: its class, its Service and, for each server, where it is reached. Writes what is
//! missing or different and leaves alone what people set.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::networking::v1::IngressClass;
use kedge_client::{Client, Key, Objects, Seen, Watched, World, apply};
use kedge_clock::Clock;
use kedge_facts::Node;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::class::{CLASS, CONTROLLER, DEFAULT, is_default};
use crate::front::Open;

pub(crate) const NAMESPACE: &str = "kube-system";
pub(crate) const SERVICE: &str = "kedge-gateway";
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The machine that the gateway of this server is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// What this machine is called in the cluster.
    pub node: String,
    /// Where this machine is reached, for as long as no Node says so.
    pub addresses: Vec<IpAddr>,
}

/// Makes them and keeps them up to date. Never ends.
pub(crate) async fn keep(
    own: Own,
    mut open: watch::Receiver<Open>,
    world: World,
    client: Client,
    clock: Clock,
) {
    world.watch::<Node>();
    let changed = Arc::new(Notify::new());
    let listener = {
        let (changed, name) = (changed.clone(), own.node.clone());
        Arc::new(move |seen: &Seen<'_>| {
            if seen.is::<Node>() && seen.key.name == name {
                changed.notify_one();
            }
        })
    };
    world.listen(&listener);
    world.ready().await;
    until_done(&clock, "the class of the gateway", || class(&client)).await;
    until_done(&clock, "the Service of the gateway", || apply(&client, service())).await;
    let mut written = None;
    loop {
        let at = *open.borrow_and_update();
        let node = world.get::<Node>(&Key::new("", own.node.clone())).ok().flatten();
        let slices = own.slices(at, node.as_deref());
        if written.as_ref() != Some(&slices) {
            for slice in &slices {
                until_done(&clock, "where the gateway is reached", || apply(&client, slice.clone())).await;
            }
            written = Some(slices);
        }
        tokio::select! {
            () = changed.notified() => {}
            // A port that somebody else had.
            Ok(()) = open.changed() => {}
        }
    }
}

async fn until_done<D: Future<Output = Result<(), kube::Error>>>(
    clock: &Clock,
    what: &str,
    mut attempt: impl FnMut() -> D,
) {
    let mut wait = RETRY;
    while let Err(error) = attempt().await {
        tracing::warn!("cannot write {what} yet: {error}");
        clock.sleep(wait).await;
        wait = (wait * 2).min(LONGEST_RETRY);
    }
}

/// Made once; whether it is the default is people's to change from then on.
async fn class(client: &Client) -> Result<(), kube::Error> {
    let classes = Objects::<IngressClass>::all(client);
    let all = classes.list(&ListParams::default()).await?;
    if all.iter().any(|class| class.name_any() == CLASS) {
        return Ok(());
    }
    let default = (!all.iter().any(is_default)).to_string();
    let class = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {"name": CLASS, "annotations": {DEFAULT: default}},
        "spec": {"controller": CONTROLLER},
    });
    let class = IngressClass::read(class.to_string().as_bytes()).map_err(kube::Error::SerdeError)?;
    match classes.create(&class).await {
        // Another server was faster.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop),
    }
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {"type": "ClusterIP", "ports": [
            {"name": "http", "port": 80, "protocol": "TCP"}, {"name": "https", "port": 443, "protocol": "TCP"},
        ]},
    })
}

impl Own {
    /// This server's part of the Service's endpoints, one for each family. They go with the node.
    fn slices(&self, open: Open, node: Option<&Node>) -> Vec<Value> {
        let addresses = self.reached(open, node);
        let port = |name: &str, at: Option<SocketAddr>| {
            at.map(|at| json!({"name": name, "port": at.port(), "protocol": "TCP"}))
        };
        let ports: Vec<Value> =
            [port("http", open.http), port("https", open.https)].into_iter().flatten().collect();
        let owner = node
            .and_then(|node| node.metadata.uid.as_ref())
            .map(|uid| json!([{"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": uid}]));
        let slice = |family: &str, suffix: &str, address: &IpAddr| {
            let mut slice = json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {
                    "name": format!("{SERVICE}-{}{suffix}", self.node), "namespace": NAMESPACE,
                    "labels": {
                        "kubernetes.io/service-name": SERVICE,
                        "endpointslice.kubernetes.io/managed-by": "kedge.dev",
                    },
                },
                "addressType": family, "ports": ports,
                "endpoints": [{"addresses": [address], "conditions": {"ready": true}, "nodeName": self.node}],
            });
            if let Some(owner) = &owner {
                slice["metadata"]["ownerReferences"] = owner.clone();
            }
            slice
        };
        if ports.is_empty() {
            return Vec::new();
        }
        let first =
            addresses.iter().find(|address| address.is_ipv4()).map(|address| slice("IPv4", "", address));
        let second =
            addresses.iter().find(|address| address.is_ipv6()).map(|address| slice("IPv6", "-v6", address));
        first.into_iter().chain(second).collect()
    }

    /// Only whoever listens on all addresses is reached at the node's.
    fn reached(&self, open: Open, node: Option<&Node>) -> Vec<IpAddr> {
        let Some(at) = open.http.or(open.https).map(|at| at.ip()) else { return Vec::new() };
        let told: Vec<IpAddr> = match at.is_unspecified() {
            true => node.into_iter().flat_map(Node::internal).collect(),
            false => vec![at],
        };
        let told = if told.is_empty() { self.addresses.clone() } else { told };
        told.into_iter().filter(|address| is_for_others(*address)).collect()
    }
}

/// Nobody else reaches a loopback, nor an address that counts on one link only: a machine that is alone may have no other.
fn is_for_others(address: IpAddr) -> bool {
    let is_of_link = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !address.is_loopback() && !address.is_unspecified() && !is_of_link
}

#[cfg(test)]
mod tests {
    use kedge_children::testing::object;

    use super::*;

    #[test]
    fn each_server_says_where_it_is_reached() {
        let node: Node = object(json!({
            "metadata": {"name": "n1", "uid": "u"},
            "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "InternalIP", "address": "2001:db8::1"}]},
        }));
        let alone: Node = object(json!({
            "metadata": {"name": "n1", "uid": "u"},
            "status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]},
        }));
        let at = |text: &str| Some(text.parse::<SocketAddr>().unwrap());
        for (case, http, https, node, expected) in [
            (
                "all addresses",
                at("0.0.0.0:80"),
                at("0.0.0.0:443"),
                Some(&node),
                "192.0.2.1:80,443 2001:db8::1:80,443",
            ),
            ("no Node yet", at("0.0.0.0:8080"), None, None, "192.0.2.9:8080"),
            ("one address", at("192.0.2.5:80"), None, Some(&node), "192.0.2.5:80"),
            ("a loopback", at("127.0.0.1:80"), None, Some(&node), ""),
            ("a machine that nobody reaches", at("0.0.0.0:80"), None, Some(&alone), ""),
            ("one link's address", at("[fe80::1]:80"), None, Some(&node), ""),
            ("no port to be had", None, None, Some(&node), ""),
        ] {
            let own = Own { node: "n1".to_owned(), addresses: vec!["192.0.2.9".parse().unwrap()] };
            let shown: Vec<String> = own
                .slices(Open { http, https }, node)
                .iter()
                .map(|slice| {
                    let ports =
                        slice["ports"].as_array().unwrap().iter().map(|port| port["port"].to_string());
                    let address = slice["endpoints"][0]["addresses"][0].as_str().unwrap();
                    format!("{address}:{}", ports.collect::<Vec<_>>().join(","))
                })
                .collect();
            assert_eq!(shown.join(" "), expected, "{case}");
        }
    }
}
