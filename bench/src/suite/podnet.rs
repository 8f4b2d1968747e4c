//! The network of pods on one node: how long a call to connect one takes, and how much two of them carry, beside two ends of a bare
//! bridge in the same run. Nodes and pods are network namespaces; needs root and `ip`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kedge_netlink::Namespace;
use kedge_network::{Network, prepare};
use serde_json::Value;

use super::{Table, fresh, median};
use crate::{BenchError, report};

const RANGE: &str = "10.217.0.0/24";
const WHILE: Duration = Duration::from_millis(50);
const CHUNK: usize = 128 * 1024;

pub(super) async fn podnet(
    program: &Path,
    folder: &Path,
    scale: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("the network of pods on one node…");
    let (program, data) = (program.to_owned(), fresh(folder, "podnet")?);
    // Namespaces belong to threads.
    let measured = tokio::task::spawn_blocking(move || measure(&program, &data, scale)).await;
    let seen = measured.map_err(|error| failed("podnet", &error))??;
    table.at_most("CNI ADD, one process, p99", seen.add_ms, "ms", 20.0);
    table.at_least("pod to pod on one node, of a bare bridge", seen.share, "%", 95.0);
    Ok(())
}

struct Seen {
    add_ms: f64,
    share: f64,
}

fn measure(program: &Path, data: &Path, scale: usize) -> Result<Seen, BenchError> {
    let stage = Stage::new()?;
    let wrong = |error: &dyn std::fmt::Display| failed("the network of pods", error);
    let range = RANGE.parse().map_err(|error| wrong(&error))?;
    let network = Network::new(data, "bench", 1500, vec![range], vec![range]);
    let node = stage.open("node")?;
    inside(&node, || prepare(&network)).and_then(|made| made.map_err(|error| wrong(&error)))?;

    let count = 200 / scale.min(10);
    let mut took = Vec::new();
    for at in 0..count {
        let pod = stage.add(&format!("t{at}"))?;
        let begin = Instant::now();
        inside(&node, || call(program, &network, "ADD", &format!("t{at}"), &pod))??;
        took.push(begin.elapsed().as_secs_f64() * 1000.0);
        inside(&node, || call(program, &network, "DEL", &format!("t{at}"), &pod))??;
    }
    took.sort_by(f64::total_cmp);
    let part = |part: usize| {
        took.get((took.len() * part).div_ceil(100).saturating_sub(1)).copied().unwrap_or(f64::NAN)
    };
    let add_ms = part(99);
    report::note(&format!(
        "half of all ADDs within {:.1} ms, nine of ten within {:.1} ms",
        part(50),
        part(90)
    ));

    let mut addresses = Vec::new();
    for name in ["a", "b"] {
        let pod = stage.add(name)?;
        addresses.push(inside(&node, || call(program, &network, "ADD", name, &pod))??);
    }
    stage.bare()?;
    let [_, to] = addresses.as_slice() else { return Err(wrong(&"two pods have no two addresses")) };
    let mut through_ours = Pipe::open(&stage.open("a")?, &stage.open("b")?, to)?;
    let mut through_bare = Pipe::open(&stage.open("x")?, &stage.open("y")?, "192.0.2.2")?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // In turn for short whiles, so that a slower moment of the machine counts for both.
    for _ in 0..400 / scale.min(10) {
        bare.push(through_bare.carry(WHILE)?);
        ours.push(through_ours.carry(WHILE)?);
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    report::note(&format!("pods {ours:.2} Gbit/s, bare bridge {bare:.2} Gbit/s"));
    Ok(Seen { add_ms, share: 100.0 * ours / bare })
}

/// As a runtime calls it; answers the first address.
fn call(
    program: &Path,
    network: &Network,
    command: &str,
    name: &str,
    pod: &Path,
) -> Result<String, BenchError> {
    let wrong = |error: &dyn std::fmt::Display| failed(command, error);
    let list: Value = serde_json::from_str(&network.config("kedge")).map_err(|error| wrong(&error))?;
    let mut config = list["plugins"][0].clone();
    config["cniVersion"] = list["cniVersion"].clone();
    let variables = [("CNI_COMMAND", command), ("CNI_CONTAINERID", name), ("CNI_IFNAME", "eth0")];
    let mut child = Command::new(program)
        .envs(variables)
        .env("CNI_NETNS", pod)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| wrong(&error))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(config.to_string().as_bytes()).map_err(|error| wrong(&error))?;
    }
    let done = child.wait_with_output().map_err(|error| wrong(&error))?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    if !done.status.success() {
        return Err(wrong(&text));
    }
    let told: Value = serde_json::from_str(&text).unwrap_or_default();
    let address = told["ips"][0]["address"].as_str().unwrap_or_default();
    Ok(address.split('/').next().unwrap_or_default().to_owned())
}

/// One connection, and whoever hears what is said on it.
struct Pipe {
    says: TcpStream,
    chunk: Vec<u8>,
}

impl Pipe {
    fn open(from: &Namespace, to: &Namespace, address: &str) -> Result<Self, BenchError> {
        let wrong = |error: std::io::Error| failed("carrying bytes between pods", &error);
        let server = inside(to, || TcpListener::bind((address, 0)))?.map_err(wrong)?;
        let target = server.local_addr().map_err(wrong)?;
        let says = inside(from, || TcpStream::connect(target))?.map_err(wrong)?;
        let (mut hears, _) = server.accept().map_err(wrong)?;
        // It ends with the connection.
        std::thread::spawn(move || {
            let mut buffer = vec![0; CHUNK];
            while hears.read(&mut buffer).is_ok_and(|length| length > 0) {}
        });
        Ok(Self { says, chunk: vec![7; CHUNK] })
    }

    /// Gigabits a second for a while.
    fn carry(&mut self, time: Duration) -> Result<f64, BenchError> {
        let (begin, mut said) = (Instant::now(), 0);
        while begin.elapsed() < time {
            let done = self.says.write_all(&self.chunk);
            done.map_err(|error| failed("carrying bytes between pods", &error))?;
            said += CHUNK;
        }
        Ok(said as f64 * 8.0 / begin.elapsed().as_secs_f64() / 1e9)
    }
}

/// Namespaces of this process's own, until it is dropped.
struct Stage(String);

impl Stage {
    fn new() -> Result<Self, BenchError> {
        let stage = Self(format!("kedge-bench-{}", std::process::id()));
        stage.add("node")?;
        ip(&["-n", &stage.name("node"), "link", "set", "lo", "up"])?;
        Ok(stage)
    }

    fn name(&self, part: &str) -> String {
        format!("{}-{part}", self.0)
    }

    fn add(&self, part: &str) -> Result<PathBuf, BenchError> {
        ip(&["netns", "add", &self.name(part)])?;
        Ok(Path::new("/run/netns").join(self.name(part)))
    }

    fn open(&self, part: &str) -> Result<Namespace, BenchError> {
        let path = Path::new("/run/netns").join(self.name(part));
        Namespace::open(&path).map_err(|source| BenchError::Read { path, source })
    }

    /// Two ends of a bridge with nothing in between: on a node of its own, as rules of ours are met by frames of any bridge beside them
    /// where the kernel filters bridges as it does routers.
    fn bare(&self) -> Result<(), BenchError> {
        let node = self.name("switch");
        let path = self.add("switch")?;
        let switch = Namespace::open(&path).map_err(|source| BenchError::Read { path, source })?;
        // A kernel that does not filter bridges has nothing to be told.
        let _unfiltered = inside(&switch, || {
            ["iptables", "ip6tables", "arptables"]
                .map(|filter| std::fs::write(format!("/proc/sys/net/bridge/bridge-nf-call-{filter}"), "0"))
        })?;
        ip(&["-n", &node, "link", "add", "bare0", "type", "bridge"])?;
        ip(&["-n", &node, "link", "set", "bare0", "up"])?;
        for (part, address) in [("x", "192.0.2.1/24"), ("y", "192.0.2.2/24")] {
            self.add(part)?;
            let (end, place) = (format!("bare-{part}"), self.name(part));
            let wire = ["-n", &node, "link", "add", &end, "master", "bare0", "type", "veth"];
            ip(&[&wire[..], &["peer", "name", "eth0", "netns", &place]].concat())?;
            ip(&["-n", &node, "link", "set", &end, "up"])?;
            ip(&["-n", &place, "link", "set", "eth0", "up"])?;
            ip(&["-n", &place, "addr", "add", address, "dev", "eth0"])?;
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let Ok(names) = std::fs::read_dir("/run/netns") else { return };
        for name in names.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            if name.strip_prefix(&self.0).is_some_and(|rest| rest.starts_with('-')) {
                // What cannot be removed has a name that says whose it was.
                let _gone = ip(&["netns", "del", &name]);
            }
        }
    }
}

fn inside<T>(namespace: &Namespace, work: impl FnOnce() -> T) -> Result<T, BenchError> {
    namespace.inside(work).map_err(|error| failed("entering a network namespace", &error))
}

fn ip(arguments: &[&str]) -> Result<(), BenchError> {
    let done = Command::new("ip").args(arguments).output().map_err(|error| failed("ip", &error))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(failed(&format!("ip {}", arguments.join(" ")), &String::from_utf8_lossy(&done.stderr))),
    }
}

fn failed(program: &str, error: &dyn std::fmt::Display) -> BenchError {
    BenchError::NotReady { program: program.to_owned(), why: error.to_string() }
}
