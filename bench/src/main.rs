//! The load generator: drives any Kubernetes API from a kubeconfig, raw etcd, or a bare TLS server, and prints one JSON
//! line per measure. The same program measures Kedge and stock Kubernetes; it knows nothing of Kedge's insides.

mod bare;
mod connect;
mod control;
mod etcd;
mod kubeconfig;
mod load;
mod measures;
mod nodes;
mod objects;
mod pods;
mod process;
mod report;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "kedge-bench", about = "Measures a Kubernetes API; prints one JSON line per measure")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Drive the API that a kubeconfig points at
    Api(ApiArgs),
    /// Put values into etcd, nothing else
    Etcd {
        #[arg(long, default_value = "http://127.0.0.1:2379")]
        endpoint: String,
        #[command(flatten)]
        size: Size,
    },
    /// Serve fixed bytes over TLS: the floor that the API server is compared with
    Bare {
        #[arg(long, default_value = "127.0.0.1:0")]
        listen: String,
        /// Where to write a kubeconfig that points here
        #[arg(long)]
        write_kubeconfig: PathBuf,
        /// What to answer to a get; 1 KiB of our own if not given
        #[arg(long)]
        answer: Option<PathBuf>,
        /// What to answer to a list of pods
        #[arg(long)]
        list: Option<PathBuf>,
    },
    /// How long controllers take: a large Deployment made and deleted, a namespace emptied
    Control(control::ControlArgs),
    /// Play nodes: register them, send heartbeats, let pods run and end; until ctrl-c
    Nodes(nodes::NodesArgs),
    /// The suite's figures of a node, of any Kubernetes that runs already: a stock kubelet's as well as ours
    Node(suite::node::NodeArgs),
    /// How soon pods run and are gone, one after the other, on a real node
    Pods(pods::PodsArgs),
    /// What two pods of a node carry beside a bare bridge, and how long connecting one takes; needs root
    Podnet {
        #[arg(long, default_value = "target/release/kedge", value_parser = built)]
        kedge: PathBuf,
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
    },
    /// How many of the cluster's own names one core answers
    Dns {
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
    },
    /// Creates through a mutating and a validating webhook beside plain ones
    Webhooks {
        #[arg(long, default_value = "target/release/kedge", value_parser = built)]
        kedge: PathBuf,
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
    },
    /// Gets, lists, pages and watches, in JSON and in protobuf, beside a bare server
    Reads {
        #[arg(long, default_value = "target/release/kedge", value_parser = built)]
        kedge: PathBuf,
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
    },
    /// A hundred thousand objects: what a write costs beside them, and beside lists of all of them
    Growth {
        #[arg(long, default_value = "target/release/kedge", value_parser = built)]
        kedge: PathBuf,
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
    },
    /// The gateway beside nginx, and how soon new routes are served
    Gateway {
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
    },
    /// Ten thousand Services: how soon the kernel carries them, how soon a change, what a call costs; needs root
    Services {
        #[arg(long, default_value = "target/release/kedge", value_parser = built)]
        kedge: PathBuf,
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
        /// In the namespace that it was started in, with this folder
        #[arg(long, hide = true)]
        data: Option<PathBuf>,
        #[arg(long, hide = true, default_value_t = 1)]
        scale: usize,
    },
    /// A thousand NetworkPolicies for a thousand pods: how soon the kernel enforces them, how soon a change; needs root
    Policies {
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
        /// In the namespace that it was started in
        #[arg(long, hide = true)]
        inside: bool,
        #[arg(long, hide = true, default_value_t = 1)]
        scale: usize,
    },
    /// Start Kedge, etcd and the bare server in turn, run every measure side by side, print the ratios
    Suite {
        #[arg(long, default_value = "target/release/kedge", value_parser = built)]
        kedge: PathBuf,
        #[arg(long, default_value = "etcd")]
        etcd: PathBuf,
        /// A tenth of the work, for a quick look
        #[arg(long)]
        quick: bool,
    },
}

#[derive(Args, Clone)]
struct Size {
    #[arg(long, default_value_t = 64)]
    connections: usize,
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// Size of a ConfigMap's or a put's value in bytes
    #[arg(long, default_value_t = 1024)]
    bytes: usize,
}

#[derive(Args)]
struct ApiArgs {
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: PathBuf,
    /// Also report CPU and memory of this process
    #[arg(long)]
    server_pid: Option<u32>,
    /// Ask for answers in protobuf
    #[arg(long)]
    protobuf: bool,
    #[command(flatten)]
    size: Size,
    /// Which measures, in this order; all of them if none is named
    measures: Vec<measures::Measure>,
}

/// The binary to be measured, which has to be there.
fn built(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.is_file() {
        Ok(path)
    } else {
        Err("there is no such file; `make build` in the project's folder makes it".to_owned())
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(&error);
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(command: Command) -> Result<(), BenchError> {
    match command {
        Command::Api(args) => {
            let target = kubeconfig::Target::load(&args.kubeconfig)?;
            let target = if args.protobuf { target.in_protobuf() } else { target };
            let api = measures::Api { target, size: args.size, server: args.server_pid };
            let all = if args.measures.is_empty() { measures::Measure::all() } else { args.measures };
            for measure in all {
                report::line(&api.run(measure).await?);
            }
        }
        Command::Etcd { endpoint, size } => report::line(&etcd::puts(&endpoint, &size, None).await?),
        Command::Bare { listen, write_kubeconfig, answer, list } => {
            let answers = bare::Answers::load(answer.as_deref(), list.as_deref())?;
            bare::serve(&listen, &write_kubeconfig, answers).await?;
        }
        Command::Control(args) => control::run(&args).await?,
        Command::Nodes(args) => nodes::play(&args).await?,
        Command::Node(args) => suite::node::run(&args).await?,
        Command::Pods(args) => pods::run(&args).await?,
        Command::Podnet { kedge, quick } => suite::podnet(&kedge, quick).await?,
        Command::Dns { quick } => suite::dns(quick).await?,
        Command::Webhooks { kedge, quick } => suite::creates(&kedge, quick).await?,
        Command::Reads { kedge, quick } => suite::reads(&kedge, quick).await?,
        Command::Growth { kedge, quick } => suite::growth(&kedge, quick).await?,
        Command::Gateway { quick } => suite::gateway(quick).await?,
        Command::Services { kedge, quick, data: None, .. } => suite::services(&kedge, quick).await?,
        Command::Services { kedge, data: Some(data), scale, .. } => {
            suite::proxy::inside(&kedge, &data, scale).await?;
        }
        Command::Policies { quick, inside: false, .. } => suite::policies(quick).await?,
        Command::Policies { inside: true, scale, .. } => suite::policy::inside(scale).await?,
        Command::Suite { kedge, etcd, quick } => suite::run(&suite::Programs { kedge, etcd, quick }).await?,
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
enum BenchError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a kubeconfig that we can use: {why}")]
    Kubeconfig { path: PathBuf, why: String },
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: std::io::Error },
    #[error("TLS set-up failed: {0}")]
    Tls(#[from] rustls::Error),
    #[error("certificate could not be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("request failed: {0}")]
    Http(#[from] hyper::Error),
    #[error("request could not be built: {0}")]
    Request(#[from] http::Error),
    #[error("{method} {path} answered {code}: {body}")]
    Answer { method: String, path: String, code: u16, body: String },
    #[error("{method} {path} answered something that is not JSON: {source}")]
    Json { method: String, path: String, source: serde_json::Error },
    #[error("etcd: {0}")]
    Etcd(#[from] tonic::Status),
    #[error("cannot reach etcd: {0}")]
    EtcdTransport(#[from] tonic::transport::Error),
    #[error("a watcher saw {seen} events where {wanted} were sent{order}")]
    Watch { seen: usize, wanted: usize, order: &'static str },
    #[error("{program} did not get ready: {why}")]
    NotReady { program: String, why: String },
    #[error("cannot listen for signals")]
    Signal(#[source] std::io::Error),
    #[error("a worker did not finish: {0}")]
    Worker(#[from] tokio::task::JoinError),
}
