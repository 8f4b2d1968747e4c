//! The ways from this node to pods of others: straight to a node on the same link, in a tunnel to one beyond. Is told who the others
//! are; reads from the kernel where they are and what it knows already, and changes only what differs. Nobody is asked and nothing
//! is flooded: everything that a machine would have to learn is written down.

mod kernel;
mod plan;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use kedge_netlink::monitor::Change;
use kedge_range::Range;
use serde::{Deserialize, Serialize};

use crate::error::NetworkError;
use crate::network::Network;

pub(crate) use self::kernel::remove;
pub(crate) use self::plan::ORIGIN;

/// The port that the kernel takes by itself, and most others do.
pub const USUAL_PORT: u16 = 8472;

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// Where it is reached, the usual one first.
    pub addresses: Vec<IpAddr>,
    /// Where its pods are.
    pub ranges: Vec<Range>,
}

/// How packets get to other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Backend {
    /// Straight to nodes on the same link, in a tunnel to others.
    #[default]
    Vxlan,
    /// In a tunnel to all of them: for links that carry only addresses that they know.
    VxlanOnly,
    /// Straight to nodes on the same link; others cannot be reached.
    Routes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    pub backend: Backend,
    /// Where tunnels end, on every node.
    pub port: u16,
}

impl Default for Between {
    fn default() -> Self {
        Self { backend: Backend::default(), port: USUAL_PORT }
    }
}

/// What came of a look at the ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tended {
    /// How large packets of pods may be so that none has to be cut on its way.
    pub mtu: u32,
    /// How many things had to be changed.
    pub changes: usize,
    /// Who cannot be reached, and why: for people.
    pub lost: Vec<String>,
}

/// Makes the ways to these nodes, and no others, be there. `me` is this node as the cluster knows it.
pub fn tend(
    network: &Network,
    between: Between,
    me: &Member,
    others: &[Member],
) -> Result<Tended, NetworkError> {
    kernel::tend(network, between, me, others)
}

/// Whether a change that the kernel tells of may concern the ways or what pods share.
pub fn concerns(network: &Network, change: &Change) -> bool {
    match change {
        // Pods come and go without changing any way.
        Change::Link(name) => !name.starts_with("veth"),
        // Neighbours of others go all the time; ours are looked at with the rest.
        Change::NeighbourGone(link) => kernel::is_tunnel(network, *link),
        // Nor do their addresses, and the ways to them.
        Change::Address(link) | Change::Route(Some(link)) => kernel::is_beside_pods(network, *link),
        Change::Route(None) | Change::Lost => true,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of `vxlan`, `vxlan-only` and `routes`")]
pub struct BadBackend(String);

impl FromStr for Backend {
    type Err = BadBackend;

    fn from_str(text: &str) -> Result<Self, BadBackend> {
        match text {
            "vxlan" => Ok(Backend::Vxlan),
            "vxlan-only" => Ok(Backend::VxlanOnly),
            "routes" => Ok(Backend::Routes),
            _ => Err(BadBackend(text.to_owned())),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Backend::Vxlan => "vxlan",
            Backend::VxlanOnly => "vxlan-only",
            Backend::Routes => "routes",
        })
    }
}

impl TryFrom<String> for Backend {
    type Error = BadBackend;

    fn try_from(text: String) -> Result<Self, BadBackend> {
        text.parse()
    }
}

impl From<Backend> for String {
    fn from(backend: Backend) -> Self {
        backend.to_string()
    }
}
