//! What a cluster does about its nodes: whether they live, what leaves them, which addresses they give out, and which
//! disruptions are allowed. Decides over objects; places no pod and runs none. Walk: step 6, inside `control/engine`.

mod apart;
mod budgets;
mod evictions;
mod facts;
mod health;
mod heartbeats;
mod ipam;
mod leftovers;
mod silent;
mod since;
#[cfg(test)]
mod testing;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use kedge_engine::Engine;

pub use ipam::Ranges;

/// Gives an engine every controller of this crate, but nodes no addresses.
pub fn join(engine: Engine) -> Engine {
    join_with(engine, &Settings::default())
}

/// What is said of nodes from outside.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub ranges: Ranges,
    /// How long a node may be silent before its pods go elsewhere; as usual, if nothing is said.
    pub grace: Option<Duration>,
}

/// Gives an engine every controller of this crate; nodes get their pods' addresses out of the ranges.
pub fn join_with(engine: Engine, settings: &Settings) -> Engine {
    let ranges = &settings.ranges;
    let grace = settings.grace.and_then(|grace| i64::try_from(grace.as_secs()).ok());
    let heartbeats = heartbeats::Heartbeats::new(grace.unwrap_or(heartbeats::GRACE));
    let heartbeats = Arc::new(heartbeats.by(engine.clock()));
    let (world, client, clock) = (engine.world().clone(), engine.client().clone(), engine.clock().clone());
    let engine = engine
        .with(health::Health::new(heartbeats.clone()))
        .with(silent::SilentPods(heartbeats))
        .with(evictions::Evictions::default())
        .with(budgets::stale::StaleDisruptions)
        .with_worker(zones::Zones::new(world.clone(), client.clone(), clock.clone()))
        .with_worker(leftovers::Leftovers::new(world.clone(), client.clone(), clock.clone()))
        .with_worker(leftovers::ended::Ended::new(world.clone(), client.clone(), clock.clone()))
        .with_worker(budgets::Budgets::new(world.clone(), client.clone(), clock.clone()));
    if ranges.pods.is_empty() {
        return engine;
    }
    engine.with_worker(ipam::Ipam::new(world, client, clock, ranges))
}
