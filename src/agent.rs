//! Runs the node of this machine beside the server. It uses the API as any node does, only without a socket.

use std::fs::{File, TryLockError};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kedge_agent::{Agent, CleanError, Eviction, Grace, Networking, OwnNetwork};
use kedge_clock::Clock;
use kedge_http::Router;
use kedge_network::Range;
use kedge_pki::Authority;
use kedge_registry::User;

use crate::assemble::{domain, pods};
use crate::door::{self, NodeCertificate};
use crate::network::{host_name, outward, outward_v6};
use crate::settings::node::{Amount, NodeLabel, NodeTaint};
use crate::settings::{CniChoice, Settings};
use crate::shutdown::Machine;
use crate::traffic::{self, Ground};

/// Where runtimes and networks of others meet.
const USUAL_PROGRAMS: &str = "/opt/cni/bin";
const USUAL_CONFIG: &str = "/etc/cni/net.d";

/// How often a node that cannot start tries again, and after what pause.
const RETRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

const REGISTRIES: &str = "/etc/kedge/registries.yaml";

/// Runs it until the task is ended. A machine that cannot run containers is a server all the same.
pub(crate) async fn run(
    router: Router,
    settings: Settings,
    data: &Path,
    authority: Arc<Authority>,
    machine: Machine,
    clock: Clock,
) {
    // Others, who are told of it, work elsewhere.
    let data = &std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let name = settings.node_name.clone().or_else(host_name).unwrap_or_else(|| "node".to_owned());
    let user = User {
        name: format!("system:node:{name}"),
        groups: vec!["system:nodes".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    let client = kedge_client::in_process(router.acting_as(user));
    let usual = kedge_agent::Settings::new(name, data);
    let node = kedge_agent::Settings {
        addresses: addresses(&settings),
        cluster_domain: domain(&settings),
        networking: networking(&settings, data),
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
        ..usual
    };
    let pki = data.join("pki");
    let certificate = NodeCertificate::open(&pki, authority, &node.node_name, &node.addresses, clock.clone());
    let mut started = Agent::start(node.clone(), client.clone(), clock.clone()).await;
    for _ in 0..RETRIES {
        // What it stands on may just be coming up, or was ended a moment ago.
        if started.is_ok() {
            break;
        }
        clock.sleep(PAUSE).await;
        started = Agent::start(node.clone(), client.clone(), clock.clone()).await;
    }
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
            let ground = Ground { node: node.node_name, data: data.clone(), client, clock };
            let traffic = traffic::run(&ground, &settings);
            tokio::join!(door::run(agent, certificate, settings.node_listen), traffic, ending);
        }
        Err(error) => {
            let told = crate::told(&error);
            tracing::error!("this machine is no node: {}", told.trim_start_matches("kedge: ").trim_end());
        }
    }
}

/// Where this machine is reached: as told, or in the families that pods have, in their order.
fn addresses(settings: &Settings) -> Vec<IpAddr> {
    if !settings.node_ip.is_empty() {
        return settings.node_ip.clone();
    }
    // Who lets others in at one address only is reached there.
    if let Some(listen) = settings.node_listen.filter(|listen| !listen.ip().is_unspecified()) {
        return vec![listen.ip()];
    }
    let families = pods(settings).into_iter().map(|range| range.address);
    let found: Vec<IpAddr> =
        families.filter_map(|like| if like.is_ipv4() { outward() } else { outward_v6() }).collect();
    if found.is_empty() { outward().into_iter().collect() } else { found }
}

/// Another runtime has its own network unless it is to have ours.
fn networking(settings: &Settings, data: &Path) -> Networking {
    let is_own_runtime = settings.container_runtime_endpoint.is_none();
    let usual = if is_own_runtime { CniChoice::Kedge } else { CniChoice::None };
    let is_ours = settings.cni.unwrap_or(usual) == CniChoice::Kedge;
    // What runs must be found again after it was replaced by a newer one.
    let program = std::env::current_exe().ok().filter(|_| is_ours);
    let own = program.map(|program| OwnNetwork {
        program,
        cluster: pods(settings).iter().filter_map(|range| Range::new(range.address, range.bits)).collect(),
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
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CleanupError {
    #[error("a server runs on {}: stop it first", data.display())]
    InUse { data: PathBuf },
    #[error("something of the node is left")]
    Left(#[from] CleanError),
}

/// Takes away what a node left on this machine. No server begins on its data meanwhile.
pub(crate) async fn clean(data: &Path) -> Result<(), CleanupError> {
    let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let lock = File::open(data.join("store/lock")).ok();
    if lock.as_ref().is_some_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock))) {
        return Err(CleanupError::InUse { data });
    }
    Ok(kedge_agent::clean(&data, &Networking::below(&data)).await?)
}

/// What a person says of the node.
fn told(settings: &Settings) -> kedge_agent::Told {
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

fn image_rules(settings: &Settings) -> kedge_agent::ImageRules {
    let usual = kedge_agent::ImageRules::default();
    let oldest = settings.image_maximum_gc_age.map(|age| age.0).filter(|age| !age.is_zero());
    kedge_agent::ImageRules {
        high: settings.image_gc_high_threshold.unwrap_or(usual.high),
        low: settings.image_gc_low_threshold.unwrap_or(usual.low),
        oldest: oldest.and_then(|age| age.try_into().ok()),
        ..usual
    }
}
