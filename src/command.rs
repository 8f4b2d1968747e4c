//! What can be typed. Each command says in its first line what it does.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::assemble::DATA_DIR;
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
    /// Run the controllers alone, against any Kubernetes API.
    Controllers {
        /// Where the API is and who to be there.
        #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
        kubeconfig: PathBuf,
    },
    /// Run the scheduler alone, against any Kubernetes API.
    Scheduler {
        /// Where the API is and who to be there.
        #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
        kubeconfig: PathBuf,
        /// A file whose key `scheduler` has the profiles and policies.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Write the store of a server that is not running to one file.
    Backup {
        file: PathBuf,
        /// The server's data folder.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
    /// Make a new store from such a file.
    Restore {
        file: PathBuf,
        /// A data folder that has no store yet.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
    /// Look after the encryption of Secrets.
    Secrets {
        #[command(subcommand)]
        command: SecretsCommand,
    },
    /// Print the version.
    Version,
}

#[derive(Subcommand)]
pub(crate) enum SecretsCommand {
    /// Encrypt all Secrets with a new key, for a server that is not running.
    RotateKey {
        /// The server's data folder.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
}
