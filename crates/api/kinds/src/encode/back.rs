//! Protobuf written from its end to its beginning: what stands before a message is its length, which is known only once the
//! message is written.

use bytes::BufMut;

#[derive(Debug, Default)]
pub(super) struct Back {
    buffer: Vec<u8>,
    /// Everything from here on is written. Counted from the end, so that it stays right when the buffer grows.
    held: usize,
}

impl Back {
    pub(super) fn clear(&mut self) {
        self.held = 0;
    }

    pub(super) fn capacity(&self) -> usize {
        self.buffer.len()
    }

    pub(super) fn written(&self) -> &[u8] {
        self.buffer.get(self.buffer.len() - self.held..).unwrap_or_default()
    }

    /// Where the next thing will end; see [`Back::close`].
    pub(super) fn position(&self) -> usize {
        self.held
    }

    /// The place for the next bytes.
    #[inline]
    fn room(&mut self, length: usize) -> &mut [u8] {
        if self.buffer.len() - self.held < length {
            self.grow(length);
        }
        let end = self.buffer.len() - self.held;
        self.held += length;
        &mut self.buffer[end - length..end]
    }

    #[cold]
    fn grow(&mut self, length: usize) {
        let grown = (self.buffer.len() * 2).max(self.held + length).max(512);
        let mut next = vec![0; grown];
        next[grown - self.held..].copy_from_slice(self.written());
        self.buffer = next;
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    #[inline]
    pub(super) fn varint(&mut self, mut number: u64) {
        if number < 0x80 {
            self.room(1)[0] = number as u8;
            return;
        }
        let length = varint_length(number);
        let place = self.room(length);
        for byte in place.iter_mut() {
            // The low seven bits, and the sign that more follow.
            *byte = (number & 0x7f) as u8 | 0x80;
            number >>= 7;
        }
        place[length - 1] &= 0x7f;
    }

    /// A field's number and how it is written.
    #[inline]
    pub(super) fn key(&mut self, number: u32, wire: u64) {
        self.varint(u64::from(number) << 3 | wire);
    }

    pub(super) fn number(&mut self, field: u32, number: i64) {
        self.varint(number.cast_unsigned());
        self.key(field, 0);
    }

    pub(super) fn double(&mut self, field: u32, number: f64) {
        self.push(&number.to_bits().to_le_bytes());
        self.key(field, 1);
    }

    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.push(bytes);
        self.varint(bytes.len() as u64);
        self.key(field, 2);
    }

    /// Makes a message of what was written since the position was taken.
    pub(super) fn close(&mut self, field: u32, since: usize) {
        self.varint((self.held - since) as u64);
        self.key(field, 2);
    }
}

/// How many bytes a number takes.
#[inline]
pub(super) fn varint_length(number: u64) -> usize {
    (70 - (number | 1).leading_zeros() as usize) / 7
}

/// The same number written forwards.
pub(super) fn put_varint(mut number: u64, out: &mut impl BufMut) {
    while number >= 0x80 {
        // The low seven bits, and the sign that more follow.
        out.put_u8((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.put_u8(number as u8);
}
