//! Flows that the kernel remembers and that go on to where a Service no longer is. A UDP client would speak to nobody for as long as it
//! speaks. A connection that somebody answered notices by itself; one that nobody did is remembered for minutes, and swallows both the
//! call that waits and the next one from the same port.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use kedge_netlink::flow::{Flow, forget};
use kedge_netlink::{Errno, NetlinkError, Socket};

use crate::family::Family;
use crate::wanted::{Door, PoolId, Wanted, Way};

const UDP: u8 = 17;

/// Doors, and who may answer there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers(HashMap<Door, BTreeSet<IpAddr>>);

impl Answers {
    /// Whoever connects and is not answered waits a second before the next try, so that the look some time after a change is soon enough;
    /// looking through all flows holds up the next change.
    pub(crate) fn is_urgent(&self) -> bool {
        self.0.keys().any(|door| door.protocol == UDP)
    }

    /// What is said later counts.
    pub(crate) fn and(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Leaves those where somebody may speak to nobody since it was as before: for UDP what changed, else what somebody left.
    pub(crate) fn since(&mut self, before: &Self) {
        self.0.retain(|door, now| match (before.0.get(door), door.protocol) {
            (before, UDP) => before != Some(now),
            (before, _) => before.is_some_and(|before| !before.is_subset(now)),
        });
    }

    /// From now on those of this Service answer at its doors.
    pub(crate) fn are(&mut self, wanted: &Wanted) {
        for front in &wanted.fronts {
            let ids: Vec<PoolId> = match front.way {
                Way::Inside(id) | Way::Outside(id) => vec![id],
                Way::Near { wide, near } => vec![wide, near],
            };
            let pools = wanted.pools.iter().filter(|pool| ids.contains(&pool.id));
            let answers = pools.flat_map(|pool| &pool.targets).map(|target| target.address).collect();
            self.0.insert(front.door, answers);
        }
    }

    /// Nobody does any more, unless it is said again.
    pub(crate) fn were(&mut self, wanted: &Wanted) {
        self.0.extend(wanted.fronts.iter().map(|front| (front.door, BTreeSet::new())));
    }

    /// The flow came to one of the doors and is answered by somebody else. `ours` are the node's own addresses.
    pub(crate) fn are_not_of(&self, flow: &Flow, ours: &BTreeSet<IpAddr>) -> bool {
        if flow.protocol != UDP && flow.is_answered {
            return false;
        }
        let at = |at| Door { family: Family::of(flow.to), at, protocol: flow.protocol, port: flow.port };
        let at_node = || self.0.get(&at(None)).filter(|_| ours.contains(&flow.to));
        let answers = self.0.get(&at(Some(flow.to))).or_else(at_node);
        answers.is_some_and(|answers| !answers.contains(&flow.answers))
    }

    /// Has the kernel forget all such flows; the next packet of each is judged anew.
    pub(crate) fn enforce(&self, socket: &mut Socket) -> Result<(), NetlinkError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let ours: BTreeSet<IpAddr> = match self.0.keys().any(|door| door.at.is_none()) {
            true => Socket::route()?.addresses()?.into_iter().map(|held| held.address).collect(),
            false => BTreeSet::new(),
        };
        for family in Family::BOTH {
            let mut protocols = self.0.keys().filter(|door| door.family == family).map(|door| door.protocol);
            let flows = match protocols.clone().next() {
                None => continue,
                Some(_) if protocols.any(|protocol| protocol == UDP) => socket.flows(family.kernels()),
                Some(_) => socket.unanswered_flows(family.kernels()),
            };
            let flows = match flows {
                Ok(flows) => flows,
                // A kernel that does not tell forgets by itself after a while.
                Err(NetlinkError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            let stale = flows.iter().filter(|flow| self.are_not_of(flow, &ours));
            // Each by itself: one that ended meanwhile is as good as forgotten.
            for flow in stale {
                match socket.tell(&mut [forget(flow)]) {
                    Err(error) if !error.is(Errno::NOENT) => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
