//! Whose requests wait for whose: FlowSchemas say which priority level a request belongs to, a level has seats, and who finds none free
//! waits in one of the level's queues. A flood fills its own queues; whoever shares none of them passes it by.

mod flow;
mod gate;
mod level;
mod rule;
mod text;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use kedge_kinds::Status;
use kedge_registry::User;
use kedge_store::{Change, Store, Watch};
use parking_lot::Mutex;

use flow::Flow;
pub(crate) use gate::Seat;
use gate::{Entry, Gate};
use level::Level;
pub(crate) use rule::{Asked, Target};

/// How long a request waits for a seat: a quarter of what a request may take.
const PATIENCE: Duration = Duration::from_secs(15);

const FLOWS: &str = "/registry/flowschemas/";
const LEVELS: &str = "/registry/prioritylevelconfigurations/";

static FLOW_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
static LEVEL_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

pub(crate) struct Fairness {
    store: Store,
    /// How many requests may be under way at once, in all levels that are limited.
    seats: usize,
    plan: ArcSwap<Plan>,
    feed: Mutex<Vec<Watch>>,
    /// The store's revision up to which the plan is known to be current.
    current: AtomicU64,
}

/// What the stored objects say, made anew when one of them changes; gates outlive it.
struct Plan {
    /// In the order in which they are tried.
    flows: Vec<(Arc<Flow>, Arc<Gate>)>,
    gates: Vec<Arc<Gate>>,
    /// For what no flow takes, which cannot be as long as the mandatory ones are there.
    rest: (Arc<Flow>, Arc<Gate>),
}

/// Where a request belongs.
#[derive(Clone)]
pub(crate) struct Place {
    flow: Arc<Flow>,
    gate: Arc<Gate>,
    /// Which of the flow's requests it is alike.
    alike: u64,
}

impl Fairness {
    pub(crate) fn new(store: Store, seats: usize) -> Self {
        let rest = (Arc::new(Flow::rest()), Arc::new(Gate::new(Level::rest())));
        let plan = Plan { flows: Vec::new(), gates: Vec::new(), rest };
        let fairness = Self {
            store,
            seats,
            plan: ArcSwap::from_pointee(plan),
            feed: Mutex::default(),
            current: AtomicU64::new(u64::MAX),
        };
        fairness.catch_up();
        fairness
    }

    /// The first flow that takes the request.
    pub(crate) fn place(&self, user: &User, asked: &Asked<'_>) -> Place {
        self.catch_up();
        let plan = self.plan.load();
        let taken = plan.flows.iter().find(|(flow, _)| flow.takes(user, asked));
        let (flow, gate) = taken.unwrap_or(&plan.rest);
        Place { flow: flow.clone(), gate: gate.clone(), alike: flow.alike(user, asked) }
    }

    /// For `/metrics`, in its text form.
    pub(crate) fn metrics(&self) -> String {
        let plan = self.plan.load();
        text::metrics(plan.gates.iter().map(|gate| &**gate))
    }

    /// Whoever finds others at it goes on with what there is: that is a moment old at most.
    fn catch_up(&self) {
        let newest = self.store.revision().get();
        if self.current.load(Ordering::Acquire) == newest {
            return;
        }
        let Some(mut feed) = self.feed.try_lock() else { return };
        let mut changed = feed.is_empty();
        for watch in feed.iter_mut() {
            while let Some(event) = watch.try_next() {
                let own_status = event.as_ref().is_ok_and(|event| is_about_status(&event.change));
                changed |= !own_status;
                if event.is_err() {
                    break;
                }
            }
        }
        if changed {
            self.rebuild(&mut feed);
        }
        self.current.store(newest, Ordering::Release);
    }

    fn rebuild(&self, feed: &mut Vec<Watch>) {
        let snapshot = self.store.snapshot();
        *feed = [FLOWS, LEVELS]
            .iter()
            .filter_map(|prefix| self.store.watch(prefix, snapshot.revision()).ok())
            .collect();
        let old = self.plan.load();
        let levels: Vec<Level> =
            snapshot.range(LEVELS, None).filter_map(|(_, entry)| Level::read(entry.bytes())).collect();
        let shares: u64 = levels.iter().map(|level| u64::from(level.shares)).sum::<u64>().max(1);
        let uids: HashMap<String, Option<HeaderValue>> =
            levels.iter().map(|level| (level.name.clone(), level.uid.clone())).collect();
        let gates: Vec<Arc<Gate>> = levels
            .into_iter()
            .map(|level| {
                let nominal = (self.seats as u64 * u64::from(level.shares)).div_ceil(shares) as usize;
                let known = old.gates.iter().find(|gate| gate.name() == level.name);
                let gate = known.cloned().unwrap_or_else(|| Arc::new(Gate::new(level.clone())));
                gate.change(level, nominal);
                gate
            })
            .collect();
        for gate in &gates {
            gate.meet(&gates);
        }
        let mut flows: Vec<(Arc<Flow>, Arc<Gate>)> = snapshot
            .range(FLOWS, None)
            .filter_map(|(_, entry)| Flow::read(entry.bytes()))
            .filter_map(|mut flow| {
                // A flow whose level does not exist takes nothing.
                flow.level_uid = uids.get(&flow.level)?.clone();
                let gate = gates.iter().find(|gate| gate.name() == flow.level)?.clone();
                Some((Arc::new(flow), gate))
            })
            .collect();
        flows.sort_by(|(a, _), (b, _)| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
        let rest = old.rest.clone();
        self.plan.store(Arc::new(Plan { flows, gates, rest }));
    }
}

/// A change that leaves the generation as it was is one of the status alone.
fn is_about_status(change: &Change) -> bool {
    let generation = |bytes: &[u8]| {
        let object: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
        object.and_then(|object| object["metadata"]["generation"].as_i64())
    };
    match change {
        Change::Put { now, before: Some(before), .. } => {
            generation(now.bytes()) == generation(before.bytes())
        }
        Change::Put { .. } | Change::Delete { .. } => false,
    }
}

impl Place {
    /// Waits for a seat in turn. Held while the request is under way.
    pub(crate) async fn seat(&self) -> Result<Option<Seat>, Status> {
        let entered = match Gate::enter(&self.gate, &self.flow.name, self.alike) {
            Ok(Entry::Free) => Ok(None),
            Ok(Entry::Seat(seat)) => Ok(Some(seat)),
            Ok(Entry::Wait(waiting)) => Box::pin(waiting.turn(PATIENCE)).await.map(Some),
            Err(none) => Err(none),
        };
        // It makes no difference to the client whether the queue was full or too slow.
        entered.map_err(|_| Status::too_many_requests("Too many requests, please try again later.", 1))
    }

    /// Says in an answer where its request belonged.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        let uids = [(&FLOW_HEADER, &self.flow.uid), (&LEVEL_HEADER, &self.flow.level_uid)];
        for (name, uid) in uids {
            if let Some(uid) = uid {
                headers.insert(name, uid.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
