//! Tells the end of this server from the end of the machine: a server that is stopped leaves its pods running, a machine that
//! goes down gives them time to end.

use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::notify;

/// How long is waited for the pods beyond what they were given.
const SLACK: Duration = Duration::from_secs(2);
/// What else a server does before it has ended.
const REST: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Up,
    GoingDown,
    /// No pod runs any more.
    Down,
}

/// Cheap to clone; clones speak of the same machine.
#[derive(Clone)]
pub(crate) struct Machine {
    stage: Arc<watch::Sender<Stage>>,
    /// What pods are given; none if they are given nothing.
    grace: Option<Duration>,
}

impl Machine {
    pub(crate) fn new(grace: Option<Duration>) -> Self {
        Self { stage: Arc::default(), grace: grace.filter(|grace| !grace.is_zero()) }
    }

    /// Whether the service manager is stopping everything. Where there is none, nobody can say.
    pub(crate) async fn is_going_down(&self) -> bool {
        if self.grace.is_none() {
            return false;
        }
        let ask = || Command::new("systemctl").arg("is-system-running").stdin(Stdio::null()).output();
        let asked = tokio::task::spawn_blocking(ask).await;
        matches!(asked, Ok(Ok(answer)) if answer.stdout.trim_ascii() == b"stopping")
    }

    /// Has the pods ended, and waits for that.
    pub(crate) async fn go_down(&self) {
        let Some(grace) = self.grace else { return };
        // Systemd ends whoever takes longer than a minute and a half, and pods may have been given more.
        notify::ending_takes(grace.saturating_add(SLACK).saturating_add(REST));
        self.stage.send_replace(Stage::GoingDown);
        let mut stage = self.stage.subscribe();
        let down = stage.wait_for(|stage| *stage == Stage::Down);
        // Nobody is waited for longer than everybody was promised.
        let _ended = tokio::time::timeout(grace.saturating_add(SLACK), down).await;
    }

    /// For whoever looks after the pods: waits until they have to end, and says in how much time.
    pub(crate) async fn going_down(&self) -> Duration {
        let mut stage = self.stage.subscribe();
        // The sender lives in this value, so waiting cannot fail.
        let _told = stage.wait_for(|stage| *stage == Stage::GoingDown).await;
        self.grace.unwrap_or_default()
    }

    pub(crate) fn is_down(&self) {
        self.stage.send_replace(Stage::Down);
    }
}

/// Turns true at SIGTERM, SIGINT or SIGPWR; if the machine goes down, once its pods have ended.
pub(crate) fn stop_signal(machine: Machine) -> io::Result<watch::Receiver<bool>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let power = SignalKind::from_raw(rustix::process::Signal::POWER.as_raw());
    let mut power = signal(power)?;
    let (turn, stop) = watch::channel(false);
    tokio::spawn(async move {
        let goes_down = tokio::select! {
            _ = terminate.recv() => machine.is_going_down().await,
            _ = interrupt.recv() => false,
            _ = power.recv() => true,
        };
        if goes_down {
            machine.go_down().await;
        }
        turn.send_replace(true);
        // Kept until the end: a dropped sender would look like a second signal.
        std::future::pending::<()>().await;
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pods_end_before_the_machine() {
        let machine = Machine::new(Some(Duration::from_secs(20)));
        let agent = machine.clone();
        let pods = tokio::spawn(async move {
            let grace = agent.going_down().await;
            agent.is_down();
            grace
        });
        machine.go_down().await;
        assert_eq!(pods.await.unwrap(), Duration::from_secs(20));
        // Without a grace nobody is asked and nobody waits.
        let careless = Machine::new(Some(Duration::ZERO));
        assert!(!careless.is_going_down().await);
        careless.go_down().await;
        assert_eq!(*careless.stage.borrow(), Stage::Up);
    }
}
