//! What an autoscaler did and would have done lately: the past that stabilization and rates are reckoned from. It is lost with
//! the process: who starts anew takes what is there now for what was recommended before.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// Nobody may ask for more of the past.
const LONGEST: SignedDuration = SignedDuration::from_hours(1);

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    /// Every number that was recommended, and when last: that is all that minima and maxima over any window need.
    recommended: BTreeMap<i32, Timestamp>,
    /// By how much the target was scaled, and when.
    changes: Vec<(Timestamp, i32)>,
}

impl History {
    pub(crate) fn is_new(&self) -> bool {
        self.recommended.is_empty()
    }

    pub(crate) fn recommend(&mut self, replicas: i32, now: Timestamp) {
        self.recommended.retain(|_, last| now.duration_since(*last) <= LONGEST);
        self.recommended.insert(replicas, now);
    }

    pub(crate) fn scaled(&mut self, by: i32, now: Timestamp) {
        self.changes.retain(|(at, _)| now.duration_since(*at) <= LONGEST);
        self.changes.push((now, by));
    }

    /// What was recommended within a window.
    pub(crate) fn within(&self, window: SignedDuration, now: Timestamp) -> impl Iterator<Item = i32> {
        let recent = self.recommended.iter().filter(move |(_, last)| now.duration_since(**last) < window);
        recent.map(|(replicas, _)| *replicas)
    }

    /// By how much the target has grown within a period, all in all.
    pub(crate) fn grown(&self, period: SignedDuration, now: Timestamp) -> i32 {
        let recent = self.changes.iter().filter(|(at, _)| now.duration_since(*at) < period);
        recent.map(|(_, by)| by).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_fades() {
        let start: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
        let at = |seconds| start + SignedDuration::from_secs(seconds);
        let mut history = History::default();
        assert!(history.is_new());
        for (seconds, replicas) in [(0, 5), (10, 3), (20, 5), (30, 2)] {
            history.recommend(replicas, at(seconds));
        }
        let within =
            |seconds| -> Vec<i32> { history.within(SignedDuration::from_secs(seconds), at(40)).collect() };
        for (window, expected) in [(0, vec![]), (11, vec![2]), (21, vec![2, 5]), (60, vec![2, 3, 5])] {
            assert_eq!(within(window), expected, "{window} s");
        }
        history.scaled(4, at(0));
        history.scaled(-1, at(30));
        for (period, expected) in [(5, 0), (15, -1), (60, 3)] {
            assert_eq!(history.grown(SignedDuration::from_secs(period), at(40)), expected, "{period} s");
        }
        history.recommend(1, at(7_200));
        assert_eq!(history.recommended.len(), 1);
    }
}
