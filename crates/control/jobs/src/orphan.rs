//! Pods that a job would have counted and nobody will: their job is gone or has ended. They keep the finalizer that waits for
//! the count, so it is taken off them. Not having seen a job is no proof that there is none, so it is asked for.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kedge_children::claim;
use kedge_client::Objects;
use kedge_clock::Clock;
use kedge_engine::{Carrier, Key, Next, Outcome, Seen, TurnError, Worker, World};
use kube::{Client, ResourceExt};

use crate::finish;
use crate::job::is_elsewhere;
use crate::job::tracked::Tracked;

const NAME: &str = "job-controller-orphans";

pub struct OrphanPods {
    world: World,
    carrier: Carrier,
}

/// What becomes of a pod.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// Somebody looks after it.
    Leave,
    /// Nobody will count it.
    Free,
    /// Is there such a job?
    Find(OwnerReference),
}

impl OrphanPods {
    pub fn new(world: World, client: Client, clock: Clock) -> Arc<Self> {
        Arc::new(Self { world, carrier: Carrier::new(NAME, client, clock) })
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        match self.look(key).await {
            Ok(outcome) => outcome,
            Err(error) => Outcome { waits: Vec::new(), next: Next::Retry(error) },
        }
    }

    async fn look(&self, key: &Key) -> Result<Outcome, TurnError> {
        let rest = Outcome { waits: Vec::new(), next: Next::Rest };
        let Some(pod) = self.world.get::<Pod>(key)? else { return Ok(rest) };
        let jobs = self.world.cache::<Job>()?;
        let known = |owner: &OwnerReference| jobs.get(&Key::new(key.namespace.clone(), owner.name.clone()));
        let verdict = match verdict(&pod, |owner| known(owner).as_deref().cloned()) {
            Verdict::Find(owner) => {
                let found = self.find(&key.namespace, &owner).await?;
                if found.is_some_and(|job| job.metadata.uid.as_ref() == Some(&owner.uid)) {
                    Verdict::Leave
                } else {
                    Verdict::Free
                }
            }
            decided => decided,
        };
        let Some(action) = pod.let_go().filter(|_| verdict == Verdict::Free) else { return Ok(rest) };
        tracing::debug!(controller = NAME, %key, %action);
        let done = self.carrier.carry_out(&[action]).await;
        Ok(Outcome { waits: done.waits, next: done.error.map_or(Next::Rest, Next::Retry) })
    }

    async fn find(&self, namespace: &str, owner: &OwnerReference) -> Result<Option<Job>, TurnError> {
        let jobs = Objects::<Job>::within(self.carrier.client(), namespace);
        jobs.find(&owner.name).await.map_err(|error| TurnError::Failed {
            action: format!("find Job {namespace}/{}", owner.name),
            source: Box::new(error),
        })
    }
}

/// `known` finds a job by the name of an owner, whatever its uid.
fn verdict(pod: &Pod, known: impl Fn(&OwnerReference) -> Option<Job>) -> Verdict {
    if !pod.is_tracked() {
        return Verdict::Leave;
    }
    let Some(owner) = claim::controller(pod) else { return Verdict::Free };
    if owner.kind != "Job" || owner.api_version != "batch/v1" {
        return Verdict::Leave;
    }
    let job = known(owner).filter(|job| job.metadata.uid.as_ref() == Some(&owner.uid));
    match job {
        None => Verdict::Find(owner.clone()),
        Some(job) if !is_elsewhere(&job) && finish::finished(&job).is_some() => Verdict::Free,
        Some(_) => Verdict::Leave,
    }
}

impl Worker for OrphanPods {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Pod>();
        world.watch::<Job>();
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let pods = world.cache::<Pod>().map(|cache| cache.all()).unwrap_or_default();
        pods.iter().filter(|pod| pod.is_tracked()).map(|pod| Key::of(&**pod)).collect()
    }

    /// A pod that waits to be counted, or all of a job's when the job has ended or is gone.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if let Some(pod) = seen.now::<Pod>() {
            return if pod.is_tracked() { vec![seen.key.clone()] } else { Vec::new() };
        }
        let over = match (seen.now::<Job>(), seen.before::<Job>()) {
            (Some(job), _) => finish::finished(job).and(Some(job)),
            (None, gone) => gone,
        };
        let Some(uid) = over.and_then(|job| job.uid()) else { return Vec::new() };
        let pods = world.cache::<Pod>().map(|cache| cache.owned_by(&uid)).unwrap_or_default();
        pods.iter().filter(|pod| pod.is_tracked()).map(|pod| Key::of(&**pod)).collect()
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}

#[cfg(test)]
mod tests;
