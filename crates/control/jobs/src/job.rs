//! Runs pods until enough of them have succeeded, or too many have failed. Counts every pod exactly once, whatever happens in
//! between; see `tally`.

mod backoff;
mod course;
mod ending;
mod facts;
mod indexes;
mod making;
mod own;
mod policy;
mod scene;
mod status;
mod success;
mod tally;
pub(crate) mod tracked;
mod workers;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kedge_children::claim;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Refusal, Seen, Severity, World, of_root};
use kube::ResourceExt;
use kube::core::SelectorExt;

use self::course::Course;
use self::facts::Facts;
pub(crate) use self::facts::is_elsewhere;
use self::scene::Scene;
use crate::finish;

pub struct Jobs;

impl Controller for Jobs {
    type Root = Job;
    const NAME: &'static str = "job-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>();
    }

    /// Its own changes, its pods' and those of pods that belong to nobody and might become its.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        let mut keys = of_root::<Job>(seen);
        let Some(pod) = seen.now::<Pod>().filter(|pod| claim::controller(*pod).is_none()) else {
            return keys;
        };
        let jobs = world.cache::<Job>().map(|cache| cache.in_namespace(&seen.key.namespace));
        let selects =
            |job: &&Arc<Job>| own::selector(job).is_some_and(|selector| selector.matches(pod.labels()));
        keys.extend(jobs.unwrap_or_default().iter().filter(selects).map(|job| Key::of(&**job)));
        keys
    }

    fn plan(&self, job: &Job, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        if is_elsewhere(job) || finish::finished(job).is_some() {
            return Ok(Plan::default());
        }
        let pods = world.cache::<Pod>()?;
        let own = own::pods(job, &pods);
        if !own.actions.is_empty() {
            return Ok(Plan::from(own.actions));
        }
        let scene = Scene::new(Facts::of(job), own.pods);
        let is_free = |name: &str| {
            let key = Key::new(job.namespace().unwrap_or_default(), name);
            pods.get(&key).is_none() && !pods.had(&key)
        };
        Ok(Course::decide(job, &scene, now).plan(is_free))
    }

    /// Pods that the API will not have as they should be: an event names the cause.
    fn refused(&self, job: &Job, refusals: &[Refusal], _now: Timestamp) -> Vec<Action> {
        let Some(refusal) = refusals.first() else { return Vec::new() };
        let (reason, what) = match &refusal.action {
            Action::Create { .. } => ("FailedCreate", "creating"),
            Action::Delete { .. } => ("FailedDelete", "deleting"),
            Action::Change { .. } => ("FailedUpdate", "updating"),
            Action::Tell(_) => return Vec::new(),
        };
        vec![Action::tell(job, Severity::Warning, reason, format!("Error {what}: {}", refusal.message))]
    }
}

#[cfg(test)]
mod tests;
