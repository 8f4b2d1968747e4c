//! Sets and maps: which columns they have, and lists of what is in them, cut into messages that the kernel takes.

use std::collections::BTreeMap;

use super::rule::GOTO;
use super::{Batch, Column};
use crate::message::{CREATE, Message, put, put_nested, put_text};

const NEW_SET: u16 = 9;
const NEW_ELEMENT: u16 = 12;
const DELETE_ELEMENT: u16 = 14;

pub(super) const RANGES: u32 = 4;
pub(super) const MAP: u32 = 8;
pub(super) const FORGETTING: u32 = 0x10;
const WRITTEN_BY_RULES: u32 = 0x20;
const CONCATENATED: u32 = 0x80;
/// What the kernel calls values that are verdicts.
const VERDICTS: u32 = 0xffff_ff00;

/// The length of a list is written in sixteen bits.
const LONGEST_LIST: usize = 60 * 1024;

/// A set of keys, or a map from keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub name: String,
    keys: Vec<Column>,
    values: Values,
    has_ranges: bool,
    /// Rules write it, entries go by themselves, and there are never more.
    most: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    None,
    Columns(Vec<Column>),
    Verdicts,
}

impl Set {
    pub fn of(name: &str, keys: &[Column]) -> Self {
        Self {
            name: name.to_owned(),
            keys: keys.to_vec(),
            values: Values::None,
            has_ranges: false,
            most: None,
        }
    }

    pub fn to(self, values: &[Column]) -> Self {
        Self { values: Values::Columns(values.to_vec()), ..self }
    }

    pub fn to_verdicts(self) -> Self {
        Self { values: Values::Verdicts, ..self }
    }

    /// Entries may reach from one key to another, column by column.
    pub fn with_ranges(self) -> Self {
        Self { has_ranges: true, ..self }
    }

    /// Rules write it; there are never more entries than this.
    pub fn written_by_rules(self, most: u32) -> Self {
        Self { most: Some(most), ..self }
    }

    pub(super) fn flags(&self) -> u32 {
        let mut flags = 0;
        flags |= if self.values == Values::None { 0 } else { MAP };
        flags |= if self.has_ranges { RANGES | CONCATENATED } else { 0 };
        flags | if self.most.is_some() { FORGETTING | WRITTEN_BY_RULES } else { 0 }
    }

    /// Bytes of a key and of a value, as the kernel tells of them.
    pub(super) fn lengths(&self) -> (u32, u32) {
        let values = match &self.values {
            Values::None | Values::Verdicts => 0,
            Values::Columns(columns) => row(columns).1,
        };
        (row(&self.keys).1, values)
    }
}

/// One entry: a key, perhaps the last key of a range, and what it is mapped to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element {
    pub key: Box<[u8]>,
    pub last: Option<Box<[u8]>>,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    None,
    Bytes(Box<[u8]>),
    /// The chain that the packet goes on in.
    Goto(Box<str>),
}

/// Lists of several sets that are filled side by side.
#[derive(Debug, Default)]
pub struct Lists(BTreeMap<&'static str, Vec<u8>>);

impl Batch {
    /// Adds one more to the lists; all are in the batch once they are closed.
    pub fn list_one(&mut self, lists: &mut Lists, set: &'static str, element: &Element) {
        let list = lists.0.entry(set).or_default();
        write(list, element, true);
        if list.len() >= LONGEST_LIST {
            let list = std::mem::take(list);
            self.list(&adding(set), NEW_ELEMENT, CREATE, set, &list);
        }
    }

    pub fn close(&mut self, lists: Lists) -> &mut Self {
        for (set, list) in lists.0.into_iter().filter(|(_, list)| !list.is_empty()) {
            self.list(&adding(set), NEW_ELEMENT, CREATE, set, &list);
        }
        self
    }

    pub fn make(&mut self, set: &Set) -> &mut Self {
        // The kernel wants a number of its own for each set of a batch.
        let number = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        let message = self.message(&format!("make the set {} of", set.name), NEW_SET, CREATE);
        let (kind, length) = row(&set.keys);
        message.text(2, &set.name).attribute(3, &set.flags().to_be_bytes());
        message.attribute(4, &kind.to_be_bytes()).attribute(5, &length.to_be_bytes());
        match &set.values {
            Values::None => {}
            Values::Columns(columns) => {
                let (kind, length) = row(columns);
                message.attribute(6, &kind.to_be_bytes()).attribute(7, &length.to_be_bytes());
            }
            Values::Verdicts => {
                message.attribute(6, &VERDICTS.to_be_bytes());
            }
        }
        describe(message, set);
        message.attribute(10, &number.to_be_bytes());
        self
    }

    /// Adds all of them, in as few messages as will do.
    pub fn elements<'e>(&mut self, set: &str, elements: impl IntoIterator<Item = &'e Element>) -> &mut Self {
        self.lists(&adding(set), NEW_ELEMENT, CREATE, set, elements, true)
    }

    /// Refused with `NOENT` if one of them is not there.
    pub fn without_elements<'e>(
        &mut self,
        set: &str,
        elements: impl IntoIterator<Item = &'e Element>,
    ) -> &mut Self {
        self.lists(&format!("remove from the set {set} of"), DELETE_ELEMENT, 0, set, elements, false)
    }

    fn lists<'e>(
        &mut self,
        what: &str,
        kind: u16,
        flags: u16,
        set: &str,
        elements: impl IntoIterator<Item = &'e Element>,
        with_values: bool,
    ) -> &mut Self {
        let mut list = Vec::new();
        for element in elements {
            write(&mut list, element, with_values);
            if list.len() >= LONGEST_LIST {
                self.list(what, kind, flags, set, &std::mem::take(&mut list));
            }
        }
        if !list.is_empty() {
            self.list(what, kind, flags, set, &list);
        }
        self
    }

    fn list(&mut self, what: &str, kind: u16, flags: u16, set: &str, list: &[u8]) {
        let message = self.message(what, kind, flags);
        message.text(2, set).nested(3, |inside| inside.extend(list));
    }
}

fn adding(set: &str) -> String {
    format!("add to the set {set} of")
}

fn describe(message: &mut Message, set: &Set) {
    if !set.has_ranges && set.most.is_none() {
        return;
    }
    message.nested(9, |description| {
        if let Some(most) = set.most {
            put(description, 1, &most.to_be_bytes());
        }
        if set.has_ranges {
            put_nested(description, 2, |fields| {
                for column in &set.keys {
                    put_nested(fields, 1, |field| put(field, 1, &column.width().to_be_bytes()));
                }
            });
        }
    });
}

fn write(list: &mut Vec<u8>, element: &Element, with_value: bool) {
    put_nested(list, 1, |bytes| {
        put_nested(bytes, 1, |data| put(data, 1, &element.key));
        if let Some(last) = &element.last {
            put_nested(bytes, 10, |data| put(data, 1, last));
        }
        match &element.value {
            _ if !with_value => {}
            Value::None => {}
            Value::Bytes(value) => put_nested(bytes, 2, |data| put(data, 1, value)),
            Value::Goto(chain) => put_nested(bytes, 2, |data| {
                put_nested(data, 2, |verdict| {
                    put(verdict, 1, &GOTO.to_be_bytes());
                    put_text(verdict, 2, chain);
                });
            }),
        }
    });
}

fn row(columns: &[Column]) -> (u32, u32) {
    columns.iter().fold((0, 0), |(kind, length), column| {
        let (number, bytes) = column.shown();
        (kind << 6 | number, length + bytes)
    })
}

#[cfg(test)]
mod tests;
