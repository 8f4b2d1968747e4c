//! The verbs, one file each. A verb is a [`Command`] table with a function; this is the list of them, in the order in which help shows
//! them.

mod get;
mod version;

use crate::args::Command;

/// What can follow the program's name.
pub(crate) static ROOT: Command = Command {
    about: "Works with a cluster through its API, as kubectl does.",
    children: &[&get::COMMAND, &version::COMMAND],
    ..Command::EMPTY
};

#[cfg(test)]
mod tests;
