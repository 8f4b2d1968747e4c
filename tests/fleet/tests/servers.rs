//! Two servers that share an etcd: the Service `kubernetes` leads to both, and to the one that is left when the other stops. Needs etcd
//! and kubectl.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kedge_shipped::{binary, eventually, start};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(40);

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn etcd(folder: &Path) -> (Running, String) {
    let at = free();
    let (client, peer) = (format!("http://{at}"), format!("http://{}", free()));
    let mut command = Command::new("etcd");
    command.arg("--data-dir").arg(folder.join("etcd")).args(["--name", "one", "--log-level", "fatal"]);
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", &format!("one={peer}")]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let running = Running(child.expect("this test needs the program etcd"));
    eventually("etcd listens", PATIENCE, || TcpStream::connect(at).map_err(|error| error.to_string()));
    (running, client)
}

struct Server {
    running: Running,
    at: SocketAddr,
    folder: PathBuf,
}

impl Server {
    fn start(folder: &Path, name: &str, store: &str) -> Self {
        let (folder, at) = (folder.join(name), free());
        std::fs::create_dir(&folder).unwrap();
        let mut command = Command::new(binary());
        command.args(["server", "--no-agent", "--no-controllers", "--no-gateway"]);
        command.args(["--listen", &at.to_string(), "--store", &format!("etcd={store}")]);
        command.arg("--data-dir").arg(folder.join("data"));
        command.arg("--write-kubeconfig").arg(folder.join("kubeconfig"));
        let running = Running(start(&mut command, &folder.join("log")));
        Self { running, at, folder }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn get(&self, what: &str) -> Result<Value, String> {
        let mut command = Command::new(kedge_shipped::kubectl());
        command.env("KUBECONFIG", self.folder.join("kubeconfig")).env("HOME", &self.folder);
        let output = command.args(["get", what, "--output=json"]).output().unwrap();
        match output.status.success() {
            true => serde_json::from_slice(&output.stdout).map_err(|error| error.to_string()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Where the Service leads, as its slices say.
    fn reached(&self) -> Result<BTreeSet<String>, String> {
        let slices = self.get("endpointslices.discovery.k8s.io")?;
        let mut all = BTreeSet::new();
        for slice in slices["items"].as_array().into_iter().flatten() {
            let port = slice["ports"][0]["port"].to_string();
            for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
                all.insert(format!("{}:{port}", endpoint["addresses"][0].as_str().unwrap_or_default()));
            }
        }
        Ok(all)
    }

    #[track_caller]
    fn leads_to(&self, servers: &[&Server]) {
        let wanted: BTreeSet<String> = servers.iter().map(|server| server.at.to_string()).collect();
        eventually("the Service leads to all who live", PATIENCE, || {
            let reached = self.reached().map_err(|error| format!("{error}\n{}", self.log()))?;
            if reached == wanted { Ok(()) } else { Err(format!("{reached:?}, not {wanted:?}")) }
        });
    }
}

#[test]
fn the_service_of_the_api_leads_to_every_server() {
    let folder = tempfile::tempdir().unwrap();
    let (_etcd, store) = etcd(folder.path());
    let one = Server::start(folder.path(), "one", &store);
    one.leads_to(&[&one]);
    let two = Server::start(folder.path(), "two", &store);
    one.leads_to(&[&one, &two]);
    let endpoints = one.get("endpoints").unwrap();
    let subsets = endpoints["items"][0]["subsets"].as_array().map(Vec::len);
    assert_eq!(subsets, Some(2), "one for each port: {endpoints}");

    let pid = Pid::from_raw(two.running.0.id().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    one.leads_to(&[&one]);
    assert!(one.get("endpointslices.discovery.k8s.io").unwrap()["items"].as_array().unwrap().len() == 1);
}
