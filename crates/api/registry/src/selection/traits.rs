//! The few parts of an object that selectors look at, read in one pass over its bytes without building the rest.

use std::fmt;

use kedge_store::Entry;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::strategy::Selectable;

/// An object's labels and, in the order of its kind's list, its selectable fields; and whether it is being deleted.
/// Remembered with the entry.
#[derive(Debug, Default)]
pub(super) struct Traits {
    labels: Vec<(Box<str>, Box<str>)>,
    fields: Vec<Box<str>>,
    pub(super) deleting: bool,
}

const LABELS: [&str; 2] = ["metadata", "labels"];
const DELETED: [&str; 2] = ["metadata", "deletionTimestamp"];

impl Traits {
    /// What `see` makes of an entry's traits, which are read out of it at most once.
    pub(super) fn of<T>(entry: &Entry, selectable: &[Selectable], see: impl FnOnce(&Traits) -> T) -> T {
        if let Some(traits) = entry.recall() {
            return see(traits);
        }
        let traits = Traits::read(entry.bytes(), selectable);
        let seen = see(&traits);
        entry.remember(traits);
        seen
    }

    /// Bytes that are no object have no traits.
    pub(super) fn read(bytes: &[u8], selectable: &[Selectable]) -> Self {
        let fields = selectable.iter().map(|one| one.absent.into()).collect();
        let mut found = Traits { labels: Vec::new(), fields, deleting: false };
        let wanted: Vec<(usize, Vec<&str>)> = selectable
            .iter()
            .enumerate()
            .map(|(at, one)| (at, one.pointer.split('/').skip(1).collect()))
            .collect();
        let mut json = serde_json::Deserializer::from_slice(bytes);
        // Half an object's traits are those that were read before it broke off.
        let _ =
            Pick { depth: 0, path: Vec::new(), wanted: &wanted, found: &mut found }.deserialize(&mut json);
        found
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| &**known == key).map(|(_, value)| &**value)
    }

    pub(super) fn field(&self, at: usize) -> &str {
        self.fields.get(at).map_or("", |value| value)
    }
}

/// Walks down only where something wanted lies.
struct Pick<'a> {
    depth: usize,
    path: Vec<String>,
    wanted: &'a [(usize, Vec<&'a str>)],
    found: &'a mut Traits,
}

impl Pick<'_> {
    /// Whether anything that is wanted lies at or below `key`.
    fn leads(&self, key: &str) -> bool {
        let on = |path: &[&str]| {
            path.len() > self.depth
                && path.iter().zip(&self.path).all(|(wanted, here)| wanted == here)
                && path.get(self.depth) == Some(&key)
        };
        on(&LABELS) || on(&DELETED) || self.wanted.iter().any(|(_, path)| on(path))
    }

    fn keep(&mut self, text: &str) {
        self.found.deleting |= self.path == DELETED;
        for (at, path) in self.wanted {
            if path.iter().eq(self.path.iter())
                && let Some(field) = self.found.fields.get_mut(*at)
            {
                *field = text.into();
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Pick<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let in_labels = self.path == LABELS;
        let mut path = self.path;
        while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            if in_labels {
                let value: std::borrow::Cow<'_, str> = map.next_value()?;
                self.found.labels.push((key.into(), value.into()));
                continue;
            }
            let here = Pick {
                depth: self.depth,
                path: std::mem::take(&mut path),
                wanted: self.wanted,
                found: self.found,
            };
            let leads = here.leads(&key);
            path = here.path;
            if !leads {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let mut below = path.clone();
            below.push(key.into_owned());
            map.next_value_seed(Pick {
                depth: self.depth + 1,
                path: below,
                wanted: self.wanted,
                found: self.found,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.keep(text);
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.keep(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_u64<E>(mut self, value: u64) -> Result<(), E> {
        self.keep(&value.to_string());
        Ok(())
    }

    fn visit_i64<E>(mut self, value: i64) -> Result<(), E> {
        self.keep(&value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
