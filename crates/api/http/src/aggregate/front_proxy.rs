//! Who we are to extension servers: a certificate of an authority of its own, so that no other of our certificates lets
//! anybody speak for others.

use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_pki::{Authority, Leaf, Names, PkiError, Purpose};
use kedge_reach::Identity;

use crate::credential::Credential;

/// The name that extension servers are told to trust.
pub(super) const NAME: &str = "front-proxy-client";

pub struct FrontProxy {
    authority: Authority,
    credential: Credential,
}

impl FrontProxy {
    /// Keys and certificates in a folder of their own, made where they are missing.
    pub fn open(folder: &Path, clock: &Clock) -> Result<Self, PkiError> {
        let names = Names { common_name: NAME.to_owned(), organization: None, hosts: Vec::new() };
        Ok(Self {
            authority: Authority::open(folder, "front-proxy-ca", clock)?,
            credential: Credential::new(Leaf::new(folder, "client", names, Purpose::Client)),
        })
    }

    /// The authority's certificate.
    pub fn pem(&self) -> &str {
        self.authority.pem()
    }

    pub(super) fn identity(&self, now: Timestamp) -> Option<Identity> {
        self.credential.identity(&self.authority, now)
    }
}

impl fmt::Debug for FrontProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FrontProxy")
    }
}
