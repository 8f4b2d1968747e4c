//! What has to change in an encoding when values are exchanged: the values, and the lengths of all that holds them.

use std::str;

use super::delta::{self, Delta, Edits};
use super::{Leaf, Template, Value};
use crate::encode::back::put_varint;
use crate::encode::tape;
use crate::time::{self, Precision};

/// Reused from object to object.
#[derive(Debug, Default)]
pub(in crate::encode) struct Exchange {
    edits: Vec<Edit>,
    /// The places of those of the last object in the order of its encoding: those of the next one mostly come in the same.
    order: Vec<usize>,
    /// Values that are not written as they are read, and lengths.
    made: Vec<u8>,
    /// The last time that was read: neighbours were often made in the same second.
    moment: Option<Moment>,
    /// By how much each of the template's lengths changes.
    growth: Vec<usize>,
    /// Those of them that may.
    grown: Vec<usize>,
    length: usize,
    /// All of it.
    noted: Edits,
}

/// A time, and what was made of it.
#[derive(Debug)]
struct Moment {
    text: Box<[u8]>,
    precision: Precision,
    made: Box<[u8]>,
}

#[derive(Debug, Clone, Copy)]
struct Edit {
    /// What goes, in the template's encoding.
    gone: (usize, usize),
    new: (usize, usize),
    from: Source,
}

impl Edit {
    fn keeps_length(&self) -> bool {
        self.new.1 - self.new.0 == self.gone.1 - self.gone.0
    }
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Json,
    Made,
}

impl Value {
    /// How far a value of this sort goes in JSON; `None` if it is of another sort or not written plainly.
    pub(super) fn length(self, json: &[u8]) -> Option<usize> {
        match self {
            Value::Text | Value::Moment(_) => {
                tape::plain(json).filter(|length| json.get(*length) == Some(&b'"'))
            }
            Value::Integer | Value::Truth => Some(tape::bare(json)),
        }
    }
}

impl Exchange {
    pub(super) fn begin(&mut self, template: &Template) {
        self.edits.clear();
        self.made.clear();
        for at in self.grown.drain(..) {
            self.growth[at] = 0;
        }
        if self.growth.len() < template.lengths.len() {
            self.growth.resize(template.lengths.len(), 0);
        }
        self.length = template.encoded.len();
    }

    /// How long the encoding will be.
    pub(in crate::encode) fn length(&self) -> usize {
        self.length
    }

    /// Exchanges one value for what stands there in the JSON; `None` if that is no such value.
    pub(super) fn add(
        &mut self,
        template: &Template,
        leaf: &Leaf,
        json: &[u8],
        place: (usize, usize),
    ) -> Option<()> {
        let text = json.get(place.0..place.1)?;
        let start = self.made.len();
        match leaf.value {
            Value::Text => {}
            Value::Integer => {
                let number: i64 = str::from_utf8(text).ok()?.parse().ok()?;
                put_varint(number.cast_unsigned(), &mut self.made);
            }
            Value::Truth if text == b"true" => self.made.push(1),
            Value::Truth if text == b"false" => self.made.push(0),
            Value::Truth => return None,
            Value::Moment(precision) => self.moment(text, precision)?,
        }
        let (from, new) = match leaf.value {
            Value::Text => (Source::Json, place),
            _ => (Source::Made, (start, self.made.len())),
        };
        self.edit(template, leaf.within, Edit { gone: leaf.encoded, new, from });
        Some(())
    }

    fn moment(&mut self, text: &[u8], precision: Precision) -> Option<()> {
        if let Some(last) = &self.moment
            && *last.text == *text
            && last.precision == precision
        {
            self.made.extend_from_slice(&last.made);
            return Some(());
        }
        let start = self.made.len();
        let at = time::parse(str::from_utf8(text).ok()?, precision).ok()?;
        self.made.push(1 << 3);
        put_varint(at.as_second().cast_unsigned(), &mut self.made);
        self.made.push(2 << 3);
        put_varint(i64::from(at.subsec_nanosecond()).cast_unsigned(), &mut self.made);
        self.moment = Some(Moment { text: text.into(), precision, made: self.made.get(start..)?.into() });
        Some(())
    }

    /// Changes what stands within that length.
    fn edit(&mut self, template: &Template, mut within: usize, edit: Edit) {
        self.edits.push(edit);
        let (new, gone) = (edit.new.1 - edit.new.0, edit.gone.1 - edit.gone.0);
        if new == gone {
            return;
        }
        self.length = self.length + new - gone;
        while let Some(length) = template.lengths.get(within) {
            self.grown.push(within);
            // Wrapping, as what shrinks grows by less than nothing.
            self.growth[within] = self.growth[within].wrapping_add(new).wrapping_sub(gone);
            within = length.within;
        }
    }

    /// Changes the lengths of all that holds exchanged values, inner ones first: a length that needs one more byte makes others grow.
    pub(super) fn finish(&mut self, template: &Template, json: &[u8]) {
        if !self.grown.is_empty() {
            let mut grown = std::mem::take(&mut self.grown);
            grown.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
            grown.dedup();
            for &at in &grown {
                let Some(length) = template.lengths.get(at).filter(|_| self.growth[at] != 0) else {
                    continue;
                };
                let start = self.made.len();
                put_varint(length.counted.wrapping_add(self.growth[at]) as u64, &mut self.made);
                let new = (start, self.made.len());
                self.edit(template, length.within, Edit { gone: length.encoded, new, from: Source::Made });
            }
            // What `edit` has noted since are lengths around these, which are among them already.
            self.grown = grown;
        }
        self.sort();
        self.note(json);
    }

    /// Puts the edits in the order of the encoding, as it was for the last object if that still holds.
    fn sort(&mut self) {
        let Self { edits, order, .. } = self;
        let place = |at: &usize| edits.get(*at).map(|edit| edit.gone);
        if order.len() != edits.len() {
            order.clear();
            order.extend(0..edits.len());
        }
        if !order.is_sorted_by_key(place) {
            order.sort_unstable_by_key(place);
        }
    }

    fn note(&mut self, json: &[u8]) {
        let Self { edits, order, made, noted, .. } = self;
        let new = |edit: &Edit| match edit.from {
            Source::Json => &json[edit.new.0..edit.new.1],
            Source::Made => &made[edit.new.0..edit.new.1],
        };
        let in_order = || order.iter().filter_map(|at| edits.get(*at));
        noted.clear();
        let resizing = || in_order().filter(|edit| !edit.keeps_length());
        noted.number(resizing().count());
        let mut at = 0;
        for edit in resizing() {
            noted.number(edit.gone.0 - at);
            noted.number(edit.gone.1 - edit.gone.0);
            noted.text(new(edit));
            at = edit.gone.1;
        }
        // Places of what is written, from the end of one edit that keeps its length to the next.
        let (mut at, mut before) = (0, 0);
        for edit in in_order() {
            before += edit.gone.0 - at;
            match edit.keeps_length() {
                true => {
                    noted.number(before);
                    noted.text(new(edit));
                    before = 0;
                }
                false => before += edit.new.1 - edit.new.0,
            }
            at = edit.gone.1;
        }
    }

    /// Appends the encoding.
    pub(in crate::encode) fn write(&self, template: &Template, out: &mut Vec<u8>) {
        delta::apply(&template.encoded, self.noted.bytes(), out);
    }

    /// The same, to be written later.
    pub(in crate::encode) fn delta(&self, template: &Template) -> Option<Delta> {
        Delta::new(template, self.length, self.noted.bytes())
    }
}
