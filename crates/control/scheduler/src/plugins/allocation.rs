//! How well a pod would use a node's resources, as a number from 0 to 100. Knows amounts only: no node, no pod.

pub const MAX_SCORE: i64 = 100;

/// Of one resource on one node: what there is, what is taken, what would be with the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub weight: i64,
    pub allocatable: i64,
    pub taken: i64,
    pub with_pod: i64,
}

/// What a node is worth by the use of its resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// The emptier the better: pods spread out.
    LeastAllocated,
    /// The fuller the better: pods pack together.
    MostAllocated,
    /// A broken line through the given points.
    RequestedToCapacityRatio(Vec<Point>),
}

/// A point of the line: at this percentage of use, this score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    pub utilization: i64,
    pub score: i64,
}

impl Strategy {
    pub fn score(&self, shares: &[Share]) -> i64 {
        let counted = shares.iter().filter(|share| share.allocatable != 0);
        match self {
            Strategy::LeastAllocated => weighted(counted.map(|share| (share.free_percent(), share.weight))),
            Strategy::MostAllocated => weighted(counted.map(|share| (share.used_percent(), share.weight))),
            Strategy::RequestedToCapacityRatio(line) => {
                // A resource that the line gives nothing for does not pull the others down.
                let scored = counted.map(|share| (on_line(line, share.utilization()), share.weight));
                rounded(scored.filter(|(score, _)| *score > 0))
            }
        }
    }
}

/// How much more evenly the resources would be used with the pod than without: 75 is no difference, 100 a great improvement.
pub fn balance(shares: &[Share]) -> i64 {
    let with = evenness(shares, |share| share.with_pod);
    let without = evenness(shares, |share| share.taken);
    MAX_SCORE / 2 + (MAX_SCORE / 2 + with - without) / 2
}

/// The score at this percentage of use: straight between the points, level outside of them.
pub fn on_line(line: &[Point], utilization: i64) -> i64 {
    let Some(next) = line.iter().position(|point| utilization <= point.utilization) else {
        return line.last().map_or(0, |last| last.score);
    };
    let right = line[next];
    let Some(left) = next.checked_sub(1).map(|before| line[before]) else {
        return right.score;
    };
    left.score
        + (right.score - left.score) * (utilization - left.utilization)
            / (right.utilization - left.utilization)
}

impl Share {
    fn free_percent(&self) -> i64 {
        if self.with_pod > self.allocatable {
            0
        } else {
            percent(self.allocatable - self.with_pod, self.allocatable)
        }
    }

    // Pods that ask for nothing count with a minimum, so that more can be taken than there is.
    fn used_percent(&self) -> i64 {
        percent(self.with_pod.min(self.allocatable), self.allocatable)
    }

    fn utilization(&self) -> i64 {
        if self.with_pod > self.allocatable { 100 } else { percent(self.with_pod, self.allocatable) }
    }
}

/// In 128 bits: a hundred times the bytes of a large node is more than 64 hold.
fn percent(part: i64, whole: i64) -> i64 {
    if whole == 0 {
        return 0;
    }
    i64::try_from(i128::from(part) * i128::from(MAX_SCORE) / i128::from(whole)).unwrap_or(MAX_SCORE)
}

fn weighted(scores: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (sum, weights) = sums(scores);
    if weights == 0 { 0 } else { sum / weights }
}

fn rounded(scores: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (sum, weights) = sums(scores);
    if weights == 0 { 0 } else { (sum as f64 / weights as f64).round() as i64 }
}

fn sums(scores: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
    scores.fold((0, 0), |(sum, weights), (score, weight)| (sum + score * weight, weights + weight))
}

/// 100 less the standard deviation of the used fractions.
fn evenness(shares: &[Share], used: impl Fn(&Share) -> i64) -> i64 {
    let counted = || shares.iter().filter(|share| share.allocatable != 0);
    let fractions = || counted().map(|share| (used(share) as f64 / share.allocatable as f64).min(1.0));
    let number = counted().count() as f64;
    if number < 2.0 {
        return MAX_SCORE;
    }
    let mean = fractions().sum::<f64>() / number;
    let deviation = (fractions().map(|fraction| (fraction - mean).powi(2)).sum::<f64>() / number).sqrt();
    ((1.0 - deviation) * MAX_SCORE as f64) as i64
}

#[cfg(test)]
mod tests;
