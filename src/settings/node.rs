//! How a node is set up, whether a server runs beside it or elsewhere. Both roles take these flags and keys.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use kedge_agent::CpuSet;
use serde::Deserialize;

use super::limits::{CgroupDriver, CpuManager, EvictionHard};
use super::list;
use super::names::{DnsStub, Nameserver};
use super::words::{Amount, CniChoice, Endpoint, Life, NodeLabel, NodeTaint};
use crate::network::host_name;

pub(crate) const DATA_DIR: &str = "/var/lib/kedge";
/// Under which headings a node's flags are listed.
const NODE: &str = "This machine as a node";
const NETWORK: &str = "The node's network";
const RUNTIME: &str = "The node's containers and images";

#[derive(clap::Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct NodeSettings {
    /// Where everything is kept [default: /var/lib/kedge].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// A file with any of these as keys [default: /etc/kedge/config.yaml if there is one].
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    /// The socket of a container runtime to use instead of a containerd of our own.
    #[arg(long, value_name = "SOCKET", help_heading = RUNTIME)]
    pub(crate) container_runtime_endpoint: Option<Endpoint>,
    /// Who connects pods: `kedge`, or `none` of ours [default: kedge, with another runtime none].
    #[arg(long, value_name = "WHO", help_heading = NETWORK)]
    pub(crate) cni: Option<CniChoice>,
    /// Where the runtime finds its networks [default: in the data folder, with `none` /etc/cni/net.d].
    #[arg(long, value_name = "DIR", help_heading = NETWORK)]
    pub(crate) cni_conf_dir: Option<PathBuf>,
    /// Where the runtime finds the programs that connect pods [default: in the data folder, with `none` /opt/cni/bin].
    #[arg(long, value_name = "DIR", help_heading = NETWORK)]
    pub(crate) cni_bin_dir: Option<PathBuf>,
    /// Leave Services to somebody else.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL", hide_possible_values = true, help_heading = NETWORK)]
    pub(crate) no_proxy: Option<bool>,
    /// Leave network policies to somebody else.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL", hide_possible_values = true, help_heading = NETWORK)]
    pub(crate) no_network_policy: Option<bool>,
    /// A server that the cluster's DNS asks for names that are not the cluster's; may be repeated [default: those of --resolv-conf].
    #[arg(long, value_name = "IP[:PORT]", value_delimiter = ',', help_heading = NETWORK)]
    pub(crate) dns_upstream: Vec<Nameserver>,
    /// A server for the names of one domain, example.org=192.0.2.1; may be repeated.
    #[arg(long, value_name = "DOMAIN=IP[:PORT]", value_delimiter = ',', help_heading = NETWORK)]
    pub(crate) dns_stub: Vec<DnsStub>,
    /// The file that says how the node finds names, for pods with `dnsPolicy: Default` and the cluster's DNS [default: /etc/resolv.conf; for pods, if that names the node's loopback alone, /run/systemd/resolve/resolv.conf].
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    pub(crate) resolv_conf: Option<PathBuf>,
    /// The file that names the hosts of DNSRecords for the node's own programs, or `none` [default: /etc/hosts].
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    pub(crate) hosts_file: Option<PathBuf>,
    /// What this machine is called in the cluster [default: its host name].
    #[arg(long, value_name = "NAME", help_heading = NODE)]
    pub(crate) node_name: Option<String>,
    /// A label of this machine's node, key=value; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', help_heading = NODE)]
    pub(crate) node_label: Vec<NodeLabel>,
    /// A taint with which this machine's node begins, key=value:Effect; may be repeated.
    #[arg(long, value_name = "TAINT", value_delimiter = ',', help_heading = NODE)]
    pub(crate) node_taint: Vec<NodeTaint>,
    /// What the node has, in the place of what the machine says: cpu=2,memory=4Gi,pods=50.
    #[arg(long, value_name = "RESOURCE=AMOUNT", value_delimiter = ',', help_heading = NODE)]
    pub(crate) node_capacity: Vec<Amount>,
    /// What of it no pod gets: cpu=500m,memory=1Gi.
    #[arg(long, value_name = "RESOURCE=AMOUNT", value_delimiter = ',', help_heading = NODE)]
    pub(crate) system_reserved: Vec<Amount>,
    /// An address of the node, the usual one first; one of each family [default: that of the way out].
    #[arg(long, value_name = "IP", value_delimiter = ',', help_heading = NODE)]
    pub(crate) node_ip: Vec<IpAddr>,
    /// A folder with pods that this node runs whether or not there is an API [default: static-pods in the data folder].
    #[arg(long, value_name = "DIR", help_heading = NODE)]
    pub(crate) static_pod_dir: Option<PathBuf>,
    /// Mirrors, certificates and credentials of registries [default: /etc/kedge/registries.yaml if there is one].
    #[arg(long, value_name = "FILE", help_heading = RUNTIME)]
    pub(crate) registries: Option<PathBuf>,
    /// How many images are fetched at the same time [default: 4].
    #[arg(long, value_name = "NUMBER", help_heading = RUNTIME)]
    pub(crate) max_parallel_image_pulls: Option<usize>,
    /// The percentage of the disk in use from which on unused images go [default: 85].
    #[arg(long, value_name = "PERCENT", help_heading = RUNTIME)]
    pub(crate) image_gc_high_threshold: Option<u8>,
    /// The percentage down to which they go [default: 80].
    #[arg(long, value_name = "PERCENT", help_heading = RUNTIME)]
    pub(crate) image_gc_low_threshold: Option<u8>,
    /// Remove images that were not used for this long, however empty the disk is [default: never].
    #[arg(long, value_name = "DURATION", help_heading = RUNTIME)]
    pub(crate) image_maximum_gc_age: Option<Life>,
    /// How little may be left before pods have to go, with :90s behind it after a while [default: memory.available<100Mi,nodefs.available<10%,…].
    #[arg(long, value_name = "SIGNAL<AMOUNT,…", help_heading = NODE)]
    pub(crate) eviction_hard: Option<EvictionHard>,
    /// How many threads a pod may have [default: as many as there can be].
    #[arg(long, value_name = "NUMBER", help_heading = NODE)]
    pub(crate) pod_max_pids: Option<u64>,
    /// A setting of the kernel that pods may change although others feel it; may end in a star, may be repeated.
    #[arg(long, value_name = "SYSCTL", value_delimiter = ',', help_heading = NODE)]
    pub(crate) allowed_unsafe_sysctls: Vec<String>,
    /// Who makes the cgroups of another runtime's containers, cgroupfs or systemd [default: cgroupfs].
    #[arg(long, value_name = "DRIVER", help_heading = RUNTIME)]
    pub(crate) cgroup_driver: Option<CgroupDriver>,
    /// Whether containers of Guaranteed pods that ask for whole CPUs have them alone, none or static [default: none].
    #[arg(long, value_name = "POLICY", help_heading = NODE)]
    pub(crate) cpu_manager_policy: Option<CpuManager>,
    /// CPUs that are never given to one container alone: 0-1,4 [default: as many of the lowest as the reserve has].
    #[arg(long, value_name = "CPUS", help_heading = NODE)]
    pub(crate) reserved_cpus: Option<CpuSet>,
    /// Where the node lets others in, for logs and commands; port 0 takes a free one [default: 0.0.0.0:10250].
    #[arg(long, value_name = "ADDR:PORT", help_heading = NODE)]
    pub(crate) node_listen: Option<SocketAddr>,
    /// How long pods have to end when the machine goes down, or at SIGPWR [default: 0, they are not asked to].
    #[arg(long, value_name = "DURATION", help_heading = NODE)]
    pub(crate) shutdown_grace_period: Option<Life>,
    /// Of it, what is for critical pods alone, which end last [default: 0].
    #[arg(long, value_name = "DURATION", help_heading = NODE)]
    pub(crate) shutdown_grace_period_critical_pods: Option<Life>,
}

impl NodeSettings {
    /// Where everything is kept.
    pub(crate) fn data(&self) -> PathBuf {
        self.data_dir.clone().unwrap_or_else(|| Path::new(DATA_DIR).to_owned())
    }

    /// Whether we connect its pods: another runtime has its own network unless it is to have ours.
    pub(crate) fn connects_pods(&self) -> bool {
        let usual =
            if self.container_runtime_endpoint.is_none() { CniChoice::Kedge } else { CniChoice::None };
        self.cni.unwrap_or(usual) == CniChoice::Kedge
    }

    /// What this machine is called in the cluster.
    pub(crate) fn name(&self) -> String {
        self.node_name.clone().or_else(host_name).unwrap_or_else(|| "node".to_owned())
    }

    /// What these leave open is taken from the file.
    pub(super) fn or(self, file: Self) -> Self {
        Self {
            data_dir: self.data_dir.or(file.data_dir),
            container_runtime_endpoint: self.container_runtime_endpoint.or(file.container_runtime_endpoint),
            cni: self.cni.or(file.cni),
            cni_conf_dir: self.cni_conf_dir.or(file.cni_conf_dir),
            cni_bin_dir: self.cni_bin_dir.or(file.cni_bin_dir),
            no_proxy: self.no_proxy.or(file.no_proxy),
            no_network_policy: self.no_network_policy.or(file.no_network_policy),
            dns_upstream: list(self.dns_upstream, file.dns_upstream),
            dns_stub: list(self.dns_stub, file.dns_stub),
            resolv_conf: self.resolv_conf.or(file.resolv_conf),
            hosts_file: self.hosts_file.or(file.hosts_file),
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
            cpu_manager_policy: self.cpu_manager_policy.or(file.cpu_manager_policy),
            reserved_cpus: self.reserved_cpus.or(file.reserved_cpus),
            config: self.config,
        }
    }
}
