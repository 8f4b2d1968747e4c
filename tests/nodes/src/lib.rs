//! Scripted nodes: they register, send heartbeats and play the life of every pod that is bound to them, without running
//! anything. All they know comes from the API that they are given a client of, and all they do goes there.

mod containers;
mod life;
mod machine;
mod pods;
mod presence;
mod script;
mod shell;
mod status;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kedge_clock::Clock;
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

pub use self::life::{Lives, Step};
pub use self::machine::{Machine, micro};
pub use self::presence::correction;
pub use self::script::Script;

/// Nodes that live for as long as this does.
pub struct Nodes {
    shared: Arc<Shared>,
    tasks: Vec<AbortHandle>,
}

struct Shared {
    client: Client,
    clock: Clock,
    script: Script,
    known: Mutex<BTreeMap<String, Presence>>,
    /// Somebody spoke again, or came: the loops look at everything once more.
    woken: watch::Sender<()>,
    /// When everybody had last sent a heartbeat.
    beaten: watch::Sender<Timestamp>,
}

struct Presence {
    machine: Arc<Machine>,
    silent: bool,
    registered: bool,
}

/// One of the nodes.
pub struct Node<'a> {
    shared: &'a Shared,
    name: String,
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Nodes {
    /// Needs a running tokio runtime.
    pub fn start(client: Client, clock: Clock, script: Script, machines: Vec<Machine>) -> Self {
        let known = machines.into_iter().map(|machine| {
            let presence = Presence { machine: Arc::new(machine), silent: false, registered: false };
            (presence.machine.name.clone(), presence)
        });
        let shared = Arc::new(Shared {
            client,
            clock,
            script,
            known: Mutex::new(known.collect()),
            woken: watch::Sender::new(()),
            beaten: watch::Sender::new(Timestamp::MIN),
        });
        let tasks = vec![
            tokio::spawn(presence::beat(shared.clone())).abort_handle(),
            tokio::spawn(presence::keep_ready(shared.clone())).abort_handle(),
            tokio::spawn(pods::keep(shared.clone())).abort_handle(),
        ];
        Self { shared, tasks }
    }

    /// Another machine joins.
    pub fn join(&self, machine: Machine) {
        let name = machine.name.clone();
        let presence = Presence { machine: Arc::new(machine), silent: false, registered: false };
        self.shared.known.lock().insert(name, presence);
        self.shared.wake();
    }

    pub fn node(&self, name: &str) -> Node<'_> {
        Node { shared: &self.shared, name: name.to_owned() }
    }

    /// Waits until all that speak have registered and sent a heartbeat at this moment or later.
    pub async fn beaten_since(&self, moment: Timestamp) {
        // The sender lives in what we hold, so waiting can't fail.
        drop(self.shared.beaten.subscribe().wait_for(|beaten| *beaten >= moment).await);
    }

    pub fn names(&self) -> Vec<String> {
        self.shared.known.lock().keys().cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.shared.known.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Node<'_> {
    /// No more heartbeats, no more word about its pods. They go on, but nobody hears of it.
    pub fn fall_silent(&self) {
        self.set_silent(true);
    }

    pub fn speak_again(&self) {
        self.set_silent(false);
        self.shared.wake();
    }

    /// Never heard of again. Its Node object is the API's.
    pub fn vanish(&self) {
        self.shared.known.lock().remove(&self.name);
    }

    fn set_silent(&self, silent: bool) {
        if let Some(presence) = self.shared.known.lock().get_mut(&self.name) {
            presence.silent = silent;
        }
    }
}

impl Shared {
    fn wake(&self) {
        self.woken.send_replace(());
    }

    /// The machine of that name, if it is one of ours and speaks.
    fn speaking(&self, name: &str) -> Option<Arc<Machine>> {
        let known = self.known.lock();
        known.get(name).filter(|presence| !presence.silent).map(|presence| presence.machine.clone())
    }
}
