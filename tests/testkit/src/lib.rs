//! A whole cluster in one process: the real API on a memory store, the real controllers, scripted nodes and a clock turned by
//! hand. Made for tests: what goes wrong ends the test and says what was still untrue.
#![allow(clippy::expect_used, clippy::panic, reason = "tests end where something is wrong")]

mod api;
mod cluster;
mod hands;
mod look;
mod measures;

pub use api::{Api, admin};
pub use cluster::{Cluster, Setup};
pub use hands::Hands;
pub use kedge_scripted_nodes::{Machine, Script};
pub use look::{Look, Pods};
pub use measures::Measures;
