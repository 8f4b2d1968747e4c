//! When something was first seen as it is now, by our own clock: a node's clock may be wrong. It is about the one who
//! looks, so a new process begins anew; all it can do is wait a little longer.

use std::collections::HashMap;
use std::hash::Hash;

use jiff::Timestamp;
use parking_lot::Mutex;

/// Beyond this many, what nobody asked about for longest is forgotten.
const REMEMBERED: usize = 100_000;

#[derive(Debug)]
pub(crate) struct Since<K, S> {
    known: Mutex<HashMap<K, Known<S>>>,
}

#[derive(Debug)]
struct Known<S> {
    state: S,
    since: Timestamp,
    asked: Timestamp,
}

impl<K, S> Default for Since<K, S> {
    fn default() -> Self {
        Self { known: Mutex::default() }
    }
}

impl<K: Eq + Hash + Clone, S: PartialEq> Since<K, S> {
    /// Since when it has been in this state. `first` is taken for what was never seen before, `now` for what has changed.
    pub(crate) fn at(&self, key: &K, state: S, first: Timestamp, now: Timestamp) -> Timestamp {
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED
            && let Some(oldest) = known.values().map(|one| one.asked).min()
        {
            known.retain(|_, one| one.asked > oldest);
        }
        match known.get_mut(key) {
            Some(one) if one.state == state => {
                one.asked = now;
                one.since
            }
            Some(one) => {
                *one = Known { state, since: now, asked: now };
                now
            }
            None => {
                known.insert(key.clone(), Known { state, since: first, asked: now });
                first
            }
        }
    }

    pub(crate) fn forget(&self, key: &K) {
        self.known.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_dated_by_its_first_sight() {
        let moment = |second: i64| Timestamp::from_second(second).unwrap();
        let since = Since::default();
        for (case, key, state, first, now, expected) in [
            ("never seen", "a", 1, 5, 10, 5),
            ("still the same", "a", 1, 20, 20, 5),
            ("changed", "a", 2, 0, 30, 30),
            ("the same again", "a", 2, 0, 40, 30),
            ("back to what it was is a change, too", "a", 1, 0, 50, 50),
            ("another one", "b", 1, 60, 60, 60),
        ] {
            assert_eq!(since.at(&key, state, moment(first), moment(now)), moment(expected), "{case}");
        }
        since.forget(&"a");
        assert_eq!(since.at(&"a", 1, moment(70), moment(70)), moment(70), "forgotten");
    }
}
