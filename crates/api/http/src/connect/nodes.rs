//! Where a node's own server is and how we show it who we are. Knows nothing of what it is asked.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use kedge_kinds::{Reason, Status};
use kedge_pki::{Authority, Leaf, Names, Purpose};
use kedge_reach::{Identity, Place, Target};
use serde_json::Value;

use super::unexplained;
use crate::api::Api;
use crate::credential::Credential;

/// The name that a role lets use everything that a node offers.
const NAME: &str = "kube-apiserver-kubelet-client";
/// Where a node listens that doesn't say where.
const USUAL_PORT: u16 = 10250;
/// Addresses of these types are taken, the first before the next.
const PREFERRED: [&str; 5] = ["InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname"];

/// Who we are to nodes, and whose signature we want to see on theirs.
pub struct NodeClient {
    authority: Arc<Authority>,
    credential: Credential,
}

impl NodeClient {
    /// A certificate of the cluster's own authority, kept in `folder`.
    pub fn new(folder: &Path, authority: Arc<Authority>) -> Self {
        let names = Names { common_name: NAME.to_owned(), organization: None, hosts: Vec::new() };
        let leaf = Leaf::new(folder, "kubelet-client", names, Purpose::Client);
        Self { authority, credential: Credential::new(leaf) }
    }

    fn identity(&self, now: Timestamp) -> Option<Identity> {
        self.credential.identity(&self.authority, now)
    }
}

impl fmt::Debug for NodeClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeClient")
    }
}

/// All nodes, as far as we can speak to them.
pub(crate) struct Nodes(Option<Arc<NodeClient>>);

impl Nodes {
    pub(super) fn new(client: Option<Arc<NodeClient>>) -> Self {
        Self(client)
    }

    /// The server of a node that was found.
    pub(crate) fn target(&self, node: &Value, insecure: bool, now: Timestamp) -> Result<Target, Status> {
        let (host, port) = place_of(node)?;
        let Some(client) = &self.0 else {
            let message = "this server has no certificate to show to nodes";
            return Err(Status::new(503, Reason::ServiceUnavailable, message));
        };
        Ok(Target {
            // Addresses move; a certificate for one node is never good for another.
            place: Place::Address {
                host,
                port,
                secure: true,
                name: node["metadata"]["name"].as_str().map(str::to_owned),
            },
            ca_bundle: Some(Bytes::copy_from_slice(client.authority.pem().as_bytes())),
            identity: client.identity(now),
            insecure_skip_verify: insecure,
        })
    }
}

/// Address and port of a node's server, by what the node says of itself.
pub(super) fn place_of(node: &Value) -> Result<(String, u16), Status> {
    let addresses = node["status"]["addresses"].as_array().map_or(&[][..], Vec::as_slice);
    let address = |one: &Value| one["address"].as_str().unwrap_or_default().to_owned();
    let of = |kind: &&str| addresses.iter().find(|one| one["type"] == **kind).map(address);
    let Some(host) = PREFERRED.iter().find_map(|kind| of(kind).filter(|host| !host.is_empty())) else {
        let known: Vec<String> = addresses
            .iter()
            .map(|one| format!("{{{} {}}}", one["type"].as_str().unwrap_or_default(), address(one)))
            .collect();
        let known = known.join(" ");
        return Err(unexplained(format!("no preferred addresses found; known addresses: [{known}]")));
    };
    let port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_u64();
    let port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
    Ok((host, port.unwrap_or(USUAL_PORT)))
}

/// The node with this name.
pub(super) fn found(api: &Api, name: &str) -> Result<Value, Status> {
    let catalog = api.registry().catalog();
    let kind = catalog.kind("", "v1", "nodes").ok_or_else(|| Status::internal("nodes are not served"))?;
    let snapshot = api.registry().store().snapshot();
    let node = snapshot.get(&format!("/registry/{}/{name}", kind.prefix));
    let node = node.and_then(|entry| serde_json::from_slice(entry.bytes()).ok());
    node.ok_or_else(|| Status::not_found(kind, name))
}
