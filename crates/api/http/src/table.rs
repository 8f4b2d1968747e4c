//! Objects as rows for people: `meta.k8s.io` tables with the columns that kubectl's users know, kind by kind.
//! Each row is written from one stored object and forgotten. Knows no sockets; the time is handed in.

mod access;
mod admission;
mod age;
mod apps;
mod autoscaling;
mod batch;
mod cluster;
mod config;
mod custom;
mod events;
mod flow;
mod networking;
mod nodes;
mod path;
mod pods;
mod registration;
mod resources;
mod selector;
mod services;
mod storage;
mod usage;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use kedge_kinds::Kind;
use kedge_registry::measured::is_measured;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::chunks::{Chunks, Rows};
use crate::partial::{self, ListMeta, MetaVersion};

/// What of each object a row carries beside its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

/// One column's head.
#[derive(Clone, Copy, Debug, Serialize)]
struct Column {
    name: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    format: &'static str,
    description: &'static str,
    /// 0 is always shown, 1 only in wide output.
    priority: u8,
}

impl Column {
    const fn of(name: &'static str, kind: &'static str) -> Self {
        Self { name, kind, format: "", description: "", priority: 0 }
    }

    const fn text(name: &'static str) -> Self {
        Self::of(name, "string")
    }

    const fn int(name: &'static str) -> Self {
        Self::of(name, "integer")
    }

    const fn bool(name: &'static str) -> Self {
        Self::of(name, "boolean")
    }

    const fn name() -> Self {
        Self { format: "name", ..Self::text("Name") }
    }

    const fn age() -> Self {
        Self::text("Age")
    }

    const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }
}

/// How one kind is shown. A cell for every column, in the same order.
#[derive(Clone, Copy, Debug)]
struct Printer {
    columns: &'static [Column],
    cells: fn(&Value, Timestamp) -> Vec<Value>,
    /// What is special about a row as a whole, where the kind has that.
    conditions: Option<fn(&Value) -> Option<Value>>,
}

impl Printer {
    const fn new(columns: &'static [Column], cells: fn(&Value, Timestamp) -> Vec<Value>) -> Self {
        Self { columns, cells, conditions: None }
    }
}

/// For kinds that have no columns of their own.
const PLAIN: Printer = Printer::new(&[Column::name(), Column::of("Created At", "date")], |object, _| {
    vec![name(object), object["metadata"]["creationTimestamp"].clone()]
});

fn printer(group: &str, kind: &str) -> Printer {
    let found = match group {
        "" => pods::printer(kind)
            .or_else(|| services::core(kind))
            .or_else(|| nodes::printer(kind))
            .or_else(|| config::printer(kind))
            .or_else(|| storage::core(kind))
            .or_else(|| events::printer(kind)),
        "apps" => apps::printer(kind),
        "batch" => batch::printer(kind),
        "autoscaling" => autoscaling::printer(kind),
        "events.k8s.io" => events::printer(kind),
        "certificates.k8s.io" => access::certificates(kind),
        "rbac.authorization.k8s.io" => access::rbac(kind),
        "networking.k8s.io" => networking::printer(kind),
        "discovery.k8s.io" => services::discovery(kind),
        "policy" => pods::policy(kind),
        "storage.k8s.io" => storage::printer(kind),
        "admissionregistration.k8s.io" => admission::printer(kind),
        "apiregistration.k8s.io" => registration::printer(kind),
        "scheduling.k8s.io" | "coordination.k8s.io" | "node.k8s.io" => cluster::printer(kind),
        "resource.k8s.io" => resources::printer(kind),
        "flowcontrol.apiserver.k8s.io" => flow::printer(kind),
        "metrics.k8s.io" => usage::printer(kind),
        _ => None,
    };
    found.unwrap_or(PLAIN)
}

/// What an object calls itself.
#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow, rename = "apiVersion")]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// Turns stored objects of one kind into rows.
#[derive(Clone, Debug)]
pub struct Table {
    printer: Printer,
    /// The columns of a custom kind, instead of the printer's.
    custom: Option<Arc<custom::Columns>>,
    include: IncludeObject,
    version: MetaVersion,
    now: Timestamp,
}

impl Table {
    pub fn new(kind: &Arc<Kind>, include: IncludeObject, version: MetaVersion, now: Timestamp) -> Self {
        let rules = kind.rules.as_ref().filter(|_| !is_measured(kind));
        let custom = rules.map(|rules| Arc::new(custom::Columns::of(&**rules)));
        Self { printer: printer(&kind.gv.group, &kind.kind), custom, include, version, now }
    }

    /// A list as one table, in chunks.
    pub fn list<I>(self, items: I, meta: &ListMeta) -> Chunks<I::IntoIter, Self>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let mut head = Vec::with_capacity(4096);
        self.head(meta, true, &mut head);
        Chunks::new(items.into_iter(), self, head)
    }

    /// One object as a table of one row. A subresource may speak a kind of its own, which then has its own columns.
    pub fn one(&self, object: &[u8]) -> Result<Bytes, serde_json::Error> {
        let called: Called<'_> = serde_json::from_slice(object)?;
        let group = called.api_version.split_once('/').map_or("", |(group, _)| group);
        let custom = self.custom.clone().filter(|_| group != "autoscaling");
        Self { printer: printer(group, &called.kind), custom, ..*self }.event(object, true, self.now)
    }

    /// An object of a watch event as a table of one row. Only the first event of a watch names the columns. A watch
    /// outlives the moment of its request, so each event brings its own.
    pub fn event(&self, object: &[u8], first: bool, now: Timestamp) -> Result<Bytes, serde_json::Error> {
        let meta = ListMeta { resource_version: partial::revision(object)?, ..ListMeta::default() };
        let mut out = Vec::with_capacity(1024);
        self.head(&meta, first, &mut out);
        Self { now, ..self.clone() }.row(object, &mut out)?;
        out.extend_from_slice(b"]}");
        Ok(out.into())
    }

    fn head(&self, meta: &ListMeta, columns: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"kind":"Table","apiVersion":""#);
        out.extend_from_slice(self.version.api_version().as_bytes());
        out.extend_from_slice(br#"","metadata":"#);
        partial::write_meta(meta, out);
        out.extend_from_slice(br#","columnDefinitions":"#);
        // Strings and small numbers into a Vec: there is nothing that could fail.
        let _infallible = match &self.custom {
            _ if !columns => serde_json::to_writer(&mut *out, &[(); 0]),
            Some(custom) => serde_json::to_writer(&mut *out, custom.heads()),
            None => serde_json::to_writer(&mut *out, self.printer.columns),
        };
        out.extend_from_slice(br#","rows":["#);
    }
}

impl Rows for Table {
    fn row(&self, object: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let value: Value = serde_json::from_slice(object)?;
        out.extend_from_slice(br#"{"cells":"#);
        let cells = match &self.custom {
            Some(custom) => custom.cells(&value, self.now),
            None => (self.printer.cells)(&value, self.now),
        };
        serde_json::to_writer(&mut *out, &cells)?;
        if let Some(conditions) = self.printer.conditions.and_then(|of| of(&value)) {
            out.extend_from_slice(br#","conditions":"#);
            serde_json::to_writer(&mut *out, &json!([conditions]))?;
        }
        match self.include {
            IncludeObject::None => out.extend_from_slice(br#","object":null"#),
            IncludeObject::Metadata => {
                out.extend_from_slice(br#","object":"#);
                partial::write(object, self.version, out)?;
            }
            IncludeObject::Object => {
                out.extend_from_slice(br#","object":"#);
                out.extend_from_slice(object);
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// The object's name as a cell.
fn name(object: &Value) -> Value {
    text(&object["metadata"]["name"])
}

/// A string as a cell; empty where there is none.
fn text(value: &Value) -> Value {
    value.as_str().unwrap_or_default().into()
}

/// A string as a cell; `otherwise` where there is none or it is empty.
fn text_or(value: &Value, otherwise: &str) -> Value {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise).into()
}

/// A whole number; 0 where there is none.
fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or_default()
}

/// A list's items; none where there is no list.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How many items or keys there are.
fn count(value: &Value) -> usize {
    value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len)).unwrap_or_default()
}

/// How old the object is, as a cell.
fn age(object: &Value, now: Timestamp) -> Value {
    age::since(&object["metadata"]["creationTimestamp"], now).into()
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The condition of this type.
fn condition<'v>(conditions: &'v Value, kind: &str) -> Option<&'v Value> {
    items(conditions).iter().find(|condition| condition["type"] == kind)
}

/// Names and images of a pod template's containers, as two cells.
fn containers(containers: &Value) -> [Value; 2] {
    ["name", "image"].map(|field| {
        joined(items(containers).iter().map(|one| one[field].as_str().unwrap_or_default()), ",").into()
    })
}

fn joined<'t>(parts: impl IntoIterator<Item = &'t str>, between: &str) -> String {
    parts.into_iter().collect::<Vec<_>>().join(between)
}

/// The first three and how many more there are.
fn first_three(all: &[String], otherwise: &str) -> String {
    match all.get(..3) {
        Some(first) if all.len() > 3 => format!("{} + {} more...", first.join(","), all.len() - 3),
        _ if all.is_empty() => otherwise.to_owned(),
        _ => all.join(","),
    }
}

#[cfg(test)]
mod tests;
