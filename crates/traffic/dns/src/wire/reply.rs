//! An answer that we make ourselves.

use super::query::{Bad, Query};
use super::record::Record;
use super::write::Writer;
use super::{Code, flag, put_u16};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub code: Code,
    /// We have the last word on the name.
    pub authoritative: bool,
    pub answers: Vec<Record>,
    pub authority: Vec<Record>,
    pub additional: Vec<Record>,
}

impl Reply {
    pub fn of(code: Code) -> Self {
        Self { code, ..Self::default() }
    }
}

/// As many records as there is room for, and a word if some were left out that were asked for.
pub fn encode(query: &Query, reply: &Reply, room: usize) -> Vec<u8> {
    let ours = query.edns.map(|edns| edns.ours());
    let mut flags = flag::RESPONSE
        | flag::RECURSES
        | (query.flags & (flag::RECURSE | flag::UNCHECKED))
        | reply.code as u16;
    if reply.authoritative {
        flags |= flag::AUTHORITATIVE;
    }
    let mut writer = Writer::answering(query, flags, room - ours.map_or(0, |ours| ours.len()));
    let mut counts = [0u16; 3];
    let mut whole = true;
    for (section, records) in [&reply.answers, &reply.authority, &reply.additional].into_iter().enumerate() {
        for record in records {
            if !writer.record(record) {
                // What is only additional may be missing.
                whole &= section == 2;
                break;
            }
            counts[section] += 1;
        }
        if !whole {
            break;
        }
    }
    let mut octets = writer.finish();
    if !whole {
        put_u16(&mut octets, 2, flags | flag::TRUNCATED);
    }
    if let Some(ours) = ours {
        octets.extend(ours);
        counts[2] += 1;
    }
    for (section, count) in counts.into_iter().enumerate() {
        put_u16(&mut octets, 6 + 2 * section, count);
    }
    octets
}

/// The answer to what is no question: its number and what is wrong with it; nothing at all to what should have none.
pub fn bare(bad: Bad) -> Option<Vec<u8>> {
    let (id, flags, code) = match bad {
        Bad::NoQuery => return None,
        Bad::Malformed { id, flags } => (id, flags, Code::Malformed),
        Bad::OtherWork { id, flags } => (id, flags, Code::NotImplemented),
    };
    let flags = flag::RESPONSE | (flags & (flag::OPCODE | flag::RECURSE)) | code as u16;
    let mut octets = vec![0; super::HEADER];
    put_u16(&mut octets, 0, id);
    put_u16(&mut octets, 2, flags);
    Some(octets)
}
