//! Who we are to extension servers: a certificate of an authority of its own, so that no other of our certificates lets
//! anybody speak for others.

use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_pki::{Authority, Leaf, Names, PkiError, Purpose};
use kedge_reach::Identity;
use parking_lot::Mutex;

/// The name that extension servers are told to trust.
pub(super) const NAME: &str = "front-proxy-client";

pub struct FrontProxy {
    authority: Authority,
    leaf: Leaf,
    shown: Mutex<Option<(Identity, Timestamp)>>,
}

impl FrontProxy {
    /// Keys and certificates in a folder of their own, made where they are missing.
    pub fn open(folder: &Path, clock: &Clock) -> Result<Self, PkiError> {
        let names = Names { common_name: NAME.to_owned(), organization: None, hosts: Vec::new() };
        Ok(Self {
            authority: Authority::open(folder, "front-proxy-ca", clock)?,
            leaf: Leaf::new(folder, "client", names, Purpose::Client),
            shown: Mutex::new(None),
        })
    }

    /// The authority's certificate.
    pub fn pem(&self) -> &str {
        self.authority.pem()
    }

    pub(super) fn identity(&self, now: Timestamp) -> Option<Identity> {
        let mut shown = self.shown.lock();
        if let Some((identity, renew_at)) = &*shown
            && now < *renew_at
        {
            return Some(identity.clone());
        }
        match self.leaf.current(&self.authority, now) {
            Ok((issued, renew_at)) => {
                let identity = Identity { certificate: issued.certificate.into(), key: issued.key.into() };
                *shown = Some((identity.clone(), renew_at));
                Some(identity)
            }
            Err(error) => {
                tracing::error!(%error, "cannot renew the certificate for extension servers");
                shown.as_ref().map(|(identity, _)| identity.clone())
            }
        }
    }
}

impl fmt::Debug for FrontProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FrontProxy")
    }
}
