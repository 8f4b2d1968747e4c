//! NodePorts: a port of the node belongs to one pod at a time.

use std::collections::HashMap;

use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::{HostPort, PodView};

pub struct NodePorts;

impl Filter for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        if pod.ports.is_empty() { Err(Whole::Skip) } else { Ok(Box::new(Free(&pod.ports))) }
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        match change {
            Change::NodeAdded(_) => true,
            Change::PodGone(gone) => {
                gone.ports.iter().any(|freed| pod.ports.iter().any(|port| clash(port, freed)))
            }
            _ => false,
        }
    }
}

struct Free<'a>(&'a [HostPort]);

impl PreparedFilter for Free<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        if self.0.iter().any(|port| taken(port, &node.ports)) {
            Err(Rejection::new("node(s) didn't have free ports for the requested pod ports"))
        } else {
            Ok(())
        }
    }
}

fn taken(port: &HostPort, taken: &HashMap<HostPort, u32>) -> bool {
    !taken.is_empty() && taken.keys().any(|other| clash(port, other))
}

/// The same port and protocol on the same address, or on all addresses for one of them.
fn clash(one: &HostPort, other: &HostPort) -> bool {
    let everywhere = |port: &HostPort| matches!(&*port.address, "" | "0.0.0.0");
    one.port == other.port
        && one.protocol == other.protocol
        && (everywhere(one) || everywhere(other) || one.address == other.address)
}

#[cfg(test)]
mod tests;
