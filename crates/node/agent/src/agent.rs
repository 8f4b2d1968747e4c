//! The agent of one node: its runtime, its object, and one life for every pod that is bound to it.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kedge_clock::Clock;
use kedge_engine::{Carrier, Recorder, World};
use kedge_images::{ImportError, PAUSE_IMAGE, Store, pause};
use kedge_mounts::{MountError, Mounts};
use kedge_runtime::containerd::{self, Config, Containerd, ContainerdError, may_lower_oom_scores};
use kedge_runtime::wire::{DnsConfig, PodSandboxFilter};
use kedge_runtime::{Runtime, RuntimeError};
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::board::Board;
use crate::folders::Folders;
use crate::life::{Life, remove_all};
use crate::node::{Facts, NodeKeeper};
use crate::registry::Registry;
use crate::spec::env::Place;
use crate::spec::sandbox::{Common, POD_UID};
use crate::tools::Tools;

/// How often is looked at containers whose runtime tells of them, and at those of another.
const SELDOM: Duration = Duration::from_secs(10);
const OFTEN: Duration = Duration::from_secs(1);
/// After what was heard, is looked again after each of these.
const ECHOES: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(300)];

/// How a node is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    pub node_name: String,
    /// Everything of this node is below it.
    pub data: PathBuf,
    /// Where the node is reached, the first being the usual one.
    pub addresses: Vec<IpAddr>,
    pub cluster_domain: String,
    pub cluster_dns: Vec<IpAddr>,
    /// Another runtime's socket in the place of a containerd of our own.
    pub runtime: Option<PathBuf>,
    /// What the node says it runs.
    pub version: String,
}

impl Settings {
    /// A node with everything as usual, reached nowhere yet.
    pub fn new(node_name: impl Into<String>, data: impl Into<PathBuf>) -> Self {
        Self {
            node_name: node_name.into(),
            data: data.into(),
            addresses: Vec::new(),
            cluster_domain: "cluster.local".to_owned(),
            cluster_dns: Vec::new(),
            runtime: None,
            version: "v1.36.0".to_owned(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("cannot run containers")]
    Containerd(#[from] ContainerdError),
    #[error("the runtime does not answer")]
    Runtime(#[from] RuntimeError),
    #[error("cannot make the image of sandboxes")]
    Pause(#[source] std::io::Error),
    #[error("cannot put the image of sandboxes in place")]
    Import(#[from] ImportError),
    #[error("cannot prepare the folder of volumes")]
    Mounts(#[from] MountError),
}

pub struct Agent {
    tools: Arc<Tools>,
    facts: Facts,
    containerd: Option<Containerd>,
}

impl Agent {
    /// Starts or finds the runtime, and is ready to look after pods.
    pub async fn start(settings: Settings, client: Client, clock: Clock) -> Result<Self, AgentError> {
        let folders = Folders::below(&settings.data);
        let mounts = Mounts::open(folders.pods())?;
        let (containerd, socket) = match &settings.runtime {
            Some(socket) => (None, socket.clone()),
            None => {
                let containerd = Containerd::start(Config {
                    folder: settings.data.join("containerd"),
                    program: "containerd".to_owned(),
                    pause_image: PAUSE_IMAGE.to_owned(),
                    cni_programs: settings.data.join("cni/bin"),
                    cni_config: settings.data.join("cni/net.d"),
                    restrict_oom_scores: !may_lower_oom_scores(),
                })
                .await?;
                let image = pause().map_err(AgentError::Pause)?;
                Store::at(&containerd.socket()).import(&image, None, clock.now(), |_| {}).await?;
                let socket = containerd.socket();
                (Some(containerd), socket)
            }
        };
        let runtime = Runtime::at(&socket);
        let version = runtime.version().await?;
        let told = format!("{}://{}", version.runtime_name, version.runtime_version.trim_start_matches('v'));
        let facts = Facts::read(&settings.node_name, &settings.data, told, settings.version.clone());
        let node_ips: Vec<String> = settings.addresses.iter().map(ToString::to_string).collect();
        let allocatable = facts.allocatable.iter();
        let allocatable: HashMap<_, _> =
            allocatable.filter_map(|(name, amount)| Some((name.clone(), amount.0.parse().ok()?))).collect();
        let tools = Tools {
            recorder: Recorder::new("kubelet", client.clone(), clock.clone()).on(&settings.node_name),
            carrier: Carrier::new("kubelet", client.clone(), clock.clone()),
            world: World::new(client.clone(), clock.clone()),
            runtime,
            mounts,
            folders,
            common: Common {
                cgroup_root: format!("/kedge-{}", settings.node_name),
                cluster_domain: settings.cluster_domain.clone(),
                cluster_dns: settings.cluster_dns.iter().map(ToString::to_string).collect(),
                node_dns: node_dns(),
            },
            place: Place { node: settings.node_name.clone(), node_ips, pod_ips: Vec::new() },
            allocatable,
            board: Board::default(),
            node: watch::Sender::new(None),
            client,
            clock,
        };
        Ok(Self { tools: Arc::new(tools), facts, containerd })
    }

    /// Looks after the node until it is dropped. Containers run on.
    pub async fn run(self) {
        let Self { tools, facts, mut containerd } = self;
        let socket = containerd.as_ref().map(Containerd::socket);
        tools.world.watch::<Service>();
        let registry = Arc::new(Registry::default());
        let node = NodeKeeper { tools: tools.clone(), facts };
        let keep_runtime = async {
            match &mut containerd {
                Some(containerd) => {
                    let error = containerd.keep().await;
                    tracing::error!(%error, "containerd cannot be started again");
                }
                None => std::future::pending().await,
            }
        };
        let notice = async {
            match socket {
                Some(socket) => {
                    tokio::join!(hear(&tools, &registry, &socket), look(&tools, &registry, SELDOM));
                }
                // It may tell nothing at all.
                None => look(&tools, &registry, OFTEN).await,
            }
        };
        tokio::join!(keep_runtime, node.keep(), notice, pods(&tools, &registry));
    }
}

/// Hears from our containerd what happens to containers.
async fn hear(tools: &Arc<Tools>, registry: &Arc<Registry>, socket: &Path) {
    loop {
        let heard = |id: &str| {
            registry.ring(id);
            let (tools, registry, id) = (tools.clone(), registry.clone(), id.to_owned());
            tokio::spawn(async move {
                // What it tells of, it may itself not know yet when it is asked.
                for wait in ECHOES {
                    tools.clock.sleep(wait).await;
                    registry.ring(&id);
                }
            });
        };
        let error = containerd::follow(socket, heard).await;
        tracing::debug!(%error, "containerd tells nothing more");
        tools.clock.sleep(Duration::from_millis(200)).await;
    }
}

/// Notices what happens to containers by looking now and then: one list for all of them, and only what changed is looked at.
async fn look(tools: &Tools, registry: &Registry, every: Duration) {
    let mut before: HashMap<String, i32> = HashMap::new();
    loop {
        if let Ok(containers) = tools.runtime.containers(Default::default()).await {
            let now: HashMap<String, i32> =
                containers.into_iter().map(|container| (container.id, container.state)).collect();
            let changed = now.iter().filter(|(id, state)| before.get(*id) != Some(state)).map(|(id, _)| id);
            let gone = before.keys().filter(|id| !now.contains_key(*id));
            changed.chain(gone).for_each(|id| registry.ring(id));
            before = now;
        }
        tools.clock.sleep(every).await;
    }
}

/// One life for each pod that is bound here.
async fn pods(tools: &Arc<Tools>, registry: &Arc<Registry>) {
    let node = tools.place.node.clone();
    let pods = Api::<Pod>::all(tools.client.clone());
    let config = watcher::Config::default().fields(&format!("spec.nodeName={node}"));
    let mut events = pin!(watcher(pods, config));
    let mut known: HashMap<String, watch::Sender<Arc<Pod>>> = HashMap::new();
    let mut listed: Vec<String> = Vec::new();
    let mut lives = JoinSet::new();
    loop {
        tokio::select! {
            event = events.try_next() => match event {
                Ok(Some(watcher::Event::Init)) => listed.clear(),
                Ok(Some(watcher::Event::InitApply(pod))) => {
                    listed.extend(pod.metadata.uid.clone());
                    told(tools, registry, &mut known, &mut lives, pod);
                }
                Ok(Some(watcher::Event::InitDone)) => {
                    let gone: Vec<String> = known.keys().filter(|uid| !listed.contains(uid)).cloned().collect();
                    gone.iter().for_each(|uid| vanish(tools.now(), &known, uid));
                    strangers(tools, &known).await;
                }
                Ok(Some(watcher::Event::Apply(pod))) => told(tools, registry, &mut known, &mut lives, pod),
                Ok(Some(watcher::Event::Delete(pod))) => {
                    vanish(tools.now(), &known, pod.metadata.uid.as_deref().unwrap_or_default());
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(%error, "cannot watch the pods of this node");
                    tools.clock.sleep(Duration::from_secs(1)).await;
                }
            },
            Some(ended) = lives.join_next() => {
                if let Ok(uid) = ended {
                    known.remove(&uid);
                }
            }
        }
    }
}

fn told(
    tools: &Arc<Tools>,
    registry: &Arc<Registry>,
    known: &mut HashMap<String, watch::Sender<Arc<Pod>>>,
    lives: &mut JoinSet<String>,
    mut pod: Pod,
) {
    pod.metadata.managed_fields = None;
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let pod = Arc::new(pod);
    if let Some(life) = known.get(&uid) {
        life.send_replace(pod);
        return;
    }
    let (tell, wanted) = watch::channel(pod);
    known.insert(uid.clone(), tell);
    let life = Life::new(tools.clone(), registry.clone(), wanted, registry.bell(&uid));
    lives.spawn(async move {
        life.live().await;
        uid
    });
}

/// A pod that is gone from the API without having waited for us ends as if it were deleted now.
fn vanish(now: Timestamp, known: &HashMap<String, watch::Sender<Arc<Pod>>>, uid: &str) {
    let Some(life) = known.get(uid) else { return };
    life.send_modify(|pod| {
        let mut gone = (**pod).clone();
        gone.metadata.deletion_timestamp.get_or_insert(Time(now));
        let grace = gone.metadata.deletion_grace_period_seconds.unwrap_or(1);
        gone.metadata.deletion_grace_period_seconds = Some(grace.max(1));
        *pod = Arc::new(gone);
    });
}

/// What is left of pods that nobody knows: they went while this agent was away.
async fn strangers(tools: &Tools, known: &HashMap<String, watch::Sender<Arc<Pod>>>) {
    let sandboxes = match tools.runtime.sandboxes(PodSandboxFilter::default()).await {
        Ok(sandboxes) => sandboxes,
        Err(error) => {
            tracing::warn!(%error, "cannot look for pods that are gone");
            return;
        }
    };
    let labelled = sandboxes.iter().filter_map(|sandbox| sandbox.labels.get(POD_UID).cloned());
    let left: BTreeSet<String> = labelled.chain(tools.folders.uids()).collect();
    for uid in left.iter().filter(|uid| !known.contains_key(*uid)) {
        if let Err(error) = remove_all(tools, uid).await {
            tracing::warn!(%error, uid, "cannot remove what is left of a pod");
            continue;
        }
        match tools.mounts.release(uid) {
            Ok(()) => tools.folders.remove(uid),
            Err(error) => tracing::warn!(%error, uid, "cannot give back the volumes of a pod"),
        }
    }
}

/// How the node finds names.
fn node_dns() -> DnsConfig {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let mut dns = DnsConfig::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let list = match words.next() {
            Some("nameserver") => &mut dns.servers,
            Some("search") => {
                dns.searches.clear();
                &mut dns.searches
            }
            Some("options") => &mut dns.options,
            _ => continue,
        };
        list.extend(words.map(str::to_owned));
    }
    dns
}
