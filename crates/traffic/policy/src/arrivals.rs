//! Where the node says that a pod has its addresses, and waits until the rules know them: no container of it runs before.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kedge_client::Key;
use kedge_clock::Clock;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::places::Places;

/// How long a pod's start is held up at most: rules that cannot be written must not stop a node.
const PATIENCE: Duration = Duration::from_secs(2);

/// Cheap to clone; clones are one.
#[derive(Clone)]
pub struct Arrivals {
    shared: Arc<Shared>,
    clock: Clock,
}

struct Shared {
    places: Mutex<Places>,
    bell: Notify,
    settled: watch::Sender<()>,
}

impl Arrivals {
    pub fn new(clock: Clock) -> Self {
        let shared =
            Shared { places: Mutex::default(), bell: Notify::new(), settled: watch::Sender::new(()) };
        Self { shared: Arc::new(shared), clock }
    }

    /// Returns once what policies ask of this pod is asked of its packets, or after a while. False says that it took too long.
    pub async fn isolated(&self, pod: Key, uid: Option<String>, addresses: Vec<IpAddr>) -> bool {
        let mut settled = self.shared.settled.subscribe();
        self.shared.places.lock().put(pod.clone(), uid, addresses);
        self.ring();
        let known = settled.wait_for(|()| self.shared.places.lock().is_enforced(&pod));
        tokio::select! {
            _ = known => true,
            () = self.clock.sleep(PATIENCE) => false,
        }
    }

    /// Something is different: the rules are to be looked at again.
    pub(crate) fn ring(&self) {
        self.shared.bell.notify_one();
    }

    pub(crate) async fn rung(&self) {
        self.shared.bell.notified().await;
    }

    pub(crate) fn places(&self) -> Places {
        self.shared.places.lock().clone()
    }

    pub(crate) fn settle(&self, work: impl FnOnce(&mut Places)) {
        work(&mut self.shared.places.lock());
        self.shared.settled.send_replace(());
    }
}
