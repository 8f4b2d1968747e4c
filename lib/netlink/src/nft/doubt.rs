//! Hears that somebody touched a table, whoever it was, and says when to look whether it is still as it was told: whoever sets up a
//! firewall anew may take all tables away.

use std::time::Duration;

use jiff::Timestamp;
use kedge_clock::Clock;
use tokio::io::unix::AsyncFd;

use super::Watch;

/// From the first touch to the look at what came of it. One look is for all that happens meanwhile.
const SETTLED: Duration = Duration::from_secs(1);

pub struct Doubt {
    /// Without one nobody is heard, and what others do is found by the next change.
    watch: Option<AsyncFd<Watch>>,
    /// When to look, once somebody was heard.
    due: Option<Timestamp>,
    clock: Clock,
}

impl Doubt {
    /// Needs a running tokio runtime.
    pub fn over(table: &str, clock: Clock) -> Self {
        let opened = Watch::over(table).map_err(|error| error.to_string());
        #[expect(deprecated, reason = "an owned descriptor stays what it is for as long as it is held")]
        let opened = opened.and_then(|watch| AsyncFd::new(watch).map_err(|error| error.to_string()));
        let told = |error: &String| tracing::debug!(error, "nobody tells of changes to the table {table}");
        Self { watch: opened.inspect_err(told).ok(), due: None, clock }
    }

    /// Returns when there is reason to look. Nothing is lost if it is not waited for to the end.
    pub async fn arises(&mut self) {
        let due = match self.due {
            Some(due) => due,
            None => {
                touched(self.watch.as_mut()).await;
                *self.due.insert(self.clock.now() + SETTLED)
            }
        };
        self.clock.until(due).await;
        self.due = None;
        // What was heard up to now is about to be looked at. What cannot be read is heard again.
        if let Some(watch) = &mut self.watch {
            let _heard = watch.get_mut().was_touched();
        }
    }

    /// The look came to nothing: there is reason for another, after the same while.
    pub fn remains(&mut self) {
        let due = self.clock.now() + SETTLED;
        self.due.get_or_insert(due);
    }
}

async fn touched(watch: Option<&mut AsyncFd<Watch>>) {
    let Some(watch) = watch else { return std::future::pending().await };
    loop {
        let Ok(mut ready) = watch.readable_mut().await else { return std::future::pending().await };
        let was_touched = ready.get_inner_mut().was_touched();
        ready.clear_ready();
        if was_touched.unwrap_or(true) {
            return;
        }
    }
}
