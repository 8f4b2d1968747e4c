//! Goes over a message of somebody else's without taking it apart: where its records are, and what they say of time.

use super::name::Name;
use super::record::{Data, Record};
use super::{HEADER, flag, kind, u16_at, u32_at};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Answer,
    Authority,
    Additional,
}

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub section: Section,
    pub kind: u16,
    pub class: u16,
    pub ttl: u32,
    pub start: usize,
    pub data: usize,
    pub end: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skim {
    pub id: u16,
    pub flags: u16,
    pub name: Name,
    pub kind: u16,
    pub class: u16,
    /// Where the records begin.
    pub begin: usize,
    pub places: Vec<Place>,
}

impl Skim {
    pub fn code(&self) -> u16 {
        self.flags & flag::CODE
    }

    pub fn is_truncated(&self) -> bool {
        self.flags & flag::TRUNCATED != 0
    }

    pub fn is_response(&self) -> bool {
        self.flags & flag::RESPONSE != 0 && self.flags & flag::OPCODE == 0
    }
}

/// Nothing, if it is no message with one question.
pub fn skim(message: &[u8]) -> Option<Skim> {
    let [id, flags, questions] = [0, 2, 4].map(|at| u16_at(message, at));
    if questions? != 1 {
        return None;
    }
    let (name, end) = Name::read(message, HEADER)?;
    if end != HEADER + name.octets().len() + 1 {
        return None;
    }
    let (asked, class) = (u16_at(message, end)?, u16_at(message, end + 2)?);
    let begin = end + 4;
    let mut at = begin;
    let mut places = Vec::new();
    for (count, section) in [(6, Section::Answer), (8, Section::Authority), (10, Section::Additional)] {
        for _ in 0..u16_at(message, count)? {
            let place = record_at(message, at, section)?;
            at = place.end;
            places.push(place);
        }
    }
    Some(Skim { id: id?, flags: flags?, name, kind: asked, class, begin, places })
}

pub(super) fn record_at(message: &[u8], start: usize, section: Section) -> Option<Place> {
    let at = Name::skip(message, start)?;
    let (kind, class, ttl) = (u16_at(message, at)?, u16_at(message, at + 2)?, u32_at(message, at + 4)?);
    let data = at + 10;
    let end = data + usize::from(u16_at(message, at + 8)?);
    (end <= message.len()).then_some(Place { section, kind, class, ttl, start, data, end })
}

impl Place {
    /// Where the record's time to live is written.
    pub(super) fn ttl_at(&self) -> usize {
        self.data - 6
    }

    /// The record by itself. Only of kinds that come with addresses: in others names may point elsewhere in their message.
    pub fn record(&self, message: &[u8], ttl: u32) -> Option<Record> {
        let (owner, _) = Name::read(message, self.start)?;
        let octets = message.get(self.data..self.end)?;
        let data = match self.kind {
            kind::CNAME => Data::Cname(Name::read(message, self.data)?.0),
            kind::SOA => self.authority(message)?,
            // RFC 6672 and the signatures of RFC 4034 don't shorten.
            kind => Data::Raw { kind, octets: octets.to_vec() },
        };
        Some(Record { owner, ttl, data })
    }

    fn authority(&self, message: &[u8]) -> Option<Data> {
        let (server, at) = Name::read(message, self.data)?;
        let (mailbox, at) = Name::read(message, at)?;
        let [serial, refresh, retry, expire, minimum] =
            [0, 4, 8, 12, 16].map(|more| u32_at(message, at + more));
        Some(Data::Soa {
            server,
            mailbox,
            serial: serial?,
            refresh: refresh?,
            retry: retry?,
            expire: expire?,
            minimum: minimum?,
        })
    }

    /// For how long it may be believed that something is not there: RFC 2308.
    pub fn absence(&self, message: &[u8]) -> Option<u32> {
        let is_authority = self.section == Section::Authority && self.kind == kind::SOA;
        let Data::Soa { minimum, .. } = is_authority.then(|| self.authority(message)).flatten()? else {
            return None;
        };
        Some(minimum.min(self.ttl))
    }
}
