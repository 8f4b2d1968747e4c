//! A real etcd of three members on free ports of loopback.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kedge_shipped::{eventually, start};
use serde_json::Value;

pub(crate) struct Etcd {
    folder: PathBuf,
    /// For clients and for each other.
    ports: Vec<(u16, u16)>,
    members: Vec<Option<Child>>,
}

impl Etcd {
    pub(crate) fn start(folder: &Path) -> Self {
        // All are held until all are known, so that none is given twice.
        let held: Vec<TcpListener> = (0..6).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let port = |at: usize| held[at].local_addr().unwrap().port();
        let ports = (0..3).map(|at| (port(at), port(at + 3))).collect();
        drop(held);
        let mut etcd = Self { folder: folder.to_owned(), ports, members: Vec::new() };
        etcd.members = (0..3).map(|at| Some(etcd.member(at))).collect();
        eventually("etcd answers", Duration::from_secs(30), || etcd.states().map(drop));
        etcd
    }

    pub(crate) fn urls(&self) -> String {
        let urls: Vec<String> =
            self.ports.iter().map(|(port, _)| format!("http://127.0.0.1:{port}")).collect();
        urls.join(",")
    }

    fn member(&self, at: usize) -> Child {
        let (client, peer) = self.ports[at];
        let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let all: Vec<String> = self
            .ports
            .iter()
            .enumerate()
            .map(|(at, (_, peer))| format!("m{at}=http://127.0.0.1:{peer}"))
            .collect();
        let mut command = Command::new("etcd");
        command
            .args(["--name", &format!("m{at}"), "--initial-cluster", &all.join(",")])
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--heartbeat-interval", "100", "--election-timeout", "1000"])
            .arg("--data-dir")
            .arg(self.folder.join(format!("m{at}")));
        start(&mut command, &self.folder.join(format!("m{at}.log")))
    }

    /// What each member that lives says of itself.
    fn states(&self) -> Result<Vec<Value>, String> {
        let alive = (0..3).filter(|at| self.members[*at].is_some());
        let urls: Vec<String> = alive.map(|at| format!("http://127.0.0.1:{}", self.ports[at].0)).collect();
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args([
            "--endpoints",
            &urls.join(","),
            "endpoint",
            "status",
            "-w",
            "json",
        ]);
        let said = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if !said.status.success() {
            return Err(String::from_utf8_lossy(&said.stderr).into_owned());
        }
        serde_json::from_slice(&said.stdout).map_err(|error| error.to_string())
    }

    /// Which member leads the others.
    pub(crate) fn leader(&self) -> usize {
        eventually("etcd has a leader", Duration::from_secs(20), || {
            let states = self.states()?;
            let leads =
                states.iter().find(|one| one["Status"]["leader"] == one["Status"]["header"]["member_id"]);
            let url = leads.and_then(|one| one["Endpoint"].as_str()).ok_or("nobody leads")?;
            let at = self.ports.iter().position(|(port, _)| url.ends_with(&format!(":{port}")));
            at.ok_or_else(|| format!("{url} is none of ours"))
        })
    }

    pub(crate) fn kill(&mut self, at: usize) {
        let mut member = self.members[at].take().unwrap();
        member.kill().unwrap();
        member.wait().unwrap();
    }

    /// Until all three agree again, so that the next may die.
    pub(crate) fn start_again(&mut self, at: usize) {
        self.members[at] = Some(self.member(at));
        eventually("all members know who leads", Duration::from_secs(30), || {
            let states = self.states()?;
            let leaders: BTreeSet<Option<u64>> =
                states.iter().map(|one| one["Status"]["leader"].as_u64()).collect();
            match states.len() == 3 && leaders.len() == 1 && !leaders.contains(&Some(0)) {
                true => Ok(()),
                false => Err(format!("{leaders:?}")),
            }
        });
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for member in self.members.iter_mut().flatten() {
            let _already_gone = member.kill();
            let _reaped = member.wait();
        }
    }
}
