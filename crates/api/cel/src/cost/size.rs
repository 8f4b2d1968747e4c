//! Ranges of sizes and costs, and their arithmetic: nothing overflows, everything stops at the largest number.

use super::CostRange;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Size = Size { min: 0, max: u64::MAX };

    pub(super) fn exactly(size: u64) -> Self {
        Size { min: size, max: size }
    }

    pub(super) fn at_most(max: u64) -> Self {
        Size { min: 0, max }
    }

    pub(super) fn plus(self, other: Size) -> Self {
        Size { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Size) -> Self {
        Size { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn union(self, other: Size) -> Self {
        Size { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub(super) fn times_cost(self, cost: CostRange) -> CostRange {
        CostRange { min: self.min.saturating_mul(cost.min), max: self.max.saturating_mul(cost.max) }
    }

    /// The cost of walking through it, at so much for each element.
    pub(super) fn factor(self, each: f64) -> CostRange {
        CostRange { min: scaled(self.min, each), max: scaled(self.max, each) }
    }
}

impl CostRange {
    pub(super) const FREE: CostRange = CostRange { min: 0, max: 0 };

    pub(super) fn exactly(cost: u64) -> Self {
        CostRange { min: cost, max: cost }
    }

    pub(super) fn plus(self, other: CostRange) -> Self {
        CostRange { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: CostRange) -> Self {
        CostRange { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn union(self, other: CostRange) -> Self {
        CostRange { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub(super) fn factor(self, each: f64) -> Self {
        CostRange { min: scaled(self.min, each), max: scaled(self.max, each) }
    }
}

/// Rounded up.
fn scaled(size: u64, each: f64) -> u64 {
    // Converting from a float stops at the ends of the range.
    (size as f64 * each).ceil() as u64
}
