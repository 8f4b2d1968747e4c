//! An object's encoding as what it has in place of a template's: a fraction of it, from which the whole is made without a look at the
//! JSON.

use std::sync::Arc;

use super::Template;
use crate::encode::{Form, ITEM, field_head, field_length};
use crate::schema::TypeId;

/// An item of a list, to be kept with the object that it was made of.
#[derive(Debug)]
pub struct Delta {
    message: TypeId,
    length: u32,
    base: Arc<[u8]>,
    edits: Box<[u8]>,
}

impl Delta {
    /// `None` if it would hold nearly as much as the whole.
    pub(in crate::encode) fn new(template: &Template, length: usize, edits: &[u8]) -> Option<Self> {
        let small = edits.len() < length / 4;
        let length = u32::try_from(length).ok().filter(|_| small)?;
        Some(Self { message: template.message, length, base: template.encoded.clone(), edits: edits.into() })
    }

    /// Whether it is this message that it encodes.
    pub fn is_of(&self, form: &Form) -> bool {
        self.message == form.message
    }

    /// How many bytes [`Delta::item`] appends.
    pub fn item_length(&self) -> usize {
        field_length(self.length as usize)
    }

    /// Appends the item with its head.
    pub fn item(&self, out: &mut Vec<u8>) {
        out.reserve(self.item_length());
        field_head(ITEM, self.length as usize, out);
        apply(&self.base, &self.edits, out);
    }
}

/// Edits as bytes. First those that make what they change longer or shorter: how much of the template comes before, how much of it goes,
/// what comes instead. Then those that change nothing in length, which are written over a copy of the template, so that few pieces are
/// copied one by one: how much of what was written stays before, and what comes next.
#[derive(Debug, Default)]
pub(super) struct Edits {
    bytes: Vec<u8>,
}

impl Edits {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn number(&mut self, number: usize) {
        // What is longer than this was refused long before.
        self.bytes.extend_from_slice(&(number as u32).to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        self.number(text.len());
        self.bytes.extend_from_slice(text);
    }
}

/// Appends what a template becomes by edits.
pub(super) fn apply(template: &[u8], edits: &[u8], out: &mut Vec<u8>) {
    let mut read = Read(edits);
    let begin = out.len();
    let mut at = 0;
    for _ in 0..read.number() {
        let (before, gone, new) = (read.number(), read.number(), read.text());
        out.extend_from_slice(&template[at..at + before]);
        out.extend_from_slice(new);
        at += before + gone;
    }
    out.extend_from_slice(&template[at..]);
    let mut rest = &mut out[begin..];
    while !read.0.is_empty() {
        let (before, new) = (read.number(), read.text());
        let (_, from) = rest.split_at_mut(before);
        let (into, behind) = from.split_at_mut(new.len());
        into.copy_from_slice(new);
        rest = behind;
    }
}

struct Read<'a>(&'a [u8]);

impl<'a> Read<'a> {
    fn number(&mut self) -> usize {
        let Some((number, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        u32::from_le_bytes(*number) as usize
    }

    fn text(&mut self) -> &'a [u8] {
        let length = self.number();
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        text
    }
}
