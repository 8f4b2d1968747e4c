//! One range of addresses in pieces of equal size, and which of them are taken. Knows no node.

use std::collections::BTreeSet;

use kedge_range::{Range, width};

/// The length of a piece's prefix, unless the whole range is smaller.
const PIECE_V4: u8 = 24;
const PIECE_V6: u8 = 64;
/// Of very large ranges only so much is used: two to the power of this.
const MOST: u8 = 16;

pub(super) struct Pool {
    range: Range,
    piece_bits: u8,
    count: u64,
    /// Pieces that are never given away.
    kept: BTreeSet<u64>,
    taken: BTreeSet<u64>,
    /// Where to look first, so that a piece that was given back rests as long as possible.
    next: u64,
}

impl Pool {
    pub(super) fn new(range: Range, kept: &[Range]) -> Self {
        let piece_bits = if range.is_v4() { PIECE_V4 } else { PIECE_V6 }.max(range.bits());
        let count = 1u64 << (piece_bits - range.bits()).min(MOST);
        let mut pool =
            Self { range, piece_bits, count, kept: BTreeSet::new(), taken: BTreeSet::new(), next: 0 };
        pool.kept = kept.iter().flat_map(|range| pool.touched(*range)).collect();
        pool
    }

    /// Forgets what was taken and learns it anew. What is no range, or not of this pool, is nothing of ours.
    pub(super) fn take_only<'p>(&mut self, pieces: impl Iterator<Item = &'p String>) {
        self.taken.clear();
        for range in pieces.filter_map(|piece| piece.parse().ok()) {
            let touched = self.touched(range);
            self.taken.extend(touched);
        }
    }

    pub(super) fn free(&self) -> Option<u64> {
        let is_free = |index: &u64| !self.taken.contains(index) && !self.kept.contains(index);
        (self.next..self.count).chain(0..self.next).find(is_free)
    }

    pub(super) fn take(&mut self, index: u64) -> String {
        self.taken.insert(index);
        self.next = (index + 1) % self.count;
        let piece = self.range.piece(index, self.piece_bits);
        piece.map(|piece| piece.to_string()).unwrap_or_default()
    }

    /// The pieces that have an address in common with a range.
    fn touched(&self, range: Range) -> std::ops::Range<u64> {
        if range.is_v4() != self.range.is_v4() {
            return 0..0;
        }
        let (first, last) = self.range.ends();
        let (from, to) = range.ends();
        if to < first || from > last {
            return 0..0;
        }
        let index = |address: u128| u64::try_from((address - first) >> self.piece_size()).unwrap_or(u64::MAX);
        let end = index(to.min(last)).saturating_add(1).min(self.count);
        index(from.max(first)).min(end)..end
    }

    /// The exponent of how many addresses a piece has.
    fn piece_size(&self) -> u8 {
        width(self.range.first()) - self.piece_bits
    }
}
