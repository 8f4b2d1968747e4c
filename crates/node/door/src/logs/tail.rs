//! Finds where the last lines of a file begin, from its end: a large file costs no more than a small one. Blocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::line::parse;

const BLOCK: u64 = 64 * 1024;
/// As much of a line as tells whether it was cut.
const HEAD: usize = 96;

/// Where to begin, and how many lines there are from there on: fewer than wanted if the file has no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) at: u64,
    pub(super) lines: u64,
}

/// A line that the runtime cut counts as the one line that it was.
pub(super) fn start_of_last(file: &File, wanted: u64) -> io::Result<Start> {
    let end = file.metadata()?.len();
    if wanted == 0 {
        return Ok(Start { at: end, lines: 0 });
    }
    let mut search = Search { wanted, lines: 0, after: end, begun: false };
    let mut buffer = vec![0; BLOCK as usize + HEAD];
    let mut from = end;
    while from > 0 {
        let to = from;
        from = to.saturating_sub(BLOCK);
        // A little beyond the block, for the line that begins at its end.
        let length = ((end - from) as usize).min((to - from) as usize + HEAD);
        let text = &mut buffer[..length];
        file.read_exact_at(text, from)?;
        for place in (0..(to - from) as usize).rev().filter(|place| text[*place] == b'\n') {
            if search.line(from + place as u64 + 1, &text[place + 1..]) {
                return Ok(Start { at: search.after, lines: search.lines });
            }
        }
        if from == 0 && search.line(0, text) {
            return Ok(Start { at: search.after, lines: search.lines });
        }
    }
    Ok(Start { at: 0, lines: search.lines })
}

struct Search {
    wanted: u64,
    lines: u64,
    /// Where the line behind the one that is looked at begins.
    after: u64,
    begun: bool,
}

impl Search {
    /// Takes the next line towards the front. True if it is no longer wanted.
    fn line(&mut self, at: u64, text: &[u8]) -> bool {
        // Behind the last line end is nothing, or a line that is only being written.
        if at >= self.after {
            return false;
        }
        let head = &text[..text.len().min(HEAD)];
        let head = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_partial = parse(head).is_some_and(|line| line.is_partial);
        let ends_one = !is_partial || !self.begun;
        if ends_one {
            if self.lines == self.wanted {
                return true;
            }
            self.lines += 1;
        }
        (self.begun, self.after) = (true, at);
        false
    }
}
