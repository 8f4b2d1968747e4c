//! Machines for tests of several nodes: network namespaces behind one switch, each with its own data and its own kedge, and what they leave
//! behind. Knows no story.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod disk;
mod machine;
mod remains;
mod scene;
mod skew;
mod switch;
mod traces;

pub use disk::Disk;
pub use machine::{Machine, PATIENCE, kill_containerd};
pub use remains::{Expected, Remains, runtime_answers, tasks};
pub use scene::{FOR_EVER, NODE, Outfit, PAGE, Scene, told};
pub use skew::Skew;
pub use switch::{Switch, enter, reaches, within};
pub use traces::{Traces, cgroups};
