//! Network namespaces that are plugged into one switch, itself a namespace. They go when it goes.

use std::process::{Command, Output};

/// All hosts are in it, the switch is its last.
const NETWORK: &str = "172.31.77";

pub(crate) struct Switch {
    name: String,
    hosts: Vec<String>,
}

impl Switch {
    pub(crate) fn new() -> Self {
        sweep();
        let name = format!("kfleet-{}", std::process::id());
        ip(&format!("netns add {name}"));
        let switch = Self { name, hosts: Vec::new() };
        let name = &switch.name;
        ip(&format!("-n {name} link add sw type bridge"));
        ip(&format!("-n {name} addr add {NETWORK}.254/24 dev sw"));
        ip(&format!("-n {name} link set sw up"));
        ip(&format!("-n {name} link set lo up"));
        switch
    }

    /// A new namespace behind the switch: its name and its address.
    pub(crate) fn plug(&mut self) -> (String, String) {
        let number = self.hosts.len() + 1;
        let (switch, host) = (self.name.clone(), format!("{}-{number}", self.name));
        let address = format!("{NETWORK}.{number}");
        ip(&format!("netns add {host}"));
        self.hosts.push(host.clone());
        ip(&format!("link add name eth0 netns {host} type veth peer name port{number} netns {switch}"));
        ip(&format!("-n {switch} link set port{number} master sw up"));
        ip(&format!("-n {host} link set lo up"));
        ip(&format!("-n {host} addr add {address}/24 dev eth0"));
        ip(&format!("-n {host} link set eth0 up"));
        ip(&format!("-n {host} route add default via {NETWORK}.254"));
        (host, address)
    }

    /// Pulls the plug of a host, or puts it in again.
    pub(crate) fn set(&self, host: &str, is_up: bool) {
        let number = self.hosts.iter().position(|known| known == host).unwrap() + 1;
        ip(&format!("-n {} link set port{number} {}", self.name, if is_up { "up" } else { "down" }));
    }

    /// Runs something beyond all hosts, as a machine of the same network would.
    pub(crate) fn beyond(&self, program: &str, arguments: &[&str]) -> Output {
        within(&self.name, program).args(arguments).output().unwrap()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        for name in self.hosts.iter().chain([&self.name]) {
            let _gone = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// A program in the network of a host; everything else of it is this machine's.
pub(crate) fn within(host: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{host}")).arg("--").arg(program);
    command
}

/// What is left of runs that were killed.
fn sweep() {
    let listed = Command::new("ip").args(["netns", "list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for name in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        let Some(pid) = name.strip_prefix("kfleet-").and_then(|rest| rest.split('-').next()) else {
            continue;
        };
        if !std::path::Path::new("/proc").join(pid).exists() {
            let _gone = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn ip(line: &str) {
    let output = Command::new("ip").args(line.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {line}: {}", String::from_utf8_lossy(&output.stderr));
}
