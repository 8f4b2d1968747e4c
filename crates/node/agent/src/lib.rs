//! A pod's life on this node: plans the steps, drives the runtime, the images, the mounts and the network, and reports.
//! Walk: the last step; it hears of pods by watch, as everybody does.

mod admission;
mod admit;
mod agent;
mod board;
mod cgroups;
mod clean;
mod collect;
mod door;
mod eviction;
mod folders;
mod hooks;
mod life;
mod lives;
mod memory;
mod mirrors;
mod network;
mod node;
mod notice;
mod observe;
mod plan;
mod probes;
mod pulled;
mod pulls;
mod record;
mod registry;
mod resize;
mod roster;
mod sources;
mod spec;
mod statics;
mod status;
mod steps;
mod tidy;
mod tools;
mod usage;
mod view;
mod voice;
mod volumes;

pub use agent::{Agent, AgentError, Settings};
pub use cgroups::Driver;
pub use clean::{CleanError, clean};
pub use collect::ImageRules;
pub use eviction::{Eviction, ThresholdError, Thresholds};
pub use network::{Networking, OwnNetwork};
pub use node::Told;
