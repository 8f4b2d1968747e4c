//! Which of the free CPUs somebody gets: those that are near each other, and so that others can still be given such. Pure.

use super::set::CpuSet;
use super::topology::Topology;

/// Whole packages first, then whole cores, then the CPUs of cores that are broken up already. Within each, those are taken
/// first of whose package the least is left. None if there are too few.
pub(super) fn choose(topology: &Topology, free: &CpuSet, count: usize) -> Option<CpuSet> {
    if free.len() < count {
        return None;
    }
    let mut chosen = CpuSet::default();
    let (packages, cores) = (topology.packages(), topology.cores());
    for whole in [&packages, &cores] {
        loop {
            let left = free.without(&chosen);
            let missing = count - chosen.len();
            let fitting =
                whole.iter().filter(|group| group.len() <= missing && group.without(&left).is_empty());
            // Larger ones first; of equal ones, where the least is left.
            let best = fitting.min_by_key(|group| (usize::MAX - group.len(), near(&packages, &left, group)));
            match best {
                Some(group) if !group.is_empty() => chosen = chosen.with(group),
                _ => break,
            }
        }
    }
    while chosen.len() < count {
        let (left, missing) = (free.without(&chosen), count - chosen.len());
        let one = left.iter().min_by_key(|cpu| {
            let alone = CpuSet::from_iter([*cpu]);
            let beside = near(&packages, &left, &alone);
            (near(&cores, &left, &alone), beside < missing, beside, *cpu)
        })?;
        chosen = chosen.with(&CpuSet::from_iter([one]));
    }
    Some(chosen)
}

/// How many are left of the groups that this one is in.
fn near(groups: &[CpuSet], left: &CpuSet, group: &CpuSet) -> usize {
    let of = groups.iter().filter(|other| !other.common(group).is_empty());
    of.map(|other| other.common(left).len()).sum()
}
