//! Starts the control plane, of a server or alone. It uses the API as any client does, in a server only without a socket.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_client::{Client, ConnectError, World};
use kedge_clock::Clock;
use kedge_controllers::Balancers;
use kedge_engine::{Engine, Leadership, Metrics};
use kedge_http::Router;
use kedge_registry::User;
use kedge_scheduler::Scheduler;
use kube::config::{Kubeconfig, KubeconfigError};
use prometheus_client::registry::Registry as Registered;
use serde_json::Value;

use crate::network::host_name;
use crate::settings::{NodeSettings, Settings, SettingsError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    #[error("cannot use the kubeconfig {}", path.display())]
    Kubeconfig { path: PathBuf, source: Box<KubeconfigError> },
    #[error("cannot reach the API")]
    Connect(#[from] ConnectError),
    #[error("cannot schedule")]
    Scheduler(#[from] kedge_scheduler::ConfigError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

const CONTROLLERS: &str = "system:kube-controller-manager";
/// Whoever holds it does the work.
const LEASE: &str = "kedge-controllers";

/// What all parts of a server's control plane are made with.
pub(crate) struct Parts {
    pub(crate) nodes: kedge_nodes::Settings,
    pub(crate) autoscaling: kedge_autoscale::Settings,
    pub(crate) scheduling: kedge_scheduler::Config,
    pub(crate) metrics: Metrics,
    pub(crate) scheduling_metrics: kedge_scheduler::Metrics,
    /// Ports at which nodes answer themselves.
    pub(crate) own_ports: BTreeSet<u16>,
}

impl Parts {
    /// Counted from now on in the figures that the server shows.
    pub(crate) fn new(
        settings: &Settings,
        ranges: kedge_nodes::Ranges,
        own_ports: BTreeSet<u16>,
        figures: &mut Registered,
    ) -> Result<Self, kedge_scheduler::ConfigError> {
        let parts = Self {
            nodes: kedge_nodes::Settings {
                ranges,
                grace: settings.node_monitor_grace_period.map(|grace| grace.0),
            },
            autoscaling: autoscaling(settings),
            scheduling: scheduling(settings)?,
            metrics: Metrics::default(),
            scheduling_metrics: kedge_scheduler::Metrics::default(),
            own_ports,
        };
        parts.metrics.register(figures);
        parts.scheduling_metrics.register(figures);
        Ok(parts)
    }
}

fn autoscaling(settings: &Settings) -> kedge_autoscale::Settings {
    let usual = kedge_autoscale::Settings::default();
    let every = settings.autoscaler_sync_period.map_or(usual.every, |every| every.0);
    let reaction = settings
        .autoscaler_reaction
        .map_or(usual.reaction, |reaction| Some(reaction.0).filter(|reaction| !reaction.is_zero()));
    kedge_autoscale::Settings { every, reaction, ..usual }
}

fn scheduling(settings: &Settings) -> Result<kedge_scheduler::Config, kedge_scheduler::ConfigError> {
    kedge_scheduler::Config::read(settings.scheduler.as_ref().unwrap_or(&Value::Null))
}

/// Runs all parts of a server until the task is ended. Servers that share a store take turns: the one of them named `me`
/// works while it leads.
pub(crate) async fn run(router: Router, clock: Clock, parts: Parts, me: Option<String>) {
    let client = acting_as(&router, CONTROLLERS);
    let scheduling = acting_as(&router, "system:kube-scheduler");
    let work = || {
        // They share one world: nobody wants to hold every pod twice.
        let world = World::new(client.clone(), clock.clone());
        let engine = controllers(world.clone(), client.clone(), clock.clone(), &parts.nodes);
        let engine = kedge_autoscale::join_with(engine, parts.autoscaling)
            .with(Balancers { taken: parts.own_ports.clone() });
        let (config, metrics) = (&parts.scheduling, parts.scheduling_metrics.clone());
        let scheduler = Scheduler::new(world, scheduling.clone(), clock.clone(), config, metrics);
        with_scheduler(engine, scheduler).counted_in(parts.metrics.clone()).run()
    };
    lead(&client, &clock, LEASE, me, work).await;
}

pub(crate) fn acting_as(router: &Router, name: &str) -> Client {
    let user = User {
        name: name.to_owned(),
        groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    kedge_client::in_process(router.clone().acting_as(user))
}

/// Lets another server take the work over at once. For one that works no more.
pub(crate) async fn resign(router: &Router, clock: &Clock, me: Option<String>) {
    if let Some(me) = me {
        Leadership::new(acting_as(router, CONTROLLERS), clock.clone(), LEASE, me).resign().await;
    }
}

/// Runs the controllers alone, against the API that a kubeconfig names. Nodes get their addresses from whoever runs that API.
pub(crate) async fn controllers_alone(kubeconfig: &Path) -> Result<(), ControlError> {
    let (client, clock) = (remote(kubeconfig).await?, Clock::system());
    let work = || {
        let world = World::new(client.clone(), clock.clone());
        let nodes = kedge_nodes::Settings::default();
        kedge_autoscale::join(controllers(world, client.clone(), clock.clone(), &nodes)).run()
    };
    lead(&client, &clock, LEASE, Some(me()), work).await;
    Ok(())
}

/// Runs the scheduler alone, against the API that a kubeconfig names.
pub(crate) async fn scheduler_alone(kubeconfig: &Path, config: Option<PathBuf>) -> Result<(), ControlError> {
    let node = NodeSettings { config, ..NodeSettings::default() };
    let settings = Settings { node, ..Settings::default() }.with_file()?;
    let config = scheduling(&settings)?;
    let (client, clock) = (remote(kubeconfig).await?, Clock::system());
    let work = || {
        let world = World::new(client.clone(), clock.clone());
        let engine = Engine::new(world.clone(), client.clone(), clock.clone());
        let metrics = kedge_scheduler::Metrics::default();
        let scheduler = Scheduler::new(world, client.clone(), clock.clone(), &config, metrics);
        with_scheduler(engine, scheduler).run()
    };
    lead(&client, &clock, "kedge-scheduler", Some(me()), work).await;
    Ok(())
}

/// A name unlike every other server's.
pub(crate) fn me() -> String {
    format!("{}_{}", host_name().unwrap_or_default(), uuid::Uuid::new_v4())
}

pub(crate) async fn remote(path: &Path) -> Result<Client, ControlError> {
    let wrong = |source| ControlError::Kubeconfig { path: path.to_owned(), source: Box::new(source) };
    Ok(kedge_client::https(Kubeconfig::read_from(path).map_err(wrong)?).await?)
}

pub(crate) async fn lead<W: Future<Output = ()>>(
    client: &Client,
    clock: &Clock,
    lease: &str,
    me: Option<String>,
    work: impl Fn() -> W,
) {
    match me {
        None => work().await,
        Some(me) => Leadership::new(client.clone(), clock.clone(), lease, me).while_held(work).await,
    }
}

fn controllers(world: World, client: Client, clock: Clock, nodes: &kedge_nodes::Settings) -> Engine {
    let engine = [kedge_controllers::join, kedge_jobs::join, kedge_volumes::join]
        .into_iter()
        .fold(Engine::new(world, client, clock), |engine, join| join(engine));
    kedge_nodes::join_with(engine, nodes)
}

fn with_scheduler(engine: Engine, scheduler: Result<Arc<Scheduler>, kedge_scheduler::ConfigError>) -> Engine {
    match scheduler {
        Ok(scheduler) => engine.with_worker(scheduler),
        Err(error) => {
            tracing::error!(%error, "pods will get no nodes");
            engine
        }
    }
}
