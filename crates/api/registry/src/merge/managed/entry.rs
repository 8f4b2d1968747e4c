//! The entries of `metadata.managedFields`: reading, writing, joining and capping them. Knows no schema.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::super::compare::Difference;
use super::super::fields::FieldSet;
use super::{Operation, Who};
use crate::unread;

/// More `Update` managers than this are folded together, oldest first.
const MAX_UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

#[derive(Debug, Clone)]
pub(in super::super) struct Entry {
    pub(in super::super) manager: String,
    pub(in super::super) operation: Operation,
    pub(in super::super) api_version: String,
    pub(in super::super) subresource: String,
    pub(in super::super) time: Option<String>,
    /// Empty while they are unread.
    pub(in super::super) fields: FieldSet,
    /// The fields as they are stored, until somebody has to look at them.
    unread: Option<String>,
}

impl Entry {
    pub(super) fn of(who: &Who<'_>, fields: FieldSet, time: Option<String>) -> Self {
        Self {
            manager: if who.manager.is_empty() { "unknown" } else { who.manager }.to_owned(),
            operation: who.operation,
            api_version: who.api_version.to_owned(),
            subresource: who.subresource.to_owned(),
            time,
            fields,
            unread: None,
        }
    }

    /// The fields, to be changed.
    fn read(&mut self) -> &mut FieldSet {
        if let Some(text) = self.unread.take() {
            let tree = serde_json::from_str(&text).ok();
            self.fields = tree.and_then(|tree| FieldSet::decode(tree).ok()).unwrap_or_default();
        }
        &mut self.fields
    }

    /// Takes out what changed or went. What is unread and names none of it is left so.
    fn lose(&mut self, difference: &Difference) {
        let named = |text: &str| difference.changed.is_named_in(text) || difference.removed.is_named_in(text);
        if self.unread.as_deref().is_some_and(|text| !named(text)) {
            return;
        }
        let fields = self.read();
        fields.subtract(&difference.changed);
        fields.subtract(&difference.removed);
    }

    fn has_fields(&self) -> bool {
        self.unread.is_some() || !self.fields.is_empty()
    }

    /// One manager has one entry for each way of writing; an applier keeps it when it changes versions.
    fn same_owner(&self, other: &Entry) -> bool {
        self.operation == other.operation
            && self.manager == other.manager
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    fn decode(entry: Value) -> Option<Self> {
        let Value::Object(mut entry) = entry else { return None };
        let mut text = |name: &str| match entry.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let operation = match &*text("operation")? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        let api_version = text("apiVersion").filter(|version| !version.is_empty())?;
        text("fieldsType").filter(|kind| kind == "FieldsV1")?;
        let manager = text("manager").unwrap_or_default();
        let subresource = text("subresource").unwrap_or_default();
        let time = text("time");
        let unread = unread::take(&mut entry).filter(|text| text != "{}");
        let fields = match entry.remove(unread::FIELDS) {
            None | Some(Value::Null) => FieldSet::default(),
            Some(Value::Object(tree)) => FieldSet::decode(tree).ok()?,
            Some(_) => return None,
        };
        Some(Self { manager, operation, api_version, subresource, time, fields, unread })
    }

    fn encode(self) -> Value {
        let mut entry = Map::new();
        entry.insert("apiVersion".to_owned(), Value::String(self.api_version));
        entry.insert("fieldsType".to_owned(), Value::from("FieldsV1"));
        match self.unread {
            Some(text) => unread::put(&mut entry, text),
            None => {
                entry.insert(unread::FIELDS.to_owned(), self.fields.into_value());
            }
        }
        entry.insert("manager".to_owned(), Value::String(self.manager));
        entry.insert("operation".to_owned(), Value::from(self.operation.as_str()));
        if !self.subresource.is_empty() {
            entry.insert("subresource".to_owned(), Value::String(self.subresource));
        }
        if let Some(time) = self.time {
            entry.insert("time".to_owned(), Value::String(time));
        }
        Value::Object(entry)
    }
}

impl Operation {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Whole seconds, as all times of objects.
pub(super) fn stamp(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[derive(Debug, Default)]
pub(in super::super) struct Entries(Vec<Entry>);

impl Entries {
    /// `None` if any entry is not one.
    pub(super) fn decode(managed_fields: Option<Value>) -> Option<Self> {
        let mut entries = Self::unread(managed_fields)?;
        for entry in &mut entries.0 {
            entry.read();
        }
        Some(entries)
    }

    /// The same, with fields that nobody has looked at.
    fn unread(managed_fields: Option<Value>) -> Option<Self> {
        match managed_fields {
            None | Some(Value::Null) => Some(Self::default()),
            Some(Value::Array(entries)) => {
                let mut decoded = Self::default();
                for entry in entries {
                    decoded.add(Entry::decode(entry)?);
                }
                Some(decoded)
            }
            Some(_) => None,
        }
    }

    /// The entries that hold before a write. A client may send its own; `[]` or `[{}]` drops them all, while none or
    /// broken ones leave the stored ones in place, so that a client that does not know of them cannot lose them.
    pub(super) fn of_write(sent: Option<Value>, old: Option<&Value>, through_subresource: bool) -> Self {
        let stored = old.and_then(|old| old.get("metadata")?.get("managedFields"));
        // Most writes carry what is stored.
        if sent.as_ref() == stored {
            return Self::unread(sent).unwrap_or_default();
        }
        if !through_subresource {
            if let Some(Value::Array(entries)) = &sent
                && (entries.is_empty() || matches!(&entries[..], [Value::Object(only)] if only.is_empty()))
            {
                return Self::default();
            }
            if let Some(entries) = Self::decode(sent).filter(|entries| !entries.is_empty()) {
                return entries;
            }
        }
        Self::unread(stored.cloned()).unwrap_or_default()
    }

    pub(super) fn encode(mut self) -> Vec<Value> {
        self.0.sort_by(|one, other| {
            (
                one.operation,
                one.time.as_deref().unwrap_or_default(),
                &one.manager,
                &one.api_version,
                &one.subresource,
            )
                .cmp(&(
                    other.operation,
                    other.time.as_deref().unwrap_or_default(),
                    &other.manager,
                    &other.api_version,
                    &other.subresource,
                ))
        });
        self.0.into_iter().map(Entry::encode).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in super::super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    /// Replaces the owner's entry.
    pub(super) fn add(&mut self, entry: Entry) {
        match self.0.iter_mut().find(|present| present.same_owner(&entry)) {
            Some(present) => *present = entry,
            None => self.0.push(entry),
        }
    }

    /// Puts the fields into the owner's entry beside those that it has.
    pub(super) fn join(&mut self, mut entry: Entry) {
        match self.0.iter_mut().find(|present| present.same_owner(&entry)) {
            Some(present) => {
                present.read().union(std::mem::take(entry.read()));
                present.time = entry.time;
            }
            None => self.0.push(entry),
        }
    }

    /// Takes the applier's entry out.
    pub(super) fn take(&mut self, who: &Who<'_>) -> Option<Entry> {
        let wanted = Entry::of(who, FieldSet::default(), None);
        let at = self.0.iter().position(|entry| entry.same_owner(&wanted))?;
        Some(self.0.remove(at))
    }

    /// Nobody keeps a field that changed or went. Entries that have nothing left go.
    pub(super) fn lose(&mut self, difference: &Difference) {
        self.0.iter_mut().for_each(|entry| entry.lose(difference));
        self.0.retain(Entry::has_fields);
    }

    /// The same for the entries of one version.
    pub(super) fn lose_in(&mut self, version: &str, difference: &Difference) {
        let those = self.0.iter_mut().filter(|entry| entry.api_version == version);
        those.for_each(|entry| entry.lose(difference));
        self.0.retain(Entry::has_fields);
    }

    /// Folds the oldest `Update` entries of each version into one until there are few enough.
    pub(super) fn cap(&mut self) {
        let updaters = self.0.iter().filter(|entry| entry.operation == Operation::Update).count();
        if updaters <= MAX_UPDATERS {
            return;
        }
        let mut surplus = updaters - MAX_UPDATERS;
        let (mut oldest, mut kept): (Vec<Entry>, Vec<Entry>) =
            self.0.drain(..).partition(|entry| entry.operation == Operation::Update);
        oldest.sort_by(|one, other| (&one.time, &one.manager).cmp(&(&other.time, &other.manager)));
        let mut firsts: Vec<Entry> = Vec::new();
        for mut entry in oldest {
            if surplus == 0 {
                kept.push(entry);
                continue;
            }
            match firsts.iter_mut().find(|first| first.api_version == entry.api_version) {
                None => firsts.push(entry),
                Some(bucket) => {
                    ANCIENT.clone_into(&mut bucket.manager);
                    bucket.subresource.clear();
                    bucket.read().union(std::mem::take(entry.read()));
                    bucket.time = entry.time;
                    surplus -= 1;
                }
            }
        }
        self.0 = kept;
        for entry in firsts {
            self.join(entry);
        }
    }
}
