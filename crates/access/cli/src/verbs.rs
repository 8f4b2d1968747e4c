//! The verbs, one file each. A verb is a [`Command`] table with a function; this is the list of them, in the order in which help shows
//! them.

mod apply;
mod auth;
mod autoscale;
mod certificate;
mod cluster_info;
mod completion;
mod config;
mod cp;
mod create;
mod debug;
mod delete;
mod describe;
mod diff;
mod edit;
mod events;
mod exec;
mod explain;
mod expose;
mod get;
mod kustomize;
mod label;
mod logs;
mod nodes;
mod options;
mod patch;
mod plugin;
mod pods;
mod port_forward;
mod proxy;
mod replace;
mod resources;
mod rollout;
mod run;
mod scale;
mod set;
mod stay;
mod top;
mod version;
mod wait;

pub use self::completion::{Candidate, Next};
use crate::args::Command;

/// What can follow the program's name.
pub(crate) static ROOT: Command = Command {
    about: "Works with a cluster through its API, as kubectl does.",
    children: &[
        &get::COMMAND,
        &create::COMMAND,
        &apply::COMMAND,
        &patch::COMMAND,
        &replace::COMMAND,
        &delete::COMMAND,
        &label::LABEL,
        &label::ANNOTATE,
        &scale::COMMAND,
        &autoscale::COMMAND,
        &set::COMMAND,
        &rollout::COMMAND,
        &expose::COMMAND,
        &run::COMMAND,
        &diff::COMMAND,
        &edit::COMMAND,
        &kustomize::COMMAND,
        &explain::COMMAND,
        &wait::COMMAND,
        &nodes::CORDON,
        &nodes::UNCORDON,
        &nodes::DRAIN,
        &nodes::TAINT,
        &certificate::COMMAND,
        &cluster_info::COMMAND,
        &resources::RESOURCES,
        &resources::VERSIONS,
        &auth::COMMAND,
        &config::COMMAND,
        &completion::COMMAND,
        &completion::ASK,
        &plugin::COMMAND,
        &version::COMMAND,
        &options::COMMAND,
        &describe::COMMAND,
        &events::COMMAND,
        &logs::COMMAND,
        &exec::EXEC,
        &exec::ATTACH,
        &debug::COMMAND,
        &cp::COMMAND,
        &port_forward::COMMAND,
        &top::COMMAND,
        &proxy::COMMAND,
    ],
    ..Command::EMPTY
};

#[cfg(test)]
mod tests;
