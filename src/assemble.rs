//! Wires the crates into a server; alone knows them all. Decides nothing that one of them could decide.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kedge_admission::{Policies, Webhooks, keep_checked};
use kedge_clock::Clock;
use kedge_http::{Audit, AuditError, AuditLog, Router, ServeError, StartError, Tls};
use kedge_kinds::Status;
use kedge_pki::PkiError;
use kedge_reach::Reach;
use kedge_registry::gate::Gate;
use kedge_registry::{Doors, Registry};
use kedge_seal::SealError;
use kedge_store::{Store, StoreError};
use prometheus_client::registry::Registry as Registered;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::Cluster;
use crate::control::Parts;
use crate::etcd::EtcdError;
use crate::hatch::Hatch;
use crate::network::outward;
use crate::pki::{Admin, Pki};
use crate::ranges::RangesError;
use crate::settings::{Settings, StoreChoice};
use crate::shutdown::Machine;
use crate::{
    agent, control, door, etcd, figures, gateway, limits, notify, peers, ranges, secrets, shutdown, tidy,
    token,
};

const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 6443);
/// How long others that share the store may take to hear that this server goes.
const FAREWELL: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error(transparent)]
    Ranges(#[from] RangesError),
    #[error("cannot listen on {at}; choose another place with --listen")]
    Listen { at: SocketAddr, source: io::Error },
    #[error("the store does not work")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    #[error("there is no store in {}", folder.display())]
    NoStore { folder: PathBuf },
    #[error("cannot encrypt Secrets")]
    Seal(#[from] SealError),
    #[error("there are no keys in {}: start the server with --encrypt-secrets first", path.display())]
    NoKeys { path: PathBuf },
    #[error("--audit-policy-file and --audit-log-path need each other")]
    HalfAudit,
    #[error("cannot record requests")]
    Audit(#[from] AuditError),
    #[error("cannot set up certificates")]
    Pki(#[from] PkiError),
    #[error("cannot start the API")]
    Registry(#[from] Status),
    #[error("cannot start the API")]
    Api(#[from] StartError),
    #[error("a part of the server did not live to start")]
    Died(#[from] tokio::task::JoinError),
    #[error("cannot schedule")]
    Scheduler(#[from] kedge_scheduler::ConfigError),
    #[error("cannot serve the API")]
    Serve(#[from] ServeError),
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error(
        "the store has stopped for good, as the log says why; start the server again once its disk is well"
    )]
    StoreStopped,
}

/// Runs until it is told to stop. `files` may be open at once.
pub(crate) async fn server(settings: Settings, files: u64) -> Result<(), ServerError> {
    let clock = Clock::system();
    let data = settings.node.data();
    let cluster = Cluster::of(&settings);
    ranges::apart(&cluster)?;
    if settings.no_agent != Some(true) && settings.node.connects_pods() {
        ranges::free(&cluster)?;
    }
    let asked = settings.listen.unwrap_or(LISTEN);
    let at_asked = |source| ServerError::Listen { at: asked, source };
    let listener = TcpListener::bind(asked).await.map_err(at_asked)?;
    let listen = listener.local_addr().map_err(at_asked)?;
    let machine = Machine::new(settings.node.shutdown_grace_period.map(|grace| grace.0));
    let signalled = shutdown::stop_signal(machine.clone()).map_err(ServerError::Signals)?;

    // Before its first key our cryptography gathers chance, for longer than the store takes to open.
    let _gathering = tokio::task::spawn_blocking(kedge_pki::new_key);
    // The store first: its lock keeps a second server from writing over the keys of the one that runs.
    let store = open_store(&data, &settings).await?;
    let mut stop = or_store_stops(signalled.clone(), store.clone());
    let pki = data.join("pki");
    if matches!(settings.store, Some(StoreChoice::Etcd(_))) && !pki.exists() {
        let pki = pki.display();
        tracing::warn!(
            "making new keys in {pki}: servers that share an etcd must share this folder's contents too"
        );
    }
    let mut options = registry_options(&settings, &cluster, listen, gates(&store));
    options.has_peers = store.is_shared();
    let registry = tokio::spawn(Registry::start(store.clone(), clock.clone(), options));
    // Meanwhile, as neither needs the other.
    let pki = Pki::open(&pki, &settings, &cluster, listen, clock.clone())?;
    let registry = registry.await??;
    let announced = store.is_shared().then(|| tokio::spawn(registry.clone().announce(stop.clone())));
    let controls = settings.no_controllers != Some(true);
    let policies = controls.then(|| tokio::spawn(keep_checked(registry.clone())));
    let mut options = http_options(&settings, &cluster, &pki, listen, files)?;
    let audit = audit(&settings, clock.clone())?;
    options.audit = audit.clone();
    let mut figures = Registered::default();
    let own_ports = own_ports(&settings, listen);
    let parts = Parts::new(&settings, ranges(&cluster), own_ports, &mut figures)?;
    let carried = kedge_proxy::Figures::default();
    figures::register(&mut figures, store.clone(), carried.clone());
    options.figures = Arc::new(figures);
    let router = kedge_http::router(registry, options)?;
    let tls = Tls::new(pki.serving.clone(), pki.authority.clients()?)?;
    let server = format!("https://{}", SocketAddr::new(reachable(listen.ip()), listen.port()));
    let kubeconfigs =
        [Some(data.join("kubeconfig")), settings.write_kubeconfig.clone()].into_iter().flatten().collect();
    let admin = Admin::new(server.clone(), kubeconfigs);

    admin.write(&pki)?;
    tracing::info!("kedge is ready at {server}; kubeconfig: {}", admin.shown());
    let hatch = Hatch {
        role: "server",
        data: data.clone(),
        node: (settings.no_agent != Some(true)).then(|| settings.node.name()),
        servers: vec![server.clone()],
        store: Some(store.clone()),
    };
    let hatch = tokio::spawn(hatch.serve());
    notify::ready();
    tokio::spawn(tidy::after_bursts(clock.clone()));
    let me = store.is_shared().then(control::me);
    let control = controls.then(|| {
        let upkeep = router.clone().upkeep(pki.authority.clone());
        let control = control::run(router.clone(), clock.clone(), parts, me.clone());
        let welcome = token::welcome(
            router.clone(),
            cluster.clone(),
            pki.authority.pem().to_owned(),
            data.clone(),
            clock.clone(),
        );
        tokio::spawn(async move {
            tokio::join!(upkeep, control, welcome);
        })
    });
    let taken = watch::Sender::default();
    let node = (settings.no_agent != Some(true)).then(|| {
        let settings = settings.clone();
        let own =
            agent::beside(router.clone(), settings, cluster.clone(), &pki.authority, machine, clock.clone());
        let own = agent::Role { carried, taken: taken.clone(), ..own };
        tokio::spawn(async move {
            agent::run(own).await;
        })
    });
    let gateway = tokio::spawn(gateway::run(gateway::Door {
        router: router.clone(),
        addresses: agent::addresses(&settings.node, &cluster),
        settings,
        authority: pki.authority.clone(),
        pki: data.join("pki"),
        me: store.is_shared().then(control::me),
        taken: taken.subscribe(),
        clock: clock.clone(),
    }));
    let peers = store.is_shared().then(|| control::acting_as(&router, "system:kedge"));
    let at = clock.clone();
    let renewals = tokio::spawn(async move {
        let peers = async {
            if let Some(client) = &peers {
                peers::follow(client, &admin, &pki, &at).await;
            }
        };
        tokio::join!(pki.keep_fresh(&admin), peers);
    });
    serve_until(listener, tls, router.clone(), &mut stop).await;
    notify::stopping();
    hatch.abort();
    end(control.into_iter().chain(policies).chain(node).chain([gateway, renewals]).collect()).await;
    if !*signalled.borrow() && store.is_stopped() {
        return Err(ServerError::StoreStopped);
    }
    if let Some(announced) = announced {
        // Others are told that this one goes; a store that does not answer is not waited for.
        let resigned = control::resign(&router, &clock, me);
        let _told = tokio::time::timeout(FAREWELL, async { tokio::join!(announced, resigned) }).await;
    }
    store.close().await;
    if let Some(audit) = audit {
        audit.flush().await;
    }
    tracing::info!("kedge has stopped");
    Ok(())
}

/// Ends what uses the API, and waits until it has: whoever still watches when the store closes would complain of it.
async fn end(tasks: Vec<JoinHandle<()>>) {
    tasks.iter().for_each(JoinHandle::abort);
    let _ended = tokio::time::timeout(FAREWELL, futures::future::join_all(tasks)).await;
}

async fn serve_until(listener: TcpListener, tls: Tls, router: Router, stop: &mut watch::Receiver<bool>) {
    kedge_http::serve(listener, tls, router, stop.clone()).await;
}

/// Turns true at a signal, or when the store takes no more writes: a server that can only refuse is better started again.
fn or_store_stops(mut signalled: watch::Receiver<bool>, store: Store) -> watch::Receiver<bool> {
    let (turn, stop) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = signalled.wait_for(|stop| *stop) => {}
            () = store.stopped() => tracing::error!("the store has stopped for good: ending"),
        }
        turn.send_replace(true);
        // Kept until the end: a dropped sender would look like a second signal.
        std::future::pending::<()>().await;
    });
    stop
}

async fn open_store(data: &Path, settings: &Settings) -> Result<Store, ServerError> {
    let seal = secrets::seal(data, settings.encrypt_secrets == Some(true))?;
    Ok(match settings.store.as_ref().unwrap_or(&StoreChoice::Embedded) {
        StoreChoice::Embedded => {
            let options = kedge_store::Options { seal, ..kedge_store::Options::default() };
            Store::open(&data.join("store"), options).await?
        }
        StoreChoice::Etcd(urls) => {
            let tls = etcd::tls(settings, urls)?;
            let options = kedge_store::EtcdOptions { seal, tls, ..kedge_store::EtcdOptions::default() };
            Store::etcd(urls, options).await?
        }
    })
}

fn audit(settings: &Settings, clock: Clock) -> Result<Option<Audit>, ServerError> {
    let (policy, path) = match (&settings.audit_policy_file, &settings.audit_log_path) {
        (None, None) => return Ok(None),
        (Some(policy), Some(path)) => (policy.clone(), path.clone()),
        _ => return Err(ServerError::HalfAudit),
    };
    let log = AuditLog {
        path,
        max_days: settings.audit_log_maxage.unwrap_or_default(),
        max_backups: settings.audit_log_maxbackup.unwrap_or_default(),
        max_megabytes: settings.audit_log_maxsize.unwrap_or_default(),
    };
    Ok(Some(Audit::open(policy, log, clock)?))
}

/// Where nodes answer themselves, so that no Service may.
fn own_ports(settings: &Settings, listen: SocketAddr) -> BTreeSet<u16> {
    let node = settings.node.node_listen.unwrap_or(door::LISTEN).port();
    let gateway = (settings.no_gateway != Some(true)).then(|| {
        let [http, https] = [
            settings.gateway_http.unwrap_or(gateway::HTTP),
            settings.gateway_https.unwrap_or(gateway::HTTPS),
        ];
        [http.port(), https.port()]
    });
    [listen.port(), node].into_iter().chain(gateway.into_iter().flatten()).collect()
}

/// Where nodes get their pods' addresses from.
fn ranges(cluster: &Cluster) -> kedge_nodes::Ranges {
    kedge_nodes::Ranges { pods: cluster.pods.clone(), services: cluster.services.clone() }
}

/// Admission from outside the registry, in the order in which it is asked.
fn gates(store: &Store) -> Vec<Arc<dyn Gate>> {
    let reach = Reach::new(Arc::new(Doors::new(store.clone())));
    vec![Arc::new(Policies::default()), Arc::new(Webhooks::new(store.clone(), reach))]
}

fn registry_options(
    settings: &Settings,
    cluster: &Cluster,
    listen: SocketAddr,
    gates: Vec<Arc<dyn Gate>>,
) -> kedge_registry::Options {
    let address = if listen.ip().is_unspecified() { outward() } else { Some(listen.ip()) };
    let usual = kedge_registry::Options::default();
    kedge_registry::Options {
        service_cidrs: cluster.services.iter().map(|range| (range.first(), range.bits())).collect(),
        cluster_domain: cluster.domain.clone(),
        api_address: address.map(|address| (address, listen.port())),
        dns_service: cluster.has_own_dns(),
        gates,
        mount_tokens: settings.no_controllers != Some(true),
        measures: settings.no_controllers != Some(true),
        event_ttl: settings
            .event_ttl
            .map_or(usual.event_ttl, |life| Some(life.0).filter(|life| !life.is_zero())),
        ..usual
    }
}

fn http_options(
    settings: &Settings,
    cluster: &Cluster,
    pki: &Pki,
    listen: SocketAddr,
    files: u64,
) -> Result<kedge_http::Options, ServerError> {
    let mut options = kedge_http::Options::new(pki.signing_key.clone());
    let outside = if listen.ip().is_unspecified() { outward() } else { None };
    let outside = outside.unwrap_or_else(|| reachable(listen.ip()));
    options.address = format!("https://{}", SocketAddr::new(outside, listen.port()));
    options.issuer = format!("https://kubernetes.default.svc.{}", cluster.domain);
    options.names = pki.names.clone();
    options.front_proxy = Some(pki.front_proxy.clone());
    options.node_client = Some(pki.node_client.clone());
    let room = u32::try_from(limits::connections(files)).unwrap_or(u32::MAX);
    options.max_connections = options.max_connections.min(room);
    if let Some(reads) = settings.max_requests_inflight {
        options.max_reads_in_flight = reads;
    }
    if let Some(writes) = settings.max_mutating_requests_inflight {
        options.max_writes_in_flight = writes;
    }
    Ok(options)
}

/// Where a client on this machine finds a server that listens on `ip`.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}
