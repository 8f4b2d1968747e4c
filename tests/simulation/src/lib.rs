//! Random histories of a whole cluster, each grown from one number: users change their minds, nodes fail, answers are lost,
//! watches lag and differ, controllers die between any two writes. Once it all ends, the cluster must be what was asked for.
//! The same seed gives the same history.
#![allow(clippy::expect_used, clippy::panic, reason = "a simulation ends where something is wrong")]

mod brain;
mod chance;
mod gate;
mod history;
mod invariants;
mod kinds;
mod kubelets;
mod load;
mod mood;
mod never;
mod people;
mod play;
mod rest;

pub use history::{Failure, History};

/// Plays the history of one seed; what went wrong, if anything did.
pub fn play(seed: u64) -> Result<History, Box<Failure>> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be made");
    runtime.block_on(play::Play::run(seed))
}
