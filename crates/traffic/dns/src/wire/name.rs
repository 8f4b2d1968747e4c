//! A domain name, in small letters, as a row of labels each behind its length and without the root's empty one.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// With the root's label, as RFC 1035 counts.
const LONGEST: usize = 255;
const LONGEST_LABEL: usize = 63;
/// Both bits set: the rest of the name is elsewhere in the message.
const POINTER: u8 = 0xc0;

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<[u8]>);

impl Name {
    pub fn root() -> Self {
        Self(Arc::from([]))
    }

    /// `web.default.svc`, with or without a dot at the end.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let labels = text.split('.').filter(|_| !text.is_empty());
        Self::of(labels.map(str::as_bytes))
    }

    pub fn of<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut octets = Vec::with_capacity(64);
        for label in labels {
            push(&mut octets, label)?;
        }
        Some(Self(octets.into()))
    }

    /// The name at a place of a message, and where what follows begins.
    pub fn read(message: &[u8], at: usize) -> Option<(Self, usize)> {
        let mut octets = Vec::with_capacity(64);
        let (mut at, mut end, mut earliest) = (at, None, at);
        loop {
            let length = *message.get(at)?;
            match length & POINTER {
                0 if length == 0 => return Some((Self(octets.into()), end.unwrap_or(at + 1))),
                0 => {
                    let label = message.get(at + 1..at + 1 + usize::from(length))?;
                    push(&mut octets, label)?;
                    at += 1 + label.len();
                }
                POINTER => {
                    let low = *message.get(at + 1)?;
                    end = end.or(Some(at + 2));
                    at = usize::from(u16::from_be_bytes([length & !POINTER, low]));
                    // Only backwards, so that no name goes round in circles.
                    if at >= earliest {
                        return None;
                    }
                    earliest = at;
                }
                _ => return None,
            }
        }
    }

    /// Where what follows a name begins.
    pub(crate) fn skip(message: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let length = *message.get(at)?;
            match length & POINTER {
                0 if length == 0 => return Some(at + 1),
                0 => at += 1 + usize::from(length),
                POINTER => return (at + 2 <= message.len()).then_some(at + 2),
                _ => return None,
            }
        }
    }

    /// These labels before this name.
    pub fn below(&self, labels: &[u8]) -> Option<Self> {
        if labels.len() + self.0.len() >= LONGEST {
            return None;
        }
        Some(Self([labels, &self.0].concat().into()))
    }

    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    pub fn labels(&self) -> Labels<'_> {
        Labels(&self.0)
    }

    /// The labels before a name that this one ends with.
    pub fn before(&self, end: &Name) -> Option<&[u8]> {
        let at = self.0.len().checked_sub(end.0.len())?;
        (self.0[at..] == *end.0 && (at == self.0.len() || starts(&self.0).any(|start| start == at)))
            .then(|| &self.0[..at])
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

fn push(octets: &mut Vec<u8>, label: &[u8]) -> Option<()> {
    // One more for its length and one for the root.
    if label.is_empty() || label.len() > LONGEST_LABEL || octets.len() + label.len() + 2 > LONGEST {
        return None;
    }
    octets.push(u8::try_from(label.len()).ok()?);
    octets.extend(label.iter().map(u8::to_ascii_lowercase));
    Some(())
}

/// Where each label's length is.
pub(crate) fn starts(octets: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = *octets.get(at)?;
        let start = at;
        at += 1 + usize::from(length);
        Some(start)
    })
}

/// Labels from the left, without their lengths.
#[derive(Clone)]
pub struct Labels<'a>(&'a [u8]);

impl<'a> Labels<'a> {
    pub fn of(octets: &'a [u8]) -> Self {
        Self(octets)
    }
}

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first()?;
        let (label, rest) = rest.split_at_checked(usize::from(*length))?;
        self.0 = rest;
        Some(label)
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for label in self.labels() {
            write!(f, "{}.", label.escape_ascii())?;
        }
        if self.is_root() { f.write_str(".") } else { Ok(()) }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
