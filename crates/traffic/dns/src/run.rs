//! Runs the cluster's DNS on this node: takes its addresses, opens its doors, keeps in step. What cannot be done now is tried again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use kedge_client::{Client, Key, NotReady, Objects, Revision, World};
use kedge_clock::Clock;
use kedge_facts::{Namespace, Pod, Service, Slice};
use kedge_range::Range;

use crate::dns::{Dns, Look};
use crate::hosts::Hosts;
use crate::index::Index;
use crate::memory;
use crate::place;
use crate::serve::Door;
use crate::upstream::{Upstream, follow};
use crate::wire::Name;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct Settings {
    /// `cluster.local`
    pub zone: String,
    /// The addresses of the Service `kube-system/kube-dns`, which every node has.
    pub addresses: Vec<IpAddr>,
    pub port: u16,
    /// Where it is noted which addresses the node was given.
    pub note: PathBuf,
    /// Where the names are remembered, for a start at which no API answers.
    pub memory: Option<PathBuf>,
    /// The cluster's own ranges, of Services and of pods.
    pub ranges: Vec<Range>,
    pub upstreams: Upstreams,
    pub stubs: Vec<Stub>,
}

/// Who is asked for names that are not the cluster's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upstreams {
    These(Vec<SocketAddr>),
    /// Those of a `resolv.conf`, also when it changes.
    Of(PathBuf),
}

/// Who is asked for a domain and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    pub domain: String,
    pub servers: Vec<SocketAddr>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0:?} cannot be a domain")]
    Domain(String),
}

/// Everything but the doors.
pub fn start(
    settings: &Settings,
    world: World,
    hosts: Hosts,
    look: Option<Look>,
    clock: Clock,
) -> Result<Dns, StartError> {
    let name = |text: &str| {
        Name::parse(text).filter(|name| !name.is_root()).ok_or(StartError::Domain(text.to_owned()))
    };
    world.watch::<Service>().watch::<Slice>().watch::<Namespace>().watch::<Pod>();
    let stubs: Result<Vec<_>, _> =
        settings.stubs.iter().map(|stub| Ok((name(&stub.domain)?, stub.servers.clone()))).collect();
    let own = settings.addresses.iter().map(|at| SocketAddr::new(*at, settings.port)).collect();
    let upstream = Arc::new(Upstream::new(stubs?, own, clock.clone()));
    if let Upstreams::These(servers) = &settings.upstreams {
        upstream.ask_these(servers.iter().copied());
    }
    let mut index = Index::new(name(&settings.zone)?, settings.addresses.clone());
    if let Some(path) = &settings.memory {
        memory::recall(path, &mut index, &hosts);
    }
    Ok(Dns::new(world, index, hosts, upstream, look, settings.ranges.clone(), clock))
}

/// Asks the API for a Service that was not heard of yet.
pub fn look(client: Client) -> Look {
    Arc::new(move |key: Key| {
        let services = Objects::<Service>::within(&client, &key.namespace);
        async move { services.find(&key.name).await.ok().flatten() }.boxed()
    })
}

/// Runs until the task is ended. Others' names are answered at once, and those of the cluster that are remembered; all others as soon
/// as they have been read.
pub async fn run(settings: Settings, world: World, hosts: Hosts, look: Option<Look>, clock: Clock) {
    let dns = match start(&settings, world.clone(), hosts, look, clock.clone()) {
        Ok(dns) => dns,
        Err(error) => {
            tracing::error!("there is no DNS on this node: {error}");
            return;
        }
    };
    let doors = settings.addresses.iter().map(|&at| keep_open(&settings, dns.clone(), at, clock.clone()));
    let following = async {
        if let Upstreams::Of(file) = &settings.upstreams {
            follow(file.clone(), |resolv| dns.upstream().set(resolv)).await;
        }
    };
    let filling = async {
        if let Err(error) = read(&world).await.and_then(|()| dns.fill()) {
            tracing::error!("the cluster's names are not known: {error}");
        }
    };
    let remembering = async {
        if let Some(path) = &settings.memory {
            memory::keep(path, &dns, &clock).await;
        }
    };
    tokio::join!(join_all(doors), following, filling, remembering);
}

/// Waits for our own kinds only: others may watch what this node may not see.
async fn read(world: &World) -> Result<(), NotReady> {
    let any = Revision::default();
    world.catch_up_to::<Service>(any).await?;
    world.catch_up_to::<Slice>(any).await?;
    world.catch_up_to::<Namespace>(any).await?;
    world.catch_up_to::<Pod>(any).await
}

async fn keep_open(settings: &Settings, dns: Dns, at: IpAddr, clock: Clock) {
    let at = SocketAddr::new(at, settings.port);
    let mut pause = FIRST_PAUSE;
    let mut complained = false;
    loop {
        match open(settings, dns.clone(), at, clock.clone()).await {
            Ok(door) => {
                tracing::info!("the cluster's DNS answers at {at}");
                door.serve().await;
            }
            Err(told) if !complained => {
                tracing::warn!("the cluster's DNS does not answer yet: {told}; --no-dns switches it off");
                complained = true;
            }
            Err(_) => {}
        }
        clock.sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn open(settings: &Settings, dns: Dns, at: SocketAddr, clock: Clock) -> Result<Door, OpenError> {
    place::hold(&settings.addresses, &settings.note)?;
    Door::open(dns, at, clock).await.map_err(|source| OpenError::Listen { at, source })
}

#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error("{0}: {reason}", reason = std::error::Error::source(.0).map(ToString::to_string).unwrap_or_default())]
    Place(#[from] place::PlaceError),
    #[error("cannot listen on {at}: {source}")]
    Listen { at: SocketAddr, source: io::Error },
}
