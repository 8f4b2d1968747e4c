//! Three nodes with real containers, hurt in every way that we know of, round after round: processes killed, disks filled, clocks turned, wires
//! cut, the server away. After each round what ran still runs with the same processes, Services answered, sets have their pods, a job was done
//! exactly as often as asked for, nothing is left behind, and every write that was acknowledged is there.
//!
//! By itself one round of each kind. `KEDGE_CHAOS_SECONDS` or `KEDGE_CHAOS_ROUNDS` make it longer: every fault at every node in turn, then at
//! random. `KEDGE_SEED` repeats a run's choices. Needs root, `ip`, `nft`, nsenter, cc, kubectl, containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests end where something is wrong"
)]

#[path = "chaos/api.rs"]
mod api;
#[path = "chaos/callers.rs"]
mod callers;
#[path = "chaos/faults.rs"]
mod faults;
#[path = "chaos/figures.rs"]
mod figures;
#[path = "chaos/picture.rs"]
mod picture;
#[path = "chaos/rounds.rs"]
mod rounds;
#[path = "chaos/workload.rs"]
mod workload;
#[path = "chaos/writer.rs"]
mod writer;

use std::time::{Duration, Instant};

use api::Door;
use callers::Callers;
use faults::Fault;
use kedge_fleet::{Outfit, PATIENCE, Scene, Traces, cgroups};
use kedge_shipped::eventually;
use picture::Picture;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rounds::{Stage, settled};
use writer::Writer;

/// After so many rounds in which something was wrong nothing more is learned.
const ENOUGH_WRONG: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How long a run goes on.
struct Length {
    rounds: Option<u64>,
    seconds: Option<u64>,
}

impl Length {
    fn is_long(&self) -> bool {
        self.rounds.is_some() || self.seconds.is_some()
    }

    fn has(&self, round: usize, begun: Instant) -> bool {
        self.rounds.is_none_or(|rounds| (round as u64) < rounds)
            && self.seconds.is_none_or(|seconds| begun.elapsed().as_secs() < seconds)
    }

    /// Faults that last take so long. A node may be silent for 20 s before it counts as lost: a long run goes beyond.
    fn held(&self, fault: Fault, random: &mut StdRng) -> Duration {
        let (short, long) = match fault {
            Fault::FillDisk(_) | Fault::TurnClock(..) => (4, 6..12),
            Fault::Cut(..) => (4, 5..30),
            Fault::Unplug(_) => (4, 5..40),
            Fault::ServerAway => (6, 60..180),
            _ => return Duration::ZERO,
        };
        Duration::from_secs(if self.is_long() { random.random_range(long) } else { short })
    }
}

#[test]
fn whatever_fails_the_rest_goes_on() {
    let seed = number("KEDGE_SEED").unwrap_or_else(rand::random);
    let length = Length { rounds: number("KEDGE_CHAOS_ROUNDS"), seconds: number("KEDGE_CHAOS_SECONDS") };
    eprintln!("KEDGE_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut stage = begin();

    let (begun, mut rows) = (Instant::now(), Vec::new());
    let in_turn = if length.is_long() { Fault::all() } else { Fault::some() };
    eprintln!("{}", figures::HEAD);
    for round in 0.. {
        let more = if length.is_long() { length.has(round, begun) } else { round < in_turn.len() };
        let wrong = rows.iter().filter(|row: &&figures::Row| !row.wrong.is_empty()).count();
        if !more || wrong >= ENOUGH_WRONG {
            break;
        }
        let fault = match in_turn.get(round) {
            Some(fault) => *fault,
            None => in_turn[random.random_range(0..in_turn.len())],
        };
        let held = length.held(fault, &mut random);
        let pause = Duration::from_millis(random.random_range(0..1500));
        let row = stage.round(round, fault, held, pause);
        eprintln!("{}", row.line());
        rows.push(row);
    }
    let (writes, vain, calls) = (stage.writer.count(), stage.writer.vain(), stage.callers.made());
    eprintln!("\n{}", figures::table(&rows));
    eprintln!(
        "{} rounds in {:.0} s, {calls} calls, {writes} writes acknowledged and {vain} tried in vain, KEDGE_SEED={seed}",
        rows.len(),
        begun.elapsed().as_secs_f64()
    );
    let wrong: Vec<String> =
        rows.iter().filter(|row| !row.wrong.is_empty()).map(figures::Row::line).collect();
    assert!(
        wrong.is_empty(),
        "something was wrong (KEDGE_SEED={seed}):\n{}\n{}",
        wrong.join("\n"),
        stage.scene.logs()
    );
    end(stage);
}

fn begin() -> Stage {
    let begun = Instant::now();
    let mut scene = Scene::start_with(Outfit { disk: Some(384), clock: true });
    scene.join();
    kedge_fleet::enter(&scene.switch.file());
    let door = Door::of(&scene);
    let api = door.open();
    workload::begin(&api);
    eventually("everything runs", Duration::from_secs(90), || {
        let untrue = workload::untrue(&api)?;
        if untrue.is_empty() { Ok(()) } else { Err(untrue.join("\n")) }
    });
    let service = workload::service(&api).parse().unwrap();
    let callers = Callers::start(workload::networks(&api, &scene), service);
    let network = scene.switch.file();
    let writer = Writer::start(door, move || kedge_fleet::enter(&network));
    eventually("the Service answers everybody", PATIENCE, || match callers.shortest_streak() {
        20.. => Ok(()),
        streak => Err(format!("{streak} calls in a row went well: {:?}", callers.failed().first())),
    });
    let _before_all_knew_it = callers.failed();
    eprintln!("three nodes and what runs on them after {:.1} s", begun.elapsed().as_secs_f64());
    Stage { scene, api, callers, writer }
}

/// Everything goes, and nothing is left of it.
fn end(stage: Stage) {
    let Stage { mut scene, api, callers, writer } = stage;
    drop(callers);
    drop(writer);
    workload::end(&api).unwrap();
    settled(|| {
        let now = Picture::take(&api, &scene)?;
        if !now.is_empty() {
            return Err(format!("{now:?}"));
        }
        let leaks = now.leaks(&api, &scene);
        if leaks.is_empty() { Ok(()) } else { Err(leaks.join("\n")) }
    })
    .unwrap();
    let groups = scene.machines().map(|machine| cgroups(&machine.data()));
    for at in 0..3 {
        scene.machine_mut(at).stop();
    }
    for ((machine, before), groups) in scene.machines().into_iter().zip(&scene.before).zip(groups) {
        kedge_fleet::told(machine.kedge(&["uninstall"]).output().unwrap()).unwrap();
        eventually(&format!("{} is as it was before", machine.name), PATIENCE, || {
            let now = Traces::of(&machine.host, &machine.data());
            let left: Vec<_> = groups.iter().filter(|folder| folder.exists()).collect();
            match now == *before && left.is_empty() {
                true => Ok(()),
                false => Err(format!("{now:#?} and {left:?}, but was {before:#?}")),
            }
        });
    }
}
