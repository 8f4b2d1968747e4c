//! What can go wrong, how it is brought about and mended, and what it excuses. Everything that is not excused must not be seen.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use kedge_fleet::{Machine, Scene, kill_containerd, tasks};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::api::Api;
use crate::picture::Picture;

/// Who answers calls.
const PAGES: &str = "web";
const LARGE: &str = "/api/v1/namespaces/default/configmaps";

/// Nodes are counted from 0, which is the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Of a node: its agent, and with the first the server.
    KillKedge(usize),
    KillContainerd(usize),
    /// Both at once.
    KillAll(usize),
    /// The first process of a container.
    KillContainer(usize),
    /// What stands between containerd and a pod's containers, which die with it.
    KillShim(usize),
    /// Not a byte more fits, for a while.
    FillDisk(usize),
    /// By so many seconds, and back after a while.
    TurnClock(usize, i64),
    /// Between two nodes, for a while.
    Cut(usize, usize),
    /// From everybody.
    Unplug(usize),
    /// Meanwhile a container that nobody calls dies on another node.
    ServerAway,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Struck {
    /// Pods that may have been restarted.
    pub(crate) touched: BTreeSet<String>,
    /// What was seen meanwhile and should not have been.
    pub(crate) wrong: Vec<String>,
}

impl Fault {
    /// All that there are of them, in turn.
    pub(crate) fn all() -> Vec<Self> {
        let each = |make: fn(usize) -> Self| (0..3).map(make);
        let clocks = [(0, 3600), (1, 3600), (2, -240), (0, -240)].map(|(at, by)| Self::TurnClock(at, by));
        each(Self::KillKedge)
            .chain(each(Self::KillContainerd))
            .chain(each(Self::KillAll))
            .chain(each(Self::KillContainer))
            .chain(each(Self::KillShim))
            .chain(each(Self::FillDisk))
            .chain(clocks)
            .chain([(0, 1), (0, 2), (1, 2)].map(|(one, other)| Self::Cut(one, other)))
            .chain(each(Self::Unplug))
            .chain([Self::ServerAway])
            .collect()
    }

    /// One of every kind, each where it costs little.
    pub(crate) fn some() -> Vec<Self> {
        vec![
            Self::KillKedge(0),
            Self::KillKedge(1),
            Self::KillContainerd(2),
            Self::KillAll(0),
            Self::KillContainer(1),
            Self::KillShim(2),
            Self::FillDisk(0),
            Self::FillDisk(1),
            Self::TurnClock(0, 3600),
            Self::TurnClock(1, -240),
            Self::Cut(1, 2),
            Self::Cut(0, 2),
            Self::ServerAway,
        ]
    }

    /// Under what it is counted.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::KillKedge(0) => "kill -9 server",
            Self::KillKedge(_) => "kill -9 agent",
            Self::KillContainerd(_) => "kill -9 containerd",
            Self::KillAll(_) => "kill -9 kedge and containerd",
            Self::KillContainer(_) => "kill -9 container",
            Self::KillShim(_) => "kill -9 shim",
            Self::FillDisk(0) => "server's disk full",
            Self::FillDisk(_) => "node's disk full",
            Self::TurnClock(0, _) => "server's clock jumps",
            Self::TurnClock(..) => "node's clock jumps",
            Self::Cut(..) => "two nodes cut apart",
            Self::Unplug(_) => "node unplugged",
            Self::ServerAway => "API server away",
        }
    }

    /// Whether calls from this node may fail until all is well again: where what answers them is killed, or cannot be reached.
    pub(crate) fn excuses_calls_from(self, caller: usize) -> bool {
        match self {
            Self::KillContainer(_) | Self::KillShim(_) | Self::Unplug(_) => true,
            Self::Cut(one, other) => caller == one || caller == other,
            Self::KillKedge(_)
            | Self::KillContainerd(_)
            | Self::KillAll(_)
            | Self::FillDisk(_)
            | Self::TurnClock(..)
            | Self::ServerAway => false,
        }
    }

    /// Brings it about, holds it for a while if it can be held, and mends it.
    pub(crate) fn strike(self, scene: &mut Scene, api: &Api, before: &Picture, held: Duration) -> Struck {
        let mut struck = Struck::default();
        match self {
            Self::KillKedge(at) => {
                scene.machine_mut(at).kill();
                scene.start_again(at);
            }
            Self::KillContainerd(at) => kill_containerd(&scene.machines()[at].data()),
            Self::KillAll(at) => {
                kill_containerd(&scene.machines()[at].data());
                scene.machine_mut(at).kill();
                scene.start_again(at);
            }
            Self::KillContainer(at) => kill_one(scene, before, (at, PAGES), &mut struck, Some),
            Self::KillShim(at) => kill_one(scene, before, (at, PAGES), &mut struck, parent_of),
            Self::FillDisk(at) => {
                let begun = Instant::now();
                scene.machines()[at].disk().fill();
                if at == 0 {
                    struck.wrong.extend(until_refused(api).err());
                }
                hold(held.saturating_sub(begun.elapsed()));
                scene.machines()[at].disk().free();
                if at == 0 {
                    struck.wrong.extend(forget_large(api).err());
                }
            }
            Self::TurnClock(at, by) => {
                scene.machines()[at].clock().set(by);
                if at == 0 {
                    struck.wrong.extend(shows(api, by).err());
                }
                hold(held);
                scene.machines()[at].clock().set(0);
            }
            Self::Cut(one, other) => {
                let pair = [one, other].map(|at| scene.machines()[at].host.clone());
                let pair = [&*pair[0], &*pair[1]];
                scene.switch.set_between(pair, false);
                hold(held);
                scene.switch.set_between(pair, true);
            }
            Self::Unplug(at) => {
                let host = scene.machines()[at].host.clone();
                scene.switch.set(&host, false);
                hold(held);
                scene.switch.set(&host, true);
            }
            Self::ServerAway => {
                let begun = Instant::now();
                scene.server.kill();
                kill_one(scene, before, (1, "named"), &mut struck, Some);
                let patience = held.max(Duration::from_secs(20));
                let again = struck.touched.iter().all(|uid| is_up_again(&scene.two, uid, before, patience));
                if !again {
                    struck.wrong.push("a container was not started again without a server".to_owned());
                }
                hold(held.saturating_sub(begun.elapsed()));
                scene.start_again(0);
            }
        }
        struck
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |at: usize| ["one", "two", "three"][at];
        formatter.write_str(self.kind())?;
        match *self {
            Self::KillKedge(at)
            | Self::KillContainerd(at)
            | Self::KillAll(at)
            | Self::KillContainer(at)
            | Self::KillShim(at)
            | Self::FillDisk(at)
            | Self::Unplug(at) => write!(formatter, ", {}", name(at)),
            Self::TurnClock(at, by) => write!(formatter, ", {} by {by} s", name(at)),
            Self::Cut(one, other) => write!(formatter, ", {} and {}", name(one), name(other)),
            Self::ServerAway => Ok(()),
        }
    }
}

/// As long as the fault lasts: there is nothing to wait for.
fn hold(held: Duration) {
    let begun = Instant::now();
    while let Some(left) = held.checked_sub(begun.elapsed()) {
        std::thread::park_timeout(left);
    }
}

/// The log has room for a while: what is written there is made to be much. When nothing more fits, all can still be read.
fn until_refused(api: &Api) -> Result<(), String> {
    let object = |number: usize| {
        let metadata = json!({"name": format!("large-{number}"), "labels": {"by": "fault"}});
        let data = json!({"text": "x".repeat(700_000)});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    };
    let refused = (0..100).find(|number| api.call("POST", LARGE, &object(*number)).is_err());
    if refused.is_none() {
        return Err("a full disk took all that was written".to_owned());
    }
    api.list("/api/v1/nodes").map(drop)
}

/// Takes away what filled the log, as soon as that can be written.
fn forget_large(api: &Api) -> Result<(), String> {
    let at = format!("{LARGE}?labelSelector=by%3Dfault");
    let begun = Instant::now();
    loop {
        match api.call("DELETE", &at, &json!({})) {
            Ok(_) => return Ok(()),
            Err(why) if begun.elapsed() > Duration::from_secs(20) => return Err(why),
            Err(_) => std::thread::park_timeout(Duration::from_millis(50)),
        }
    }
}

/// Whether the server's clock does.
fn shows(api: &Api, by: i64) -> Result<(), String> {
    let review = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dated"}});
    let at = "/api/v1/namespaces/default/configmaps?dryRun=All";
    let made = api.call("POST", at, &review)?;
    let told = made["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
    let shown: jiff::Timestamp = told.parse().map_err(|_| format!("{told} is no time"))?;
    let ahead = shown.as_second() - jiff::Timestamp::now().as_second();
    if (ahead - by).abs() < 30 { Ok(()) } else { Err(format!("the server's clock is ahead by {ahead} s")) }
}

/// Kills something of a pod on a node: what `of` makes of its container's first process.
fn kill_one(
    scene: &Scene,
    before: &Picture,
    (at, app): (usize, &str),
    struck: &mut Struck,
    of: impl Fn(u32) -> Option<u32>,
) {
    let Some((uid, pid)) = before.victim(app, scene.machines()[at].name) else {
        struck.wrong.push(format!("there is no {app} on {}", scene.machines()[at].name));
        return;
    };
    struck.touched.insert(uid);
    if let Some(pid) = of(pid).and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        let _it_may_be_gone = kill_process(pid, Signal::KILL);
    }
}

/// Waits until a pod has its sandbox and a container that was not there before.
fn is_up_again(machine: &Machine, uid: &str, before: &Picture, patience: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        let of_pod = |pid: u32| {
            std::fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|groups| groups.contains(uid))
        };
        let tasks = tasks(&machine.data());
        let own: Vec<&String> = tasks.iter().filter(|(_, (pid, _))| of_pod(*pid)).map(|(id, _)| id).collect();
        if own.len() == 2 && own.iter().any(|id| !before.knows(id)) {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    false
}

/// Of a container's first process it is the shim.
fn parent_of(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent: u32 = text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    name.starts_with("containerd-shim").then_some(parent)
}
