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

use kedge_kinds::{Kind, Reason, Status};
use kedge_store::{Committed, StoreError, Txn};
use serde_json::Value;

use self::charge::Bill;
pub(crate) use self::gate::{Pass, Quotas};
use self::measure::Measure;
pub(crate) use self::worker::spawn;
use crate::create::ATTEMPTS;
use crate::registry::Registry;
use crate::request::At;

const PREFIX: &str = "/registry/resourcequotas/";
/// How often a change of a quota is tried before it is tried alone.
const PATIENCE: usize = 3;

/// What a write does to an object, in the stored version.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) at: &'a At,
    /// Absent in a creation.
    pub(crate) old: Option<&'a Value>,
    /// Absent when the object goes.
    pub(crate) new: Option<&'a Value>,
}

fn is_quota(kind: &Kind) -> bool {
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
        let committed = match self.bill(change) {
            Some(bill) => self.charge(bill, txn).await?,
            None => self.inner().store.commit(txn).await,
        };
        if let (Ok(_), true, Some(namespace)) = (&committed, is_quota(&change.at.kind), &change.at.namespace)
        {
            self.mind_quota(namespace, change.old.is_none()).await;
        }
        Ok(committed)
    }

    async fn charge(&self, mut bill: Bill<'_>, txn: Txn) -> Result<Result<Committed, StoreError>, Status> {
        let (store, quotas) = (&self.inner().store, &self.inner().quotas);
        // Servers that share a store fail on each other's charges; those of one server need not.
        let _pass = match store.is_shared() && bill.has_quotas(&store.snapshot()) {
            // Whoever changes a quota may hold the gate already.
            _ if bill.is_for_a_quota() => None,
            true => Some(quotas.alone(bill.namespace()).await),
            false => Some(quotas.pass(bill.namespace()).await),
        };
        // Not before: what a count has seen as over must not be taken off once more.
        bill.now = self.inner().clock.now();
        for _ in 0..ATTEMPTS {
            match store.commit_after(|newest| bill.charge(newest), txn.clone()).await {
                Ok(Err(refusal)) => return Err(refusal),
                Ok(Ok(committed)) => {
                    bill.tell(quotas, &store.snapshot());
                    return Ok(Ok(committed));
                }
                Err(StoreError::Conflict { key, .. }) if bill.is_to(key.as_str()) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        let message = "unable to charge this to its quota for now: others change the same quota";
        Err(Status::new(500, Reason::ServerTimeout, message))
    }

    /// Every write in its namespace changes a quota, too, so a change of the quota itself might never get its turn: after
    /// some tries it gets the namespace for itself.
    pub(crate) async fn in_peace(&self, at: &At, attempt: usize) -> Option<Pass<'_>> {
        if attempt != PATIENCE || !is_quota(&at.kind) {
            return None;
        }
        Some(self.inner().quotas.alone(at.namespace.as_deref().unwrap_or_default()).await)
    }

    fn bill<'a>(&self, change: Change<'a>) -> Option<Bill<'a>> {
        let measure = Measure::of(&change.at.kind)?;
        let is_change = change.old.is_some() && change.new.is_some();
        if is_change && !measure.can_change() {
            return None;
        }
        Bill::new(change, measure, self.inner().clock.now())
    }

    /// A quota that was changed has to be counted soon. One that is new is counted before its maker hears of it, who may
    /// rely on it from then on.
    async fn mind_quota(&self, namespace: &str, is_new: bool) {
        if is_new && self.inner().options.quota_worker {
            worker::count_now(self, namespace).await;
        } else {
            self.inner().quotas.count_anew(namespace);
        }
    }
}

#[cfg(test)]
mod tests;
