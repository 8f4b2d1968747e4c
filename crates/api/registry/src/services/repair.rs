//! Sets right what the records of addresses and node ports say. Services and records are written together, so only a restored
//! backup, a bug of old or a user who deletes an IPAddress brings them apart; then the Services are right.

mod what;

use std::collections::BTreeMap;

use kedge_kinds::Status;
use kedge_store::{Change, Entry, Expect, Revision, Snapshot, StoreError, Txn, Watch, WatchEnd};
use serde_json::Value;

use self::what::What;
use super::{ADDRESSES, PORTS, is_ours, taken, tell};
use crate::registry::{Registry, parse};
use crate::{failure, object};

const SERVICES: &str = "/registry/services/";
/// How often a fault is looked at anew when somebody is faster.
const ATTEMPTS: usize = 5;

/// A Service as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    key: String,
    revision: Revision,
    pub(super) service: Value,
}

/// Who a record says holds it: a namespace and a name.
type Owner = (String, String);

#[derive(Clone, Debug)]
struct Record {
    revision: Revision,
    /// `None` for an address that belongs to no Service.
    owner: Option<Owner>,
    /// We made it, and so we may take it away.
    ours: bool,
}

/// Where Services and records disagree.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The Service has it and nothing says so, or something else is said.
    Unrecorded {
        record: String,
        found: Option<Revision>,
        holder: Holder,
    },
    /// Nobody has it.
    Leaked {
        record: String,
        found: Revision,
        owner: Owner,
    },
    /// Another Service has it, too, and had it first.
    Double {
        record: String,
        holder: Holder,
    },
    Outside {
        record: String,
        holder: Holder,
    },
}

/// Looks at everything once: when a server starts, before anybody can be given what is taken.
pub(crate) async fn everything(registry: &Registry) -> Result<(), Status> {
    for _ in 0..ATTEMPTS {
        let snapshot = registry.store().snapshot();
        let faults = faults(registry, &snapshot, holders(&snapshot)?, records(&snapshot)?)?;
        let mut settled = true;
        for fault in faults {
            settled &= mend(registry, fault).await?;
        }
        if settled {
            return Ok(());
        }
    }
    Ok(())
}

/// Looks at addresses that users change. Ends when the store does.
pub(crate) fn spawn(registry: &Registry) {
    let registry = registry.clone();
    tokio::spawn(async move {
        loop {
            let revision = registry.store().snapshot().revision();
            let Ok(mut watch) = registry.store().watch(ADDRESSES, revision) else { return };
            // What happened before the watch began, and what it missed.
            if let Err(status) = everything(&registry).await {
                tracing::warn!("cannot check the addresses of services: {status}");
            }
            if follow(&registry, &mut watch).await == WatchEnd::Stopped {
                return;
            }
        }
    });
}

async fn follow(registry: &Registry, watch: &mut Watch) -> WatchEnd {
    loop {
        let event = match watch.next().await {
            Ok(event) => event,
            Err(end) => return end,
        };
        let concerned = match &event.change {
            Change::Put { now, before } => [Some(now), before.as_ref()],
            Change::Delete { before, .. } => [Some(before), None],
        };
        if let Err(status) = look(registry, event.key.as_str(), concerned).await {
            tracing::warn!(key = event.key.as_str(), "cannot check the address of a service: {status}");
        }
    }
}

/// Looks at one record, given what it was and is: those who hold it are among those whom it names.
async fn look(registry: &Registry, key: &str, sides: [Option<&Entry>; 2]) -> Result<(), Status> {
    for _ in 0..ATTEMPTS {
        let snapshot = registry.store().snapshot();
        let mut named = Vec::new();
        for entry in sides.into_iter().flatten() {
            let Some((namespace, name)) = record(key, entry)?.owner else { continue };
            let key = format!("{SERVICES}{namespace}/{name}");
            if let Some(entry) = snapshot.get(&key) {
                named.push(Holder { key, revision: entry.modified(), service: parse(entry)? });
            }
        }
        named.dedup_by(|a, b| a.key == b.key);
        let known = snapshot.get(key).map(|entry| record(key, entry)).transpose()?;
        let records = known.map(|known| (key.to_owned(), known)).into_iter().collect();
        let found = faults(registry, &snapshot, named, records)?;
        let mut settled = true;
        for fault in found.into_iter().filter(|fault| fault.record() == key) {
            settled &= mend(registry, fault).await?;
        }
        if settled {
            return Ok(());
        }
    }
    Ok(())
}

impl Fault {
    fn record(&self) -> &str {
        match self {
            Self::Unrecorded { record, .. }
            | Self::Leaked { record, .. }
            | Self::Double { record, .. }
            | Self::Outside { record, .. } => record,
        }
    }
}

fn holders(snapshot: &Snapshot) -> Result<Vec<Holder>, Status> {
    let mut holders = Vec::new();
    for (key, entry) in snapshot.range(SERVICES, None) {
        holders.push(Holder {
            key: key.as_str().to_owned(),
            revision: entry.modified(),
            service: parse(entry)?,
        });
    }
    // Who had it first keeps it.
    let age = |holder: &Holder| object::meta_text(&holder.service, "creationTimestamp").to_owned();
    holders.sort_by_cached_key(|holder| (age(holder), holder.key.clone()));
    Ok(holders)
}

fn records(snapshot: &Snapshot) -> Result<BTreeMap<String, Record>, Status> {
    let all = [ADDRESSES, PORTS].into_iter().flat_map(|prefix| snapshot.range(prefix, None));
    all.map(|(key, entry)| Ok((key.as_str().to_owned(), record(key.as_str(), entry)?))).collect()
}

fn record(key: &str, entry: &Entry) -> Result<Record, Status> {
    let value = parse(entry)?;
    let is_address = key.starts_with(ADDRESSES);
    let owner = if is_address { &value["spec"]["parentRef"] } else { &value };
    let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
    let of_service = !is_address || (text("group").is_empty() && text("resource") == "services");
    Ok(Record {
        revision: entry.modified(),
        owner: of_service.then(|| (text("namespace"), text("name"))),
        ours: !is_address || is_ours(&value),
    })
}

fn name(holder: &Holder) -> Owner {
    let text = |field| object::meta_text(&holder.service, field).to_owned();
    (text("namespace"), text("name"))
}

/// Compares. `holders` come in the order in which they have a right to what they hold.
fn faults(
    registry: &Registry,
    snapshot: &Snapshot,
    holders: Vec<Holder>,
    mut records: BTreeMap<String, Record>,
) -> Result<Vec<Fault>, Status> {
    let allocator = &registry.inner().allocator;
    let sources = allocator.sources(snapshot)?;
    let mut faults = Vec::new();
    let mut held: BTreeMap<String, Vec<Holder>> = BTreeMap::new();
    for holder in holders {
        for key in taken(&holder.service) {
            held.entry(key).or_default().push(holder.clone());
        }
    }
    for (key, holders) in held {
        let known = records.remove(&key);
        let is_named = |holder: &Holder| {
            known.as_ref().is_some_and(|known| known.ours && known.owner.as_ref() == Some(&name(holder)))
        };
        let right = holders.iter().position(is_named);
        for (at, holder) in holders.iter().enumerate() {
            let (record, holder) = (key.clone(), holder.clone());
            if !allocator.covers(&sources, &record) {
                faults.push(Fault::Outside { record, holder });
            } else if at == right.unwrap_or(0) {
                let found = known.as_ref().map(|known| known.revision);
                faults.extend(right.is_none().then_some(Fault::Unrecorded { record, found, holder }));
            } else {
                faults.push(Fault::Double { record, holder });
            }
        }
    }
    let leaked = records.into_iter().filter(|(_, known)| known.ours);
    faults.extend(leaked.map(|(record, known)| Fault::Leaked {
        record,
        found: known.revision,
        owner: known.owner.unwrap_or_default(),
    }));
    Ok(faults)
}

/// Sets one fault right, or says that nobody but the user can. False if somebody was faster.
async fn mend(registry: &Registry, fault: Fault) -> Result<bool, Status> {
    let what = What::of(fault.record());
    let (txn, about, reason, message) = match &fault {
        Fault::Unrecorded { record, found, holder } => {
            let expect = found.map_or(Expect::Absent, Expect::At);
            let txn = Txn::new().check(holder.key.as_str(), Expect::At(holder.revision)).put(
                record.as_str(),
                expect,
                what.draft(&holder.service),
            );
            let (reason, message) = what.unrecorded(found.is_some(), &holder.service);
            (txn, holder.service.clone(), reason, message)
        }
        Fault::Leaked { record, found, owner } => {
            let txn = Txn::new().delete(record.as_str(), Expect::At(*found));
            let (namespace, name) = owner;
            let message = format!(
                "IPAddress: {what} for Service {namespace}/{name} appears to have leaked: cleaning up"
            );
            (txn, what.address(), "IPAddressNotAllocated", message)
        }
        Fault::Double { holder, .. } => {
            let (reason, message) = what.double();
            (Txn::new(), holder.service.clone(), reason, message)
        }
        Fault::Outside { holder, .. } => {
            let (reason, message) = what.outside(&registry.inner().allocator);
            (Txn::new(), holder.service.clone(), reason, message)
        }
    };
    if !txn.is_empty() {
        match registry.store().commit(txn).await {
            Ok(_) => {}
            Err(StoreError::Conflict { .. }) => return Ok(false),
            Err(error) => return Err(failure::status(error)),
        }
    }
    tracing::warn!(record = fault.record(), "{message}");
    if !about.is_null() {
        tell(registry, &about, what.component(), reason, &message).await;
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
