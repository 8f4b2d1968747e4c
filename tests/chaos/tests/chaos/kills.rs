//! Kills processes, and keeps whom it hurt. Knows nothing of what must hold afterwards.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kedge_fleet::{Machine, Scene, kill_containerd, tasks};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};

use crate::picture::{Picture, Victim};

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Struck {
    /// Pods that have to be restarted once; nobody else may be.
    pub(crate) touched: BTreeSet<String>,
    /// What was seen meanwhile and should not have been.
    pub(crate) wrong: Vec<String>,
}

impl Struck {
    /// A round that hurts nobody proves nothing.
    pub(crate) fn killed(&mut self, what: &str, was: bool) {
        if !was {
            self.wrong.push(format!("there was no {what} to kill"));
        }
    }
}

/// As long as the fault lasts: there is nothing to wait for.
pub(crate) fn hold(held: Duration) {
    let begun = Instant::now();
    while let Some(left) = held.checked_sub(begun.elapsed()) {
        std::thread::park_timeout(left);
    }
}

pub(crate) fn storm(scene: &mut Scene, number: u64) {
    let mut random = StdRng::seed_from_u64(number);
    for _ in 0..random.random_range(3..=6) {
        hold(Duration::from_millis(random.random_range(0..2500)));
        let at = random.random_range(0..3);
        if random.random_bool(0.6) {
            scene.machine_mut(at).kill();
            scene.start_again(at);
        } else {
            let _it_may_be_down_from_the_last_time = kill_containerd(&scene.machines()[at].data());
        }
    }
}

/// Kills a process of a pod on a node.
pub(crate) fn kill_one(
    scene: &Scene,
    before: &Picture,
    (at, app): (usize, &str),
    struck: &mut Struck,
    of: impl Fn(&Victim) -> Option<u32>,
) {
    let Some(victim) = before.victim(app, scene.machines()[at].name) else {
        struck.wrong.push(format!("there is no {app} on {}", scene.machines()[at].name));
        return;
    };
    let pid = of(&victim).and_then(|pid| Pid::from_raw(pid.cast_signed()));
    struck.killed("process of a pod", pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok()));
    struck.touched.insert(victim.uid);
}

/// Waits until a pod has its sandbox and a container that was not there before.
pub(crate) fn is_up_again(machine: &Machine, uid: &str, before: &Picture, patience: Duration) -> bool {
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
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent: u32 = text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    name.starts_with("containerd-shim").then_some(parent)
}
