//! One machine of the fleet: its place behind the switch, its data, and the kedge that runs on it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use kedge_shipped::{binary, eventually, start};
use rustix::process::{Pid, Signal, kill_process};

use crate::switch::within;

/// Far longer than anything here takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) struct Machine {
    pub(crate) name: &'static str,
    /// Its network namespace, and its address there.
    pub(crate) host: String,
    pub(crate) address: String,
    folder: PathBuf,
    running: Option<Child>,
}

impl Machine {
    pub(crate) fn new(name: &'static str, (host, address): (String, String), folder: &Path) -> Self {
        let folder = folder.join(name);
        std::fs::create_dir(&folder).unwrap();
        Self { name, host, address, folder, running: None }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn log(&self) -> String {
        let text = std::fs::read_to_string(self.file("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("--- {}\n{}\n", self.name, lines[lines.len().saturating_sub(30)..].join("\n"))
    }

    /// Something on this machine.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        within(&self.host, program)
    }

    pub(crate) fn kedge(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(binary());
        command.args(arguments).arg("--data-dir").arg(self.data());
        command
    }

    /// Starts kedge in the background.
    pub(crate) fn run(&mut self, arguments: &[&str]) {
        let mut command = self.kedge(arguments);
        self.running = Some(start(&mut command, &self.file("log")));
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// As if the power had failed.
    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _already_gone = running.kill();
            let _reaped = running.wait();
        }
    }

    pub(crate) fn stop(&mut self) {
        let Some(running) = &self.running else { return };
        let pid = Pid::from_raw(running.id().cast_signed()).unwrap();
        let _it_may_be_gone = kill_process(pid, Signal::TERM);
        let status = self.ended();
        assert!(status.success(), "{}: {status}\n{}", self.name, self.log());
    }

    /// Waits until what runs ends by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
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
