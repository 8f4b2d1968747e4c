//! The one global counter that orders every write. Refuses to be anything but a number: no clock, no epoch.

use std::fmt;
use std::str::FromStr;

/// The position of a write in the history of the whole store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

/// What was read is not a decimal revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a revision: expected a decimal number")]
pub struct BadRevision {
    pub text: String,
}

impl Revision {
    /// Before the first write.
    pub const ZERO: Revision = Revision(0);

    pub const fn new(number: u64) -> Self {
        Revision(number)
    }

    pub const fn get(self) -> u64 {
        self.0
    }

    pub const fn next(self) -> Self {
        Revision(self.0 + 1)
    }

    pub(crate) const fn before(self) -> Self {
        Revision(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for Revision {
    type Err = BadRevision;

    fn from_str(text: &str) -> Result<Self, BadRevision> {
        // `u64::from_str` takes a leading plus sign; a revision on the wire never has one.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadRevision { text: text.to_owned() });
        }
        text.parse().map(Revision).map_err(|_| BadRevision { text: text.to_owned() })
    }
}
