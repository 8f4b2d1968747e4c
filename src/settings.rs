//! How a server is set up: flags, then the config file, then what is usual. Every flag is also a key of the file.

mod limits;
pub(crate) mod node;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

use self::limits::{CgroupDriver, EvictionHard};
use self::node::{Amount, NodeLabel, NodeTaint};
use crate::network::Cidr;

const USUAL_FILE: &str = "/etc/kedge/config.yaml";

#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("cannot read the config file {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the config file {} is wrong", path.display())]
    Parse { path: PathBuf, source: Box<serde_saphyr::Error> },
}

#[derive(clap::Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// Where everything is kept [default: /var/lib/kedge].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address and port of the API; port 0 takes a free one [default: 0.0.0.0:6443].
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Also write the administrator's kubeconfig to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_kubeconfig: Option<PathBuf>,
    /// Run no node agent on this machine.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) no_agent: Option<bool>,
    /// The socket of a container runtime to use instead of a containerd of our own.
    #[arg(long, value_name = "SOCKET")]
    pub(crate) container_runtime_endpoint: Option<Endpoint>,
    /// Who connects pods: `kedge`, or `none` of ours [default: kedge, with another runtime none].
    #[arg(long, value_name = "WHO")]
    pub(crate) cni: Option<CniChoice>,
    /// Where the runtime finds its networks [default: in the data folder, with `none` /etc/cni/net.d].
    #[arg(long, value_name = "DIR")]
    pub(crate) cni_conf_dir: Option<PathBuf>,
    /// Where the runtime finds the programs that connect pods [default: in the data folder, with `none` /opt/cni/bin].
    #[arg(long, value_name = "DIR")]
    pub(crate) cni_bin_dir: Option<PathBuf>,
    /// Run no controllers: only the API with its store, for others to work on.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) no_controllers: Option<bool>,
    /// `embedded`, or `etcd=URL,…` for several servers on one etcd [default: embedded].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<StoreChoice>,
    /// What this machine is called in the cluster [default: its host name].
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// A label of this machine's node, key=value; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub(crate) node_label: Vec<NodeLabel>,
    /// A taint with which this machine's node begins, key=value:Effect; may be repeated.
    #[arg(long, value_name = "TAINT", value_delimiter = ',')]
    pub(crate) node_taint: Vec<NodeTaint>,
    /// What the node has, in the place of what the machine says: cpu=2,memory=4Gi,pods=50.
    #[arg(long, value_name = "RESOURCE=AMOUNT", value_delimiter = ',')]
    pub(crate) node_capacity: Vec<Amount>,
    /// What of it no pod gets: cpu=500m,memory=1Gi.
    #[arg(long, value_name = "RESOURCE=AMOUNT", value_delimiter = ',')]
    pub(crate) system_reserved: Vec<Amount>,
    /// An address of the node, the usual one first; one of each family [default: that of the way out].
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    pub(crate) node_ip: Vec<IpAddr>,
    /// A folder with pods that this node runs whether or not there is an API [default: static-pods in the data folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) static_pod_dir: Option<PathBuf>,
    /// Mirrors, certificates and credentials of registries [default: /etc/kedge/registries.yaml if there is one].
    #[arg(long, value_name = "FILE")]
    pub(crate) registries: Option<PathBuf>,
    /// How many images are fetched at the same time [default: 4].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_parallel_image_pulls: Option<usize>,
    /// The percentage of the disk in use from which on unused images go [default: 85].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) image_gc_high_threshold: Option<u8>,
    /// The percentage down to which they go [default: 80].
    #[arg(long, value_name = "PERCENT")]
    pub(crate) image_gc_low_threshold: Option<u8>,
    /// Remove images that were not used for this long, however empty the disk is [default: never].
    #[arg(long, value_name = "DURATION")]
    pub(crate) image_maximum_gc_age: Option<Life>,
    /// How little may be left before pods have to go, with :90s behind it after a while [default: memory.available<100Mi,nodefs.available<10%,…].
    #[arg(long, value_name = "SIGNAL<AMOUNT,…")]
    pub(crate) eviction_hard: Option<EvictionHard>,
    /// How many threads a pod may have [default: as many as there can be].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) pod_max_pids: Option<u64>,
    /// A setting of the kernel that pods may change although others feel it; may end in a star, may be repeated.
    #[arg(long, value_name = "SYSCTL", value_delimiter = ',')]
    pub(crate) allowed_unsafe_sysctls: Vec<String>,
    /// Who makes the cgroups of another runtime's containers, cgroupfs or systemd [default: cgroupfs].
    #[arg(long, value_name = "DRIVER")]
    pub(crate) cgroup_driver: Option<CgroupDriver>,
    /// Where the node lets others in, for logs and commands; port 0 takes a free one [default: 0.0.0.0:10250].
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) node_listen: Option<SocketAddr>,
    /// How long pods have to end when the machine goes down, or at SIGPWR [default: 0, they are not asked to].
    #[arg(long, value_name = "DURATION")]
    pub(crate) shutdown_grace_period: Option<Life>,
    /// Of it, what is for critical pods alone, which end last [default: 0].
    #[arg(long, value_name = "DURATION")]
    pub(crate) shutdown_grace_period_critical_pods: Option<Life>,
    /// Where pods get their addresses from [default: 10.244.0.0/16].
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub(crate) cluster_cidr: Vec<Cidr>,
    /// Where services get their addresses from [default: 10.96.0.0/16].
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub(crate) service_cidr: Vec<Cidr>,
    /// The domain of the cluster's own names [default: cluster.local].
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) cluster_domain: Option<String>,
    /// A further name or address under which clients reach the API; may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) tls_san: Vec<String>,
    /// Reads under way at once before clients are told to wait [default: 400].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_requests_inflight: Option<usize>,
    /// Writes under way at once before clients are told to wait [default: 200].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_mutating_requests_inflight: Option<usize>,
    /// How long events stay after they were last written [default: 1h]; 0 keeps them.
    #[arg(long, value_name = "DURATION")]
    pub(crate) event_ttl: Option<Life>,
    /// Keep Secrets encrypted on the disk, with a key that is made in the data folder; stays on from then on.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) encrypt_secrets: Option<bool>,
    /// What is recorded of which request: a Policy of audit.k8s.io/v1.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_policy_file: Option<PathBuf>,
    /// Where requests are recorded, one JSON object a line; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log_path: Option<PathBuf>,
    /// Days for which files of the audit log that were put aside are kept [default: for ever].
    #[arg(long, value_name = "DAYS")]
    pub(crate) audit_log_maxage: Option<u64>,
    /// How many files of the audit log that were put aside are kept [default: all].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) audit_log_maxbackup: Option<usize>,
    /// The size at which a file of the audit log is put aside [default: 100].
    #[arg(long, value_name = "MEGABYTES")]
    pub(crate) audit_log_maxsize: Option<u64>,
    /// How pods get their nodes: profiles and policies, in the file only.
    #[arg(skip)]
    pub(crate) scheduler: Option<serde_json::Value>,
    /// A file with any of these as keys [default: /etc/kedge/config.yaml if there is one].
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum StoreChoice {
    Embedded,
    Etcd(Vec<String>),
}

impl FromStr for StoreChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "embedded" => Ok(StoreChoice::Embedded),
            Some(("etcd", urls)) if !urls.is_empty() => {
                Ok(StoreChoice::Etcd(urls.split(',').map(str::to_owned).collect()))
            }
            _ => Err(format!("{text:?} is neither `embedded` nor `etcd=URL,…`")),
        }
    }
}

impl TryFrom<String> for StoreChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A socket on this machine, as a path or as `unix://` and a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Endpoint(pub(crate) PathBuf);

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.strip_prefix("unix://").unwrap_or(text);
        match path.starts_with('/') {
            true => Ok(Self(path.into())),
            false => Err(format!("{text:?} is no socket like unix:///run/containerd/containerd.sock")),
        }
    }
}

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum CniChoice {
    Kedge,
    None,
}

impl FromStr for CniChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "kedge" => Ok(CniChoice::Kedge),
            "none" => Ok(CniChoice::None),
            _ => Err(format!("{text:?} is neither `kedge` nor `none`")),
        }
    }
}

impl TryFrom<String> for CniChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A time as Kubernetes writes it: `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Life(pub(crate) Duration);

impl FromStr for Life {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        kedge_kinds::duration::parse_positive(text).map(Self).map_err(|error| error.to_string())
    }
}

impl TryFrom<String> for Life {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Settings {
    /// These flags, with what they leave open taken from the config file.
    pub(crate) fn with_file(self) -> Result<Self, SettingsError> {
        let file = match &self.config {
            Some(path) => Self::read(path)?,
            None => match Self::read(Path::new(USUAL_FILE)) {
                Err(SettingsError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    Self::default()
                }
                read => read?,
            },
        };
        Ok(self.or(file))
    }

    fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
        // A file of comments only is no document at all, and says nothing.
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(&text)
            .map_err(|source| SettingsError::Parse { path: path.to_owned(), source: Box::new(source) })
    }

    fn or(self, file: Self) -> Self {
        fn list<T>(flags: Vec<T>, file: Vec<T>) -> Vec<T> {
            if flags.is_empty() { file } else { flags }
        }
        Self {
            data_dir: self.data_dir.or(file.data_dir),
            listen: self.listen.or(file.listen),
            write_kubeconfig: self.write_kubeconfig.or(file.write_kubeconfig),
            no_agent: self.no_agent.or(file.no_agent),
            scheduler: self.scheduler.or(file.scheduler),
            container_runtime_endpoint: self.container_runtime_endpoint.or(file.container_runtime_endpoint),
            cni: self.cni.or(file.cni),
            cni_conf_dir: self.cni_conf_dir.or(file.cni_conf_dir),
            cni_bin_dir: self.cni_bin_dir.or(file.cni_bin_dir),
            no_controllers: self.no_controllers.or(file.no_controllers),
            store: self.store.or(file.store),
            node_name: self.node_name.or(file.node_name),
            node_listen: self.node_listen.or(file.node_listen),
            node_label: list(self.node_label, file.node_label),
            shutdown_grace_period: self.shutdown_grace_period.or(file.shutdown_grace_period),
            shutdown_grace_period_critical_pods: self
                .shutdown_grace_period_critical_pods
                .or(file.shutdown_grace_period_critical_pods),
            node_taint: list(self.node_taint, file.node_taint),
            node_capacity: list(self.node_capacity, file.node_capacity),
            system_reserved: list(self.system_reserved, file.system_reserved),
            node_ip: list(self.node_ip, file.node_ip),
            static_pod_dir: self.static_pod_dir.or(file.static_pod_dir),
            registries: self.registries.or(file.registries),
            max_parallel_image_pulls: self.max_parallel_image_pulls.or(file.max_parallel_image_pulls),
            image_gc_high_threshold: self.image_gc_high_threshold.or(file.image_gc_high_threshold),
            image_gc_low_threshold: self.image_gc_low_threshold.or(file.image_gc_low_threshold),
            image_maximum_gc_age: self.image_maximum_gc_age.or(file.image_maximum_gc_age),
            eviction_hard: self.eviction_hard.or(file.eviction_hard),
            pod_max_pids: self.pod_max_pids.or(file.pod_max_pids),
            allowed_unsafe_sysctls: list(self.allowed_unsafe_sysctls, file.allowed_unsafe_sysctls),
            cgroup_driver: self.cgroup_driver.or(file.cgroup_driver),
            cluster_cidr: list(self.cluster_cidr, file.cluster_cidr),
            service_cidr: list(self.service_cidr, file.service_cidr),
            cluster_domain: self.cluster_domain.or(file.cluster_domain),
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
            config: self.config,
        }
    }
}

#[cfg(test)]
mod tests;
