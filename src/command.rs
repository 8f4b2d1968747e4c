//! What can be typed. Each command says in its first line what it does.

use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use kedge_proxy::Range;

use crate::install::Role;
use crate::settings::{AgentSettings, DATA_DIR, Life, Settings};

/// A whole Kubernetes cluster in one binary.
#[derive(Parser)]
#[command(
    name = "kedge",
    arg_required_else_help = true,
    after_help = "The verbs of kubectl work too: `kedge get pods`, `kedge apply -f FILE`; `kedge kubectl --help` shows them."
)]
pub(crate) struct Kedge {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What was typed. The verbs are somebody else's and were not typed; whoever nearly typed one is told so.
pub(crate) fn typed() -> Kedge {
    let own = Kedge::command();
    let others: Vec<&str> = kedge_cli::verbs().filter(|verb| own.find_subcommand(verb).is_none()).collect();
    let others = others.into_iter().map(|verb| clap::Command::new(verb).hide(true));
    let matches = own.subcommands(others).get_matches();
    Kedge::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a server in the foreground: the API with its store, controllers, scheduler, and the node of this machine.
    Server(Box<Settings>),
    /// Run the API server with its store and nothing else: no controllers, no scheduler, no node.
    Apiserver(Box<Settings>),
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
    /// Carry Services alone, on a node that something else runs, for any Kubernetes API.
    Proxy {
        /// Where the API is and who to be there.
        #[arg(long, value_name = "FILE", env = "KUBECONFIG", required_unless_present = "clean")]
        kubeconfig: Option<PathBuf>,
        /// What this machine is called in the cluster [default: its host name].
        #[arg(long, value_name = "NAME")]
        node_name: Option<String>,
        /// Where all pods of the cluster are.
        #[arg(long, value_name = "CIDR", value_delimiter = ',', default_value = "10.244.0.0/16")]
        cluster_cidr: Vec<Range>,
        /// Take its rules out of the kernel instead.
        #[arg(long)]
        clean: bool,
    },
    /// Take away what a node that is not running left on this machine: containers, network, mounts. Its data stays.
    Clean {
        /// The server's data folder.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
    /// Say what of Kedge runs on this machine, since when, and what it costs.
    Status {
        /// The data folder of the server or the agent.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
        /// For a person, or for a program.
        #[arg(long, short, value_enum, default_value = "text")]
        output: Output,
    },
    /// Look whether this machine has what Kedge needs, and whether the cluster on it is well. Fails if something does not work.
    Doctor {
        /// What the machine is to be [default: what it is already, else a server].
        #[arg(value_enum)]
        role: Option<Role>,
        /// Where the API is and who to be there [default: kubeconfig in the data folder, if a server runs on it].
        #[arg(long, value_name = "FILE")]
        kubeconfig: Option<PathBuf>,
        /// For a person, or for a program.
        #[arg(long, short, value_enum, default_value = "text")]
        output: Output,
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// Show the certificates of this machine: whom they name, when they end, when they are renewed.
    Certs {
        /// The data folder of the server or the agent.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
    /// Have systemd run a server or an agent on this machine, from now on and with these flags.
    Install {
        #[arg(value_enum, value_name = "server|agent")]
        role: Role,
        /// What the server or the agent is started with.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
        flags: Vec<String>,
    },
    /// Take away everything that a server or a node left on this machine, its service and its data.
    Uninstall {
        /// The data folder, which is removed.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
    },
    /// Write all objects and keys of a server, running or not, to one file. Whoever has it can be anybody in the cluster.
    Backup {
        /// Where to; a file of that name is replaced once the new one is whole.
        file: PathBuf,
        /// The server's data folder.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
        /// Leave the objects out: what a further server on the same etcd needs.
        #[arg(long, conflicts_with = "without_keys")]
        keys_only: bool,
        /// Leave the keys out, for those who keep them apart (--keys-only).
        #[arg(long)]
        without_keys: bool,
    },
    /// Make the data of a new server from such a file, on this machine or another.
    Restore {
        /// What `kedge backup` wrote.
        file: PathBuf,
        /// A data folder that has no server's data yet.
        #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
        data_dir: PathBuf,
        /// Take the keys alone: for a server that keeps its objects in etcd.
        #[arg(long)]
        keys_only: bool,
        /// Put aside what the folder has already, in a folder of its own.
        #[arg(long)]
        force: bool,
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

/// For whom it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Text,
    Json,
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
