//! Values that must not stand in the clear where they last. The store asks for it by key and knows neither the cipher nor why;
//! in memory everything is as it was written.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::Damage;

/// Turns values into what stands on the disk, and back. A sealed value is bound to its key: under another it does not open.
pub trait Seal: Send + Sync {
    /// Of what it seals with today; another name is another key.
    fn name(&self) -> &str;

    fn concerns(&self, key: &str) -> bool;

    /// None if it cannot be sealed; then it is not written.
    fn seal(&self, key: &str, value: &[u8]) -> Option<Vec<u8>>;

    fn open(&self, key: &str, sealed: &[u8]) -> Result<Vec<u8>, Unopened>;

    /// Whether it opens still and would be sealed otherwise today.
    fn is_old(&self, sealed: &[u8]) -> bool;
}

/// Why a sealed value stays shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unopened {
    /// It was sealed with a key that is not here.
    NoKey,
    /// It was changed, or stands under a key that it was not sealed for.
    Changed,
}

/// The seal that a store was given, or none.
#[derive(Clone, Default)]
pub(crate) struct Sealer(Option<Arc<dyn Seal>>);

impl Sealer {
    pub(crate) fn new(seal: Option<Arc<dyn Seal>>) -> Self {
        Self(seal)
    }

    /// The sealed value; `Ok(None)` if it stands in the clear. The error: it cannot be sealed.
    pub(crate) fn seal(&self, key: &str, value: &[u8]) -> Result<Option<Vec<u8>>, ()> {
        match self.0.as_ref().filter(|seal| seal.concerns(key)) {
            Some(seal) => seal.seal(key, value).map(Some).ok_or(()),
            None => Ok(None),
        }
    }

    pub(crate) fn open(&self, key: &str, sealed: &[u8]) -> Result<Vec<u8>, Damage> {
        match self.0.as_ref().map(|seal| seal.open(key, sealed)) {
            None | Some(Err(Unopened::NoKey)) => Err(Damage::NoKey),
            Some(Err(Unopened::Changed)) => Err(Damage::Sealed),
            Some(Ok(value)) => Ok(value),
        }
    }

    /// The value behind what stands on the disk.
    pub(crate) fn read<'v>(
        &self,
        key: &str,
        stands: &'v [u8],
        sealed: bool,
    ) -> Result<Cow<'v, [u8]>, Damage> {
        if sealed { self.open(key, stands).map(Cow::Owned) } else { Ok(stands.into()) }
    }

    /// Whether a value would stand otherwise if it were written today.
    pub(crate) fn is_old(&self, key: &str, stands: &[u8], sealed: bool) -> bool {
        let seal = self.0.as_ref().filter(|seal| seal.concerns(key));
        seal.is_some_and(|seal| !sealed || seal.is_old(stands))
    }
}
