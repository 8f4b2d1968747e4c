//! An object that the next ones are likened to. The items of a list have much in common, down to the byte: what is the same is not read
//! and not encoded again.

use super::back::Back;

/// Where a field was, in the JSON and in what was written of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) json: (usize, usize),
    /// As positions in the output, the end first.
    pub(super) encoded: (usize, usize),
}

#[derive(Debug, Default)]
pub(super) struct Like {
    json: Vec<u8>,
    out: Back,
    /// By the field's number among those of all structs, with the turn in which it was noted; only those of the last turn count.
    seen: Vec<(u32, Option<Seen>)>,
    /// The same for the lists among them: where the notes of its items start, and how many it has.
    lists: Vec<(u32, usize, usize)>,
    items: Vec<Option<Seen>>,
    turn: u32,
}

impl Like {
    /// Forgets every note.
    pub(super) fn begin(&mut self, fields: usize) {
        self.seen.resize(fields, (0, None));
        self.lists.resize(fields, (0, 0, 0));
        self.items.clear();
        self.turn = self.turn.wrapping_add(1);
    }

    pub(super) fn note(&mut self, number: usize, seen: Seen) {
        let turn = self.turn;
        if let Some(place) = self.seen.get_mut(number) {
            *place = (turn, Some(seen));
        }
    }

    /// Makes room for notes of a list's items; see [`Like::note_item`]. Of several lists in one field the last counts.
    pub(super) fn begin_list(&mut self, number: usize, length: usize) -> usize {
        let (turn, start) = (self.turn, self.items.len());
        self.items.resize(start + length, None);
        if let Some(place) = self.lists.get_mut(number) {
            *place = (turn, start, length);
        }
        start
    }

    pub(super) fn note_item(&mut self, at: usize, seen: Seen) {
        if let Some(place) = self.items.get_mut(at) {
            *place = Some(seen);
        }
    }

    /// Keeps the object that the notes are of. Leaves other memory to write in.
    pub(super) fn keep(&mut self, json: &[u8], out: &mut Back) {
        self.json.clear();
        self.json.extend_from_slice(json);
        std::mem::swap(&mut self.out, out);
    }

    pub(super) fn out(&self) -> &Back {
        &self.out
    }

    fn seen(&self, number: usize) -> Option<Seen> {
        self.seen.get(number).filter(|(turn, _)| *turn == self.turn).and_then(|(_, seen)| *seen)
    }

    fn seen_item(&self, number: usize, index: usize) -> Option<Seen> {
        let (_, start, length) = self.lists.get(number).filter(|(turn, ..)| *turn == self.turn)?;
        self.items.get(start + index).filter(|_| index < *length).copied().flatten()
    }

    pub(super) fn json(&self, number: usize) -> Option<&[u8]> {
        self.json_of(self.seen(number)?)
    }

    pub(super) fn item_json(&self, number: usize, index: usize) -> Option<&[u8]> {
        self.json_of(self.seen_item(number, index)?)
    }

    pub(super) fn encoded(&self, number: usize) -> Option<&[u8]> {
        self.encoded_of(self.seen(number)?)
    }

    pub(super) fn item_encoded(&self, number: usize, index: usize) -> Option<&[u8]> {
        self.encoded_of(self.seen_item(number, index)?)
    }

    fn json_of(&self, seen: Seen) -> Option<&[u8]> {
        let (start, end) = seen.json;
        self.json.get(start..end)
    }

    fn encoded_of(&self, seen: Seen) -> Option<&[u8]> {
        let (end, start) = seen.encoded;
        let written = self.out.written();
        written.get(written.len().checked_sub(start)?..written.len().checked_sub(end)?)
    }
}
