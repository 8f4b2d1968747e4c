//! What can be typed. Each command says in its first line what it does.

use clap::{Parser, Subcommand};

use crate::settings::Settings;

/// A whole Kubernetes cluster in one binary.
#[derive(Parser)]
#[command(name = "kedge", arg_required_else_help = true)]
pub(crate) struct Kedge {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the API server with its store, in the foreground.
    Server(Box<Settings>),
    /// Print the version.
    Version,
}
