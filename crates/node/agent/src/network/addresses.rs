//! Notices that this machine is reached at other addresses than before, so that its object says so and others follow.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use kedge_network::Change;

use super::SETTLED;
use super::changes::Changes;
use crate::tools::Tools;

/// Looks where the machine is reached now.
#[derive(Clone)]
pub struct Lookout(Arc<dyn Fn() -> Vec<IpAddr> + Send + Sync>);

impl Lookout {
    pub fn new(look: impl Fn() -> Vec<IpAddr> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }
}

impl fmt::Debug for Lookout {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Lookout")
    }
}

/// Until it is dropped.
pub(super) async fn keep(tools: &Tools, lookout: Option<&Lookout>) {
    let Some(Lookout(look)) = lookout else { return std::future::pending().await };
    let mut changes = Changes::open();
    let mut known = tools.place.node_ips.clone();
    loop {
        changes.next(|change| matches!(change, Change::Address(_) | Change::Route(_) | Change::Lost)).await;
        tools.clock.sleep(SETTLED).await;
        let now: Vec<String> = look().iter().map(ToString::to_string).collect();
        // A machine that is cut off has no way out for a while; it is still where it was.
        if now.len() >= known.len() && now != known {
            match known.is_empty() {
                true => tracing::info!("this node is reached at {} now", now.join(", ")),
                false => tracing::info!(
                    "this node is reached at {} now, no longer at {}",
                    now.join(", "),
                    known.join(", ")
                ),
            }
            tools.board.write(|notes| notes.addresses = Some(now.clone()));
            known = now;
        }
    }
}
