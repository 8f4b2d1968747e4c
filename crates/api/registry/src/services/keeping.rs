//! Looks after ServiceCIDRs: each is kept by a finalizer and said to be ready, and one that is to leave stays as long as a Service has
//! an address that nothing else covers. Gives no addresses away.
//!
//! Whoever takes an address of a range does so in a transaction that fails if the range has changed. So what is seen in one snapshot of
//! a range that is leaving can only become less, and no waiting is needed before it is let go.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use kedge_kinds::Status;
use kedge_store::{Change, Draft, Expect, Snapshot, StoreError, Txn, Watch, WatchEnd};
use serde_json::{Value, json};

use super::sources::{self, DEFAULT, FINALIZER, RANGES, Stored};
use super::{ADDRESSES, Range, is_ours, repair, tell};
use crate::encode::encode;
use crate::registry::{Registry, parse};
use crate::{bootstrap, failure, metadata, object};

/// How often is looked anew when somebody is faster.
const ATTEMPTS: usize = 10;
/// When to try again what did not work.
const RETRY: Duration = Duration::from_secs(5);
const READY: &str = "Kubernetes Service CIDR is ready";
const IN_USE: &str =
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";

/// What a ServiceCIDR lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Keep,
    SayReady,
    /// Addresses of it are in use.
    SayLeaving,
    LetGo,
}

/// Where one ServiceCIDR stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// Until addresses are given back.
    Waits,
    Lacks(Step),
}

/// Gives every ServiceCIDR what it lacks. True if one of them waits for addresses to be given back.
pub(crate) async fn everything(registry: &Registry) -> Result<bool, Status> {
    for _ in 0..ATTEMPTS {
        let snapshot = registry.store().snapshot();
        let all = sources::stored(&snapshot)?;
        let used = in_use(&snapshot, &all)?;
        let (mut is_settled, mut waits) = (true, false);
        for one in &all {
            match verdict(one, &all, &used) {
                Verdict::Fine => {}
                Verdict::Waits => waits = true,
                Verdict::Lacks(step) => {
                    is_settled = false;
                    take(registry, one, step).await?;
                }
            }
        }
        if is_settled {
            return Ok(waits);
        }
    }
    Ok(true)
}

/// Goes on looking after them. Ends when the store does.
pub(crate) fn spawn(registry: &Registry) {
    let registry = registry.clone();
    tokio::spawn(async move {
        let clock = registry.clock().steady();
        let mut known = ranges(&registry);
        loop {
            let revision = registry.store().snapshot().revision();
            let looked = look(&registry, &mut known).await;
            let (waits, failed) = (*looked.as_ref().unwrap_or(&false), looked.is_err());
            if let Err(status) = looked {
                tracing::warn!("cannot look after the ranges of services: {status}");
            }
            let end = match registry.store().watch(RANGES, revision) {
                Ok(mut changes) => tokio::select! {
                    seen = changes.next() => seen.err(),
                    end = given_back(&registry, revision), if waits => end,
                    () = clock.sleep(RETRY), if failed => None,
                },
                Err(StoreError::Compacted { .. }) => None,
                Err(_) => return,
            };
            if end == Some(WatchEnd::Stopped) {
                return;
            }
        }
    });
}

async fn look(registry: &Registry, known: &mut Option<Vec<Range>>) -> Result<bool, Status> {
    see_to_default(registry).await?;
    let waits = everything(registry).await?;
    // Services whose addresses were of no range may be within one now.
    let now = ranges(registry);
    if now != *known {
        repair::everything(registry).await?;
        *known = now;
    }
    Ok(waits)
}

fn ranges(registry: &Registry) -> Option<Vec<Range>> {
    let sources = registry.inner().allocator.sources(&registry.store().snapshot()).ok()?;
    Some(sources.into_iter().map(|source| source.range).collect())
}

/// Waits until an address is given back.
async fn given_back(registry: &Registry, after: kedge_store::Revision) -> Option<WatchEnd> {
    let mut addresses: Watch = registry.store().watch(ADDRESSES, after).ok()?;
    loop {
        match addresses.next().await {
            Ok(event) if matches!(event.change, Change::Delete { .. }) => return None,
            Ok(_) => {}
            Err(end) => return Some(end),
        }
    }
}

/// The cluster's own ServiceCIDR is made again where it is missing, and gets its second family. It is never made smaller or another.
async fn see_to_default(registry: &Registry) -> Result<(), Status> {
    let told = &registry.inner().allocator.ranges;
    if told.is_empty() {
        return Ok(());
    }
    let all = sources::stored(&registry.store().snapshot())?;
    let Some(one) = all.iter().find(|one| one.name == DEFAULT) else {
        return bootstrap::run(registry).await;
    };
    if one.ranges == *told || one.is_leaving() {
        return Ok(());
    }
    let shown = |ranges: &[Range]| ranges.iter().map(Range::to_string).collect::<Vec<_>>();
    if told.len() == 2 && one.ranges.first() == told.first() && one.ranges.len() == 1 {
        let mut object = one.object.clone();
        object::map_mut(&mut object, "spec").insert("cidrs".to_owned(), shown(told).into());
        return write(registry, one, object).await;
    }
    let message = format!(
        "The default ServiceCIDR [{}] does not match the controller flag configurations [{}]",
        shown(&one.ranges).join(" "),
        shown(told).join(" ")
    );
    let component = "kubernetes-service-cidr-controller";
    tell(registry, &one.object, component, "KubernetesDefaultServiceCIDRInconsistent", &message).await;
    Ok(())
}

/// The addresses of Services that are of ranges which are to leave.
fn in_use(snapshot: &Snapshot, all: &[Stored]) -> Result<Vec<IpAddr>, Status> {
    let leaving: Vec<&Stored> = all.iter().filter(|one| one.is_leaving()).collect();
    let mut used = Vec::new();
    if leaving.is_empty() {
        return Ok(used);
    }
    for (key, entry) in snapshot.range(ADDRESSES, None) {
        let address = key.as_str().strip_prefix(ADDRESSES).and_then(|text| text.parse::<IpAddr>().ok());
        let Some(address) = address.filter(|address| leaving.iter().any(|one| one.contains(*address))) else {
            continue;
        };
        if is_ours(&parse(entry)?) {
            used.push(address);
        }
    }
    Ok(used)
}

fn verdict(one: &Stored, all: &[Stored], used: &[IpAddr]) -> Verdict {
    let says = |status: &str| one.ready().is_some_and(|ready| ready["status"] == status);
    if !one.is_leaving() {
        return match () {
            () if !one.is_kept() => Verdict::Lacks(Step::Keep),
            () if !says("True") => Verdict::Lacks(Step::SayReady),
            () => Verdict::Fine,
        };
    }
    // One that is leaving, too, covers nothing: two that go at once would each rely on the other.
    let covers =
        |other: &Stored, address| other.name != one.name && !other.is_leaving() && other.contains(address);
    let is_needed =
        used.iter().any(|&address| one.contains(address) && !all.iter().any(|other| covers(other, address)));
    match () {
        // It waits for somebody else.
        () if !one.is_kept() => Verdict::Fine,
        () if !is_needed => Verdict::Lacks(Step::LetGo),
        () if !says("False") => Verdict::Lacks(Step::SayLeaving),
        () => Verdict::Waits,
    }
}

async fn take(registry: &Registry, one: &Stored, step: Step) -> Result<(), Status> {
    write(registry, one, taken(one, step, registry.clock().now())).await
}

/// The object after a step.
fn taken(one: &Stored, step: Step, now: Timestamp) -> Value {
    let mut object = one.object.clone();
    let (status, reason, message) = match step {
        Step::Keep | Step::LetGo => {
            let others = kedge_kinds::Meta::of(&one.object).finalizers().filter(|name| *name != FINALIZER);
            let mut names: Vec<&str> = others.collect();
            names.extend((step == Step::Keep).then_some(FINALIZER));
            match names.is_empty() {
                true => drop(object::meta_mut(&mut object).remove("finalizers")),
                false => object::set_meta(&mut object, "finalizers", names),
            }
            return object;
        }
        Step::SayReady => ("True", "", READY),
        Step::SayLeaving => ("False", "Terminating", IN_USE),
    };
    let ready = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": metadata::time(now),
    });
    let conditions = object::at(&one.object, &["status", "conditions"]).and_then(Value::as_array);
    let others = conditions.into_iter().flatten().filter(|condition| condition["type"] != "Ready");
    let conditions: Vec<Value> = others.cloned().chain([ready]).collect();
    object::map_mut(&mut object, "status").insert("conditions".to_owned(), conditions.into());
    object
}

/// Stores it, or removes it if it waited for this alone. Whoever was faster is looked at again.
async fn write(registry: &Registry, one: &Stored, object: Value) -> Result<(), Status> {
    let expect = Expect::At(one.revision);
    let txn = match metadata::is_finished(&object) {
        true => Txn::new().delete(one.key(), expect),
        false => {
            let encoded = encode(&object);
            Txn::new().put(one.key(), expect, Draft::with_revision_at(encoded.bytes, encoded.hole))
        }
    };
    match registry.store().commit(txn).await {
        Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
        Err(error) => Err(failure::status(error)),
    }
}

#[cfg(test)]
mod tests;
