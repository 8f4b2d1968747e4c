//! Carries Services: has the kernel of this node lead calls to endpoints, by one nftables table of our own. Pure code turns Services and
//! endpoints into entries of that table; the difference to what was there is one small change, done at once. What the kernel was told
//! stays when this ends: calls are carried on, and whoever begins again reads it back and changes only what differs.

mod changes;
mod choose;
mod elements;
mod family;
mod figures;
mod flows;
mod health;
mod kernel;
mod layout;
mod notice;
mod proxy;
mod table;
mod wanted;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kedge_client::{Key, World};
use kedge_clock::Clock;
use kedge_facts::{Node, Service, Slice};
use kedge_netlink::nft::{Batch, Doubt};
use kedge_netlink::{NetlinkError, Socket};

pub use self::figures::{Counts, Figures};
use self::health::Healths;
use self::notice::{Noted, Notice};
pub use self::proxy::ProxyError;
use self::proxy::{Begun, Proxy};
pub use kedge_range::{BadRange, Range};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The one table that all our rules for Services are in; nobody else's.
    pub table: String,
    /// What this machine is called in the cluster.
    pub node: String,
    /// Where all pods of the cluster are.
    pub cluster: Vec<Range>,
}

/// Carries Services until the task is ended. What cannot be done is tried again, ever more slowly.
pub async fn run(settings: Settings, world: World, clock: Clock) {
    run_counted(settings, world, clock, Figures::default()).await;
}

/// The same, counted for whoever shows it.
pub async fn run_counted(settings: Settings, world: World, clock: Clock, figures: Figures) {
    let notice = Arc::new(Notice::new(&settings.node));
    world.watch::<Service>().watch::<Slice>().watch::<Node>();
    world.listen(&notice);
    world.ready().await;

    let mut pause = FIRST_PAUSE;
    let mut proxy = loop {
        let (settings, world) = (settings.clone(), world.clone());
        match blocking(move || Proxy::begin(settings, world)).await {
            Some(Ok((proxy, begun))) => {
                tell_of(&proxy, &begun);
                break proxy;
            }
            Some(Err(error)) => warn(&error),
            None => return,
        }
        clock.sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    let mut doubt = Doubt::over(&settings.table, clock.clone());
    let mut healths = Healths::default();
    if let Ok(everybody) = proxy.everybody() {
        everybody.iter().for_each(|key| healths.set(key, proxy.health(key)));
    }
    figures.carries(proxy.count());
    pause = FIRST_PAUSE;
    let mut is_torn = false;
    loop {
        let noted = match is_torn {
            true => Noted::default(),
            false => tokio::select! {
                noted = notice.next() => noted,
                () = doubt.arises() => Noted::default(),
            },
        };
        let begun = clock.now();
        let Some((back, keys, done)) = blocking(move || turn(proxy, noted, is_torn)).await else { return };
        proxy = back;
        let took = clock.now().duration_since(begun).try_into().unwrap_or_default();
        figures.turned(took, done.is_err());
        figures.carries(proxy.count());
        keys.iter().for_each(|key| healths.set(key, proxy.health(key)));
        match done {
            Ok(()) => (is_torn, pause) = (false, FIRST_PAUSE),
            Err(error) => {
                warn(&error);
                clock.sleep(pause).await;
                (is_torn, pause) = (true, (pause * 2).min(LONGEST_PAUSE));
            }
        }
    }
}

/// Takes everything of ours out of the kernel.
pub fn remove(table: &str) -> Result<(), NetlinkError> {
    let mut batch = Batch::of(table);
    // Making it first lets removing it succeed in any case.
    batch.table().without_table();
    Socket::netfilter()?.apply(&mut batch)
}

fn turn(mut proxy: Proxy, noted: Noted, is_torn: bool) -> (Proxy, BTreeSet<Key>, Result<(), ProxyError>) {
    let keys = match noted.everybody {
        true => match proxy.everybody() {
            Ok(keys) => keys,
            Err(error) => return (proxy, BTreeSet::new(), Err(error)),
        },
        false => noted.keys,
    };
    let done = match () {
        () if is_torn => proxy.repair(),
        () if keys.is_empty() => proxy.check(),
        () => proxy.turn(keys.clone()),
    };
    (proxy, keys, done)
}

/// The kernel may take a while; others of this process go on meanwhile. None when the process ends.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn tell_of(proxy: &Proxy, begun: &Begun) {
    let count = proxy.everybody().map_or(0, |keys| keys.len());
    match begun {
        Begun::Anew => tracing::info!("carrying {count} Services"),
        Begun::Repaired(0, 0) => tracing::info!("carrying {count} Services, as the kernel did meanwhile"),
        Begun::Repaired(gone, come) => {
            tracing::info!("carrying {count} Services: {gone} entries removed, {come} added");
        }
    }
}

fn warn(error: &ProxyError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let root = std::error::Error::source(error).and_then(std::error::Error::source);
    let root = root.map(|cause| format!(": {cause}")).unwrap_or_default();
    tracing::warn!("{error}{cause}{root}; trying again");
}
