//! The server with its node and its containerd are killed at random moments while pods come, go and crash. Whatever runs keeps
//! its processes, and when it is over nothing was restarted, made twice or left behind. `KEDGE_KILLS` says how often, and
//! `KEDGE_SEED` repeats a run. Needs root, containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests end where something is wrong"
)]

#[path = "failstatic/load.rs"]
mod load;
#[path = "failstatic/machine.rs"]
mod machine;

use std::time::{Duration, Instant};

use kedge_fleet::{Expected, Remains};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::load::Load;
use crate::machine::Machine;

/// Enough to meet most moments of a start; a hundred by hand.
const KILLS: u32 = 10;

const NOTHING: Expected = Expected { pods: 0, containers: 0, networked: 0 };

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_runs_on() {
    let seed = number("KEDGE_SEED").unwrap_or_else(rand::random);
    let kills = number("KEDGE_KILLS").map_or(KILLS, |kills| u32::try_from(kills).unwrap());
    eprintln!("{kills} kills with KEDGE_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut machine = Machine::start().await;
    load::steady(&machine).await;
    let before = Remains::of(&machine.data(), None).await;
    assert_eq!(before.problems(load::EXPECTED), Vec::<String>::new(), "before anything was killed");

    let load = Load::begin(&machine, seed);
    let begun = Instant::now();
    for kill in 0..kills {
        tokio::time::sleep(Duration::from_millis(random.random_range(20..1500))).await;
        let (server, containerd) =
            [(true, false), (true, false), (false, true), (true, true)][random.random_range(0..4)];
        eprintln!(
            "{:>6} ms: kill {kill}: server {server}, containerd {containerd}",
            begun.elapsed().as_millis()
        );
        if containerd {
            machine.kill_containerd();
        }
        if server {
            machine.kill_server();
            tokio::time::sleep(Duration::from_millis(random.random_range(0..300))).await;
            machine.start_server();
        }
        // At no moment may anything be gone that ran before.
        assert_eq!(before.missing(), Vec::<String>::new(), "after kill {kill}");
    }
    machine.until_ready().await;
    let made = load.end().await;
    eprintln!("{:>6} ms: {made} pods came and went", begun.elapsed().as_millis());
    load::remove_all_but_steady(&machine).await;

    // Nothing was restarted: the same containers with the same processes.
    let after = machine.eventually("only what should be is there", async || {
        let after = Remains::of(&machine.data(), None).await;
        let problems = after.problems(load::EXPECTED);
        if problems.is_empty() { Ok(after) } else { Err(format!("{problems:#?}")) }
    });
    let after = after.await;
    assert_eq!(after.containers, before.containers, "containers were made anew");
    assert_eq!(after.processes, before.processes, "processes were started anew");
    assert_eq!(load::restarts(&machine).await, 0, "something was restarted");

    machine
        .eventually("there is one containerd", async || {
            let all = kedge_shipped::processes_of(&machine.data().join("containerd/config.toml"));
            if all.len() == 1 { Ok(()) } else { Err(format!("{all:?}")) }
        })
        .await;

    load::remove_steady(&machine).await;
    machine
        .eventually("nothing is left", async || {
            let problems = Remains::of(&machine.data(), None).await.problems(NOTHING);
            if problems.is_empty() { Ok(()) } else { Err(format!("{problems:#?}")) }
        })
        .await;
}
