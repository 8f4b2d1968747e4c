//! The node itself: its object, kept true to what the machine is and how it is, and the lease that says that it lives. The
//! object is watched and not asked for; if somebody deletes it, it is made again.

mod conditions;
mod facts;
mod lease;
mod status;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_client::{Event, Objects};
use kedge_engine::{Action, Note, Severity, Target};
use kube::api::ListParams;

use self::conditions::{Runtime, conditions, is_ready, wrong};
pub(crate) use self::facts::Facts;
pub use self::facts::Told;
use self::status::{Inventory, images, status};
use crate::belonging::Belonging;
use crate::board::Notes;
use crate::tools::Tools;

/// How often is asked how the runtime is: once it is well, while it may be starting, and when that takes long.
const SELDOM: Duration = Duration::from_secs(10);
const OFTEN: Duration = Duration::from_millis(50);
const STARTING: u32 = 40;
/// A runtime that does not answer is down only after this: one that is started again is soon back.
const TOLERATED: Duration = Duration::from_secs(30);
/// What was asked so shortly ago is still so.
const FRESH: Duration = Duration::from_secs(2);
/// How often images are counted that came without our doing.
const COUNT: Duration = Duration::from_secs(60);
/// How often the conditions are told although nothing changed.
const REMIND: Duration = Duration::from_secs(300);
/// After so many tries the labels are left alone.
const PATIENCE: u32 = 5;
/// After the API did not take what it was told.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct NodeKeeper {
    pub(crate) tools: Arc<Tools>,
    pub(crate) facts: Facts,
    pub(crate) belonging: Arc<Belonging>,
}

/// What is remembered from one turn to the next.
#[derive(Default)]
struct Memory {
    runtime: Option<(Runtime, Timestamp)>,
    inventory: Inventory,
    /// When images were last counted, and what the board said then.
    counted: Option<(Timestamp, u64)>,
    /// When the conditions were last told.
    told: Option<Timestamp>,
    /// The object has the labels that it should have begun with.
    labelled: bool,
    rebooted: bool,
    /// How often it was not ready since it last was.
    tries: u32,
    /// How often in a row a change was not taken.
    failed: u32,
    /// What the API last said against the node.
    refused: Option<String>,
}

impl NodeKeeper {
    /// Until it is dropped.
    pub(crate) async fn keep(&self) {
        tokio::join!(self.watch(), self.tell(), lease::keep(&self.tools));
    }

    /// Keeps the tools' copy of the object as the API's is.
    async fn watch(&self) {
        let mine = ListParams::default().fields(&format!("metadata.name={}", self.tools.place.node));
        let mut events = Objects::<Node>::all(&self.tools.client).events(mine);
        while let Some(told) = events.next().await {
            match told {
                Ok(Event::All(mut nodes)) => match nodes.pop() {
                    None => self.missing().await,
                    node => self.seen(node),
                },
                Ok(Event::Put(node)) => self.seen(Some(node)),
                Ok(Event::Gone(_)) => self.missing().await,
                Err(error) => {
                    tracing::debug!(%error, "cannot watch this node");
                    self.tools.clock.sleep(PAUSE).await;
                }
            }
        }
    }

    /// What the watch no longer shows may have been made since: only who asks now knows.
    async fn missing(&self) {
        let nodes = Objects::<Node>::all(&self.tools.client);
        let known = self.belonging.known();
        match nodes.find(&self.tools.place.node).await {
            Ok(None) => {
                self.belonging.missing(known.as_deref());
                self.seen(None);
            }
            Ok(found) => self.seen(found),
            Err(error) => tracing::debug!(%error, "cannot ask for this node"),
        }
    }

    fn seen(&self, node: Option<Node>) {
        if let Some(node) = &node {
            self.belonging.seen(node);
        }
        let node = node.map(|mut node| {
            node.metadata.managed_fields = None;
            Arc::new(node)
        });
        self.tools.node.send_if_modified(|held| {
            let is_new = *held != node;
            *held = node;
            is_new
        });
    }

    async fn tell(&self) {
        let (mut object, mut board) = (self.tools.node.subscribe(), self.tools.board.read());
        let mut memory = Memory::default();
        loop {
            object.mark_unchanged();
            let notes = board.borrow_and_update().clone();
            let wait = match self.turn(&notes, &mut memory).await {
                Ok(true) => {
                    memory.tries = 0;
                    SELDOM
                }
                Ok(false) => {
                    memory.tries = memory.tries.saturating_add(1);
                    if memory.tries <= STARTING { OFTEN } else { PAUSE }
                }
                Err(error) => {
                    // An API that is away is no news; one that does not want this node is, once.
                    let why = error.to_string();
                    match error {
                        kube::Error::Api(_) if memory.refused.as_ref() != Some(&why) => {
                            tracing::warn!(why, "the API does not take this node");
                            memory.refused = Some(why);
                        }
                        _ => tracing::debug!(why, "cannot tell of this node"),
                    }
                    PAUSE
                }
            };
            tokio::select! {
                _ = object.changed() => {}
                _ = board.changed() => {}
                () = self.tools.clock.sleep(wait) => {}
            }
        }
    }

    /// Makes the object what it should be. True if the node is ready.
    async fn turn(&self, notes: &Notes, memory: &mut Memory) -> Result<bool, kube::Error> {
        let now = self.tools.now();
        self.look(notes, memory, now).await;
        let nodes = Objects::<Node>::all(&self.tools.client);
        let (held, known) = (self.tools.node.borrow().clone(), self.belonging.known());
        let found = match held {
            Some(found) => found,
            None => match nodes.find(&self.tools.place.node).await? {
                Some(found) => Arc::new(found),
                None if self.belonging.missing(known.as_deref()) => return Ok(false),
                None => {
                    let (new, events) = self.wanted(&self.new_node(), notes, memory, now);
                    let made = Arc::new(nodes.create(&new).await?);
                    self.announce(&made, &events);
                    memory.labelled = true;
                    made
                }
            },
        };
        let (wanted, events) = self.wanted(&found, notes, memory, now);
        let actions: Vec<Action> = [Action::change(&*found, &wanted), Action::status(&*found, &wanted)]
            .into_iter()
            .flatten()
            .collect();
        let ready = wanted.status.as_ref().and_then(|status| status.conditions.as_deref());
        let ready = is_ready(ready.unwrap_or_default());
        if !actions.is_empty() {
            if let Some(error) = self.tools.carrier.carry_out(&actions).await.error {
                tracing::debug!(%error, "cannot tell of this node");
                memory.failed = memory.failed.saturating_add(1);
                if memory.failed >= PATIENCE && !memory.labelled {
                    // How the node is matters more than what it is called.
                    tracing::warn!(%error, "the API does not take this node's labels");
                    memory.labelled = true;
                }
                // Our copy may be old, or the object gone.
                self.seen(nodes.find(&self.tools.place.node).await?);
                return Ok(false);
            }
            memory.failed = 0;
            self.announce(&found, &events);
        }
        if self.tools.node.borrow().is_none() {
            self.seen(Some((*found).clone()));
        }
        memory.labelled = true;
        memory.told = memory.told.filter(|told| !is_past(*told, REMIND, now)).or(Some(now));
        Ok(ready)
    }

    /// Asks the runtime how it is and what it has, if that was long ago.
    async fn look(&self, notes: &Notes, memory: &mut Memory, now: Timestamp) {
        let fresh = memory.runtime.as_ref().is_some_and(|(runtime, asked)| {
            let is_well = matches!(runtime, Runtime::Says(said) if wrong(said).next().is_none());
            is_well && !is_past(*asked, FRESH, now)
        });
        if !fresh {
            match self.tools.runtime.status().await {
                Ok(answer) => {
                    memory.inventory.handlers = answer.runtime_handlers;
                    memory.inventory.features = answer.features;
                    memory.runtime = Some((Runtime::Says(answer.status.unwrap_or_default()), now));
                }
                // One that takes the question and never answers is not being started again.
                Err(error)
                    if !error.is_late()
                        && memory
                            .runtime
                            .as_ref()
                            .is_some_and(|(_, asked)| !is_past(*asked, TOLERATED, now)) => {}
                Err(error) => {
                    let asked = memory.runtime.take().map_or(Timestamp::UNIX_EPOCH, |(_, asked)| asked);
                    memory.runtime = Some((Runtime::Silent(error.to_string()), asked));
                }
            }
        }
        let counted =
            memory.counted.is_some_and(|(when, at)| at == notes.images && !is_past(when, COUNT, now));
        if !counted && let Ok(all) = self.tools.runtime.images().await {
            memory.inventory.images = images(all);
            memory.counted = Some((now, notes.images));
        }
    }

    fn new_node(&self) -> Node {
        let taints = self.facts.taints.clone();
        Node {
            metadata: ObjectMeta {
                name: Some(self.tools.place.node.clone()),
                labels: Some(self.facts.labels.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(NodeSpec { taints: (!taints.is_empty()).then_some(taints), ..NodeSpec::default() }),
            status: None,
        }
    }

    /// The object as it should be, and what is new in it.
    fn wanted(
        &self,
        found: &Node,
        notes: &Notes,
        memory: &mut Memory,
        now: Timestamp,
    ) -> (Node, Vec<(&'static str, String)>) {
        let name = &self.tools.place.node;
        let mut wanted = found.clone();
        // Once in our life: whoever changes a label later means it.
        if !memory.labelled {
            wanted.metadata.labels.get_or_insert_default().extend(self.facts.labels.clone());
        }
        if !notes.annotations.is_empty() {
            wanted.metadata.annotations.get_or_insert_default().extend(notes.annotations.clone());
        }
        let before = found.status.clone().unwrap_or_default();
        let silent = Runtime::Silent("it was not asked yet".to_owned());
        let runtime = memory.runtime.as_ref().map_or(&silent, |(runtime, _)| runtime);
        let remind = memory.told.is_none_or(|told| is_past(told, REMIND, now));
        let (conditions, news) =
            conditions(before.conditions.as_deref().unwrap_or_default(), runtime, notes, now, remind);
        let mut events: Vec<_> =
            news.into_iter().map(|event| (event, format!("Node {name} status is now: {event}"))).collect();
        let boot = before.node_info.as_ref().map(|info| info.boot_id.clone()).unwrap_or_default();
        if !boot.is_empty() && boot != self.facts.info.boot_id && !memory.rebooted {
            memory.rebooted = true;
            let message = format!("Node {name} has been rebooted, boot id: {}", self.facts.info.boot_id);
            events.push(("Rebooted", message));
        }
        let mut new = status(before, &self.facts, &self.tools.place, notes, &memory.inventory);
        new.conditions = Some(conditions);
        wanted.status = Some(new);
        (wanted, events)
    }

    fn announce(&self, node: &Node, events: &[(&'static str, String)]) {
        for (reason, message) in events {
            let severity = if *reason == "Rebooted" { Severity::Warning } else { Severity::Normal };
            let note = Note {
                about: Target::of(node),
                part: String::new(),
                severity,
                reason,
                message: message.clone(),
            };
            self.tools.voice.say(note);
        }
    }
}

fn is_past(moment: Timestamp, wait: Duration, now: Timestamp) -> bool {
    now.duration_since(moment).unsigned_abs() >= wait
}
