//! A long JSON list as a stream of chunks, so that no more than one chunk of it is ever in memory.
//! Knows where the commas go, not what the items are.

use bytes::Bytes;

/// A chunk is handed on once it holds this much; large enough that the cost per chunk vanishes.
const CHUNK: usize = 32 * 1024;

/// Writes one item of a list.
pub trait Rows {
    fn row(&self, object: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error>;
}

/// Head, items separated by commas, `]}`.
#[derive(Debug)]
pub struct Chunks<I, R> {
    items: I,
    rows: R,
    out: Vec<u8>,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    First,
    Later,
    Done,
}

impl<I, R> Chunks<I, R> {
    /// `head` ends in the list's opening bracket.
    pub(crate) fn new(items: I, rows: R, head: Vec<u8>) -> Self {
        Self { items, rows, out: head, state: State::First }
    }
}

impl<I, R> Iterator for Chunks<I, R>
where
    I: Iterator,
    I::Item: AsRef<[u8]>,
    R: Rows,
{
    type Item = Result<Bytes, serde_json::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Done {
            return None;
        }
        while self.out.len() < CHUNK {
            let Some(item) = self.items.next() else {
                self.out.extend_from_slice(b"]}");
                self.state = State::Done;
                break;
            };
            if self.state == State::Later {
                self.out.push(b',');
            }
            self.state = State::Later;
            if let Err(error) = self.rows.row(item.as_ref(), &mut self.out) {
                self.state = State::Done;
                return Some(Err(error));
            }
        }
        let capacity = if self.state == State::Done { 0 } else { CHUNK + CHUNK / 4 };
        Some(Ok(std::mem::replace(&mut self.out, Vec::with_capacity(capacity)).into()))
    }
}
