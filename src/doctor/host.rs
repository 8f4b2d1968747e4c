//! What a machine has that a server or a node needs, looked at once. The look changes nothing that outlives it; what it means is judged
//! apart.

mod judge;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;

pub(crate) use self::judge::judge;
use super::kernel;
use crate::status::disk::{Room, room};

/// Only the top of the one tree of version 2 has it there.
const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
const APPARMOR: &str = "/sys/module/apparmor/parameters/enabled";
/// Where containerd looks for it.
const PARSER: &str = "/sbin/apparmor_parser";
const PROFILE: &str = "profile kedge-doctor {\n}\n";
/// How long it may take, how often is looked whether it is done, and how much of what it says is read.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);
const WORDS: u64 = 4096;

/// A program that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// What it says of its version; none if it is not there.
    pub(crate) version: Option<String>,
}

/// How processes are grouped here, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cgroups {
    pub(crate) version: u8,
    pub(crate) controllers: Vec<String>,
}

/// The program that reads AppArmor's profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parser {
    /// It reads one, or nobody needs it.
    Fine,
    Missing,
    /// With what it says.
    Fails(String),
}

/// A place at which we would listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) what: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) at: SocketAddr,
    /// Why it cannot be had.
    pub(crate) trouble: Option<String>,
}

/// All that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) is_root: bool,
    pub(crate) kernel: String,
    /// What the kernel was tried for, and whether it has it; none if nobody could tell.
    pub(crate) features: Vec<(&'static str, Option<bool>)>,
    pub(crate) cgroups: Cgroups,
    /// What would load the profiles of an AppArmor that the kernel enforces.
    pub(crate) parser: Parser,
    pub(crate) programs: Vec<Program>,
    pub(crate) ports: Vec<Port>,
    pub(crate) room: Option<Room>,
    pub(crate) memory: Option<u64>,
    pub(crate) files: u64,
    pub(crate) forwards: Option<bool>,
    /// None where no service looks after the clock.
    pub(crate) clock_is_kept: Option<bool>,
    pub(crate) now: Timestamp,
    pub(crate) nameservers: usize,
    /// What is wrong with the cluster's ranges here.
    pub(crate) ranges: Option<String>,
    pub(crate) name: Option<String>,
}

/// What is to be looked at beside the machine itself.
pub(crate) struct About<'a> {
    pub(crate) data: &'a Path,
    /// Whether pods are to run here.
    pub(crate) has_node: bool,
    pub(crate) ports: Vec<(&'static str, &'static str, SocketAddr, bool)>,
    pub(crate) ranges: Option<String>,
    pub(crate) now: Timestamp,
}

pub(crate) fn look(about: About<'_>) -> Host {
    let programs = if about.has_node { &["containerd", "runc"][..] } else { &[] };
    Host {
        is_root: rustix::process::geteuid().is_root(),
        kernel: read("/proc/sys/kernel/osrelease"),
        features: if about.has_node { kernel::features() } else { Vec::new() },
        cgroups: cgroups(),
        parser: if read(APPARMOR) == "Y" { parser(Path::new(PARSER)) } else { Parser::Fine },
        programs: programs.iter().map(|name| program(name)).collect(),
        ports: about.ports.into_iter().map(|(what, flag, at, is_udp)| port(what, flag, at, is_udp)).collect(),
        room: room(about.data),
        memory: available_memory(),
        files: crate::limits::raise_files(),
        forwards: Some(read("/proc/sys/net/ipv4/ip_forward"))
            .filter(|text| !text.is_empty())
            .map(|text| text == "1"),
        clock_is_kept: clock_is_kept(),
        now: about.now,
        nameservers: read("/etc/resolv.conf")
            .lines()
            .filter(|line| line.trim_start().starts_with("nameserver"))
            .count(),
        ranges: about.ranges,
        name: crate::network::host_name(),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn program(name: &'static str) -> Program {
    let version = kedge_runtime::containerd::find(name).and_then(|path| {
        let said = Command::new(path).arg("--version").stdin(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&said.stdout).lines().next().map(str::to_owned)
    });
    Program { name, version }
}

/// Has it read an empty profile that goes nowhere. One that is there but cannot read is worse than none: containerd relies on it.
fn parser(path: &Path) -> Parser {
    if !path.exists() {
        return Parser::Missing;
    }
    match tried(path) {
        Ok(()) => Parser::Fine,
        Err(why) => Parser::Fails(why),
    }
}

fn tried(path: &Path) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let mut command = Command::new(path);
    // Neither into the kernel nor into its cache.
    command.args(["--skip-kernel-load", "--skip-cache"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    // One that ends without reading says why itself.
    let _written = child.stdin.take().map(|mut input| input.write_all(PROFILE.as_bytes()));
    let begun = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait().map_err(failed)? {
            break ended;
        }
        if begun.elapsed() > PATIENCE {
            let _killed = child.kill();
            let _buried = child.wait();
            return Err(format!("it does not end within {PATIENCE:?}"));
        }
        std::thread::sleep(LOOK);
    };
    if ended.success() {
        return Ok(());
    }
    let mut said = String::new();
    let _read = child.stderr.take().map(|errors| errors.take(WORDS).read_to_string(&mut said));
    // Warnings come first.
    Err(match said.trim().lines().last() {
        Some(line) => format!("{ended}: {line}"),
        None => ended.to_string(),
    })
}

fn port(what: &'static str, flag: &'static str, at: SocketAddr, is_udp: bool) -> Port {
    let tried = if is_udp { UdpSocket::bind(at).map(drop) } else { TcpListener::bind(at).map(drop) };
    Port { what, flag, at, trouble: tried.err().map(|error| error.to_string()) }
}

/// What the kernel knows of is not there in a tree of version 2 that was not given it. Version 1 may have such a tree beside it, elsewhere.
fn cgroups() -> Cgroups {
    if let Ok(given) = fs::read_to_string(CONTROLLERS) {
        let controllers = given.split_ascii_whitespace().map(str::to_owned).collect();
        return Cgroups { version: 2, controllers };
    }
    let known = fs::read_to_string("/proc/cgroups").unwrap_or_default();
    let enabled = known.lines().filter(|line| !line.starts_with('#') && line.ends_with("1"));
    let names = enabled.filter_map(|line| line.split_ascii_whitespace().next());
    Cgroups { version: 1, controllers: names.map(str::to_owned).collect() }
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

fn clock_is_kept() -> Option<bool> {
    let asked = Command::new("timedatectl")
        .args(["show", "--property=NTPSynchronized", "--value"])
        .stdin(Stdio::null())
        .output();
    match String::from_utf8_lossy(&asked.ok()?.stdout).trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
