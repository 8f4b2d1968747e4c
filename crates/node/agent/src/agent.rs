//! The agent of one node: its runtime, its object, and one life for every pod that is bound to it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Pod, Service};
use kedge_client::{Client, Event, Objects};
use kedge_clock::Clock;
use kedge_door::Listening;
use kedge_engine::{Carrier, Recorder, World};
use kedge_images::{ImportError, Registries, RegistriesError, Store, pause};
use kedge_mounts::{MountError, Mounts};
use kedge_runtime::containerd::{Config, Containerd, ContainerdError};
use kedge_runtime::wire::CgroupDriver;
use kedge_runtime::{Runtime, RuntimeError};
use kedge_usage::UsageError;
use kube::api::ListParams;
use tokio::sync::watch;

use crate::belonging::{Belonging, KEY_ANNOTATION};
use crate::board::Board;
use crate::cgroups::{Cgroups, Driver};
use crate::clean;
use crate::collect::{Collector, ImageRules};
use crate::cpus::{CpuPolicy, Cpus, CpusError};
use crate::door;
use crate::eviction::{Eviction, Keeper};
use crate::folders::Folders;
use crate::guard::Guard;
use crate::lives::Lives;
use crate::mirrors::Mirrors;
use crate::network::{self, Networking};
use crate::node::{Facts, NodeKeeper, Told};
use crate::notice::{self, notice};
use crate::probes::Tally;
use crate::pulled::Pulled;
use crate::pulls::Pulls;
use crate::registry::Registry;
use crate::resolver::{NodeDns, Resolver};
use crate::roster::Roster;
use crate::shutdown::Shutdown;
use crate::spec::env::Place;
use crate::spec::sandbox::Common;
use crate::statics::Statics;
use crate::tools::Tools;
use crate::usage::{self, Meter};
use crate::users::Ranges;
use crate::voice::Voice;
use crate::volumes::{LocalPaths, Watches};

/// How long pods have to end when their node leaves the cluster.
const LEAVING: Duration = Duration::from_secs(30);

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
    /// The file that says how the node finds names, if not the usual one.
    pub resolv_conf: Option<PathBuf>,
    /// Who connects pods.
    pub networking: Networking,
    /// Another runtime's socket in the place of a containerd of our own.
    pub runtime: Option<PathBuf>,
    /// What the node says it runs.
    pub version: String,
    /// What a person says of it.
    pub node: Told,
    /// By what its machine is known again.
    pub key: Option<String>,
    /// Whether it leaves when its object is deleted; else it is made again.
    pub leaves: bool,
    /// The folder with pods that run whether or not there is an API.
    pub static_pods: Option<PathBuf>,
    /// The file that says how registries are reached.
    pub registries: Option<PathBuf>,
    /// When images go that nobody uses.
    pub image_rules: ImageRules,
    /// How many images are fetched at the same time.
    pub pulls_at_once: usize,
    /// When pods have to go.
    pub eviction: Eviction,
    /// Who makes the cgroups of containers.
    pub cgroup_driver: Driver,
    /// How many threads a pod may have.
    pub most_processes: Option<u64>,
    /// Settings of the kernel that pods may change although others feel it.
    pub unsafe_sysctls: Vec<String>,
    /// Whether containers may have CPUs to themselves.
    pub cpus: CpuPolicy,
    /// Who is told of a pod's addresses before it runs.
    pub guard: Option<Guard>,
    /// How often is looked at all containers although their runtime tells of them.
    pub look_every: Duration,
}

impl Settings {
    /// A node with everything as usual, reached nowhere yet.
    pub fn new(node_name: impl Into<String>, data: impl Into<PathBuf>) -> Self {
        let data = data.into();
        Self {
            node_name: node_name.into(),
            networking: Networking::below(&data),
            data,
            addresses: Vec::new(),
            cluster_domain: "cluster.local".to_owned(),
            cluster_dns: Vec::new(),
            resolv_conf: None,
            runtime: None,
            version: "v1.36.0".to_owned(),
            node: Told::default(),
            key: None,
            leaves: false,
            static_pods: None,
            registries: None,
            image_rules: ImageRules::default(),
            pulls_at_once: 4,
            eviction: Eviction::default(),
            cgroup_driver: Driver::default(),
            most_processes: None,
            unsafe_sysctls: Vec::new(),
            cpus: CpuPolicy::None,
            guard: None,
            look_every: notice::SELDOM,
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
    #[error("cannot put the network's program in place")]
    Programs(#[source] std::io::Error),
    #[error("cannot prepare the folder of volumes")]
    Mounts(#[from] MountError),
    #[error("cannot prepare the cgroups of pods")]
    Cgroups(#[from] UsageError),
    #[error("cannot give CPUs away")]
    Cpus(#[from] CpusError),
    #[error("cannot set up registries")]
    Registries(#[from] RegistriesError),
}

pub struct Agent {
    tools: Arc<Tools>,
    registry: Arc<Registry>,
    facts: Facts,
    belonging: Belonging,
    containerd: Option<Containerd>,
    networking: Networking,
    data: PathBuf,
    statics: Option<Statics>,
    eviction: Eviction,
    look_every: Duration,
    door: Option<Listening>,
}

impl Agent {
    /// Starts or finds the runtime, and is ready to look after pods.
    pub async fn start(settings: Settings, client: Client, clock: Clock) -> Result<Self, AgentError> {
        let folders = Folders::below(&settings.data);
        let mounts = Mounts::open(folders.pods())?;
        settings.networking.install().map_err(AgentError::Programs)?;
        let open =
            |driver| Cgroups::open(&settings.node_name, &settings.data, driver, settings.most_processes);
        let (containerd, socket, cgroups) = match &settings.runtime {
            Some(socket) => {
                let driver = theirs(&Runtime::at(socket), settings.cgroup_driver).await?;
                (None, socket.clone(), open(driver)?)
            }
            None => {
                // Ours makes them itself.
                let cgroups = open(Driver::Cgroupfs)?;
                let config = clean::containerd(&settings.data, &settings.networking);
                let containerd = Containerd::start(Config { cgroups: cgroups.runtime(), ..config }).await?;
                clean::note(&settings.data, &settings.networking).map_err(AgentError::Programs)?;
                let image = pause().map_err(AgentError::Pause)?;
                Store::at(&containerd.socket()).import(&image, None, clock.now(), |_| {}).await?;
                let socket = containerd.socket();
                (Some(containerd), socket, cgroups)
            }
        };
        let runtime = Runtime::at(&socket);
        let version = runtime.version().await?;
        let told = format!("{}://{}", version.runtime_name, version.runtime_version.trim_start_matches('v'));
        let (name, data) = (&settings.node_name, &settings.data);
        let facts = Facts::read(name, data, &settings.node, told, settings.version.clone());
        let node_ips: Vec<String> = settings.addresses.iter().map(ToString::to_string).collect();
        let allocatable = facts.allocatable.iter().map(|(name, amount)| (name.clone(), *amount));
        let allocatable = Arc::new(allocatable.collect());
        let registries = match &settings.registries {
            Some(file) => Registries::read(file)?,
            None => Registries::default(),
        };
        if containerd.is_some() {
            registries.write(&settings.data.join("containerd/hosts"))?;
        }
        let statics = settings.static_pods.clone().map(|folder| Statics::open(folder, name, clock.clone()));
        let memory = facts.capacity.get("memory").map_or(0, kedge_kinds::Quantity::value);
        let steady = clock.steady();
        let tools = Tools {
            voice: Voice::new(
                Recorder::new("kubelet", client.clone(), clock.clone()).on(&settings.node_name),
            ),
            carrier: Carrier::new("kubelet", client.clone(), clock.clone()),
            world: World::new(client.clone(), clock.clone()),
            runtime,
            mounts,
            folders,
            watches: Watches::default(),
            common: Common {
                cluster_domain: settings.cluster_domain.clone(),
                cluster_dns: settings.cluster_dns.iter().map(ToString::to_string).collect(),
                node_dns: NodeDns::default(),
            },
            resolver: Resolver::of(settings.resolv_conf.as_deref()),
            place: Place { node: settings.node_name.clone(), node_ips, pod_ips: Vec::new() },
            allocatable,
            machine: Arc::new(cgroups.machine(memory, &settings.data.join("seccomp"))),
            cgroups,
            cpus: Cpus::open(&settings.cpus, settings.data.join("cpus.json"))?,
            guard: settings.guard.clone(),
            roster: Roster::default(),
            unsafe_sysctls: settings.unsafe_sysctls.clone(),
            board: Board::default(),
            node: watch::Sender::new(None),
            blobs: containerd.as_ref().map(|containerd| Store::at(&containerd.socket())),
            keyring: registries.keyring(),
            pulls: Pulls::new(settings.pulls_at_once),
            pulled: Pulled::read(settings.data.join("pulled-images.json")),
            mirrors: Mirrors::default(),
            collector: Collector::new(settings.image_rules.clone(), steady.now()),
            tally: Tally::default(),
            ranges: Ranges::default(),
            client,
            steady,
            clock,
        };
        if let Some(key) = settings.key.clone() {
            tools.board.write(|notes| drop(notes.annotations.insert(KEY_ANNOTATION.to_owned(), key)));
        }
        let belonging = Belonging::open(&settings.data, settings.leaves);
        let registry = Arc::new(Registry::default());
        Ok(Self {
            tools: Arc::new(tools),
            registry,
            facts,
            belonging,
            containerd,
            networking: settings.networking,
            data: settings.data,
            statics,
            eviction: settings.eviction,
            look_every: settings.look_every,
            door: None,
        })
    }

    /// Lets others in at this place, once it runs.
    pub fn with_door(self, door: Listening) -> Self {
        Self { door: Some(door), ..self }
    }

    /// For whoever learns that the machine goes down.
    pub fn shutdown(&self) -> Shutdown {
        Shutdown { tools: self.tools.clone(), registry: self.registry.clone() }
    }

    /// Looks after the node until it is dropped, or is to leave. Containers run on.
    pub async fn run(self) {
        let Self {
            tools,
            registry,
            facts,
            belonging,
            mut containerd,
            networking,
            data,
            mut statics,
            eviction,
            look_every,
            door,
        } = self;
        let socket = containerd.as_ref().map(Containerd::socket);
        tools.world.watch::<Service>();
        let belonging = Arc::new(belonging);
        let shutdown = Shutdown { tools: tools.clone(), registry: registry.clone() };
        let leaving = async {
            belonging.left().await;
            tracing::info!("the node {} was deleted: ending its pods", tools.place.node);
            shutdown.leave(LEAVING).await;
        };
        let node = NodeKeeper { tools: tools.clone(), facts, belonging: belonging.clone() };
        let keep_runtime = async {
            match &mut containerd {
                Some(containerd) => {
                    let error = containerd.keep().await;
                    tracing::error!(%error, "containerd cannot be started again");
                }
                None => std::future::pending().await,
            }
        };
        let notice = notice(&tools, &registry, socket.as_deref(), look_every);
        // Read before anybody asks whose the containers are that run.
        let filed = statics.as_mut().map(Statics::read).unwrap_or_default();
        let (tell, files) = watch::channel(filed);
        let statics = async {
            match statics {
                Some(statics) => statics.follow(tell).await,
                None => std::future::pending().await,
            }
        };
        let meter = Arc::new(Meter::new(tools.clone(), data.join("containerd")));
        let door = door::keep(&tools, door, Arc::new(usage::Told(meter.clone())));
        let evictions = Keeper::new(tools.clone(), registry.clone(), meter, eviction);
        let mirrors = tools.mirrors.keep(&tools, files.clone());
        let local_paths = LocalPaths { tools: tools.clone() };
        let all = async {
            tokio::join!(
                keep_runtime,
                node.keep(),
                notice,
                pods(&tools, &registry, files),
                statics,
                mirrors,
                tools.collector.keep(&tools),
                tools.cpus.keep(&tools),
                local_paths.keep(),
                evictions.keep(),
                door,
                network::keep(&tools, &data, &networking)
            )
        };
        tokio::select! {
            _ = all => {}
            () = leaving => {}
        }
    }
}

/// One life for each pod that is bound here, that a file tells of, or that was here before.
async fn pods(tools: &Arc<Tools>, registry: &Arc<Registry>, mut files: watch::Receiver<Vec<Pod>>) {
    let mine = ListParams::default().fields(&format!("spec.nodeName={}", tools.place.node));
    let mut events = Objects::<Pod>::all(&tools.client).events(mine);
    let mut lives = Lives::new(tools.clone(), registry.clone());
    lives.remember();
    lives.filed(files.borrow_and_update().clone());
    loop {
        tokio::select! {
            Some(told) = events.next() => match told {
                Ok(Event::All(pods)) => {
                    let listed = pods.iter().filter_map(|pod| pod.metadata.uid.clone()).collect();
                    pods.into_iter().for_each(|pod| lives.told(pod));
                    lives.listed(&listed).await;
                }
                Ok(Event::Put(pod)) => lives.told(pod),
                Ok(Event::Gone(pod)) => lives.gone(&pod),
                Err(error) => {
                    tracing::debug!(%error, "cannot watch the pods of this node");
                    tools.clock.sleep(Duration::from_secs(1)).await;
                }
            },
            Ok(()) = files.changed() => lives.filed(files.borrow_and_update().clone()),
            () = lives.ended() => {}
        }
    }
}

/// Another's runtime knows best who makes the cgroups of its containers. One that does not say so does it as we were told.
async fn theirs(runtime: &Runtime, told: Driver) -> Result<Driver, RuntimeError> {
    let said = runtime.cgroup_driver().await?.map(|said| match said {
        CgroupDriver::Systemd => Driver::Systemd,
        CgroupDriver::Cgroupfs => Driver::Cgroupfs,
    });
    let driver = said.unwrap_or(told);
    if driver != told {
        tracing::info!(?driver, "the runtime says who makes the cgroups of containers");
    }
    Ok(driver)
}
