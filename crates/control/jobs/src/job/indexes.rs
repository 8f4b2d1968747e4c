//! Sets of completion indexes as a job's status spells them: `1,3-5,7`.

use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes {
    /// First and last, in order, neither touching nor overlapping.
    ranges: Vec<(usize, usize)>,
}

impl Indexes {
    /// What is at or beyond `end` is left out, and so is what can't be read.
    pub(super) fn parse(text: &str, end: usize) -> Self {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse().ok()?, last.parse::<usize>().ok()?);
            (first < end && first <= last).then(|| (first, last.min(end - 1)))
        };
        Self::of(text.split(',').filter_map(range))
    }

    fn of(ranges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut all: Vec<_> = ranges.into_iter().collect();
        all.sort_unstable();
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (first, last) in all {
            match ranges.last_mut() {
                Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
                _ => ranges.push((first, last)),
            }
        }
        Self { ranges }
    }

    #[must_use]
    pub(super) fn with(&self, more: impl IntoIterator<Item = usize>) -> Self {
        let more = more.into_iter().map(|index| (index, index));
        Self::of(self.ranges.iter().copied().chain(more))
    }

    #[must_use]
    pub(super) fn and(&self, others: &Self) -> Self {
        Self::of(self.ranges.iter().chain(&others.ranges).copied())
    }

    pub(super) fn has(&self, index: usize) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= index);
        after.checked_sub(1).and_then(|at| self.ranges.get(at)).is_some_and(|(_, last)| index <= *last)
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many are in both.
    pub(super) fn shared_with(&self, other: &Self) -> usize {
        let pairs = self.ranges.iter().flat_map(|one| other.ranges.iter().map(move |two| (one, two)));
        pairs.map(|(one, two)| (one.1.min(two.1) + 1).saturating_sub(one.0.max(two.0))).sum()
    }

    /// Those below `end` that are not in it, in order.
    pub(super) fn missing(&self, end: usize) -> impl Iterator<Item = usize> {
        let starts = [0].into_iter().chain(self.ranges.iter().map(|(_, last)| last + 1));
        let ends = self.ranges.iter().map(|(first, _)| *first).chain([end]);
        starts.zip(ends).flat_map(move |(from, to)| from..to.min(end))
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
