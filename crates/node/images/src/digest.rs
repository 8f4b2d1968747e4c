//! The name of a blob: what it holds.

use std::fmt;
use std::fmt::Write as _;

use aws_lc_rs::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

/// `sha256:` and 64 letters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.add(bytes);
        hasher.finish()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The letters alone, where they are a name that no file outside can have.
    pub fn letters(&self) -> Option<&str> {
        let letters = self.0.strip_prefix("sha256:")?;
        (letters.len() == 64 && letters.bytes().all(|letter| letter.is_ascii_hexdigit())).then_some(letters)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A digest of what comes piece by piece.
pub(crate) struct Hasher(Context);

impl Default for Hasher {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Hasher {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        let mut text = String::from("sha256:");
        for byte in self.0.finish().as_ref() {
            // Writing to a string does not fail.
            let _written = write!(text, "{byte:02x}");
        }
        Digest(text)
    }
}
