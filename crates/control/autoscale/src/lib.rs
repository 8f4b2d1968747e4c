//! HorizontalPodAutoscalers: as many replicas as what is measured asks for. The plan is pure; the worker beside it asks for the
//! scale and the measurements, carries the plan out and remembers what it recommended. Knows no kind of target: whatever has
//! a `scale` will do. Walk: step 6, inside `control/engine`.

mod amount;
mod autoscaler;
mod conditions;
mod history;
mod limits;
mod measured;
mod metrics;
mod plan;
mod pods;
mod replicas;
mod settings;
mod target;
mod worker;

use std::sync::Arc;

use kedge_engine::{Engine, Worker};

pub use autoscaler::Autoscaler;
pub use settings::Settings;
pub use worker::Autoscalers;

/// Gives an engine the autoscaler with its usual settings.
pub fn join(engine: Engine) -> Engine {
    join_with(engine, Settings::default())
}

pub fn join_with(engine: Engine, settings: Settings) -> Engine {
    let worker: Arc<dyn Worker> = Autoscalers::new(&engine, settings);
    engine.with_worker(worker)
}
