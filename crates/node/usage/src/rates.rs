//! How fast a counter grows. Remembers one earlier reading of each, so that a single question can be answered.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// Over less than this, the kernel's own steps are mistaken for a change.
const SHORTEST: SignedDuration = SignedDuration::from_millis(500);
/// A reading that is older makes room for a newer one.
const LONGEST: SignedDuration = SignedDuration::from_secs(15);

/// Per second, and over which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub per_second: u64,
    pub over: SignedDuration,
}

#[derive(Debug, Default)]
pub struct Rates {
    known: HashMap<String, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    base: (u64, Timestamp),
    /// Becomes the base once that is old.
    next: (u64, Timestamp),
    told: Option<Rate>,
}

impl Rates {
    /// Takes a reading. Answers nothing until there are two that are far enough from each other.
    pub fn read(&mut self, name: &str, value: u64, now: Timestamp) -> Option<Rate> {
        let Some(known) = self.known.get_mut(name) else {
            let first = (value, now);
            self.known.insert(name.to_owned(), Known { base: first, next: first, told: None });
            return None;
        };
        if value < known.next.0 {
            // Whatever counted before is gone.
            *known = Known { base: (value, now), next: (value, now), told: None };
            return None;
        }
        let over = now.duration_since(known.base.1);
        if over < SHORTEST {
            return known.told;
        }
        let grown = u128::from(value - known.base.0) * 1_000_000_000 / over.as_nanos().unsigned_abs().max(1);
        known.told = Some(Rate { per_second: u64::try_from(grown).unwrap_or(u64::MAX), over });
        if over >= LONGEST {
            known.base = if now.duration_since(known.next.1) >= SHORTEST { known.next } else { (value, now) };
            known.next = (value, now);
        } else if now.duration_since(known.next.1) >= LONGEST / 2 {
            known.next = (value, now);
        }
        known.told
    }

    /// Forgets what nobody names any more.
    pub fn keep(&mut self, is_known: impl Fn(&str) -> bool) {
        self.known.retain(|name, _| is_known(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_two_readings_and_outlives_a_hasty_third() {
        let mut rates = Rates::default();
        let start: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
        for (case, millis, value, expected) in [
            ("the first", 0, 1_000, None),
            ("at once again", 100, 1_100, None),
            ("after a second", 1_000, 3_000, Some(2_000)),
            ("hasty, so what was said before", 1_010, 3_010, Some(1_990)),
            ("nothing happens", 10_000, 3_010, Some(201)),
            ("the window moves on", 20_000, 3_010, Some(100)),
            ("what was before it is forgotten", 25_000, 3_010, Some(0)),
            ("counting starts anew", 26_000, 5, None),
            ("and goes on", 27_000, 1_005, Some(1_000)),
        ] {
            let now = start + SignedDuration::from_millis(millis);
            assert_eq!(rates.read("c", value, now).map(|rate| rate.per_second), expected, "{case}");
        }
        rates.keep(|_| false);
        assert_eq!(rates.read("c", 2_000, start), None);
    }
}
