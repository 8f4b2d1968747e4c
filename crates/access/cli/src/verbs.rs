//! The verbs, one file each. A verb is a [`Command`] table with a function; this is the list of them, in the order in which help shows
//! them.

mod cp;
mod describe;
mod events;
mod exec;
mod apply;
mod autoscale;
mod create;
mod delete;
mod expose;
mod label;
mod patch;
mod replace;
mod rollout;
mod run;
mod scale;
mod set;
mod get;
mod logs;
mod pods;
mod port_forward;
mod top;
mod version;

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
        &version::COMMAND,
        &describe::COMMAND,
        &events::COMMAND,
        &logs::COMMAND,
        &exec::EXEC,
        &exec::ATTACH,
        &cp::COMMAND,
        &port_forward::COMMAND,
        &top::COMMAND,
    ],
    ..Command::EMPTY
};

#[cfg(test)]
mod tests;
