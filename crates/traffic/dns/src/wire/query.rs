//! Reads what a client asks. What is no question is told apart: silence for what is an answer itself, a word for the rest.

use super::name::Name;
use super::skim::{Section, record_at};
use super::{HEADER, LARGEST_DATAGRAM, USUAL_DATAGRAM, flag, kind, u16_at};

/// The highest of a DNSSEC-aware client's flags.
const WANTS_SIGNATURES: u32 = 0x8000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub id: u16,
    pub flags: u16,
    /// The question as it was asked, letters and all.
    pub(crate) question: Vec<u8>,
    pub name: Name,
    pub kind: u16,
    pub class: u16,
    pub edns: Option<Edns>,
}

/// What the client says of itself beyond RFC 1035.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns {
    pub size: u16,
    pub version: u8,
    pub signatures: bool,
}

/// Why something is no question that could be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    #[error("nothing that could be answered")]
    NoQuery,
    #[error("message {id} cannot be read")]
    Malformed { id: u16, flags: u16 },
    #[error("message {id} asks for something else than a look-up")]
    OtherWork { id: u16, flags: u16 },
}

impl Query {
    pub fn read(packet: &[u8]) -> Result<Self, Bad> {
        let (Some(id), Some(flags), true) = (u16_at(packet, 0), u16_at(packet, 2), packet.len() >= HEADER)
        else {
            return Err(Bad::NoQuery);
        };
        // Answers to answers would go to and fro for ever.
        if flags & flag::RESPONSE != 0 {
            return Err(Bad::NoQuery);
        }
        if flags & flag::OPCODE != 0 {
            return Err(Bad::OtherWork { id, flags });
        }
        Self::body(packet, id, flags).ok_or(Bad::Malformed { id, flags })
    }

    fn body(packet: &[u8], id: u16, flags: u16) -> Option<Self> {
        let [questions, answers, authority, more] = [4, 6, 8, 10].map(|at| u16_at(packet, at));
        if questions? != 1 || flags & flag::TRUNCATED != 0 {
            return None;
        }
        let (name, end) = Name::read(packet, HEADER)?;
        // Nothing stands before it that its name could point to, and its length must be what it seems.
        if end != HEADER + name.octets().len() + 1 {
            return None;
        }
        let question = packet.get(HEADER..end + 4)?.to_vec();
        let (asked, class) = (u16_at(packet, end)?, u16_at(packet, end + 2)?);
        let mut at = end + 4;
        let mut edns = None;
        for _ in 0..u32::from(answers?) + u32::from(authority?) + u32::from(more?) {
            let place = record_at(packet, at, Section::Additional)?;
            at = place.end;
            if place.kind == kind::OPT {
                // There is one, or there is a mistake.
                let named = packet.get(place.start) != Some(&0);
                if named || edns.replace(Edns::of(place.class, place.ttl)).is_some() {
                    return None;
                }
            }
        }
        Some(Self { id, flags, question, name, kind: asked, class, edns })
    }

    /// How large a datagram may be that answers it.
    pub fn room(&self) -> usize {
        let asked = self.edns.map_or(USUAL_DATAGRAM, |edns| usize::from(edns.size));
        asked.clamp(USUAL_DATAGRAM, LARGEST_DATAGRAM)
    }

    pub fn wants_signatures(&self) -> bool {
        self.edns.is_some_and(|edns| edns.signatures)
    }

    pub fn is_unchecked(&self) -> bool {
        self.flags & flag::UNCHECKED != 0
    }
}

impl Edns {
    fn of(class: u16, ttl: u32) -> Self {
        let [_, version, _, _] = ttl.to_be_bytes();
        Self { size: class, version, signatures: ttl & WANTS_SIGNATURES != 0 }
    }

    /// What we say of ourselves.
    pub(crate) fn ours(self) -> [u8; 11] {
        let [high, low] = (LARGEST_DATAGRAM as u16).to_be_bytes();
        // Of a later version we know nothing but that it is one: its code's upper part stands here.
        let extended = u8::from(self.version > 0);
        let signatures = if self.signatures { 0x80 } else { 0 };
        [0, 0, kind::OPT as u8, high, low, extended, 0, signatures, 0, 0, 0]
    }
}
