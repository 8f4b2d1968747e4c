//! Quotas: what a namespace may use. What a write uses is charged to the quotas it falls under in the write's own
//! transaction, on the newest state there is, so that no number of writers at once gets more than there is, and what an
//! object used is free again in the transaction that removes it. Knows no HTTP and no other admission.

pub(crate) mod amounts;
mod charge;
mod devices;
mod gate;
mod measure;
pub(crate) mod pod;
mod resource;
mod worker;

use kedge_kinds::{Kind, Status};
use kedge_store::{Committed, StoreError, Txn};
use serde_json::Value;

use self::charge::Bill;
pub(crate) use self::gate::Quotas;
use self::measure::Measure;
pub(crate) use self::worker::spawn;
use crate::create::ATTEMPTS;
use crate::registry::Registry;
use crate::request::At;

const PREFIX: &str = "/registry/resourcequotas/";

/// What a write does to an object, in the stored version.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) at: &'a At,
    /// Absent in a creation.
    pub(crate) old: Option<&'a Value>,
    /// Absent when the object goes.
    pub(crate) new: Option<&'a Value>,
}

pub(crate) fn is_quota(kind: &Kind) -> bool {
    &*kind.kind == "ResourceQuota" && kind.gv.group.is_empty()
}

impl Registry {
    /// Whether the namespace's quotas have room for this, without taking any of it.
    pub(crate) fn afford(&self, change: Change<'_>) -> Result<(), Status> {
        let Some(bill) = self.bill(change) else { return Ok(()) };
        bill.charge(&self.inner().store.snapshot()).map(|_| ())
    }

    /// Carries out a write and charges it to the namespace's quotas. The object's own operation stays the last one.
    pub(crate) async fn commit_charged(
        &self,
        change: Change<'_>,
        txn: Txn,
    ) -> Result<Result<Committed, StoreError>, Status> {
        let store = &self.inner().store;
        let Some(mut bill) = self.bill(change) else {
            let committed = store.commit(txn).await;
            self.mind_quota(change, committed.is_ok());
            return Ok(committed);
        };
        let quotas = &self.inner().quotas;
        // Servers that share a store fail on each other's charges; those of one server need not.
        let alone = store.is_shared() && bill.has_quotas(&store.snapshot());
        let _pass =
            if alone { quotas.alone(bill.namespace()).await } else { quotas.pass(bill.namespace()).await };
        // Not before: what a count has seen as over must not be taken off once more.
        bill.now = self.inner().clock.now();
        for _ in 0..ATTEMPTS {
            match store.commit_after(|newest| bill.charge(newest), txn.clone()).await {
                Ok(Err(refusal)) => return Err(refusal),
                Ok(Ok(committed)) => {
                    bill.tell(quotas, &store.snapshot());
                    self.mind_quota(change, true);
                    return Ok(Ok(committed));
                }
                Err(StoreError::Conflict { key, .. }) if bill.is_to(key.as_str()) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        let kind = &change.at.kind.kind;
        Err(Status::new(
            500,
            kedge_kinds::Reason::ServerTimeout,
            format!("unable to charge {kind} to its quota for now: others change the same quota"),
        ))
    }

    fn bill<'a>(&self, change: Change<'a>) -> Option<Bill<'a>> {
        let measure = Measure::of(&change.at.kind)?;
        let is_change = change.old.is_some() && change.new.is_some();
        if is_change && !measure.can_change() {
            return None;
        }
        Bill::new(change, measure, self.inner().clock.now())
    }

    /// A quota that came or was changed has to be counted.
    fn mind_quota(&self, change: Change<'_>, done: bool) {
        if let (true, true, Some(namespace)) =
            (done, is_quota(&change.at.kind), change.at.namespace.as_deref())
        {
            self.inner().quotas.count_anew(namespace);
        }
    }
}

#[cfg(test)]
mod tests;
