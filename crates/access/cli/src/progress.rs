//! Something takes a while: on a terminal a line says so after a second and goes away again; elsewhere nothing is said.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::Instant;

use crate::screen::{Screen, aside};

const PATIENCE: Duration = Duration::from_secs(1);
/// Short waits are asked about often, long ones seldom.
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(500);
const SIGNS: [char; 4] = ['|', '/', '-', '\\'];

pub(crate) struct Progress {
    screen: Screen,
    what: String,
    started: Instant,
    pause: Duration,
    turns: usize,
}

impl Progress {
    pub(crate) fn new(screen: Screen, what: String) -> Self {
        Self { screen, what, started: Instant::now(), pause: FIRST, turns: 0 }
    }

    /// From now on it is this that takes so long.
    pub(crate) fn now(&mut self, what: String) {
        self.what = what;
    }

    /// Waits a little before the next look, and shows that it does.
    pub(crate) async fn tick(&mut self) {
        self.show();
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST);
    }

    /// Waits this long, and shows that it does.
    pub(crate) async fn rest(&mut self, pause: Duration) {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            self.show();
            tokio::time::sleep_until(until.min(Instant::now() + LONGEST)).await;
        }
    }

    fn show(&mut self) {
        let passed = self.started.elapsed();
        if self.screen.is_terminal() && passed > PATIENCE {
            self.turns += 1;
            let sign = SIGNS.get(self.turns % SIGNS.len()).copied().unwrap_or(' ');
            self.screen.show(&format!("{sign} {} ({}s)", self.what, passed.as_secs()));
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        aside();
    }
}

impl Drop for Progress {
    /// Whoever gives up leaves no line behind either.
    fn drop(&mut self) {
        self.end();
    }
}

/// How far something is, where that is known.
pub fn bar(done: u64, whole: u64) -> String {
    const WIDTH: u64 = 20;
    let done = done.min(whole);
    // What is nearly done is not done yet: only the whole fills the bar.
    let full = if whole == 0 { 0 } else { u128::from(done) * u128::from(WIDTH) / u128::from(whole) };
    let full = usize::try_from(full).unwrap_or_default();
    format!("[{}{}]", "#".repeat(full), "-".repeat(WIDTH as usize - full))
}

/// The same beside work that never comes back to be asked, from a thread of its own. It ends with this value.
pub struct Beside {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Beside {
    /// `told` says each time anew what takes so long, and how far it is.
    pub fn new(told: impl Fn() -> String + Send + 'static) -> Self {
        let screen = Screen::real();
        if !screen.is_terminal() {
            return Self { over: None, thread: None };
        }
        let (over, is_over) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut progress = Progress::new(screen, String::new());
            while is_over.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                progress.what = told();
                progress.show();
            }
            progress.end();
        });
        Self { over: Some(over), thread: Some(thread) }
    }
}

impl Drop for Beside {
    /// The line is gone before anybody writes the next.
    fn drop(&mut self) {
        drop(self.over.take());
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_whole_fills_the_bar() {
        for (done, whole, full) in [(0, 0, 0), (0, 3, 0), (1, 3, 6), (999, 1000, 19), (3, 3, 20), (5, 3, 20)]
        {
            let bar = super::bar(done, whole);
            assert_eq!((bar.len(), bar.matches('#').count()), (22, full), "{done} of {whole}");
        }
    }
}
