//! Network namespaces that are plugged into one switch, itself a namespace. They go when it goes.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// All hosts are in it, the switch is its last.
const NETWORK: &str = "172.31.77";

pub struct Switch {
    name: String,
    hosts: Vec<String>,
}

impl Switch {
    /// An address that no host is given.
    pub fn spare() -> String {
        format!("{NETWORK}.102")
    }

    /// By whom hosts reach everybody else.
    pub fn gateway() -> String {
        format!("{NETWORK}.254")
    }

    pub fn make() -> Self {
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
    pub fn plug(&mut self) -> (String, String) {
        let number = self.hosts.len() + 1;
        let (switch, host) = (self.name.clone(), format!("{}-{number}", self.name));
        let address = format!("{NETWORK}.{number}");
        ip(&format!("netns add {host}"));
        self.hosts.push(host.clone());
        ip(&format!("link add name eth0 netns {host} type veth peer name port{number} netns {switch}"));
        ip(&format!("-n {switch} link set port{number} master sw up"));
        // As machines usually are; the namespace has what this machine has.
        for (name, value) in [("ip_forward", "0"), ("conf/all/send_redirects", "1")] {
            let set = format!("echo {value} > /proc/sys/net/ipv4/{name}");
            assert!(within(&host, "sh").args(["-c", &set]).status().unwrap().success(), "{set}");
        }
        ip(&format!("-n {host} link set lo up"));
        ip(&format!("-n {host} addr add {address}/24 dev eth0"));
        ip(&format!("-n {host} link set eth0 up"));
        ip(&format!("-n {host} route add default via {NETWORK}.254"));
        (host, address)
    }

    /// Pulls the plug of a host, or puts it in again.
    pub fn set(&self, host: &str, is_up: bool) {
        let number = self.hosts.iter().position(|known| known == host).unwrap() + 1;
        ip(&format!("-n {} link set port{number} {}", self.name, if is_up { "up" } else { "down" }));
    }

    /// Cuts the wire between two hosts, or mends it. Both still reach everybody else.
    pub fn set_between(&self, pair: [&str; 2], is_up: bool) {
        for host in pair {
            let number = self.hosts.iter().position(|known| known == host).unwrap() + 1;
            let isolated = if is_up { "off" } else { "on" };
            // Ports that are isolated reach every port but those that are so, too.
            ip(&format!("-n {} link set dev port{number} type bridge_slave isolated {isolated}", self.name));
        }
    }

    /// Where [`Self::beyond`] runs things.
    pub fn file(&self) -> PathBuf {
        Path::new("/run/netns").join(&self.name)
    }

    /// Runs something beyond all hosts, as a machine of the same network would.
    pub fn beyond(&self, program: &str, arguments: &[&str]) -> Output {
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
pub fn within(host: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{host}")).arg("--").arg(program);
    command
}

/// Moves the thread that calls this into a network namespace, by its file.
pub fn enter(namespace: &Path) {
    let file = File::open(namespace).unwrap();
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

/// Whether something answers there, asked from within a network namespace, by its file.
pub fn reaches(namespace: &Path, there: SocketAddr) -> bool {
    // It is the thread that is moved.
    let asked = || {
        enter(namespace);
        TcpStream::connect_timeout(&there, Duration::from_secs(1)).is_ok()
    };
    std::thread::scope(|scope| scope.spawn(asked).join().unwrap())
}

/// What is left of runs that were killed.
fn sweep() {
    let listed = Command::new("ip").args(["netns", "list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for name in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        let Some(pid) = name.strip_prefix("kfleet-").and_then(|rest| rest.split('-').next()) else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            let _gone = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn ip(line: &str) {
    let output = Command::new("ip").args(line.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {line}: {}", String::from_utf8_lossy(&output.stderr));
}
