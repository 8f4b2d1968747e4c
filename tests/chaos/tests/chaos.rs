//! Three nodes with real containers, hurt in every way that we know of, round after round: processes killed, disks filled, clocks turned, wires
//! cut, the server away. After each round what ran still runs with the same processes, Services answered, sets have their pods, a job was done
//! exactly as often as asked for, nothing is left behind, and every write that was acknowledged is there.
//!
//! By itself one round of each kind. `KEDGE_CHAOS_SECONDS` or `KEDGE_CHAOS_ROUNDS` make it longer: every fault at every node in turn, then at
//! random. `KEDGE_SEED` repeats a run's choices, with `KEDGE_CHAOS_FROM` from that round on. Needs root, `ip`, `nft`, nsenter, cc, kubectl, containerd, runc and a static busybox.
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
#[path = "chaos/evidence.rs"]
mod evidence;
#[path = "chaos/faults.rs"]
mod faults;
#[path = "chaos/figures.rs"]
mod figures;
#[path = "chaos/kills.rs"]
mod kills;
#[path = "chaos/picture.rs"]
mod picture;
#[path = "chaos/rounds.rs"]
mod rounds;
#[path = "chaos/script.rs"]
mod script;
#[path = "chaos/signs.rs"]
mod signs;
#[path = "chaos/workload.rs"]
mod workload;
#[path = "chaos/writer.rs"]
mod writer;

use std::time::{Duration, Instant};

use api::Door;
use callers::Callers;
use figures::Row;
use kedge_fleet::{Outfit, PATIENCE, Scene, Traces, cgroups};
use kedge_shipped::eventually;
use picture::Picture;
use rounds::{Stage, settled};
use script::Length;
use writer::Writer;

/// After so many rounds in which something was wrong nothing more is learned.
const ENOUGH_WRONG: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_fails_the_rest_goes_on() {
    let seed = number("KEDGE_SEED").unwrap_or_else(rand::random);
    let count = |name: &str| number(name).map(|number| usize::try_from(number).unwrap());
    let length = Length {
        from: count("KEDGE_CHAOS_FROM").unwrap_or_default(),
        rounds: count("KEDGE_CHAOS_ROUNDS"),
        time: number("KEDGE_CHAOS_SECONDS").map(Duration::from_secs),
    };
    eprintln!("KEDGE_SEED={seed}");
    let mut stage = begin();

    let (begun, mut rows) = (Instant::now(), Vec::<Row>::new());
    eprintln!("{}", figures::HEAD);
    for round in length.script(seed) {
        if length.is_over(begun) || wrong(&rows).len() >= ENOUGH_WRONG || rows.iter().any(|row| row.is_stuck)
        {
            break;
        }
        let row = stage.round(&round);
        eprintln!("{}", row.line());
        if !row.wrong.is_empty() {
            let kept = evidence::keep(&stage, seed, &row);
            eprintln!("       what there was then, and what everybody said: {}", kept.display());
        }
        rows.push(row);
    }
    let (writes, vain, calls) = (stage.writer.count(), stage.writer.vain(), stage.callers.made());
    eprintln!("\n{}", figures::table(&rows));
    eprintln!(
        "{} rounds in {:.0} s, something wrong in {}; {calls} calls, {writes} writes acknowledged and {vain} tried in vain, KEDGE_SEED={seed}",
        rows.len(),
        begun.elapsed().as_secs_f64(),
        wrong(&rows).len()
    );
    let told: Vec<String> = wrong(&rows).into_iter().map(|row| again(seed, row)).collect();
    assert!(told.is_empty(), "something was wrong:\n{}\n{}", told.join("\n"), stage.scene.logs());
    end(stage);
}

fn wrong(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| !row.wrong.is_empty()).collect()
}

/// What was wrong, and how to see it again.
fn again(seed: u64, row: &Row) -> String {
    let number = row.round.number;
    format!(
        "{}\n       this round alone: make chaos KEDGE_SEED={seed} FROM={number} ROUNDS=1 (or all up to it: KEDGE_SEED={seed} ROUNDS={})",
        row.line(),
        number + 1
    )
}

fn begin() -> Stage {
    let begun = Instant::now();
    let mut scene = Scene::start_with(Outfit { disk: Some(384), clock: true, ..Outfit::default() });
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
