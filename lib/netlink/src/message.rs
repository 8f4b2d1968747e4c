//! One message to the kernel: a header, a fixed part, and attributes that may hold attributes. Knows their layout only.

/// Flags of a header that callers choose from; what makes a message a request, and who waits for it, is the socket's.
pub(crate) const REPLACE: u16 = 0x100;
pub(crate) const EXCLUSIVE: u16 = 0x200;
pub(crate) const CREATE: u16 = 0x400;
pub(crate) const APPEND: u16 = 0x800;
pub(crate) const DUMP: u16 = 0x300;

pub(crate) const HEADER: usize = 16;
const NESTED: u16 = 0x8000;
/// What the two highest bits of an attribute's kind say is not part of the kind.
const KIND: u16 = 0x3fff;

/// Written step by step; `what` is for whoever reads why it was refused.
#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) what: String,
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn new(what: impl Into<String>, kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(fixed);
        pad(&mut bytes);
        Self { what: what.into(), bytes }
    }

    pub(crate) fn flags(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[6], self.bytes[7]])
    }

    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        put(&mut self.bytes, kind, value);
        self
    }

    /// A text ends with a zero.
    pub(crate) fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        put_text(&mut self.bytes, kind, value);
        self
    }

    pub(crate) fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        put_nested(&mut self.bytes, kind, fill);
        self
    }

    /// As it is sent: with its length, its number and whether it is to be confirmed.
    pub(crate) fn seal(&mut self, number: u32, flags: u16) -> &[u8] {
        // Ours are far shorter than what the kernel takes, so the length always fits.
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        let flags = self.flags() | flags;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&number.to_ne_bytes());
        &self.bytes
    }
}

pub(crate) fn put(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    pad(bytes);
}

pub(crate) fn put_text(bytes: &mut Vec<u8>, kind: u16, value: &str) {
    let mut text = Vec::with_capacity(value.len() + 1);
    text.extend(value.as_bytes());
    text.push(0);
    put(bytes, kind, &text);
}

/// What is inside may be longer than the length can say only for lists of set elements, which are cut up before.
pub(crate) fn put_nested(bytes: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend([0; 4]);
    fill(bytes);
    let length = u16::try_from(bytes.len() - start).unwrap_or(u16::MAX);
    bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    bytes[start + 2..start + 4].copy_from_slice(&(kind | NESTED).to_ne_bytes());
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// One attribute of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attribute<'a> {
    pub kind: u16,
    pub value: &'a [u8],
}

impl Attribute<'_> {
    pub(crate) fn number(&self) -> Option<u32> {
        self.value.first_chunk().copied().map(u32::from_ne_bytes)
    }

    pub(crate) fn name(&self) -> String {
        let end = self.value.iter().position(|byte| *byte == 0).unwrap_or(self.value.len());
        String::from_utf8_lossy(&self.value[..end]).into_owned()
    }
}

/// The attributes in a part of an answer, up to the first that is cut off.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let kind = u16::from_ne_bytes(*rest.get(2..4)?.first_chunk()?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Attribute { kind: kind & KIND, value })
    })
}

#[cfg(test)]
mod tests;
