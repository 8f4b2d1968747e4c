//! Killed between any two writes, seeing one kind later than the other, and in any order: both sides end up tied once.

use std::collections::BTreeSet;

use super::*;
use crate::testing::{Truth, claim_value, volume_value};
use crate::volumes::Volumes;

/// Everybody gets turns until nothing changes.
fn settle(truth: &mut Truth) {
    for _ in 0..100 {
        let before = truth.clone();
        let world = seen(truth);
        for claim in truth.all::<PersistentVolumeClaim>() {
            claim_turn(truth, &world, &claim, usize::MAX);
        }
        let world = seen(truth);
        for volume in truth.all::<PersistentVolume>() {
            volume_turn(truth, &world, &volume, usize::MAX);
        }
        if before.all::<PersistentVolumeClaim>() == truth.all::<PersistentVolumeClaim>()
            && before.all::<PersistentVolume>() == truth.all::<PersistentVolume>()
        {
            return;
        }
    }
    panic!("it never comes to rest");
}

fn seen(truth: &Truth) -> World {
    let world = World::by_hand();
    truth.show::<PersistentVolumeClaim>(&world);
    truth.show::<PersistentVolume>(&world);
    hold::<StorageClass>(&world, vec![]);
    hold::<Pod>(&world, vec![]);
    world
}

fn claim_turn(truth: &mut Truth, world: &World, claim: &PersistentVolumeClaim, limit: usize) {
    let named = volume_name(claim).and_then(|name| truth.get(&Key::new("", name)));
    let plan = decided(&Claims, claim, world, &named);
    truth.carry_out(&plan, limit);
}

fn volume_turn(truth: &mut Truth, world: &World, volume: &PersistentVolume, limit: usize) {
    let named = fit::claim_key(volume).and_then(|key| truth.get(&key));
    let plan = decided(&Volumes, volume, world, &named);
    truth.carry_out(&plan, limit);
}

/// Who is tied to whom, both sides agreeing.
fn pairs(truth: &Truth) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let volumes = truth.all::<PersistentVolume>();
    for claim in truth.all::<PersistentVolumeClaim>() {
        let phase = claim.status.as_ref().unwrap().phase.clone().unwrap();
        let Some(name) = volume_name(&claim) else {
            assert_eq!(phase, "Pending", "{}", claim.name_any());
            continue;
        };
        let volume = volumes.iter().find(|volume| volume.name_any() == name).unwrap();
        assert_eq!(fit::claim_ref(volume).unwrap().uid, claim.metadata.uid, "{name}");
        assert_eq!((&*phase, fit::phase(volume)), ("Bound", "Bound"), "{name}");
        pairs.push((claim.name_any(), name.to_owned()));
    }
    let bound = volumes.iter().filter(|volume| fit::phase(volume) == "Bound").count();
    assert_eq!(bound, pairs.len(), "no volume is bound to nobody");
    pairs
}

#[test]
fn whoever_comes_after_finishes_what_was_begun() {
    let start = Truth::of([volume_value("v", "1Gi", |_| {}), claim_value("c", "1Gi", |_| {})]);
    let reserved = Truth::of([
        volume_value("v", "1Gi", |volume| {
            volume["spec"]["claimRef"] = json!({"namespace": "n", "name": "c"})
        }),
        claim_value("c", "1Gi", |claim| claim["spec"]["volumeName"] = "v".into()),
    ]);
    for start in [start, reserved] {
        let mut undisturbed = start.clone();
        settle(&mut undisturbed);
        for writes in 0..=4 {
            let mut truth = start.clone();
            let claim = truth.all::<PersistentVolumeClaim>().remove(0);
            let world = seen(&truth);
            claim_turn(&mut truth, &world, &claim, writes);
            settle(&mut truth);
            assert_eq!(pairs(&truth), [("c".to_owned(), "v".to_owned())], "after {writes} writes");
            let meta = |truth: &Truth| {
                let claim = truth.all::<PersistentVolumeClaim>().remove(0);
                let volume = truth.all::<PersistentVolume>().remove(0);
                (claim.metadata.annotations, claim.spec, volume.metadata.annotations)
            };
            assert_eq!(meta(&truth), meta(&undisturbed), "after {writes} writes");
        }
    }
}

#[test]
fn a_claim_that_goes_in_the_middle_leaves_a_volume_behind_or_untouched() {
    for writes in 0..=4 {
        let mut truth = Truth::of([volume_value("v", "1Gi", |_| {}), claim_value("c", "1Gi", |_| {})]);
        let claim = truth.all::<PersistentVolumeClaim>().remove(0);
        let world = seen(&truth);
        claim_turn(&mut truth, &world, &claim, writes);
        truth.remove("PersistentVolumeClaim", &Key::new("n", "c"));
        settle(&mut truth);
        let volume = truth.all::<PersistentVolume>().remove(0);
        let expected = if writes == 0 { "Available" } else { "Released" };
        assert_eq!(fit::phase(&volume), expected, "after {writes} writes");
    }
}

#[test]
fn no_order_and_no_delay_ties_anything_twice() {
    for seed in 0..300_u64 {
        let mut random = Random(seed);
        let volumes = (0..5).map(|at| volume_value(&format!("v{at}"), &format!("{}Gi", at + 1), |_| {}));
        let claims = (0..6).map(|at| claim_value(&format!("c{at}"), &format!("{}Gi", at % 4 + 1), |_| {}));
        let mut truth = Truth::of(volumes.chain(claims));
        let world = seen(&truth);
        for _ in 0..60 {
            match random.below(6) {
                // The two kinds are heard of at different times.
                0 => truth.show::<PersistentVolume>(&world),
                1 => truth.show::<PersistentVolumeClaim>(&world),
                2 | 3 => {
                    let known = world.cache::<PersistentVolumeClaim>().unwrap().all();
                    let claim = known[random.below(known.len())].clone();
                    claim_turn(&mut truth, &world, &claim, random.below(5));
                }
                4 => {
                    let known = world.cache::<PersistentVolume>().unwrap().all();
                    let volume = known[random.below(known.len())].clone();
                    volume_turn(&mut truth, &world, &volume, random.below(3));
                }
                _ if random.below(10) == 0 => {
                    let name = format!("c{}", random.below(6));
                    if truth.all::<PersistentVolumeClaim>().len() > 4 {
                        truth.remove("PersistentVolumeClaim", &Key::new("n", name));
                    }
                }
                _ => {}
            }
        }
        settle(&mut truth);
        let pairs = pairs(&truth);
        let used: BTreeSet<_> = pairs.iter().map(|(_, volume)| volume).collect();
        assert_eq!(used.len(), pairs.len(), "seed {seed}");
        let free = truth.all::<PersistentVolume>();
        let free: Vec<_> = free.iter().filter(|volume| fit::phase(volume) == "Available").collect();
        for claim in truth.all::<PersistentVolumeClaim>() {
            if volume_name(&claim).is_none() {
                let fits = free.iter().any(|volume| fit::misfit(volume, &claim).is_none());
                assert!(!fits, "seed {seed}: {} waits beside a free volume", claim.name_any());
            }
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}
