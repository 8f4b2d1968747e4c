//! One look at the whole network of a node: what pods share, what the runtime reads, and the ways to others. Waits for the kernel and
//! the disk, so whoever calls it does so where that is allowed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kedge_network::{
    Between, CONFIG_FILE, Member, Network, NetworkError, Range, is_prepared, outward_mtu, prepare, reap,
    remember, tend,
};

use super::{PROGRAM, given, told};

/// Where and how this node's pods are connected.
pub(super) struct Site {
    pub(super) data: PathBuf,
    pub(super) node: String,
    pub(super) cluster: Vec<Range>,
    pub(super) between: Between,
    /// Where the runtime looks for its networks.
    pub(super) config: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SetUpError {
    #[error("cannot prepare the network of pods")]
    Network(#[from] NetworkError),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("what prepares the network of pods did not live to do it")]
    Died(#[from] tokio::task::JoinError),
}

/// What came of a look.
pub(super) struct Turned {
    pub(super) network: Network,
    /// Who cannot be reached, for people.
    pub(super) lost: Vec<String>,
    pub(super) is_changed: bool,
    /// The node works, but not all ways could be made: another look is due.
    pub(super) failed: bool,
}

impl Site {
    /// Makes everything be as it should, from what was made before, if anything was.
    pub(super) fn turn(
        &self,
        before: Option<Network>,
        ranges: Vec<Range>,
        members: Option<Vec<Member>>,
    ) -> Result<Turned, SetUpError> {
        let (data, node) = (&self.data, &self.node);
        // Until the others are known, packets are as large as they were.
        let mtu = match before.as_ref().map(|before| before.mtu).or_else(|| Some(given(data)?.mtu)) {
            Some(mtu) => mtu,
            None => outward_mtu()?,
        };
        let mut network = Network::new(data, node, mtu, ranges, self.cluster.clone());
        let mut is_changed = false;
        if before.as_ref() != Some(&network) || !is_prepared(&network)? {
            self.set_up(&network)?;
            is_changed = true;
        }
        let mut turned = Turned { network: network.clone(), lost: Vec::new(), is_changed, failed: false };
        let Some(members) = members else { return Ok(turned) };
        let (me, others): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| member.name == *node);
        let addresses = me.into_iter().next().map(|me| me.addresses).unwrap_or_default();
        let me = Member { name: node.clone(), addresses, ranges: network.ranges.clone() };
        match tend(&network, self.between, &me, &others) {
            Ok(tended) => {
                if tended.changes > 0 {
                    let (nodes, changes) = (others.len(), tended.changes);
                    tracing::info!(nodes, changes, "the ways to pods of other nodes are as they should be");
                }
                turned.is_changed |= tended.changes > 0;
                turned.lost = tended.lost;
                if tended.mtu != network.mtu {
                    network.mtu = tended.mtu;
                    self.set_up(&network)?;
                    turned.network = network;
                }
            }
            // The pods of this node have their network all the same.
            Err(error) => {
                turned.lost = vec![format!("other nodes: {}", told(&error))];
                turned.failed = true;
            }
        }
        Ok(turned)
    }

    fn set_up(&self, network: &Network) -> Result<(), SetUpError> {
        remember(network)?;
        prepare(network)?;
        // Once for whoever clears up after us, and once for the runtime.
        for folder in [&network.records, &self.config] {
            let path = folder.join(CONFIG_FILE);
            write(&path, &network.config(PROGRAM)).map_err(|source| SetUpError::Write { path, source })?;
        }
        reap(network)?;
        Ok(())
    }
}

/// The runtime reads the file as soon as it sees it, so it must see all of it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|now| now == text) {
        return Ok(());
    }
    // Not a name that a runtime takes for a configuration.
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, path)
}
