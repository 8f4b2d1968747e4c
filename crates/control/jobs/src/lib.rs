//! Work that ends: Job, CronJob, and what is cleaned up after it.

use kedge_engine::Engine;

/// Gives an engine every controller of this crate.
pub fn join(engine: Engine) -> Engine {
    engine
}
