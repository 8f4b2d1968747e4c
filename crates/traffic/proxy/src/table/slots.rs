//! Which endpoint has which slot. Whoever stays keeps his, so that one endpoint more or less changes one entry or two.

use std::collections::BTreeSet;

use crate::wanted::Target;

/// As many slots as endpoints, each with one.
pub(super) fn settle(old: &[Target], wanted: &[Target]) -> Vec<Target> {
    let mut missing: BTreeSet<Target> = wanted.iter().copied().collect();
    let mut slots: Vec<Option<Target>> = vec![None; missing.len()];
    let mut homeless = Vec::new();
    for (at, target) in old.iter().enumerate() {
        // Not twice, should the kernel have it twice.
        if missing.remove(target) {
            match slots.get_mut(at) {
                Some(slot) => *slot = Some(*target),
                None => homeless.push(*target),
            }
        }
    }
    let mut rest = homeless.into_iter().chain(missing);
    slots.into_iter().filter_map(|slot| slot.or_else(|| rest.next())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(names: &str) -> Vec<Target> {
        let target = |name: char| Target { address: [10, 0, 0, name as u8].into(), port: 80 };
        names.chars().map(target).collect()
    }

    #[test]
    fn who_stays_keeps_his_slot() {
        for (case, old, wanted, expected) in [
            ("nobody", "", "", ""),
            ("the first", "", "abc", "abc"),
            ("nothing new", "cab", "abc", "cab"),
            ("one more", "cab", "abcd", "cabd"),
            ("the last goes", "abc", "ab", "ab"),
            ("one goes: the last takes his slot", "abcd", "acd", "adc"),
            ("one for another", "abc", "adc", "adc"),
            ("all others", "abc", "xyz", "xyz"),
            ("all go", "abc", "", ""),
            ("twice in the kernel", "aab", "ab", "ab"),
        ] {
            assert_eq!(settle(&targets(old), &targets(wanted)), targets(expected), "{case}");
        }
    }
}
