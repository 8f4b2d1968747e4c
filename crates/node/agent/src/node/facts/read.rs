//! What the kernel and the system's own files say of this machine. What cannot be read is left empty.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{NodeSwapStatus, NodeSystemInfo};
use kedge_kinds::Quantity;
use kedge_kinds::quantity::Format;
use rustix::fs::statvfs;

pub(super) fn capacity(data: &Path) -> BTreeMap<String, Quantity> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let disk = statvfs(data).map_or(0, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
    let binary = |bytes: u64| Quantity::of(i64::try_from(bytes).unwrap_or(i64::MAX), Format::BinarySi);
    let cores = Quantity::of(i64::try_from(cores).unwrap_or(i64::MAX), Format::DecimalSi);
    let known = [
        ("cpu".to_owned(), cores),
        ("memory".to_owned(), binary(kibibytes(&meminfo(), "MemTotal:") << 10)),
        ("ephemeral-storage".to_owned(), binary(disk / 1024 * 1024)),
    ];
    known.into_iter().chain(huge_pages(Path::new("/sys/kernel/mm/hugepages"))).collect()
}

/// `hugepages-2048kB` with `nr_hugepages` in it, for every size that the machine has.
fn huge_pages(folder: &Path) -> BTreeMap<String, Quantity> {
    let sizes = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kibibytes: i64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let number: i64 = line(&entry.path().join("nr_hugepages")).parse().ok()?;
        let of = |bytes: i64| Quantity::of(bytes, Format::BinarySi);
        let one = of(kibibytes.saturating_mul(1024));
        Some((format!("hugepages-{one}"), of(one.value().saturating_mul(number))))
    });
    sizes.collect()
}

pub(super) fn info(runtime: String, version: String) -> NodeSystemInfo {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let first = |paths: [&str; 2]| {
        let found = paths.iter().map(|path| line(Path::new(path))).find(|text| !text.is_empty());
        found.unwrap_or_default()
    };
    let swap = i64::try_from(kibibytes(&meminfo(), "SwapTotal:") << 10).unwrap_or(i64::MAX);
    NodeSystemInfo {
        machine_id: first(["/etc/machine-id", "/var/lib/dbus/machine-id"]),
        system_uuid: first(["/sys/class/dmi/id/product_uuid", "/etc/machine-id"]),
        boot_id: line(Path::new("/proc/sys/kernel/random/boot_id")),
        kernel_version: line(Path::new("/proc/sys/kernel/osrelease")),
        os_image: distribution(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        container_runtime_version: runtime,
        kubelet_version: version,
        kube_proxy_version: String::new(),
        operating_system: "linux".to_owned(),
        architecture: architecture.to_owned(),
        swap: (swap > 0).then_some(NodeSwapStatus { capacity: Some(swap) }),
    }
}

fn line(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn meminfo() -> String {
    fs::read_to_string("/proc/meminfo").unwrap_or_default()
}

fn kibibytes(table: &str, name: &str) -> u64 {
    let line = table.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn distribution(text: &str) -> String {
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("Linux").trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_files_are_understood() {
        assert_eq!(kibibytes("MemFree: 1 kB\nMemTotal:       2048 kB\n", "MemTotal:"), 2048);
        assert_eq!(kibibytes("", "MemTotal:"), 0);
        assert_eq!(distribution("NAME=x\nPRETTY_NAME=\"Some Linux 1\"\n"), "Some Linux 1");
        assert_eq!(distribution(""), "Linux");
        let folder = tempfile::tempdir().unwrap();
        for (size, number) in [("hugepages-2048kB", "3\n"), ("hugepages-1048576kB", "0\n"), ("other", "1")] {
            fs::create_dir(folder.path().join(size)).unwrap();
            fs::write(folder.path().join(size).join("nr_hugepages"), number).unwrap();
        }
        let found: Vec<_> =
            huge_pages(folder.path()).iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        assert_eq!(found, ["hugepages-1Gi=0", "hugepages-2Mi=6Mi"]);
    }
}
