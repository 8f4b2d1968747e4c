//! An item of a list that others are written after. The items of a list have much in common: where one differs from this one only in texts,
//! numbers and times, its encoding is this one's with those exchanged, and it need not be parsed. Knows no schema.

mod delta;
mod exchange;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::schema::TypeId;
use crate::time::Precision;

pub use self::delta::Delta;
pub(super) use self::exchange::Exchange;

/// As many objects that are like a template make it worth to be held for them.
const COMMON: usize = 8;

/// What can be exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Written as it is read.
    Text,
    Integer,
    Truth,
    Moment(Precision),
}

/// A value that stands alone: where it is in the JSON, a text's without its quotes, and where in the encoding, without what announces it.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    value: Value,
    json: (usize, usize),
    encoded: (usize, usize),
    /// The innermost length that counts it; `NONE` if only the whole does.
    within: usize,
}

/// A length that stands in the encoding before what it counts.
#[derive(Debug, Clone, Copy)]
struct Length {
    counted: usize,
    encoded: (usize, usize),
    within: usize,
}

const NONE: usize = usize::MAX;

/// What is noted while an object is written from its end to its beginning; places are counted from the end.
#[derive(Debug, Default)]
pub(super) struct Notes {
    leaves: Vec<Leaf>,
    /// Outer ones first.
    lengths: Vec<Length>,
    /// Those that are being written.
    open: Vec<usize>,
}

impl Notes {
    pub(super) fn clear(&mut self) {
        self.leaves.clear();
        self.lengths.clear();
        self.open.clear();
    }

    fn within(&self) -> usize {
        self.open.last().copied().unwrap_or(NONE)
    }

    pub(super) fn open(&mut self) {
        let within = self.within();
        self.open.push(self.lengths.len());
        self.lengths.push(Length { counted: 0, encoded: (0, 0), within });
    }

    /// The length itself was written between the two places.
    pub(super) fn close(&mut self, counted: usize, end: usize, start: usize) {
        if let Some(length) = self.open.pop().and_then(|at| self.lengths.get_mut(at)) {
            (length.counted, length.encoded) = (counted, (start, end));
        }
    }

    pub(super) fn leaf(&mut self, value: Value, json: (usize, usize), (end, start): (usize, usize)) {
        self.leaves.push(Leaf { value, json, encoded: (start, end), within: self.within() });
    }
}

#[derive(Debug)]
pub(super) struct Template {
    message: TypeId,
    json: Box<[u8]>,
    encoded: Arc<[u8]>,
    /// In the order of the JSON.
    leaves: Vec<Leaf>,
    /// Outer ones first.
    lengths: Vec<Length>,
    /// How often an object was found to fit; one that is measured and then written counts twice.
    served: AtomicUsize,
}

impl Template {
    /// The object that the notes are of.
    pub(super) fn new(message: TypeId, json: &[u8], encoded: &[u8], notes: &Notes) -> Self {
        let from_start = |(start, end): (usize, usize)| (encoded.len() - start, encoded.len() - end);
        let mut leaves: Vec<Leaf> =
            notes.leaves.iter().map(|leaf| Leaf { encoded: from_start(leaf.encoded), ..*leaf }).collect();
        leaves.sort_unstable_by_key(|leaf| leaf.json);
        let lengths = notes.lengths.iter();
        let lengths =
            lengths.map(|length| Length { encoded: from_start(length.encoded), ..*length }).collect();
        let served = AtomicUsize::new(0);
        Self { message, json: json.into(), encoded: encoded.into(), leaves, lengths, served }
    }

    pub(super) fn is_of(&self, message: TypeId) -> bool {
        self.message == message
    }

    pub(super) fn message(&self) -> TypeId {
        self.message
    }

    /// Whether so many are like it that what is kept of each may lean on it: all of them together hold one.
    pub(super) fn is_common(&self) -> bool {
        self.served.load(Ordering::Relaxed) >= COMMON
    }

    pub(super) fn held(&self) -> usize {
        self.json.len()
            + self.encoded.len()
            + self.leaves.capacity() * size_of::<Leaf>()
            + self.lengths.capacity() * size_of::<Length>()
    }
}

/// A template, and what one encoder has learnt about the objects that are like it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) template: Arc<Template>,
    /// The leaves that differed in objects before, in their order: likely to differ again.
    varying: Vec<usize>,
}

impl Known {
    pub(super) fn new(template: Arc<Template>) -> Self {
        Self { template, varying: Vec::new() }
    }

    pub(super) fn held(&self) -> usize {
        self.template.held() + self.varying.capacity() * size_of::<usize>()
    }

    /// Whether an object is this one with other values. Then `exchange` has what is to be exchanged.
    pub(super) fn fit(&mut self, json: &[u8], exchange: &mut Exchange) -> bool {
        exchange.begin(&self.template);
        let fits = self.compare(json, exchange).is_some();
        if fits {
            exchange.finish(&self.template, json);
            self.template.served.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }

    fn compare(&mut self, json: &[u8], exchange: &mut Exchange) -> Option<()> {
        let template = &*self.template;
        let (mut own, mut other) = (0, 0);
        // Which leaf comes next, and which of the varying ones.
        let (mut next, mut varying) = (0, 0);
        loop {
            let (at, start) = match next_varying(template, self.varying.get(varying), own, json.get(other..)?)
            {
                Some((at, same)) => (at, other + same),
                None => {
                    let (rest, others) = (template.json.get(own..)?, json.get(other..)?);
                    // Mostly nothing differs any more, and that is seen sooner than where something does.
                    if rest == others {
                        return Some(());
                    }
                    let same = common(rest, others);
                    (own, other) = (own + same, other + same);
                    // All that comes before a leaf is the same in both, so what differs in it stands in the same place of the
                    // same structure.
                    let at = next + template.leaves.get(next..)?.partition_point(|leaf| leaf.json.1 < own);
                    let start = other - own.checked_sub(template.leaves.get(at)?.json.0)?;
                    self.varying.insert(varying, at);
                    (at, start)
                }
            };
            (next, varying) = (at + 1, varying + 1);
            let leaf = template.leaves.get(at)?;
            let end = start + leaf.value.length(json.get(start..)?)?;
            exchange.add(template, leaf, json, (start, end))?;
            (own, other) = (leaf.json.1, end);
        }
    }
}

/// The next leaf that may differ, if all before it is the same, and how much that is. What is known to be of one length is compared
/// at once, while to find where two texts part costs more.
fn next_varying(
    template: &Template,
    varying: Option<&usize>,
    own: usize,
    json: &[u8],
) -> Option<(usize, usize)> {
    let at = *varying?;
    let before = template.json.get(own..template.leaves.get(at)?.json.0)?;
    json.starts_with(before).then_some((at, before.len()))
}

/// How many bytes two texts have in common. Looks at many at a time as long as they are the same.
fn common(one: &[u8], other: &[u8]) -> usize {
    let ((words, _), (others, _)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    let ((wide, _), (wide_others, _)) = (words.as_chunks::<8>(), others.as_chunks::<8>());
    let differs = |word: &[u8; 8], other: &[u8; 8]| u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other);
    // Not one by one, so that the processor does all of them at once.
    let same = |words: &[[u8; 8]; 8], others: &[[u8; 8]; 8]| {
        words.iter().zip(others).fold(0, |all, (word, other)| all | differs(word, other)) == 0
    };
    let at = 8 * wide.iter().zip(wide_others).take_while(|(words, others)| same(words, others)).count();
    for (index, (word, other)) in words.iter().zip(others).enumerate().skip(at) {
        let differs = differs(word, other);
        if differs != 0 {
            return index * 8 + differs.trailing_zeros() as usize / 8;
        }
    }
    let at = words.len().min(others.len()) * 8;
    at + one.iter().zip(other).skip(at).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests;
