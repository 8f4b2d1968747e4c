//! Chooses a node for every pod that has none: filters leave out where it can't run, scores say where it runs best, and if there
//! is no room, pods that matter less make room. Decides on a cluster that it is shown, and binds through the API like anybody.
//! Walk: step 6, as the controllers.

pub mod amounts;
pub mod cluster;
pub mod config;
pub mod decide;
mod metrics;
pub mod node;
mod plan;
pub mod plugin;
pub mod plugins;
pub mod pod;
pub mod preempt;
pub mod queue;
pub mod reasons;
pub mod select;
mod state;
pub mod term;
mod worker;

pub use config::{Config, ConfigError};
pub use metrics::Metrics;
pub use worker::{Scheduler, worker};
