//! What can go wrong, how it is brought about and mended, and what it excuses. Everything that is not excused must not be seen.

use std::fmt;
use std::time::{Duration, Instant};

use kedge_fleet::{Scene, kill_containerd, reaches};

use crate::api::Api;
use crate::kills::{Struck, hold, is_up_again, kill_one, parent_of, storm};
use crate::picture::Picture;
use crate::signs;

/// Who answers calls.
const PAGES: &str = "web";
/// After so long a node that nobody hears is sent no more calls: its grace period, and what it takes to judge and to tell everybody.
const KNOWN_TO_BE_SILENT: Duration = Duration::from_secs(30);

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
    /// What holds a pod's namespaces; its containers are started again with a new one.
    KillSandbox(usize),
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
    /// Of a node its agent, and with the first the server, does nothing for a while, and keeps all that it has open.
    Freeze(usize),
    /// Meanwhile a container that nobody calls dies on another node.
    ServerAway,
    /// One kill after the other, of kedge or containerd, wherever and whenever this number says: also of what has only begun to start.
    Storm(u64),
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
            .chain(each(Self::KillSandbox))
            .chain(each(Self::KillShim))
            .chain(each(Self::FillDisk))
            .chain(clocks)
            .chain([(0, 1), (0, 2), (1, 2)].map(|(one, other)| Self::Cut(one, other)))
            .chain(each(Self::Unplug))
            .chain([Self::Freeze(0), Self::Freeze(1), Self::ServerAway])
            .collect()
    }

    /// One of most kinds, each where it costs little; being unplugged, standing still and storms take longer.
    pub(crate) fn some() -> Vec<Self> {
        vec![
            Self::KillKedge(0),
            Self::KillKedge(1),
            Self::KillContainerd(2),
            Self::KillAll(0),
            Self::KillContainer(1),
            Self::KillSandbox(0),
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

    /// How many pods of a job may fail by it: none of them is aimed at, but one that begins where there is no room fails to.
    pub(crate) fn fails(self) -> u64 {
        match self {
            Self::FillDisk(_) => 10,
            _ => 0,
        }
    }

    /// Under what it is counted.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::KillKedge(0) => "kill -9 server",
            Self::KillKedge(_) => "kill -9 agent",
            Self::KillContainerd(_) => "kill -9 containerd",
            Self::KillAll(_) => "kill -9 kedge and containerd",
            Self::KillContainer(_) => "kill -9 container",
            Self::KillSandbox(_) => "kill -9 sandbox",
            Self::KillShim(_) => "kill -9 shim",
            Self::FillDisk(0) => "server's disk full",
            Self::FillDisk(_) => "node's disk full",
            Self::TurnClock(0, _) => "server's clock jumps",
            Self::TurnClock(..) => "node's clock jumps",
            Self::Cut(..) => "two nodes cut apart",
            Self::Unplug(_) => "node unplugged",
            Self::Freeze(0) => "server frozen",
            Self::Freeze(_) => "agent frozen",
            Self::ServerAway => "API server away",
            Self::Storm(_) => "kill -9 at random",
        }
    }

    /// Whether a call from this node may fail that was made so long after it happened, until all is well again: where what answers is killed,
    /// or cannot be reached and is not yet known to be.
    pub(crate) fn excuses(self, caller: usize, after: Duration, held: Duration) -> bool {
        match self {
            Self::KillContainer(_) | Self::KillSandbox(_) | Self::KillShim(_) => true,
            Self::Cut(one, other) => caller == one || caller == other,
            // With the first goes whoever could tell the others.
            Self::Unplug(at) => at == 0 || at == caller || after < KNOWN_TO_BE_SILENT || after >= held,
            Self::KillKedge(_)
            | Self::KillContainerd(_)
            | Self::KillAll(_)
            | Self::FillDisk(_)
            | Self::TurnClock(..)
            | Self::Freeze(_)
            | Self::ServerAway
            | Self::Storm(_) => false,
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
            Self::KillContainerd(at) => {
                struck.killed("containerd", kill_containerd(&scene.machines()[at].data()))
            }
            Self::KillAll(at) => {
                struck.killed("containerd", kill_containerd(&scene.machines()[at].data()));
                scene.machine_mut(at).kill();
                scene.start_again(at);
            }
            Self::KillContainer(at) => {
                kill_one(scene, before, (at, PAGES), &mut struck, |victim| Some(victim.container));
            }
            Self::KillSandbox(at) => {
                kill_one(scene, before, (at, PAGES), &mut struck, |victim| victim.sandbox)
            }
            Self::KillShim(at) => {
                kill_one(scene, before, (at, PAGES), &mut struck, |victim| parent_of(victim.container));
            }
            Self::FillDisk(at) => {
                let begun = Instant::now();
                scene.machines()[at].disk().fill();
                if at == 0 {
                    struck.wrong.extend(signs::until_refused(api).err());
                }
                hold(held.saturating_sub(begun.elapsed()));
                scene.machines()[at].disk().free();
                if at == 0 {
                    struck.wrong.extend(signs::forget_large(api).err());
                }
            }
            Self::TurnClock(at, by) => {
                let begun = Instant::now();
                scene.machines()[at].clock().set(by);
                struck.wrong.extend(match at {
                    0 => signs::server_is_ahead(api, by).err(),
                    _ => signs::node_is_ahead(api, scene.machines()[at].name, by).err(),
                });
                hold(held.saturating_sub(begun.elapsed()));
                scene.machines()[at].clock().set(0);
            }
            Self::Cut(one, other) => {
                let pair = [one, other].map(|at| scene.machines()[at].host.clone());
                let pair = [&*pair[0], &*pair[1]];
                let begun = Instant::now();
                scene.switch.set_between(pair, false);
                if reaches(&scene.machines()[one].network(), scene.machines()[other].door()) {
                    struck.wrong.push(format!("{} is cut from {} and still reaches it", pair[0], pair[1]));
                }
                hold(held.saturating_sub(begun.elapsed()));
                scene.switch.set_between(pair, true);
            }
            Self::Unplug(at) => {
                let host = scene.machines()[at].host.clone();
                let begun = Instant::now();
                scene.switch.set(&host, false);
                if reaches(&scene.switch.file(), scene.machines()[at].door()) {
                    struck.wrong.push(format!("{host} is unplugged and still reached"));
                }
                hold(held.saturating_sub(begun.elapsed()));
                scene.switch.set(&host, true);
            }
            Self::Freeze(at) => {
                let begun = Instant::now();
                let machine = scene.machines()[at];
                machine.freeze();
                if api.text(&format!("/api/v1/nodes/{}/proxy/healthz", machine.name)).is_ok() {
                    struck.wrong.push(format!("{} is frozen and answers", machine.name));
                }
                hold(held.saturating_sub(begun.elapsed()));
                machine.thaw();
            }
            Self::Storm(number) => storm(scene, number),
            Self::ServerAway => {
                let begun = Instant::now();
                scene.server.kill();
                kill_one(scene, before, (1, "named"), &mut struck, |victim| Some(victim.container));
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
            | Self::KillSandbox(at)
            | Self::KillShim(at)
            | Self::FillDisk(at)
            | Self::Freeze(at)
            | Self::Unplug(at) => write!(formatter, ", {}", name(at)),
            Self::TurnClock(at, by) => write!(formatter, ", {} by {by} s", name(at)),
            Self::Cut(one, other) => write!(formatter, ", {} and {}", name(one), name(other)),
            Self::ServerAway | Self::Storm(_) => Ok(()),
        }
    }
}
