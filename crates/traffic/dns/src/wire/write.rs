//! Writes records one after the other, names shortened, until there is no more room.

use super::name::{Labels, Name, starts};
use super::query::Query;
use super::record::{Data, Record};
use super::{HEADER, IN, put_u16};

/// Names begin below this, or cannot be pointed to.
const REACH: usize = 0x4000;
/// So many places are remembered: enough for what repeats, and a bound to what looking costs.
const REMEMBERED: usize = 48;

pub(super) struct Writer {
    octets: Vec<u8>,
    /// Where names begin that later ones can end with.
    known: Vec<u16>,
    limit: usize,
}

impl Writer {
    /// Begins an answer with the question. `limit` is what the records may fill.
    pub(super) fn answering(query: &Query, flags: u16, limit: usize) -> Self {
        let mut octets = Vec::with_capacity(limit.min(512));
        octets.extend(query.id.to_be_bytes());
        octets.extend(flags.to_be_bytes());
        octets.extend([0, 1, 0, 0, 0, 0, 0, 0]);
        octets.extend(&query.question);
        let known =
            starts(query.name.octets()).filter_map(|start| u16::try_from(HEADER + start).ok()).collect();
        Self { octets, known, limit }
    }

    /// Whether there was room for it; if not, nothing of it is written.
    pub(super) fn record(&mut self, record: &Record) -> bool {
        let (length, known) = (self.octets.len(), self.known.len());
        self.name(&record.owner);
        self.u16(record.data.kind()).u16(IN);
        self.octets.extend(record.ttl.to_be_bytes());
        let size_at = self.octets.len();
        self.u16(0);
        self.data(&record.data);
        let size = self.octets.len() - size_at - 2;
        match u16::try_from(size) {
            Ok(size) if self.octets.len() <= self.limit => {
                put_u16(&mut self.octets, size_at, size);
                true
            }
            _ => {
                self.octets.truncate(length);
                self.known.truncate(known);
                false
            }
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.octets
    }

    fn data(&mut self, data: &Data) {
        match data {
            Data::A(address) => self.octets.extend(address.octets()),
            Data::Aaaa(address) => self.octets.extend(address.octets()),
            Data::Cname(name) | Data::Ns(name) | Data::Ptr(name) => self.name(name),
            Data::Srv { priority, weight, port, target } => {
                self.u16(*priority).u16(*weight).u16(*port);
                // RFC 2782: not shortened.
                self.octets.extend(target.octets());
                self.octets.push(0);
            }
            Data::Soa { server, mailbox, serial, refresh, retry, expire, minimum } => {
                self.name(server);
                self.name(mailbox);
                for number in [serial, refresh, retry, expire, minimum] {
                    self.octets.extend(number.to_be_bytes());
                }
            }
            Data::Txt(text) => {
                for part in text.as_bytes().chunks(usize::from(u8::MAX)) {
                    self.octets.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
                    self.octets.extend(part);
                }
            }
            Data::Raw { octets, .. } => self.octets.extend(octets),
        }
    }

    fn u16(&mut self, number: u16) -> &mut Self {
        self.octets.extend(number.to_be_bytes());
        self
    }

    fn name(&mut self, name: &Name) {
        let whole = name.octets();
        for start in starts(whole) {
            if let Some(&at) = self.known.iter().find(|&&at| self.is_at(usize::from(at), &whole[start..])) {
                self.octets.extend((0xc000 | at).to_be_bytes());
                return;
            }
            let here = self.octets.len();
            if let Some(here) =
                u16::try_from(here).ok().filter(|_| here < REACH && self.known.len() < REMEMBERED)
            {
                self.known.push(here);
            }
            let end = start + 1 + usize::from(whole[start]);
            self.octets.extend(&whole[start..end]);
        }
        self.octets.push(0);
    }

    /// Whether what is written at a place is this name. Only what we wrote is read, so pointers lead back.
    fn is_at(&self, mut at: usize, name: &[u8]) -> bool {
        for label in Labels::of(name) {
            while let Some(&high) = self.octets.get(at).filter(|&&length| length & 0xc0 == 0xc0) {
                let Some(&low) = self.octets.get(at + 1) else { return false };
                at = usize::from(u16::from_be_bytes([high & 0x3f, low]));
            }
            let end = at + 1 + label.len();
            let same = self.octets.get(at).is_some_and(|&length| usize::from(length) == label.len())
                && self.octets.get(at + 1..end).is_some_and(|written| written.eq_ignore_ascii_case(label));
            if !same {
                return false;
            }
            at = end;
        }
        while let Some(&high) = self.octets.get(at).filter(|&&length| length & 0xc0 == 0xc0) {
            let Some(&low) = self.octets.get(at + 1) else { return false };
            at = usize::from(u16::from_be_bytes([high & 0x3f, low]));
        }
        self.octets.get(at) == Some(&0)
    }
}
