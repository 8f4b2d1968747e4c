//! Plays one history: first everything that can go wrong, then time to recover, then the questions.

use std::sync::Arc;
use std::time::Duration;

use kedge_clock::Clock;
use kedge_registry::Options;
use kedge_registry::gate::Gate;
use kedge_store::Watch;
use kedge_testkit::{Api, admin};
use serde_json::{Value, json};

use crate::brain::Brain;
use crate::chance::Chance;
use crate::gate::Fate;
use crate::history::{Failure, History};
use crate::kinds::{self, Kind};
use crate::kubelets::Kubelets;
use crate::load::Load;
use crate::never::Never;
use crate::people::{Order, People};
use crate::{invariants, rest};

/// How many things happen before everything is allowed to go well.
const STEPS: usize = 120;
const AT_ONCE: usize = 3;
const MANY_READS: usize = 8;

pub(crate) struct Play {
    pub(crate) chance: Chance,
    pub(crate) clock: Clock,
    pub(crate) api: Api,
    pub(crate) brain: Brain,
    /// One that was given up and has not noticed: what it was about to write may still arrive.
    ghost: Option<Brain>,
    pub(crate) kubelets: Kubelets,
    pub(crate) people: People,
    pub(crate) load: Arc<Load>,
    pub(crate) history: History,
    kinds: Arc<Vec<Kind>>,
    watch: Watch,
    never: Never,
}

#[derive(Clone, Copy)]
enum Event {
    Grant,
    Hear,
    Turn,
    Kubelet,
    User,
    Time,
    Node,
    Crash,
    Ghost,
}

const EVENTS: [(u32, Event); 9] = [
    (34, Event::Grant),
    (22, Event::Hear),
    (20, Event::Turn),
    (8, Event::Kubelet),
    (6, Event::User),
    (3, Event::Time),
    (1, Event::Node),
    (1, Event::Crash),
    (3, Event::Ghost),
];

impl Play {
    pub(crate) async fn run(seed: u64) -> Result<History, Box<Failure>> {
        let mut play = Self::new(seed).await;
        play.chaos().await;
        let mut wrong = rest::come_to_rest(&mut play).await;
        wrong.append(&mut play.never.happened);
        if wrong.is_empty() {
            wrong = invariants::broken(&play.api.store.snapshot(), play.load.now());
        }
        if wrong.is_empty() {
            wrong = rest::one_more_turn(&mut play).await;
        }
        let left = left(&play.api.store.snapshot(), play.people.namespace());
        let history = play.history;
        if wrong.is_empty() { Ok(history) } else { Err(Box::new(Failure { seed, history, left, wrong })) }
    }

    async fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let clock = Clock::manual("2030-01-01T12:00:00Z".parse().expect("a time"));
        let order = Order::new(&mut chance);
        let gates = order.mood.iter().map(|mood| mood.clone() as Arc<dyn Gate>).collect();
        let options = Options {
            gates,
            namespace_worker: false,
            quota_worker: order.rations,
            definition_worker: false,
            event_ttl: None,
            ..Options::default()
        };
        let api = Api::start(clock.clone(), options).await;
        let client = api.client(admin("somebody"));
        let mut kubelets = Kubelets::new(api.client(admin("nodes")));
        for _ in 0..2 {
            kubelets.join(clock.now()).await;
        }
        let kinds = Arc::new(kinds::all());
        let watch = api.store.watch("/registry/", api.store.revision()).expect("the store can be watched");
        let load = Arc::new(Load::new(api.store.clone(), clock.clone()));
        let moves = order.moves();
        let people = People::new(client, &mut chance, order);
        let mut history = History::default();
        history.at(clock.now());
        if moves {
            history.note(people.move_in().await);
        }
        let brain = new_brain(&api, &load, &clock, &kinds);
        Self {
            chance,
            clock,
            api,
            brain,
            ghost: None,
            kubelets,
            people,
            load,
            history,
            kinds,
            watch,
            never: Never::default(),
        }
    }

    async fn chaos(&mut self) {
        if let Some(told) = self.people.act(&mut self.chance, &self.api.store.snapshot(), &self.load).await {
            self.history.note(told);
        }
        for _ in 0..STEPS {
            let event = self.chance.weighted(&EVENTS);
            self.happen(event).await;
            self.park().await;
        }
    }

    async fn happen(&mut self, event: Event) {
        match event {
            Event::Grant => self.grant().await,
            Event::Hear => {
                let lagging = self.brain.lagging();
                if let Some(&feed) = self.chance.pick(&lagging) {
                    for _ in 0..1 + self.chance.below(4) {
                        self.brain.hear(feed);
                    }
                }
            }
            Event::Turn => {
                let desk = self.chance.below(self.brain.desks.len());
                let around = (0..self.brain.desks.len()).map(|at| (at + desk) % self.brain.desks.len());
                for desk in around.collect::<Vec<_>>() {
                    if self.brain.turns() >= AT_ONCE {
                        break;
                    }
                    if let Some(told) = self.brain.begin(desk, self.clock.now()) {
                        self.history.note(told);
                        break;
                    }
                }
            }
            Event::Kubelet => {
                let due = self.kubelets.due(self.clock.now(), &self.api.store.snapshot());
                let at = self.chance.below(due.len());
                if let Some((pod, step)) = due.into_iter().nth(at) {
                    let told = self.kubelets.act(&pod, step).await;
                    self.history.note(told);
                }
            }
            Event::User => {
                if let Some(told) =
                    self.people.act(&mut self.chance, &self.api.store.snapshot(), &self.load).await
                {
                    self.history.note(told);
                }
            }
            Event::Time => {
                let millis = [50, 1_000, 7_000, 20_000, 60_000];
                let by = *self.chance.pick(&millis).unwrap_or(&50);
                let heard = self.chance.percent(80);
                self.advance(Duration::from_millis(by), heard).await;
            }
            Event::Node => self.node().await,
            Event::Crash => self.crash(),
            Event::Ghost => self.haunt().await,
        }
    }

    async fn node(&mut self) {
        let names = self.kubelets.names();
        let Some(name) = self.chance.pick(&names).cloned() else { return };
        // A volume of a node is gone with it, and so is the pod that needs it.
        if names.len() > 1 && !self.people.use_volumes() && self.chance.percent(20) {
            self.kubelets.leave(&name).await;
            self.history.note(format!("node {name} is taken away"));
        } else if self.chance.percent(20) {
            let name = self.kubelets.join(self.clock.now()).await;
            self.history.note(format!("node {name} joins"));
        } else {
            let silent = self.kubelets.turn(&name);
            self.history
                .note(format!("node {name} {}", if silent { "falls silent" } else { "speaks again" }));
        }
    }

    fn crash(&mut self) {
        self.history.note("the controllers die and start anew");
        // What the watch still has to tell is in what they read first.
        self.learn();
        let brain = new_brain(&self.api, &self.load, &self.clock, &self.kinds);
        let dead = std::mem::replace(&mut self.brain, brain);
        self.ghost = (dead.gate.waiting() > 0 && self.chance.percent(50)).then_some(dead);
    }

    /// What was stored since the last time is on its way to the controllers.
    fn learn(&mut self) {
        let store = self.api.store.snapshot();
        while let Some(event) = self.watch.try_next() {
            let event = event.expect("the store can be watched");
            self.never.saw(&event, &store);
            self.brain.happened(&event);
        }
    }

    /// A write of those who were given up arrives after all.
    async fn haunt(&mut self) {
        let Some(ghost) = &self.ghost else { return };
        match ghost.gate.take(0) {
            Some(asked) => {
                self.history.note(format!("  {} {} of the dead ones arrives", asked.method, asked.path));
                asked.meets(Fate::Pass);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                // Two who don't know of each other may make one too many.
                self.never.forgive();
            }
            None => self.ghost = None,
        }
    }

    pub(crate) fn lay_ghosts(&mut self) {
        self.ghost = None;
    }

    async fn grant(&mut self) {
        let waiting = self.brain.gate.waiting();
        if waiting == 0 {
            return;
        }
        let at = self.chance.below(waiting);
        let Some(asked) = self.brain.gate.take(at) else { return };
        let dice = self.chance.below(100);
        let (fate, dies) = match dice {
            _ if asked.is_event() => (Fate::Pass, false),
            0..4 => (Fate::Lost, false),
            4..8 => (Fate::AnswerLost, false),
            8..11 => (Fate::Error(409), false),
            11..13 => (Fate::Error(500), false),
            13..14 => (Fate::Error(429), false),
            14..16 => (Fate::Pass, true),
            16..17 => (Fate::Lost, true),
            _ => (Fate::Pass, false),
        };
        // Nobody says "conflict" to a reader.
        let fate = if fate == Fate::Error(409) && !asked.is_write() { Fate::Pass } else { fate };
        if asked.is_write() || fate != Fate::Pass {
            self.history.note(format!("  {} {}{}", asked.method, asked.path, said(fate)));
            self.history.writes += 1;
        }
        asked.meets(fate);
        // Who looks at every kind there is would need all the time there is.
        self.brain.gate.take_reads(MANY_READS).into_iter().for_each(|asked| asked.meets(Fate::Pass));
        self.park().await;
        if dies {
            self.crash();
        }
    }

    pub(crate) async fn advance(&mut self, by: Duration, heard: bool) {
        self.clock.advance(by);
        self.history.at(self.clock.now());
        if heard {
            self.kubelets.beat(self.clock.now(), &self.api.store.snapshot()).await;
        }
    }

    /// Lets every turn go on until it has ended or needs something.
    pub(crate) async fn park(&mut self) {
        let mut quiet = 0;
        let mut waiting = 0;
        while quiet < 6 {
            tokio::task::yield_now().await;
            let now = self.brain.gate.waiting();
            quiet = if self.brain.is_parked() && now == waiting { quiet + 1 } else { 0 };
            waiting = now;
        }
        self.learn();
        for told in self.brain.settle(self.clock.now()).await {
            self.history.note(told);
        }
    }
}

fn said(fate: Fate) -> &'static str {
    match fate {
        Fate::Pass => "",
        Fate::Lost => ": never arrives",
        Fate::AnswerLost => ": done, but the answer is lost",
        Fate::Error(409) => ": conflict",
        Fate::Error(_) => ": refused for now",
    }
}

fn values<'a>(store: &'a kedge_store::Snapshot, prefix: &'a str) -> impl Iterator<Item = Value> + 'a {
    store.range(prefix, None).filter_map(|(_, entry)| serde_json::from_slice(entry.bytes()).ok())
}

fn new_brain(api: &Api, load: &Arc<Load>, clock: &Clock, kinds: &Arc<Vec<Kind>>) -> Brain {
    let router = api.router.acting_as(admin("system:kube-controller-manager"));
    Brain::new(router, load.clone(), clock.clone(), kinds.clone(), &api.store.snapshot())
}

/// Everything that people would look at, one line each.
fn left(store: &kedge_store::Snapshot, namespace: &str) -> Vec<String> {
    let matters = |object: &Value| {
        let place = object["metadata"]["namespace"].as_str();
        let name = object["metadata"]["name"].as_str();
        (place == Some(namespace) && name != Some("kubernetes") && object["kind"] != "Event")
            || object["kind"] == "Node"
            || (object["kind"] == "Namespace" && name == Some(namespace))
    };
    let line = |mut object: Value| {
        let (kind, name) = (object["kind"].take(), object["metadata"]["name"].take());
        let meta = &mut object["metadata"];
        let owners: Vec<Value> = meta["ownerReferences"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .map(|owner| owner["name"].take())
            .collect();
        let leaving = meta["deletionTimestamp"].take();
        let finalizers = meta["finalizers"].take();
        let (node, taints) = (object["spec"]["nodeName"].take(), object["spec"]["taints"].take());
        let mut status = object["status"].take();
        for long in ["conditions", "containerStatuses", "images", "capacity", "allocatable", "nodeInfo"] {
            if let Some(status) = status.as_object_mut() {
                status.remove(long);
            }
        }
        let told = json!({
            "owners": owners, "leaving": leaving, "finalizers": finalizers, "node": node, "taints": taints,
            "replicas": object["spec"]["replicas"], "status": status,
        });
        let told: serde_json::Map<String, Value> = match told {
            Value::Object(told) => told.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => serde_json::Map::new(),
        };
        format!("{} {} {}", kind.as_str().unwrap_or(""), name.as_str().unwrap_or(""), Value::Object(told))
    };
    values(store, "/registry/").filter(matters).map(line).collect()
}
