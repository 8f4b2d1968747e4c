//! One life of the controllers: a world that learns what the simulation shows it, every worker with its queue, and turns that
//! are under way. When it dies, all of that is gone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kedge_client::World;
use kedge_clock::Clock;
use kedge_controllers::GarbageCollector;
use kedge_engine::{Engine, Key, Next, Outcome, Queue, Seen, Wait, Worker};
use kedge_http::Router;
use kedge_scheduler::Config;
use kedge_store::{Change, Event, Snapshot};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::gate::{Gate, Gated};
use crate::kinds::{Head, Kind};
use crate::load::Load;

const NAMESPACES: &str = "namespace-controller";
const COLLECTOR: &str = "garbage-collector-controller";

pub(crate) struct Brain {
    pub(crate) gate: Arc<Gate>,
    pub(crate) desks: Vec<Desk>,
    world: World,
    collector: Arc<GarbageCollector>,
    kinds: Arc<Vec<Kind>>,
    /// What has happened and is not known yet: of each kind in order, the world's and the collector's apart.
    feeds: Vec<VecDeque<Happened>>,
    turns: Vec<Turn>,
    /// What the collector's keys mean.
    names: BTreeMap<String, String>,
}

pub(crate) struct Desk {
    pub(crate) worker: Arc<dyn Worker>,
    queue: Arc<Mutex<Queue>>,
    _listener: Arc<dyn Fn(&Seen<'_>) + Send + Sync>,
}

#[derive(Clone)]
struct Happened {
    kind: usize,
    bytes: Bytes,
    gone: bool,
}

struct Turn {
    desk: usize,
    key: Key,
    task: Option<JoinHandle<Outcome>>,
    /// What must be seen before it is over.
    over: Option<(Vec<Wait>, Next)>,
}

impl Drop for Brain {
    fn drop(&mut self) {
        self.turns.iter().filter_map(|turn| turn.task.as_ref()).for_each(JoinHandle::abort);
        self.gate.close();
    }
}

impl Brain {
    pub(crate) fn new(
        router: Router,
        load: Arc<Load>,
        clock: Clock,
        kinds: Arc<Vec<Kind>>,
        now: &Snapshot,
    ) -> Self {
        let gate = Arc::new(Gate::default());
        let client = kedge_client::in_process(Gated { router, gate: gate.clone(), load });
        let world = World::by_hand();
        let collector = GarbageCollector::new(client.clone(), clock.clone());
        let scheduler =
            kedge_scheduler::worker(world.clone(), client.clone(), clock.clone(), &Config::default())
                .expect("the usual scheduler works");
        let engine = Engine::new(world.clone(), client, clock);
        let joins = [kedge_controllers::join, kedge_jobs::join, kedge_nodes::join, kedge_volumes::join];
        let engine = joins.into_iter().fold(engine, |engine, join| join(engine)).with_worker(scheduler);
        // Looks in between would only make histories longer.
        let scaling = kedge_autoscale::Settings { reaction: None, ..kedge_autoscale::Settings::default() };
        let engine = kedge_autoscale::join_with(engine, scaling);
        let workers = engine.workers().iter().filter(|worker| worker.name() != COLLECTOR).cloned();
        let desks: Vec<Desk> = workers
            .chain([collector.clone() as Arc<dyn Worker>])
            .map(|worker| desk(worker, &world))
            .collect();
        let feeds = vec![VecDeque::new(); kinds.len() * 2];
        let mut brain =
            Self { gate, desks, world, collector, kinds, feeds, turns: Vec::new(), names: BTreeMap::new() };
        brain.read(now);
        brain
    }

    /// The first look at everything.
    fn read(&mut self, now: &Snapshot) {
        for desk in &self.desks {
            desk.worker.watch(&self.world);
        }
        let mut objects: Vec<Vec<&[u8]>> = vec![Vec::new(); self.kinds.len()];
        for (_, entry) in now.range("/registry/", None).filter(|(key, _)| matters(key.as_str())) {
            let Some(head) = Head::of(entry.bytes()) else { continue };
            let Some(kind) = self.kinds.iter().position(|kind| kind.is(&head)) else { continue };
            objects[kind].push(entry.bytes());
            self.name(&head);
            let woken =
                self.collector.saw(&self.kinds[kind].resource, self.kinds[kind].namespaced, &head.metadata);
            if concerns_collector(&head) {
                self.wake_collector(woken);
            }
        }
        let revision = kedge_client::Revision(now.revision().get());
        for (kind, objects) in self.kinds.iter().zip(&objects) {
            (kind.read)(&self.world, objects, revision);
        }
        for desk in &self.desks {
            let roots = desk.worker.roots(&self.world);
            roots.into_iter().for_each(|key| desk.queue.lock().add(key));
        }
    }

    fn name(&mut self, head: &Head) {
        let uid = head.metadata.uid.clone().unwrap_or_default();
        let name = format!("{} {}", head.kind, head.metadata.name.as_deref().unwrap_or_default());
        self.names.insert(uid, name);
    }

    fn wake_collector(&self, mut woken: Vec<Key>) {
        woken.sort_unstable();
        if let Some(desk) = self.desks.last() {
            woken.into_iter().for_each(|key| desk.queue.lock().add(key));
        }
    }

    /// Something was stored; controllers hear of it later.
    pub(crate) fn happened(&mut self, event: &Event) {
        if !matters(event.key.as_str()) {
            return;
        }
        let bytes = event.change.entry().bytes().clone();
        let Some(head) = Head::of(&bytes) else { return };
        let Some(kind) = self.kinds.iter().position(|kind| kind.is(&head)) else { return };
        self.name(&head);
        let gone = matches!(event.change, Change::Delete { .. });
        let happened = Happened { kind, bytes, gone };
        self.feeds[kind].push_back(happened.clone());
        self.feeds[kind + self.kinds.len()].push_back(happened);
    }

    /// Feeds that have something to tell.
    pub(crate) fn lagging(&self) -> Vec<usize> {
        (0..self.feeds.len()).filter(|feed| !self.feeds[*feed].is_empty()).collect()
    }

    /// The next thing that a feed has to tell becomes known.
    pub(crate) fn hear(&mut self, feed: usize) {
        let Some(happened) = self.feeds[feed].pop_front() else { return };
        let kind = &self.kinds[happened.kind];
        if feed < self.kinds.len() {
            let tell = if happened.gone { kind.lost } else { kind.saw };
            tell(&self.world, &happened.bytes);
            if happened.gone {
                self.wake_namespace(&happened.bytes);
            }
            return;
        }
        let Some(head) = Head::of(&happened.bytes) else { return };
        let woken = if happened.gone {
            self.collector.lost(head.metadata.uid.as_deref().unwrap_or_default())
        } else {
            self.collector.saw(&kind.resource, kind.namespaced, &head.metadata)
        };
        if happened.gone || concerns_collector(&head) {
            self.wake_collector(woken);
        }
    }

    /// Whoever empties a namespace follows what is left in it, with watches that would never end here.
    fn wake_namespace(&self, gone: &[u8]) {
        let namespace = Head::of(gone).and_then(|head| head.metadata.namespace).unwrap_or_default();
        let key = Key::new("", namespace);
        let found = self.world.get::<Namespace>(&key).ok().flatten();
        if found.is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some())
            && let Some(desk) = self.desks.iter().find(|desk| desk.worker.name() == NAMESPACES)
        {
            desk.queue.lock().add(key);
        }
    }

    pub(crate) fn turns(&self) -> usize {
        self.turns.len()
    }

    /// Begins a turn of a worker, if it has anything to look at.
    pub(crate) fn begin(&mut self, desk: usize, now: Timestamp) -> Option<String> {
        let key = self.desks[desk].queue.lock().take(now)?;
        let named = self.names.get(&key.name).cloned().unwrap_or_else(|| key.to_string());
        let told = format!("{} looks at {named}", self.desks[desk].worker.name());
        self.turn(desk, key);
        Some(told)
    }

    fn turn(&mut self, desk: usize, key: Key) {
        let (worker, at) = (self.desks[desk].worker.clone(), key.clone());
        let task = tokio::spawn(async move { worker.turn(&at).await });
        self.turns.push(Turn { desk, key, task: Some(task), over: None });
    }

    /// Makes every worker look at everything that it looks after.
    pub(crate) fn wake_all(&mut self, uids: Vec<String>) {
        let known = uids.into_iter().filter(|uid| self.names.contains_key(uid));
        self.wake_collector(known.map(|uid| Key::new("", uid)).collect());
        let mut all: Vec<(usize, Key)> = Vec::new();
        for (at, desk) in self.desks.iter().enumerate() {
            all.extend(desk.worker.roots(&self.world).into_iter().map(|key| (at, key)));
        }
        all.into_iter().for_each(|(desk, key)| self.desks[desk].queue.lock().add(key));
    }

    /// Ends the turns that have done their work and can see it. Says what went wrong with which.
    pub(crate) async fn settle(&mut self, now: Timestamp) -> Vec<String> {
        let mut told = Vec::new();
        let mut at = 0;
        while at < self.turns.len() {
            let turn = &mut self.turns[at];
            if let Some(task) = turn.task.take_if(|task| task.is_finished()) {
                let outcome = task.await.unwrap_or_else(|error| match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(error) => panic!("a turn ended early: {error}"),
                });
                turn.over = Some((outcome.waits, outcome.next));
            }
            let caught_up = turn
                .over
                .as_ref()
                .is_some_and(|(waits, _)| waits.iter().all(|wait| self.world.has_caught_up(wait)));
            if !caught_up {
                at += 1;
                continue;
            }
            let Turn { desk, key, over, .. } = self.turns.remove(at);
            let mut queue = self.desks[desk].queue.lock();
            match over {
                Some((_, Next::Retry(error))) => {
                    told.push(format!("{} tries {key} again: {error}", self.desks[desk].worker.name()));
                    queue.failed(&key, now);
                }
                Some((_, Next::At(moment))) => {
                    queue.done(&key);
                    queue.add_at(key, moment);
                }
                _ => queue.done(&key),
            }
        }
        told
    }

    /// Every turn has ended, or waits for the gate or for news.
    pub(crate) fn is_parked(&self) -> bool {
        let running = self
            .turns
            .iter()
            .filter(|turn| turn.task.as_ref().is_some_and(|task| !task.is_finished()))
            .count();
        !self.gate.is_busy() && (running == 0 || self.gate.waiting() > 0)
    }
}

/// What has no owner and is not leaving is looked at for nothing.
fn concerns_collector(head: &Head) -> bool {
    head.metadata.deletion_timestamp.is_some()
        || head.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty())
}

/// Most of what is stored in a new cluster is of kinds that no controller here looks at.
fn matters(key: &str) -> bool {
    let others =
        ["clusterrole", "role", "flowschemas", "prioritylevel", "events/", "apiregistration", "ipaddr"];
    let name = key.strip_prefix("/registry/").unwrap_or(key);
    !others.iter().any(|other| name.starts_with(other))
}

fn desk(worker: Arc<dyn Worker>, world: &World) -> Desk {
    let queue = Arc::new(Mutex::new(Queue::default()));
    let listener = {
        let (queue, worker, world) = (queue.clone(), worker.clone(), world.clone());
        Arc::new(move |seen: &Seen<'_>| {
            let keys = worker.wakes(seen, &world);
            let mut queue = queue.lock();
            keys.into_iter().for_each(|key| queue.add(key));
        })
    };
    world.listen(&listener);
    Desk { worker, queue, _listener: listener }
}
