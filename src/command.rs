//! What can be typed. Each command says in its first line what it does.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::settings::{AgentSettings, DATA_DIR, Life, Settings};

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
    /// Make this machine a further node of a cluster, and run it in the foreground.
    Agent(Box<AgentSettings>),
    /// Look after the tokens with which machines join.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
        /// The server's data folder.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR, global = true)]
        data_dir: PathBuf,
        /// Where the API is and who to be there [default: kubeconfig in the data folder].
        #[arg(long, value_name = "FILE", global = true)]
        kubeconfig: Option<PathBuf>,
    },
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
    /// Take away what a node that is not running left on this machine: containers, network, mounts. Its data stays.
    Clean {
        /// The server's data folder.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
    /// Take away everything that a server or a node that is not running left on this machine, and its data.
    Uninstall {
        /// The data folder, which is removed.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
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
    /// Look after the container images of this machine.
    Image {
        #[command(subcommand)]
        command: ImageCommand,
        /// The server's data folder.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR, global = true)]
        data_dir: PathBuf,
        /// The socket of another containerd than the data folder's.
        #[arg(long, value_name = "SOCKET", global = true)]
        container_runtime_endpoint: Option<PathBuf>,
    },
    /// Print the version.
    Version,
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a new token and print it.
    Create {
        /// How long machines can join with it; 0 is for ever.
        #[arg(long, value_name = "DURATION", default_value = "24h")]
        ttl: Life,
        /// What it is for.
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// Print the whole command with which a machine joins.
        #[arg(long)]
        print_join_command: bool,
    },
    /// Show which tokens there are; their secrets stay hidden.
    List,
    /// Take tokens back. Nodes that joined with them stay.
    Delete {
        #[arg(required = true, value_name = "ID")]
        tokens: Vec<String>,
    },
}

#[derive(Subcommand)]
pub(crate) enum ImageCommand {
    /// Bring in images from archives of `docker save` or OCI layouts, packed or in a folder; `-` is standard input.
    Import {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// What the image is called, in the place of what the archive says.
        #[arg(long)]
        name: Option<String>,
    },
    /// Show which images there are.
    List,
    /// Remove images by their names or IDs.
    Remove {
        #[arg(required = true, value_name = "IMAGE")]
        images: Vec<String>,
    },
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
