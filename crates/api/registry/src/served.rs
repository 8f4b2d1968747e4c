//! An object as a client gets it.

use bytes::Bytes;
use kedge_store::Entry;

#[derive(Clone, Debug)]
pub enum Served {
    /// As it is stored.
    Stored(Entry),
    /// In another form, made for this answer.
    Made(Bytes),
}

impl Served {
    pub fn bytes(&self) -> &Bytes {
        match self {
            Served::Stored(entry) => entry.bytes(),
            Served::Made(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Served {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}
