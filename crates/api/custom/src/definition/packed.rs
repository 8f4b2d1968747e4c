//! A definition's own words. Most definitions are never written to and most words are prose, so they are kept compressed.

use std::fmt;
use std::io::Read;

use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use serde_json::Value;

pub(super) struct Packed(Box<[u8]>);

impl Packed {
    pub(super) fn new(value: &Value) -> Self {
        let text = value.to_string();
        let mut bytes = Vec::new();
        // Reading from and writing to memory cannot fail.
        let _ = ZlibEncoder::new(text.as_bytes(), Compression::fast()).read_to_end(&mut bytes);
        Self(bytes.into())
    }

    pub(super) fn open(&self) -> Value {
        let mut text = Vec::new();
        // What was packed can be opened.
        let _ = ZlibDecoder::new(&*self.0).read_to_end(&mut text);
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({} bytes)", self.0.len())
    }
}
