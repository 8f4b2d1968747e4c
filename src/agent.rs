//! Runs the node of this machine, beside a server or far from one. It uses the API as any node does, beside a server only without a
//! socket.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kedge_agent::{Agent, CleanError, CpuPolicy, Eviction, Grace, Lookout, Networking, OwnNetwork, lowest};
use kedge_client::{Client, Servers};
use kedge_clock::Clock;
use kedge_http::Router;
use kedge_network::{Between, Member, Range};
use kedge_pki::{Authority, PkiError};
use kedge_policy::Arrivals;
use kedge_registry::User;
use tokio::sync::watch;

use crate::cluster::Cluster;
use crate::door::{self, NodeCertificate};
use crate::member::LOCK;
use crate::network::{outward, outward_v6};
use crate::policy;
use crate::settings::{Amount, CpuManager, NodeLabel, NodeSettings, NodeTaint, Settings};
use crate::shutdown::Machine;
use crate::traffic::{self, Ground};
use crate::{hosts, names};

/// Where runtimes and networks of others meet.
const USUAL_PROGRAMS: &str = "/opt/cni/bin";
const USUAL_CONFIG: &str = "/etc/cni/net.d";

/// How often a node that cannot start tries again, and after what pause.
const RETRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

const REGISTRIES: &str = "/etc/kedge/registries.yaml";

/// What a node is run with, wherever its server is.
pub(crate) struct Role {
    pub(crate) name: String,
    /// The data folder, absolute: others, who are told of it, work elsewhere.
    pub(crate) data: PathBuf,
    pub(crate) client: Client,
    /// Those that the client reaches by the network.
    pub(crate) servers: Option<Servers>,
    pub(crate) settings: NodeSettings,
    pub(crate) cluster: Cluster,
    /// The settings of the server beside it.
    pub(crate) server: Option<Settings>,
    pub(crate) certificate: Result<NodeCertificate, PkiError>,
    /// What proves that the node's object is about this machine.
    pub(crate) key: Option<String>,
    pub(crate) machine: Machine,
    /// Where carrying Services is counted.
    pub(crate) carried: kedge_proxy::Figures,
    /// Where it is told which ports of this machine pods have.
    pub(crate) taken: watch::Sender<BTreeSet<u16>>,
    pub(crate) clock: Clock,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It could not start, as the log says why.
    Failed,
    /// Its object was deleted: it is no longer part of the cluster.
    Left,
}

/// The node of the machine on which this server runs.
pub(crate) fn beside(
    router: Router,
    server: Settings,
    cluster: Cluster,
    authority: &Arc<Authority>,
    machine: Machine,
    clock: Clock,
) -> Role {
    let settings = server.node.clone();
    let (name, data) = (settings.name(), absolute(&settings.data()));
    let user = User {
        name: format!("system:node:{name}"),
        groups: vec!["system:nodes".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    let client = kedge_client::in_process(router.acting_as(user));
    let at = addresses(&settings, &cluster);
    let certificate = NodeCertificate::open(&data.join("pki"), authority.clone(), &name, &at, clock.clone());
    Role {
        name,
        data,
        client,
        servers: None,
        settings,
        cluster,
        server: Some(server),
        certificate,
        key: None,
        machine,
        carried: kedge_proxy::Figures::default(),
        taken: watch::Sender::default(),
        clock,
    }
}

pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Runs it until the task is ended, or the node is no longer wanted. A machine that cannot run containers is a server all the same.
pub(crate) async fn run(role: Role) -> Ended {
    let Role {
        name,
        data,
        client,
        servers,
        settings,
        cluster,
        server,
        certificate,
        key,
        machine,
        carried,
        taken,
        clock,
    } = role;
    let usual = kedge_agent::Settings::new(name, &data);
    let members = watch::Sender::new(None);
    let networking = networking(&settings, &cluster, &data, servers, members.subscribe());
    let enforces = networking.own.is_some() && settings.no_network_policy != Some(true);
    let arrivals = enforces.then(|| Arrivals::new(clock.clone()));
    let node = kedge_agent::Settings {
        addresses: addresses(&settings, &cluster),
        cluster_domain: cluster.domain.clone(),
        cluster_dns: cluster.dns(),
        resolv_conf: settings.resolv_conf.clone(),
        networking,
        key,
        // A server's own node is part of the cluster for as long as it runs.
        leaves: server.is_none(),
        runtime: settings.container_runtime_endpoint.clone().map(|endpoint| endpoint.0),
        version: concat!("v1.36.0+kedge", env!("CARGO_PKG_VERSION")).to_owned(),
        node: told(&settings),
        static_pods: Some(settings.static_pod_dir.clone().unwrap_or_else(|| data.join("static-pods"))),
        registries: Some(settings.registries.clone().unwrap_or_else(|| PathBuf::from(REGISTRIES))),
        image_rules: image_rules(&settings),
        pulls_at_once: settings.max_parallel_image_pulls.unwrap_or(usual.pulls_at_once),
        eviction: Eviction {
            thresholds: settings.eviction_hard.clone().map_or(usual.eviction.thresholds, |told| told.0),
            ..usual.eviction
        },
        most_processes: settings.pod_max_pids,
        unsafe_sysctls: settings.allowed_unsafe_sysctls.clone(),
        cgroup_driver: settings.cgroup_driver.map_or(usual.cgroup_driver, |told| told.0),
        cpus: cpus(&settings),
        guard: arrivals.as_ref().map(policy::guard),
        ..usual
    };
    let was_node = names::was_here(&data);
    let ground = Ground {
        node: node.node_name.clone(),
        data,
        cluster,
        client: client.clone(),
        clock: clock.clone(),
        arrivals,
        members,
        carried,
        taken,
    };
    // Each by itself: together they would be more than the stack of a thread holds in an unoptimised build.
    let mut traffic = Box::pin(traffic::run(&ground, &settings, server.as_ref()));
    let starting = Box::pin(start(&node, &client, &clock));
    // Pods of before ask for names while the node is still starting. Where there are none, nothing is done before it can be a node.
    let started = match was_node {
        true => tokio::select! {
            started = starting => started,
            () = &mut traffic => return Ended::Failed,
        },
        false => starting.await,
    };
    match started {
        Ok(agent) => {
            let shutdown = agent.shutdown();
            let last = settings.shutdown_grace_period_critical_pods;
            let ending = async {
                let whole = machine.going_down().await;
                let critical = last.map_or(Duration::ZERO, |last| last.0.min(whole));
                shutdown.run(Grace { whole, critical }).await;
                machine.is_down();
            };
            let at = node.addresses.clone();
            let door = Box::pin(door::run(agent, certificate, &client, at, settings.node_listen));
            let beside = async { tokio::join!(traffic, ending) };
            tokio::select! {
                () = door => Ended::Left,
                _ = beside => Ended::Failed,
            }
        }
        Err(error) => {
            tracing::error!("this machine is no node: {}", crate::told(&error));
            Ended::Failed
        }
    }
}

async fn start(
    node: &kedge_agent::Settings,
    client: &Client,
    clock: &Clock,
) -> Result<Agent, kedge_agent::AgentError> {
    let mut started = Agent::start(node.clone(), client.clone(), clock.clone()).await;
    for _ in 0..RETRIES {
        // What it stands on may just be coming up, or was ended a moment ago.
        if started.is_ok() {
            break;
        }
        clock.sleep(PAUSE).await;
        started = Agent::start(node.clone(), client.clone(), clock.clone()).await;
    }
    started
}

/// Where this machine is reached: as told, or in the families that pods have, in their order.
pub(crate) fn addresses(settings: &NodeSettings, cluster: &Cluster) -> Vec<IpAddr> {
    if !settings.node_ip.is_empty() {
        return settings.node_ip.clone();
    }
    // Who lets others in at one address only is reached there.
    if let Some(listen) = settings.node_listen.filter(|listen| !listen.ip().is_unspecified()) {
        return vec![listen.ip()];
    }
    looked_up(cluster)
}

fn looked_up(cluster: &Cluster) -> Vec<IpAddr> {
    let families = cluster.pods.iter().map(Range::first);
    let found: Vec<IpAddr> =
        families.filter_map(|like| if like.is_ipv4() { outward() } else { outward_v6() }).collect();
    if found.is_empty() { outward().into_iter().collect() } else { found }
}

/// Addresses that nobody told may change while the node runs.
fn lookout(settings: &NodeSettings, cluster: &Cluster, servers: Option<Servers>) -> Option<Lookout> {
    let listens_at_one = settings.node_listen.is_some_and(|listen| !listen.ip().is_unspecified());
    let is_told = !settings.node_ip.is_empty() || listens_at_one;
    let cluster = cluster.clone();
    let look = move || {
        // What is to be said about it has to arrive.
        servers.iter().for_each(Servers::end_stranded);
        looked_up(&cluster)
    };
    (!is_told).then(|| Lookout::new(look))
}

fn networking(
    settings: &NodeSettings,
    cluster: &Cluster,
    data: &Path,
    servers: Option<Servers>,
    members: watch::Receiver<Option<Vec<Member>>>,
) -> Networking {
    let is_own_runtime = settings.container_runtime_endpoint.is_none();
    let is_ours = settings.connects_pods();
    // What runs must be found again after it was replaced by a newer one.
    let program = std::env::current_exe().ok().filter(|_| is_ours);
    let own = program.map(|program| OwnNetwork {
        program,
        cluster: cluster.pods.clone(),
        between: Between { backend: cluster.pod_network, port: cluster.vxlan_port },
        members,
    });
    let below = Networking::below(data);
    let (programs, config) = match is_ours && is_own_runtime {
        true => (below.programs, below.config),
        false => (USUAL_PROGRAMS.into(), USUAL_CONFIG.into()),
    };
    Networking {
        own,
        programs: settings.cni_bin_dir.clone().unwrap_or(programs),
        config: settings.cni_conf_dir.clone().unwrap_or(config),
        lookout: lookout(settings, cluster, servers),
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CleanupError {
    #[error("a server or an agent runs on {}: stop it first", data.display())]
    InUse { data: PathBuf },
    #[error("only root may take away what a node left, and {} may be a node's: use sudo", data.display())]
    NotRoot { data: PathBuf },
    #[error("{} has nothing of Kedge, so it stays: --data-dir names another folder", data.display())]
    NotOurs { data: PathBuf },
    #[error("cannot remove {}", data.display())]
    Data { data: PathBuf, source: std::io::Error },
    #[error("something of the node is left")]
    Left(#[from] CleanError),
    #[error("something of DNSRecords is left")]
    Hosts(#[from] kedge_gateway::HostsError),
    #[error("something of the cluster's DNS is left")]
    Names(#[from] kedge_dns::PlaceError),
}

/// Takes away what a node left on this machine. No server begins on its data meanwhile.
pub(crate) async fn clean(data: &Path) -> Result<(), CleanupError> {
    let data = absolute(data);
    may_take_away(&data)?;
    let _held = unused(&data)?;
    take_away(&data).await
}

/// What every server's or agent's data folder has one of.
const MARKS: [&str; 4] = ["store/lock", LOCK, "kedge.sock", "pki/service-account.key"];

/// Nobody's folder is removed because its name was mistyped. One with nothing in it is nobody's loss.
pub(crate) fn is_ours(data: &Path) -> Result<(), CleanupError> {
    let has_mark = MARKS.iter().any(|mark| data.join(mark).exists());
    let is_empty = std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_none());
    match has_mark || is_empty || !data.exists() {
        true => Ok(()),
        false => Err(CleanupError::NotOurs { data: data.to_owned() }),
    }
}

/// A server without a node leaves nothing but its data, and needs no root for that.
pub(crate) fn may_take_away(data: &Path) -> Result<(), CleanupError> {
    // Who may not even look there is not who ran it.
    let has_node = ["containerd", "pods"].iter().any(|part| data.join(part).try_exists().unwrap_or(true));
    match has_node && !rustix::process::geteuid().is_root() {
        true => Err(CleanupError::NotRoot { data: data.to_owned() }),
        false => Ok(()),
    }
}

/// Everything of a node that no longer runs but its data.
pub(crate) async fn take_away(data: &Path) -> Result<(), CleanupError> {
    names::release(data)?;
    hosts::release(data)?;
    Ok(kedge_agent::clean(data, &Networking::below(data)).await?)
}

/// The same, and its data too.
pub(crate) async fn uninstall(data: &Path) -> Result<(), CleanupError> {
    let data = absolute(data);
    may_take_away(&data)?;
    let _held = unused(&data)?;
    take_away(&data).await?;
    match std::fs::remove_dir_all(&data) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(CleanupError::Data { data, source })
        }
        _ => Ok(()),
    }
}

/// Holds the locks of those who would use the data.
pub(crate) fn unused(data: &Path) -> Result<Vec<File>, CleanupError> {
    let mut held = Vec::new();
    for lock in ["store/lock", LOCK] {
        let Ok(file) = File::open(data.join(lock)) else { continue };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(CleanupError::InUse { data: data.to_owned() });
        }
        held.push(file);
    }
    Ok(held)
}

/// What a person says of the node.
fn told(settings: &NodeSettings) -> kedge_agent::Told {
    let amounts = |list: &[Amount]| list.iter().map(|Amount(name, amount)| (name.clone(), *amount)).collect();
    kedge_agent::Told {
        labels: settings
            .node_label
            .iter()
            .map(|NodeLabel(key, value)| (key.clone(), value.clone()))
            .collect(),
        taints: settings.node_taint.iter().map(|NodeTaint(taint)| taint.clone()).collect(),
        capacity: amounts(&settings.node_capacity),
        reserved: amounts(&settings.system_reserved),
    }
}

/// Who reserves CPU means the lowest CPUs, unless he says which.
fn cpus(settings: &NodeSettings) -> CpuPolicy {
    if settings.cpu_manager_policy != Some(CpuManager::Static) {
        return CpuPolicy::None;
    }
    let amounts = settings.system_reserved.iter().filter(|Amount(name, _)| name == "cpu");
    let milli = amounts.map(|Amount(_, amount)| amount.milli_value()).sum();
    CpuPolicy::Static { reserved: settings.reserved_cpus.clone().unwrap_or_else(|| lowest(milli)) }
}

fn image_rules(settings: &NodeSettings) -> kedge_agent::ImageRules {
    let usual = kedge_agent::ImageRules::default();
    let oldest = settings.image_maximum_gc_age.map(|age| age.0).filter(|age| !age.is_zero());
    kedge_agent::ImageRules {
        high: settings.image_gc_high_threshold.unwrap_or(usual.high),
        low: settings.image_gc_low_threshold.unwrap_or(usual.low),
        oldest: oldest.and_then(|age| age.try_into().ok()),
        ..usual
    }
}
