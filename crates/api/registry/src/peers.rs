//! Where all servers are reached that share a store. Each keeps a record of its own there, and `default/kubernetes` leads to everybody
//! whose record is renewed. Who stops takes its record away; who died is left out once its record has not changed for a while. How long
//! that is, everybody measures for itself: no clock is compared with another's.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kedge_kinds::Status;
use kedge_store::{Draft, Expect, Revision, Snapshot, Txn};
use tokio::sync::watch;

use crate::registry::Registry;
use crate::{bootstrap, failure};

const RECORDS: &str = "/registry/kedge.dev/servers/";
const RENEWAL: Duration = Duration::from_secs(5);
/// Three renewals that did not come.
const LIFE: SignedDuration = SignedDuration::from_secs(15);

impl Registry {
    /// Counts this server among those that can be reached, until `stop` turns true; then it is one of them no more.
    pub async fn announce(self, mut stop: watch::Receiver<bool>) {
        let Some((address, port)) = self.options().api_address else { return };
        let mut count = Count::new(SocketAddr::new(address, port));
        let mut complained = false;
        loop {
            match count.turn(&self).await {
                Ok(()) => complained = false,
                Err(status) if !complained => {
                    tracing::warn!("cannot say where all servers are: {status}; trying again");
                    complained = true;
                }
                Err(_) => {}
            }
            tokio::select! {
                () = self.clock().sleep(RENEWAL) => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        if let Err(status) = count.leave(&self).await {
            tracing::warn!("others will miss this server only after {LIFE:#}: {status}");
        }
    }
}

/// What one server knows of all.
struct Count {
    own: SocketAddr,
    /// Each record as it was seen, and since when it has been like that.
    seen: HashMap<SocketAddr, (Revision, Timestamp)>,
}

impl Count {
    fn new(own: SocketAddr) -> Self {
        Self { own, seen: HashMap::new() }
    }

    async fn turn(&mut self, registry: &Registry) -> Result<(), Status> {
        let renewed = Txn::new().put(key(&self.own), Expect::Any, Draft::new(self.own.to_string()));
        registry.store().commit(renewed).await.map_err(failure::status)?;
        let snapshot = registry.store().latest().await.map_err(failure::status)?;
        let live = self.look(&records(&snapshot), registry.clock().now());
        for (server, revision) in records(&snapshot).into_iter().filter(|(server, _)| !live.contains(server))
        {
            tracing::warn!("the server at {server} has not been heard of for {LIFE:#}");
            // If it was renewed just now, it stays.
            let gone = Txn::new().delete(key(&server), Expect::At(revision));
            let _stays = registry.store().commit(gone).await;
        }
        bootstrap::lead_to(registry, &live).await
    }

    async fn leave(&mut self, registry: &Registry) -> Result<(), Status> {
        let gone = Txn::new().delete(key(&self.own), Expect::Any);
        registry.store().commit(gone).await.map_err(failure::status)?;
        let snapshot = registry.store().latest().await.map_err(failure::status)?;
        let live = self.look(&records(&snapshot), registry.clock().now());
        // Whoever was the last leaves its address: nobody is helped by none.
        if live.is_empty() { Ok(()) } else { bootstrap::lead_to(registry, &live).await }
    }

    /// Those whose records are not too old.
    fn look(&mut self, records: &[(SocketAddr, Revision)], now: Timestamp) -> BTreeSet<SocketAddr> {
        let mut live = BTreeSet::new();
        let before = std::mem::take(&mut self.seen);
        for &(server, revision) in records {
            let known = before.get(&server).filter(|(seen, _)| *seen == revision);
            let since = known.map_or(now, |(_, since)| *since);
            self.seen.insert(server, (revision, since));
            if now.duration_since(since) < LIFE {
                live.insert(server);
            }
        }
        live
    }
}

fn key(server: &SocketAddr) -> String {
    format!("{RECORDS}{server}")
}

fn records(snapshot: &Snapshot) -> Vec<(SocketAddr, Revision)> {
    let all = snapshot.range(RECORDS, None);
    all.filter_map(|(key, entry)| {
        let server = key.as_str().strip_prefix(RECORDS)?.parse().ok()?;
        Some((server, entry.modified()))
    })
    .collect()
}

#[cfg(test)]
mod tests;
