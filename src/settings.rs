//! How a server or a further node is set up: flags, then the config file, then what is usual. Every flag is also a key of the file.

mod agent;
mod limits;
mod names;
mod nearest;
mod node;
mod words;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use kedge_network::{Backend, Range};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

pub(crate) use self::agent::AgentSettings;
pub(crate) use self::limits::CpuManager;
pub(crate) use self::node::{DATA_DIR, NodeSettings};
pub(crate) use self::words::{Amount, Life, NodeLabel, NodeTaint, StoreChoice};

const USUAL_FILE: &str = "/etc/kedge/config.yaml";
/// Under which headings a server's flags are listed; those that most people need come first, under none.
const CLUSTER: &str = "The cluster";
const ADDRESSES: &str = "The cluster's addresses and names";
const GATEWAY: &str = "The gateway";
const AUDIT: &str = "The audit log";

#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("cannot read the config file {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the config file {} is wrong", path.display())]
    Parse { path: PathBuf, source: Box<serde_saphyr::Error> },
    #[error("the config file {} has a key that nobody knows: {key}{}", path.display(), meant(nearest.as_deref()))]
    Unknown { path: PathBuf, key: String, nearest: Option<String> },
    #[error("the config file {} has a key that {role} does not take: {key}", path.display())]
    Misplaced { path: PathBuf, key: String, role: &'static str },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// How a server is set up.
#[derive(clap::Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Settings {
    /// Address and port of the API; port 0 takes a free one [default: 0.0.0.0:6443].
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Also write the administrator's kubeconfig to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_kubeconfig: Option<PathBuf>,
    /// Run no node agent on this machine.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL", hide_possible_values = true)]
    pub(crate) no_agent: Option<bool>,
    /// Run no controllers: only the API with its store, for others to work on.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL", hide_possible_values = true)]
    pub(crate) no_controllers: Option<bool>,
    /// `embedded`, or `etcd=URL,…` for several servers on one etcd [default: embedded].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<StoreChoice>,
    /// Which authority to trust at an etcd that is met by TLS.
    #[arg(long, value_name = "FILE")]
    pub(crate) etcd_cafile: Option<PathBuf>,
    /// Who to be there: a certificate.
    #[arg(long, value_name = "FILE")]
    pub(crate) etcd_certfile: Option<PathBuf>,
    /// And its key.
    #[arg(long, value_name = "FILE")]
    pub(crate) etcd_keyfile: Option<PathBuf>,
    /// How long a node may be silent before its pods go elsewhere; nodes are heard every 10 s [default: 50s].
    #[arg(long, value_name = "DURATION", help_heading = CLUSTER)]
    pub(crate) node_monitor_grace_period: Option<Life>,
    /// How often autoscalers are looked at as a whole [default: 15s].
    #[arg(long, value_name = "DURATION", help_heading = CLUSTER)]
    pub(crate) autoscaler_sync_period: Option<Life>,
    /// How often it is looked in between whether load calls for more pods [default: 1s]; 0 for never.
    #[arg(long, value_name = "DURATION", help_heading = CLUSTER)]
    pub(crate) autoscaler_reaction: Option<Life>,
    /// Where pods get their addresses from [default: 10.244.0.0/16].
    #[arg(long, value_name = "CIDR", value_delimiter = ',', help_heading = ADDRESSES)]
    pub(crate) cluster_cidr: Vec<Range>,
    /// Where services get their addresses from [default: 10.96.0.0/16].
    #[arg(long, value_name = "CIDR", value_delimiter = ',', help_heading = ADDRESSES)]
    pub(crate) service_cidr: Vec<Range>,
    /// The domain of the cluster's own names [default: cluster.local].
    #[arg(long, value_name = "DOMAIN", help_heading = ADDRESSES)]
    pub(crate) cluster_domain: Option<String>,
    /// How pods of different nodes reach each other: `vxlan` (straight on a shared link, else in a tunnel), `vxlan-only` or `routes` [default: vxlan].
    #[arg(long, value_name = "HOW", help_heading = ADDRESSES)]
    pub(crate) pod_network: Option<Backend>,
    /// The UDP port of those tunnels, on every node [default: 8472].
    #[arg(long, value_name = "PORT", help_heading = ADDRESSES)]
    pub(crate) vxlan_port: Option<u16>,
    /// Run no DNS for the cluster; pods ask whom their node asks.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL", hide_possible_values = true, help_heading = ADDRESSES)]
    pub(crate) no_dns: Option<bool>,
    /// The address of another DNS for pods, in the place of our own; may be repeated.
    #[arg(long, value_name = "IP", value_delimiter = ',', help_heading = ADDRESSES)]
    pub(crate) cluster_dns: Vec<IpAddr>,
    /// Where the gateway serves Ingresses and DNSRecords by HTTP; port 0 takes a free one [default: 0.0.0.0:80].
    #[arg(long, value_name = "ADDR:PORT", help_heading = GATEWAY)]
    pub(crate) gateway_http: Option<SocketAddr>,
    /// Where it serves them by HTTPS [default: 0.0.0.0:443].
    #[arg(long, value_name = "ADDR:PORT", help_heading = GATEWAY)]
    pub(crate) gateway_https: Option<SocketAddr>,
    /// Run no gateway on this server.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL", hide_possible_values = true, help_heading = GATEWAY)]
    pub(crate) no_gateway: Option<bool>,
    /// A further name or address under which clients reach the API; may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) tls_san: Vec<String>,
    /// Reads under way at once before clients are told to wait [default: 400].
    #[arg(long, value_name = "NUMBER", help_heading = CLUSTER)]
    pub(crate) max_requests_inflight: Option<usize>,
    /// Writes under way at once before clients are told to wait [default: 200].
    #[arg(long, value_name = "NUMBER", help_heading = CLUSTER)]
    pub(crate) max_mutating_requests_inflight: Option<usize>,
    /// How long events stay after they were last written [default: 1h]; 0 keeps them.
    #[arg(long, value_name = "DURATION", help_heading = CLUSTER)]
    pub(crate) event_ttl: Option<Life>,
    /// Keep Secrets encrypted on the disk, with a key that is made in the data folder; stays on from then on.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL", hide_possible_values = true)]
    pub(crate) encrypt_secrets: Option<bool>,
    /// What is recorded of which request: a Policy of audit.k8s.io/v1.
    #[arg(long, value_name = "FILE", help_heading = AUDIT)]
    pub(crate) audit_policy_file: Option<PathBuf>,
    /// Where requests are recorded, one JSON object a line; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = AUDIT)]
    pub(crate) audit_log_path: Option<PathBuf>,
    /// Days for which files of the audit log that were put aside are kept [default: for ever].
    #[arg(long, value_name = "DAYS", help_heading = AUDIT)]
    pub(crate) audit_log_maxage: Option<u64>,
    /// How many files of the audit log that were put aside are kept [default: all].
    #[arg(long, value_name = "NUMBER", help_heading = AUDIT)]
    pub(crate) audit_log_maxbackup: Option<usize>,
    /// The size at which a file of the audit log is put aside [default: 100].
    #[arg(long, value_name = "MEGABYTES", help_heading = AUDIT)]
    pub(crate) audit_log_maxsize: Option<u64>,
    /// How pods get their nodes: profiles and policies, in the file only.
    #[arg(skip)]
    pub(crate) scheduler: Option<serde_json::Value>,
    /// How the node of this machine is.
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) node: NodeSettings,
}

/// A flag that is given takes the whole list's place.
fn list<T>(flags: Vec<T>, file: Vec<T>) -> Vec<T> {
    if flags.is_empty() { file } else { flags }
}

impl Settings {
    /// These flags, with what they leave open taken from the config file.
    pub(crate) fn with_file(self) -> Result<Self, SettingsError> {
        let path = self.node.config.clone();
        match read::<Self>(path.as_deref(), &["scheduler"], "a server")? {
            Some((file, node)) => Ok(self.or(Self { node, ..file })),
            None => Ok(self),
        }
    }

    /// These, for the API with its store and nothing else.
    pub(crate) fn of_api_alone(self) -> Self {
        Self { no_agent: Some(true), no_controllers: Some(true), no_gateway: Some(true), ..self }
    }

    fn or(self, file: Self) -> Self {
        Self {
            node: self.node.or(file.node),
            listen: self.listen.or(file.listen),
            write_kubeconfig: self.write_kubeconfig.or(file.write_kubeconfig),
            no_agent: self.no_agent.or(file.no_agent),
            scheduler: self.scheduler.or(file.scheduler),
            no_controllers: self.no_controllers.or(file.no_controllers),
            store: self.store.or(file.store),
            etcd_cafile: self.etcd_cafile.or(file.etcd_cafile),
            etcd_certfile: self.etcd_certfile.or(file.etcd_certfile),
            etcd_keyfile: self.etcd_keyfile.or(file.etcd_keyfile),
            node_monitor_grace_period: self.node_monitor_grace_period.or(file.node_monitor_grace_period),
            autoscaler_sync_period: self.autoscaler_sync_period.or(file.autoscaler_sync_period),
            autoscaler_reaction: self.autoscaler_reaction.or(file.autoscaler_reaction),
            cluster_cidr: list(self.cluster_cidr, file.cluster_cidr),
            service_cidr: list(self.service_cidr, file.service_cidr),
            cluster_domain: self.cluster_domain.or(file.cluster_domain),
            pod_network: self.pod_network.or(file.pod_network),
            vxlan_port: self.vxlan_port.or(file.vxlan_port),
            no_dns: self.no_dns.or(file.no_dns),
            cluster_dns: list(self.cluster_dns, file.cluster_dns),
            gateway_http: self.gateway_http.or(file.gateway_http),
            gateway_https: self.gateway_https.or(file.gateway_https),
            no_gateway: self.no_gateway.or(file.no_gateway),
            tls_san: list(self.tls_san, file.tls_san),
            max_requests_inflight: self.max_requests_inflight.or(file.max_requests_inflight),
            max_mutating_requests_inflight: self
                .max_mutating_requests_inflight
                .or(file.max_mutating_requests_inflight),
            event_ttl: self.event_ttl.or(file.event_ttl),
            encrypt_secrets: self.encrypt_secrets.or(file.encrypt_secrets),
            audit_policy_file: self.audit_policy_file.or(file.audit_policy_file),
            audit_log_path: self.audit_log_path.or(file.audit_log_path),
            audit_log_maxage: self.audit_log_maxage.or(file.audit_log_maxage),
            audit_log_maxbackup: self.audit_log_maxbackup.or(file.audit_log_maxbackup),
            audit_log_maxsize: self.audit_log_maxsize.or(file.audit_log_maxsize),
        }
    }
}

/// What the file says to one role, and what of it is about the node. `None` if no file was named and the usual one is not there.
fn read<T: clap::Args + DeserializeOwned + Default>(
    named: Option<&Path>,
    beside: &[&str],
    role: &'static str,
) -> Result<Option<(T, NodeSettings)>, SettingsError> {
    let path = named.unwrap_or(Path::new(USUAL_FILE));
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => return Ok(None),
        text => text.map_err(|source| SettingsError::Read { path: path.to_owned(), source })?,
    };
    // A file of comments only is no document at all, and says nothing.
    if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        return Ok(None);
    }
    let wrong = |source| SettingsError::Parse { path: path.to_owned(), source: Box::new(source) };
    let written: BTreeMap<String, IgnoredAny> = serde_saphyr::from_str(&text).map_err(wrong)?;
    let known = keys::<T>();
    if let Some(key) = written.keys().find(|key| !known.contains(key) && !beside.contains(&key.as_str())) {
        let (path, key) = (path.to_owned(), key.clone());
        let anyone =
            keys::<Settings>().contains(&key) || keys::<AgentSettings>().contains(&key) || key == "scheduler";
        return Err(match anyone {
            true => SettingsError::Misplaced { path, key, role },
            false => {
                let nearest = nearest::nearest(&key, &known).map(str::to_owned);
                SettingsError::Unknown { path, key, nearest }
            }
        });
    }
    // Each takes its own keys and passes over the others'.
    let own = serde_saphyr::from_str(&text).map_err(wrong)?;
    Ok(Some((own, serde_saphyr::from_str(&text).map_err(wrong)?)))
}

/// The names of a role's flags, but for the one that names the file.
fn keys<T: clap::Args>() -> Vec<String> {
    let command = T::augment_args(clap::Command::new("kedge"));
    let longs = command.get_arguments().filter_map(clap::Arg::get_long);
    longs.filter(|long| *long != "config").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
