//! The histories that every change has to survive. `KEDGE_SEED=7` plays one of them and prints it; `KEDGE_SEEDS=0..5000` plays
//! others than the usual ones.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests end where something is wrong, and say what"
)]

use std::ops::Range;

const SEEDS: u64 = 1_000;
/// Several tests, so that they share the cores.
const PARTS: u64 = 10;

fn all() -> Range<u64> {
    let Some(asked) = std::env::var("KEDGE_SEEDS").ok() else { return 0..SEEDS };
    let (from, to) = asked.split_once("..").expect("KEDGE_SEEDS is like 0..5000");
    from.parse().expect("a number")..to.parse().expect("a number")
}

fn part(part: u64) {
    let mut failed = Vec::new();
    let seeds = all().filter(|seed| seed % PARTS == part);
    for seed in seeds {
        if let Err(failure) = kedge_simulation::play(seed) {
            failed.push(seed);
            if failed.len() == 1 {
                println!("{failure}");
            }
        }
    }
    assert!(failed.is_empty(), "these seeds did not end well: {failed:?}; the first of them is above");
}

macro_rules! parts {
    ($($name:ident $part:literal)*) => {
        $(#[test]
        fn $name() {
            part($part);
        })*
    };
}

parts! {
    histories_end_well_0 0
    histories_end_well_1 1
    histories_end_well_2 2
    histories_end_well_3 3
    histories_end_well_4 4
    histories_end_well_5 5
    histories_end_well_6 6
    histories_end_well_7 7
    histories_end_well_8 8
    histories_end_well_9 9
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in [1, 2, 7, 10, 37] {
        let history = |seed| match kedge_simulation::play(seed) {
            Ok(history) => history,
            Err(failure) => failure.history,
        };
        let (one, other) = (history(seed), history(seed));
        for (at, (one, other)) in one.lines().iter().zip(other.lines()).enumerate() {
            assert_eq!(one, other, "seed {seed} differs in line {at}");
        }
        assert_eq!(one.lines().len(), other.lines().len());
    }
}

#[test]
fn one_seed() {
    let Some(seed) = std::env::var("KEDGE_SEED").ok() else { return };
    match kedge_simulation::play(seed.parse().expect("a number")) {
        Ok(history) => println!("{history}"),
        Err(failure) => panic!("{failure}"),
    }
}
