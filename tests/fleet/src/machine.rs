//! One machine of the fleet: its place behind the switch, its data, and the kedge that runs on it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use kedge_shipped::{binary, eventually, start};
use rustix::process::{Pid, Signal, kill_process};

use crate::disk::Disk;
use crate::skew::Skew;
use crate::switch::within;

/// Far longer than anything here takes; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(40);

pub struct Machine {
    pub name: &'static str,
    /// Its network namespace, and its address there.
    pub host: String,
    pub address: String,
    folder: PathBuf,
    data: PathBuf,
    running: Option<Child>,
    skew: Option<Skew>,
    // The last to go: everything lies on it.
    disk: Option<Disk>,
}

impl Machine {
    pub fn new(name: &'static str, (host, address): (String, String), folder: &Path) -> Self {
        let folder = folder.join(name);
        std::fs::create_dir(&folder).unwrap();
        let data = folder.join("data");
        Self { name, host, address, folder, data, running: None, skew: None, disk: None }
    }

    /// Its data lie on a disk of their own from now on, of so many mebibytes.
    #[must_use]
    pub fn on_a_disk_of(mut self, mebibytes: u32) -> Self {
        let folder = self.folder.join("disk");
        self.data = folder.join("data");
        self.disk = Some(Disk::new(&folder, mebibytes));
        self
    }

    /// Its kedge has a clock of its own from now on.
    #[must_use]
    pub fn with_a_clock(mut self) -> Self {
        self.skew = Some(Skew::new(&self.folder));
        self
    }

    pub fn disk(&self) -> &Disk {
        self.disk.as_ref().expect("a machine with a disk of its own")
    }

    pub fn clock(&self) -> &Skew {
        self.skew.as_ref().expect("a machine with a clock of its own")
    }

    /// Its network namespace, as a file.
    pub fn network(&self) -> PathBuf {
        Path::new("/run/netns").join(&self.host)
    }

    /// Where its agent lets others in.
    pub fn door(&self) -> SocketAddr {
        SocketAddr::new(self.address.parse().unwrap(), 10250)
    }

    pub fn data(&self) -> PathBuf {
        self.data.clone()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn log(&self) -> String {
        let text = std::fs::read_to_string(self.file("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("--- {}\n{}\n", self.name, lines[lines.len().saturating_sub(30)..].join("\n"))
    }

    /// Something on this machine.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        within(&self.host, program)
    }

    pub fn kedge(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(binary());
        command.args(arguments).arg("--data-dir").arg(self.data());
        command
    }

    /// Starts kedge in the background.
    pub fn run(&mut self, arguments: &[&str]) {
        let mut command = self.kedge(arguments);
        if let Some(skew) = &self.skew {
            skew.wear(&mut command);
        }
        self.running = Some(start(&mut command, &self.file("log")));
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// As if the power had failed.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _already_gone = running.kill();
            let _reaped = running.wait();
        }
    }

    /// It does nothing from now on, and keeps what it has open.
    pub fn freeze(&self) {
        self.send(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.send(Signal::CONT);
    }

    fn send(&self, signal: Signal) {
        let running = self.running.as_ref().expect("a machine that runs");
        kill_process(Pid::from_raw(running.id().cast_signed()).unwrap(), signal).unwrap();
    }

    pub fn stop(&mut self) {
        let Some(running) = &self.running else { return };
        let pid = Pid::from_raw(running.id().cast_signed()).unwrap();
        let _it_may_be_gone = kill_process(pid, Signal::TERM);
        let status = self.ended();
        assert!(status.success(), "{}: {status}\n{}", self.name, self.log());
    }

    /// Waits until what runs ends by itself.
    pub fn ended(&mut self) -> ExitStatus {
        let mut running = self.running.take().unwrap();
        eventually(&format!("kedge on {} ends", self.name), PATIENCE, || {
            running.try_wait().unwrap().ok_or_else(|| "running".to_owned())
        })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        if self.data().exists() {
            let _cleaned = self.kedge(&["clean"]).output();
            kedge_shipped::sweep(&self.folder);
        }
    }
}

/// As if it had crashed: the containerd of a node's data. Whoever runs beside it starts it again. Says whether there was one.
pub fn kill_containerd(data: &Path) -> bool {
    let line = std::fs::read_to_string(data.join("containerd/containerd.pid")).unwrap_or_default();
    let pid: Option<i32> = line.split_whitespace().next().and_then(|pid| pid.parse().ok());
    let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // The file may be older than the process that has its number now.
    let pid = pid.filter(|pid| name(*pid).trim() == "containerd").and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}
