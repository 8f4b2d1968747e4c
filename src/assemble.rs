//! Wires the crates into a server; alone knows them all. Decides nothing that one of them could decide.

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
use kedge_store::{Backup, Store, StoreError};
use prometheus_client::registry::Registry as Registered;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

use crate::control::Parts;
use crate::network::{Cidr, outward};
use crate::pki::{Admin, Pki};
use crate::settings::{Settings, StoreChoice};
use crate::shutdown::Machine;
use crate::{agent, control, limits, pages, secrets};

pub(crate) const DATA_DIR: &str = "/var/lib/kedge";
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 6443);
const SERVICES: Cidr = Cidr { address: IpAddr::V4(Ipv4Addr::new(10, 96, 0, 0)), bits: 16 };
const PODS: Cidr = Cidr { address: IpAddr::V4(Ipv4Addr::new(10, 244, 0, 0)), bits: 16 };
const DOMAIN: &str = "cluster.local";
/// How long after it is ready everything has begun that a server does by itself.
const SETTLED: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error("cannot listen on {at}")]
    Listen { at: SocketAddr, source: io::Error },
    #[error("the store does not work")]
    Store(#[from] StoreError),
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

/// One line per event on standard error, as a journal likes it. `KEDGE_LOG` chooses what.
pub(crate) fn log() {
    let filter = EnvFilter::try_from_env("KEDGE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false)
        .init();
}

/// Runs until it is told to stop. `files` may be open at once.
pub(crate) async fn server(settings: Settings, files: u64) -> Result<(), ServerError> {
    let clock = Clock::system();
    let data = settings.data_dir.clone().unwrap_or_else(|| PathBuf::from(DATA_DIR));
    let asked = settings.listen.unwrap_or(LISTEN);
    let at_asked = |source| ServerError::Listen { at: asked, source };
    let listener = TcpListener::bind(asked).await.map_err(at_asked)?;
    let listen = listener.local_addr().map_err(at_asked)?;
    let machine = Machine::new(settings.shutdown_grace_period.map(|grace| grace.0));
    let signalled = stop_signal(machine.clone())?;

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
    let options = registry_options(&settings, listen, gates(&store));
    let registry = tokio::spawn(Registry::start(store.clone(), clock.clone(), options));
    // Meanwhile, as neither needs the other.
    let pki = Pki::open(&pki, &settings, listen, clock.clone())?;
    let registry = registry.await??;
    let controls = settings.no_controllers != Some(true);
    let policies = controls.then(|| tokio::spawn(keep_checked(registry.clone())));
    let mut options = http_options(&settings, &pki, listen, files)?;
    let audit = audit(&settings, clock.clone())?;
    options.audit = audit.clone();
    let mut figures = Registered::default();
    let parts = Parts::new(&settings, ranges(&settings), &mut figures)?;
    options.figures = Arc::new(figures);
    let router = kedge_http::router(registry, options)?;
    let tls = Tls::new(pki.serving.clone(), pki.authority.clients()?)?;
    let server = format!("https://{}", SocketAddr::new(reachable(listen.ip()), listen.port()));
    let kubeconfigs =
        [Some(data.join("kubeconfig")), settings.write_kubeconfig.clone()].into_iter().flatten().collect();
    let admin = Admin { server: server.clone(), files: kubeconfigs };

    admin.write(&pki)?;
    tracing::info!("kedge is ready at {server}; kubeconfig: {}", admin.shown());
    let settled = clock.clone();
    tokio::spawn(async move {
        settled.sleep(SETTLED).await;
        pages::release_code();
    });
    let control = controls.then(|| {
        let upkeep = router.clone().upkeep(pki.authority.clone());
        let control = control::run(router.clone(), clock.clone(), parts, store.is_shared().then(control::me));
        tokio::spawn(async move {
            tokio::join!(upkeep, control);
        })
    });
    let node = (settings.no_agent != Some(true)).then(|| {
        let (router, data, clock) = (router.clone(), data.clone(), clock.clone());
        let settings = settings.clone();
        let authority = pki.authority.clone();
        tokio::spawn(async move { agent::run(router, settings, &data, authority, machine, clock).await })
    });
    let renewals = tokio::spawn(async move { pki.keep_fresh(&admin).await });
    serve_until(listener, tls, router, &mut stop).await;
    control.into_iter().chain(policies).chain(node).for_each(|task| task.abort());
    renewals.abort();
    if !*signalled.borrow() && store.is_stopped() {
        return Err(ServerError::StoreStopped);
    }
    store.close().await;
    if let Some(audit) = audit {
        audit.flush().await;
    }
    tracing::info!("kedge has stopped");
    Ok(())
}

async fn serve_until(listener: TcpListener, tls: Tls, router: Router, stop: &mut watch::Receiver<bool>) {
    kedge_http::serve(listener, tls, router, stop.clone()).await;
}

/// Turns true at SIGTERM, SIGINT or SIGPWR; if the machine goes down, once its pods have ended.
fn stop_signal(machine: Machine) -> Result<watch::Receiver<bool>, ServerError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(ServerError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServerError::Signals)?;
    let power = SignalKind::from_raw(rustix::process::Signal::POWER.as_raw());
    let mut power = signal(power).map_err(ServerError::Signals)?;
    let (turn, stop) = watch::channel(false);
    tokio::spawn(async move {
        let goes_down = tokio::select! {
            _ = terminate.recv() => machine.is_going_down().await,
            _ = interrupt.recv() => false,
            _ = power.recv() => true,
        };
        if goes_down {
            machine.go_down().await;
        }
        turn.send_replace(true);
        // Kept until the end: a dropped sender would look like a second signal.
        std::future::pending::<()>().await;
    });
    Ok(stop)
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
            let options = kedge_store::EtcdOptions { seal, ..kedge_store::EtcdOptions::default() };
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

/// Copies the store of a server that is not running; a running one holds the folder's lock.
pub(crate) async fn backup(file: &Path, data: &Path) -> Result<Backup, ServerError> {
    let folder = data.join("store");
    if !folder.is_dir() {
        return Err(ServerError::NoStore { folder });
    }
    let seal = secrets::seal(data, false)?;
    let store =
        Store::open(&folder, kedge_store::Options { seal, ..kedge_store::Options::default() }).await?;
    let made = store.backup(file).await;
    store.close().await;
    Ok(made?)
}

pub(crate) fn restore(file: &Path, data: &Path) -> Result<Backup, ServerError> {
    let into = data.join("store");
    Ok(match secrets::seal(data, false)? {
        Some(seal) => Store::restore_sealed(file, &into, seal)?,
        None => Store::restore(file, &into)?,
    })
}

pub(crate) fn services(settings: &Settings) -> Vec<Cidr> {
    if settings.service_cidr.is_empty() { vec![SERVICES] } else { settings.service_cidr.clone() }
}

pub(crate) fn pods(settings: &Settings) -> Vec<Cidr> {
    if settings.cluster_cidr.is_empty() { vec![PODS] } else { settings.cluster_cidr.clone() }
}

/// Where nodes get their pods' addresses from.
fn ranges(settings: &Settings) -> kedge_nodes::Ranges {
    let all = |ranges: &[Cidr]| {
        ranges.iter().map(|range| kedge_nodes::Range { address: range.address, bits: range.bits }).collect()
    };
    kedge_nodes::Ranges { pods: all(&pods(settings)), services: all(&services(settings)) }
}

pub(crate) fn domain(settings: &Settings) -> String {
    settings.cluster_domain.clone().unwrap_or_else(|| DOMAIN.to_owned())
}

/// Admission from outside the registry, in the order in which it is asked.
fn gates(store: &Store) -> Vec<Arc<dyn Gate>> {
    let reach = Reach::new(Arc::new(Doors::new(store.clone())));
    vec![Arc::new(Policies::default()), Arc::new(Webhooks::new(store.clone(), reach))]
}

fn registry_options(
    settings: &Settings,
    listen: SocketAddr,
    gates: Vec<Arc<dyn Gate>>,
) -> kedge_registry::Options {
    let address = if listen.ip().is_unspecified() { outward() } else { Some(listen.ip()) };
    let usual = kedge_registry::Options::default();
    kedge_registry::Options {
        service_cidrs: services(settings).iter().map(|range| (range.address, range.bits)).collect(),
        cluster_domain: domain(settings),
        api_address: address.map(|address| (address, listen.port())),
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
    pki: &Pki,
    listen: SocketAddr,
    files: u64,
) -> Result<kedge_http::Options, ServerError> {
    let mut options = kedge_http::Options::new(pki.signing_key.clone());
    let outside = if listen.ip().is_unspecified() { outward() } else { None };
    let outside = outside.unwrap_or_else(|| reachable(listen.ip()));
    options.address = format!("https://{}", SocketAddr::new(outside, listen.port()));
    options.issuer = format!("https://kubernetes.default.svc.{}", domain(settings));
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
