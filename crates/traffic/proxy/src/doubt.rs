//! Hears that somebody touched our table, ourselves included, and says when to look whether it is still there: whoever sets up a
//! firewall anew may take all tables away.

use std::time::Duration;

use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_netlink::nft::Watch;
use tokio::io::unix::AsyncFd;

/// From the first touch to the look at what came of it. One look is for all that happens meanwhile.
const SETTLED: Duration = Duration::from_secs(1);

pub(crate) struct Doubt {
    /// Without one nobody is heard, and what others do is found by the next change.
    watch: Option<AsyncFd<Watch>>,
    /// When to look, once somebody was heard.
    due: Option<Timestamp>,
}

impl Doubt {
    pub(crate) fn over(table: &str) -> Self {
        let opened = Watch::over(table).map_err(|error| error.to_string());
        #[expect(deprecated, reason = "an owned descriptor stays what it is for as long as it is held")]
        let opened = opened.and_then(|watch| AsyncFd::new(watch).map_err(|error| error.to_string()));
        let told = |error: &String| tracing::debug!(error, "nobody tells of changes to the table {table}");
        Self { watch: opened.inspect_err(told).ok(), due: None }
    }

    /// Returns when there is reason to look. A touch is not forgotten if it is not waited for to the end.
    pub(crate) async fn arises(&mut self, clock: &Clock) {
        let due = match self.due {
            Some(due) => due,
            None => {
                self.touch().await;
                *self.due.insert(clock.now() + SETTLED)
            }
        };
        clock.until(due).await;
        self.due = None;
    }

    async fn touch(&mut self) {
        let Some(watch) = &mut self.watch else { return std::future::pending().await };
        loop {
            let Ok(mut ready) = watch.readable_mut().await else { return std::future::pending().await };
            let was_touched = ready.get_inner_mut().was_touched();
            ready.clear_ready();
            if was_touched.unwrap_or(true) {
                return;
            }
        }
    }
}
