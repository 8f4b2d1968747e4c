//! Work that ends: Job, CronJob, and what is cleaned up after it. Every controller is a plan; knows no way to the API but the
//! engine's. Walk: step 6, inside `control/engine`.

mod cron_job;
mod expiry;
mod finish;
mod job;
mod orphan;

use kedge_engine::Engine;

pub use cron_job::CronJobs;
pub use expiry::FinishedJobs;
pub use job::Jobs;
pub use orphan::OrphanPods;

/// Gives an engine every controller of this crate.
pub fn join(engine: Engine) -> Engine {
    let orphans = OrphanPods::new(engine.world().clone(), engine.client().clone(), engine.clock().clone());
    engine.with(Jobs).with_worker(orphans).with(CronJobs).with(FinishedJobs)
}
