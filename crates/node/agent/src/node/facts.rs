//! What this machine is: read once, from the kernel and the distribution.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{Node, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use rustix::fs::statvfs;

/// As many as Kubernetes puts on a node unless told otherwise.
const PODS: u32 = 110;

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) capacity: BTreeMap<String, Quantity>,
    pub(crate) allocatable: BTreeMap<String, Quantity>,
    pub(crate) info: NodeSystemInfo,
    labels: BTreeMap<String, String>,
}

impl Facts {
    pub(crate) fn read(node: &str, data: &Path, runtime: String, version: String) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let disk = statvfs(data).map_or(0, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
        let capacity: BTreeMap<String, Quantity> = [
            ("cpu", cores.to_string()),
            ("memory", format!("{}Ki", memory_kibibytes())),
            ("ephemeral-storage", format!("{}Ki", disk / 1024)),
            ("pods", PODS.to_string()),
        ]
        .into_iter()
        .map(|(name, amount)| (name.to_owned(), Quantity(amount)))
        .collect();
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let info = NodeSystemInfo {
            machine_id: line("/etc/machine-id"),
            system_uuid: line("/sys/class/dmi/id/product_uuid"),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            kernel_version: line("/proc/sys/kernel/osrelease"),
            os_image: distribution(),
            container_runtime_version: runtime,
            kubelet_version: version,
            kube_proxy_version: String::new(),
            operating_system: "linux".to_owned(),
            architecture: architecture.to_owned(),
            ..NodeSystemInfo::default()
        };
        let labels = [
            ("kubernetes.io/hostname", node),
            ("kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", architecture),
            ("beta.kubernetes.io/os", "linux"),
            ("beta.kubernetes.io/arch", architecture),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Self { allocatable: capacity.clone(), capacity, info, labels }
    }

    /// The object as it is first made.
    pub(crate) fn node(&self, name: &str) -> Node {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(self.labels.clone()),
            ..ObjectMeta::default()
        };
        Node { metadata, ..Node::default() }
    }

    /// Our labels as they should be; others stay.
    pub(crate) fn label(&self, node: &mut Node) {
        node.metadata.labels.get_or_insert_default().extend(self.labels.clone());
    }
}

fn memory_kibibytes() -> u64 {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = table.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn distribution() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("Linux").trim_matches('"').to_owned()
}
