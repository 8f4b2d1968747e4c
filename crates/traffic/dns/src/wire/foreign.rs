//! An answer of somebody else's, kept as it came. It is handed to whoever asks the same, as old as it is by then.

use super::query::Query;
use super::record::Record;
use super::skim::{Place, Section, Skim, skim};
use super::{Code, HEADER, flag, kind, put_u16};

#[derive(Debug)]
pub struct Foreign {
    octets: Vec<u8>,
    skim: Skim,
}

impl Foreign {
    /// Nothing, if it cannot be read.
    pub fn new(mut octets: Vec<u8>) -> Option<Self> {
        let mut found = skim(&octets)?;
        // What its sender says of himself is not passed on. What follows would have to move, so it goes too; usually it is the last.
        if let Some(own) = found.places.iter().position(|place| place.kind == kind::OPT) {
            found.places.truncate(own);
        }
        octets.truncate(found.places.last().map_or(found.begin, |last| last.end));
        octets.shrink_to_fit();
        Some(Self { octets, skim: found })
    }

    pub fn skim(&self) -> &Skim {
        &self.skim
    }

    pub fn size(&self) -> usize {
        self.octets.len() + self.skim.places.len() * size_of::<Place>()
    }

    pub fn code(&self) -> Code {
        match self.skim.code() {
            0 => Code::Fine,
            1 => Code::Malformed,
            3 => Code::NoSuchName,
            4 => Code::NotImplemented,
            5 => Code::Refused,
            _ => Code::Failed,
        }
    }

    /// It has what was asked for.
    pub fn is_positive(&self) -> bool {
        self.answers().any(|place| place.kind == self.skim.kind)
    }

    fn answers(&self) -> impl Iterator<Item = &Place> {
        self.skim.places.iter().filter(|place| place.section == Section::Answer)
    }

    /// For how many seconds it may be kept; nothing, if it says nothing that lasts.
    pub fn lifetime(&self) -> Option<u32> {
        if self.skim.is_truncated() {
            return None;
        }
        let shortest = self.answers().map(|place| place.ttl).min();
        match self.code() {
            Code::Fine if self.is_positive() => shortest,
            Code::Fine | Code::NoSuchName => {
                let absence = self.skim.places.iter().find_map(|place| place.absence(&self.octets))?;
                Some(shortest.map_or(absence, |shortest| shortest.min(absence)))
            }
            _ => None,
        }
    }

    /// Its answers, or what it says of their absence, to be put into an answer of ours.
    pub fn records(&self, section: Section, age: u32) -> Vec<Record> {
        let places = self.skim.places.iter().filter(|place| place.section == section);
        let wanted = places.filter(|place| section == Section::Answer || place.kind == kind::SOA);
        wanted.filter_map(|place| place.record(&self.octets, place.ttl.saturating_sub(age))).collect()
    }

    /// For a client that asks the same question.
    pub fn encode(&self, query: &Query, age: u32, room: usize) -> Vec<u8> {
        let ours = query.edns.map(|edns| edns.ours());
        let room = room - ours.map_or(0, |ours| ours.len());
        let fits = self.skim.places.iter().take_while(|place| place.end <= room).count();
        let places = &self.skim.places[..fits];
        let mut octets = self.octets[..places.last().map_or(self.skim.begin, |last| last.end)].to_vec();
        for place in places {
            if let Some(ttl) = octets.get_mut(place.ttl_at()..place.ttl_at() + 4) {
                ttl.copy_from_slice(&place.ttl.saturating_sub(age).to_be_bytes());
            }
        }
        // The letters of the question come back as they were sent.
        if let Some(question) = octets.get_mut(HEADER..HEADER + query.question.len()) {
            question.copy_from_slice(&query.question);
        }
        let lost = self.skim.places.get(fits).is_some_and(|next| next.section != Section::Additional);
        let kept = self.skim.flags & (flag::AUTHENTIC | flag::CODE);
        let asked = query.flags & (flag::RECURSE | flag::UNCHECKED);
        let cut = if lost || self.skim.is_truncated() { flag::TRUNCATED } else { 0 };
        put_u16(&mut octets, 0, query.id);
        put_u16(&mut octets, 2, flag::RESPONSE | flag::RECURSES | kept | asked | cut);
        let count = |section| places.iter().filter(|place| place.section == section).count();
        let mut counts = [Section::Answer, Section::Authority, Section::Additional].map(count);
        if let Some(ours) = ours {
            octets.extend(ours);
            counts[2] += 1;
        }
        for (section, count) in counts.into_iter().enumerate() {
            put_u16(&mut octets, 6 + 2 * section, u16::try_from(count).unwrap_or(u16::MAX));
        }
        octets
    }
}
