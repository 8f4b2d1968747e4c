//! The public half of the signing key as others look for it: a JSON Web Key with the name that tokens carry.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

pub(super) struct PublicKey {
    /// The digest of the key: another key has another name.
    pub(super) id: String,
    x: String,
    y: String,
}

impl PublicKey {
    /// From a PEM of a P-256 key; `None` if it is none.
    pub(super) fn of(pem: &str) -> Option<Self> {
        let encoded: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(encoded).ok()?;
        // The point stands at the end: an uncompressed marker and two numbers of 32 bytes.
        let point = der.get(der.len().checked_sub(65)?..)?;
        let (4, numbers) = point.split_first()? else { return None };
        let (x, y) = numbers.split_at(32);
        Some(Self {
            id: URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &der)),
            x: URL_SAFE_NO_PAD.encode(x),
            y: URL_SAFE_NO_PAD.encode(y),
        })
    }

    pub(super) fn set(&self) -> Value {
        json!({ "keys": [{
            "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256", "x": self.x, "y": self.y,
        }] })
    }
}
