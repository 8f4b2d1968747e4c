//! A pod's life on this node: plans the steps, drives the runtime, the images, the mounts and the network, and reports.
//! Walk: the last step; it hears of pods by watch, as everybody does.

mod agent;
mod board;
mod folders;
mod life;
mod memory;
mod node;
mod observe;
mod plan;
mod registry;
mod sources;
mod spec;
mod status;
mod steps;
mod tools;
mod view;
mod volumes;

pub use agent::{Agent, AgentError, Settings};
