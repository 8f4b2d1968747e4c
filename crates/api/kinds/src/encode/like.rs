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
    turn: u32,
}

impl Like {
    /// Forgets every note.
    pub(super) fn begin(&mut self, fields: usize) {
        self.seen.resize(fields, (0, None));
        self.turn = self.turn.wrapping_add(1);
    }

    pub(super) fn note(&mut self, number: usize, seen: Seen) {
        let turn = self.turn;
        if let Some(place) = self.seen.get_mut(number) {
            *place = (turn, Some(seen));
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

    pub(super) fn json(&self, number: usize) -> Option<&[u8]> {
        let (start, end) = self.seen(number)?.json;
        self.json.get(start..end)
    }

    pub(super) fn encoded(&self, number: usize) -> Option<&[u8]> {
        let (end, start) = self.seen(number)?.encoded;
        let written = self.out.written();
        written.get(written.len().checked_sub(start)?..written.len().checked_sub(end)?)
    }
}
