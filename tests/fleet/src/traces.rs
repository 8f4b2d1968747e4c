//! What a node leaves on its machine: tables, links, addresses, routes, settings of the kernel, mounts, processes, cgroups. Taken before and
//! after, and compared.

use std::path::{Path, PathBuf};

use crate::switch::within;

#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    tables: Vec<String>,
    links: Vec<String>,
    addresses: Vec<String>,
    routes: Vec<String>,
    neighbours: Vec<String>,
    /// How the kernel treats packets, of all links.
    settings: Vec<String>,
    mounts: Vec<String>,
    processes: usize,
}

impl Traces {
    pub fn of(host: &str, data: &Path) -> Self {
        let lines = |program: &str, arguments: &str| -> Vec<String> {
            let output = within(host, program).args(arguments.split(' ')).output().unwrap();
            assert!(
                output.status.success(),
                "{program} {arguments}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
            lines.sort();
            lines
        };
        // What the kernel says of a link by itself comes when it likes.
        let told = |line: &String| !line.contains("fe80:") && !line.contains("ff00::");
        let mut routes = lines("ip", "-4 route show table all");
        routes.extend(lines("ip", "-6 route show table all"));
        routes.retain(told);
        let links = lines("ip", "-o -br link");
        let mut addresses = lines("ip", "-o -4 addr");
        addresses.extend(lines("ip", "-o -6 addr"));
        addresses.retain(told);
        Self {
            tables: lines("nft", "list tables"),
            links: links
                .iter()
                .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
                .collect(),
            addresses: addresses
                .iter()
                .map(|line| line.split_whitespace().skip(1).take(3).collect::<Vec<_>>().join(" "))
                .collect(),
            routes,
            settings: settings(host),
            neighbours: lines("ip", "neigh show nud permanent"),
            mounts: kedge_shipped::mounts_below(data),
            processes: kedge_shipped::processes_of(data).len(),
        }
    }
}

fn settings(host: &str) -> Vec<String> {
    let files = "/proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/*/* /proc/sys/net/ipv6/conf/*/*";
    // Some of them nobody may read.
    let output = within(host, "sh").args(["-c", &format!("grep -s '' {files} || true")]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Where the cgroups of a node's pods and of its runtime are, under every controller.
pub fn cgroups(data: &Path) -> Vec<PathBuf> {
    let top = std::fs::read_to_string(data.join("cgroup")).unwrap_or_default();
    let top = top.trim().trim_start_matches('/').to_owned();
    if top.is_empty() {
        return Vec::new();
    }
    let root = Path::new("/sys/fs/cgroup");
    let below = std::fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let tops = [top.clone(), format!("{top}.containerd")];
    let found = below.chain([root.to_owned()]).flat_map(|folder| tops.clone().map(|top| folder.join(top)));
    found.filter(|folder| folder.exists()).collect()
}
