//! From where the addresses of Services come: the ServiceCIDRs that are stored, and a range that the server was started with as long
//! as no ServiceCIDR names it. Reads; writes nothing.

use std::net::IpAddr;

use kedge_kinds::{Meta, Status};
use kedge_store::{Entry, Revision, Snapshot};
use serde_json::Value;

use super::range::{Family, Range};
use crate::object;
use crate::registry::parse;
use crate::strategies::names::parse_range;

/// Where ServiceCIDRs are stored.
pub(super) const RANGES: &str = "/registry/servicecidrs/";
/// Keeps a ServiceCIDR until nobody has an address of it.
pub(crate) const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";
/// The one that is made of the ranges that the server was started with.
pub(crate) const DEFAULT: &str = "kubernetes";

/// A ServiceCIDR as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) revision: Revision,
    pub(super) object: Value,
    pub(super) ranges: Vec<Range>,
}

/// One range, and whether new addresses come from it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) range: Range,
    pub(super) is_open: bool,
    /// What must not have changed when an address of it is written down.
    pub(super) stored: Option<(String, Revision)>,
}

impl Stored {
    fn read(key: &str, entry: &Entry) -> Result<Self, Status> {
        let object = parse(entry)?;
        let told = object::at(&object, &["spec", "cidrs"]).and_then(Value::as_array).into_iter().flatten();
        let ranges = told.filter_map(Value::as_str).filter_map(parse_range);
        let ranges = ranges.map(|(address, bits)| Range::new(address, bits)).collect();
        let name = key.strip_prefix(RANGES).unwrap_or(key).to_owned();
        Ok(Self { name, revision: entry.modified(), object, ranges })
    }

    pub(super) fn key(&self) -> String {
        format!("{RANGES}{}", self.name)
    }

    pub(super) fn is_leaving(&self) -> bool {
        Meta::of(&self.object).is_leaving()
    }

    pub(super) fn is_kept(&self) -> bool {
        Meta::of(&self.object).finalizers().any(|name| name == FINALIZER)
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(address))
    }

    /// What is said of its readiness, if anything is.
    pub(super) fn ready(&self) -> Option<&Value> {
        let conditions = object::at(&self.object, &["status", "conditions"]).and_then(Value::as_array);
        conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready")
    }

    /// Addresses are only taken of one that cannot vanish under them.
    fn is_open(&self) -> bool {
        let refused = self.ready().is_some_and(|ready| ready["status"] != "True");
        self.is_kept() && !self.is_leaving() && !refused
    }
}

/// All ServiceCIDRs, by name.
pub(super) fn stored(snapshot: &Snapshot) -> Result<Vec<Stored>, Status> {
    snapshot.range(RANGES, None).map(|(key, entry)| Stored::read(key.as_str(), entry)).collect()
}

/// Every range, those first that the server was started with.
pub(super) fn all(told: &[Range], snapshot: &Snapshot) -> Result<Vec<Source>, Status> {
    let stored = stored(snapshot)?;
    let unnamed = told.iter().filter(|range| !stored.iter().any(|one| one.ranges.contains(range)));
    let mut sources: Vec<Source> =
        unnamed.map(|range| Source { range: *range, is_open: true, stored: None }).collect();
    for one in &stored {
        let (is_open, from) = (one.is_open(), Some((one.key(), one.revision)));
        let of = one.ranges.iter().map(|range| Source { range: *range, is_open, stored: from.clone() });
        sources.extend(of);
    }
    sources.sort_by_key(|source| !told.contains(&source.range));
    Ok(sources)
}

/// The open ones of a family.
pub(super) fn open(sources: &[Source], family: Family) -> impl Iterator<Item = &Source> {
    sources.iter().filter(move |source| source.is_open && source.range.family() == family)
}

/// Whether an address is of any range, be it open or not.
pub(super) fn covers(sources: &[Source], address: IpAddr) -> bool {
    sources.iter().any(|source| source.range.contains(address))
}
