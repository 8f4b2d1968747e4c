//! A certificate with which we show other servers who we are, renewed when its time has come. Knows nobody to show it to.

use jiff::Timestamp;
use kedge_pki::{Authority, Leaf};
use kedge_reach::Identity;
use parking_lot::Mutex;

pub(crate) struct Credential {
    leaf: Leaf,
    shown: Mutex<Option<(Identity, Timestamp)>>,
}

impl Credential {
    pub(crate) fn new(leaf: Leaf) -> Self {
        Self { leaf, shown: Mutex::new(None) }
    }

    /// As good at that moment as it can be: one that cannot be renewed is shown until it ends.
    pub(crate) fn identity(&self, authority: &Authority, now: Timestamp) -> Option<Identity> {
        let mut shown = self.shown.lock();
        if let Some((identity, renew_at)) = &*shown
            && now < *renew_at
        {
            return Some(identity.clone());
        }
        match self.leaf.current(authority, now) {
            Ok((issued, renew_at)) => {
                let identity = Identity { certificate: issued.certificate.into(), key: issued.key.into() };
                *shown = Some((identity.clone(), renew_at));
                Some(identity)
            }
            Err(error) => {
                tracing::error!(%error, "cannot renew a certificate with which other servers are called");
                shown.as_ref().map(|(identity, _)| identity.clone())
            }
        }
    }
}
