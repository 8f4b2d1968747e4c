//! Counts for each PodDisruptionBudget how many of its pods are well and how many may be missed, so that an eviction only has to
//! look. Evicts nothing itself.

mod expected;
mod scale;
pub(crate) mod stale;
mod status;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Pod, ReplicationController};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kedge_client::Client;
use kedge_clock::Clock;
use kedge_engine::{Carrier, Key, Next, NotReady, Outcome, Plan, Seen, TurnError, Worker, World};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use self::expected::{Expected, Wants, wants};
use self::scale::Scales;
use crate::apart;

const NAME: &str = "disruption-controller";

pub(crate) struct Budgets {
    world: World,
    clock: Clock,
    scales: Scales,
    carrier: Carrier,
}

impl Budgets {
    pub(crate) fn new(world: World, client: Client, clock: Clock) -> Arc<Self> {
        let scales = Scales::new(world.clone(), client.clone());
        Arc::new(Self { world, carrier: Carrier::new(NAME, client, clock.clone()), scales, clock })
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        let plan = match self.world.get::<PodDisruptionBudget>(key) {
            Ok(Some(budget)) => self.plan(&budget).await,
            Ok(None) => return Outcome { waits: Vec::new(), next: Next::Rest },
            Err(error) => Err(error.into()),
        };
        match plan {
            Ok(plan) => {
                let done = self.carrier.carry_out(&plan.actions).await;
                Outcome { waits: done.waits, next: apart::next(done.error, plan.look_again) }
            }
            Err(error) => Outcome { waits: Vec::new(), next: Next::Retry(error) },
        }
    }

    async fn plan(&self, budget: &PodDisruptionBudget) -> Result<Plan, TurnError> {
        let pods = selected(budget, &self.world)?;
        let expected = match wants(budget) {
            Wants::Nothing => Ok(Expected::default()),
            Wants::Pods(wanted) => {
                Ok(Expected { pods: count(pods.len()), healthy: wanted, unmanaged: false })
            }
            Wants::Share(share) => {
                self.scales.of(&pods).await?.and_then(|(scale, unmanaged)| share.of(scale, unmanaged))
            }
        };
        Ok(status::plan(budget, &pods, expected, self.clock.now()))
    }
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

impl Worker for Budgets {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<PodDisruptionBudget>().watch::<Pod>();
        world.watch::<Deployment>().watch::<ReplicaSet>().watch::<StatefulSet>();
        world.watch::<ReplicationController>();
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let budgets = world.cache::<PodDisruptionBudget>().map(|budgets| budgets.all()).unwrap_or_default();
        budgets.iter().map(|budget| Key::of(&**budget)).collect()
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<PodDisruptionBudget>() {
            return vec![seen.key.clone()];
        }
        let in_namespace = || {
            let budgets = world.cache::<PodDisruptionBudget>();
            budgets.map(|budgets| budgets.in_namespace(&seen.key.namespace)).unwrap_or_default()
        };
        if seen.is::<Pod>() {
            let sides = [seen.before::<Pod>(), seen.now::<Pod>()];
            let budgets = in_namespace();
            let concerned = budgets.iter().filter(|budget| {
                let selector = selector(budget);
                sides.into_iter().flatten().any(|pod| selector.matches(pod.labels()))
            });
            return concerned.map(|budget| Key::of(&**budget)).collect();
        }
        if scale::changes(seen) {
            return in_namespace().iter().map(|budget| Key::of(&**budget)).collect();
        }
        Vec::new()
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}

/// The pods that a budget is about.
fn selected(budget: &PodDisruptionBudget, world: &World) -> Result<Vec<Arc<Pod>>, NotReady> {
    let selector = selector(budget);
    // Labels that must be equal find pods without a look at all the others.
    let labels = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()?.match_labels.clone());
    let namespace = budget.namespace().unwrap_or_default();
    let mut pods = world.cache::<Pod>()?.labelled(&namespace, &labels.unwrap_or_default());
    pods.retain(|pod| selector.matches(pod.labels()));
    Ok(pods)
}

/// An empty selector selects everything, none nothing.
fn selector(budget: &PodDisruptionBudget) -> Selector {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone());
    let selector = selector.and_then(|selector| Selector::try_from(selector).ok());
    selector.unwrap_or_else(|| kube::core::Expression::In("-".to_owned(), Default::default()).into())
}

#[cfg(test)]
mod tests;
