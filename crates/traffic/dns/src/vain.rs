//! Remembers for a moment who asked in vain for which Service, so that a client that repeats a wrong name costs the API one question a
//! moment. By asker: nobody's first question is answered by what another was told before the Service was made.

use std::collections::HashMap;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use kedge_client::Key;
use parking_lot::Mutex;

const MOMENT: SignedDuration = SignedDuration::from_secs(1);
/// More than this nobody needs to remember; who is not remembered asks again.
const MOST: usize = 4096;

#[derive(Default)]
pub(crate) struct Vain {
    /// Until when it is believed.
    told: Mutex<HashMap<(IpAddr, Key), Timestamp>>,
}

impl Vain {
    pub(crate) fn note(&self, from: IpAddr, key: Key, now: Timestamp) {
        let mut told = self.told.lock();
        if told.len() >= MOST {
            told.retain(|_, until| *until > now);
        }
        if told.len() < MOST {
            told.insert((from, key), now.saturating_add(MOMENT).unwrap_or(now));
        }
    }

    pub(crate) fn knows(&self, from: IpAddr, key: &Key, now: Timestamp) -> bool {
        let told = self.told.lock();
        // Mostly there is nothing, and then nothing has to be compared.
        !told.is_empty() && told.get(&(from, key.clone())).is_some_and(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
        let vain = Vain::default();
        let from: IpAddr = [10, 244, 0, 9].into();
        let key = |number: usize| Key::new("shop", format!("s{number}"));
        let later = |ms| Timestamp::UNIX_EPOCH + SignedDuration::from_millis(ms);
        (0..=MOST).for_each(|number| vain.note(from, key(number), later(0)));
        assert!(vain.knows(from, &key(0), later(999)) && !vain.knows(from, &key(0), later(1000)));
        assert!(!vain.knows(from, &key(MOST), later(1)), "there was no room");
        assert!(!vain.knows([10, 244, 0, 10].into(), &key(0), later(1)), "another asks for the first time");
        vain.note(from, key(MOST), later(1000));
        assert!(vain.knows(from, &key(MOST), later(1001)) && vain.told.lock().len() == 1);
    }
}
