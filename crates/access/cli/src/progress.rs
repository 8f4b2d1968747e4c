//! Something takes a while: on a terminal a line says so after a second and goes away again; elsewhere nothing is said.

use std::time::Duration;

use tokio::time::Instant;

use crate::screen::Screen;

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
    shown: bool,
}

impl Progress {
    pub(crate) fn new(screen: Screen, what: String) -> Self {
        Self { screen, what, started: Instant::now(), pause: FIRST, turns: 0, shown: false }
    }

    /// Waits a little before the next look, and shows that it does.
    pub(crate) async fn tick(&mut self) {
        self.show();
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST);
    }

    fn show(&mut self) {
        let passed = self.started.elapsed();
        if self.screen.is_terminal() && passed > PATIENCE {
            self.turns += 1;
            let sign = SIGNS.get(self.turns % SIGNS.len()).copied().unwrap_or(' ');
            self.screen.murmur(&format!("\r\x1b[K{sign} {} ({}s)", self.what, passed.as_secs()));
            self.shown = true;
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        if self.shown {
            self.screen.murmur("\r\x1b[K");
            self.shown = false;
        }
    }
}
