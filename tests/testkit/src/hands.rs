//! The hands of a cluster's clock. Living nodes get to send their heartbeats however far they are turned.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_scripted_nodes::Nodes;

/// Shorter than the time after which a node counts as silent.
const STEP: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Hands {
    pub(crate) clock: Clock,
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) heartbeat: Duration,
}

impl Hands {
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Turns the clock step by step, as slowly as the nodes can follow.
    pub async fn advance(&self, by: Duration) {
        let mut left = by;
        while !left.is_zero() {
            let step = left.min(STEP);
            left -= step;
            self.clock.advance(step);
            self.let_happen().await;
        }
    }

    /// Turns the clock at once. Nodes that live will have missed heartbeats.
    pub async fn leap(&self, by: Duration) {
        self.clock.advance(by);
        self.let_happen().await;
    }

    async fn let_happen(&self) {
        let since = self.now().saturating_sub(self.heartbeat).unwrap_or(Timestamp::MIN);
        let beaten = tokio::time::timeout(PATIENCE, self.nodes.beaten_since(since)).await;
        beaten.expect("the nodes send their heartbeats");
        // Everybody whose moment has come gets to run before the next one does.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
}
