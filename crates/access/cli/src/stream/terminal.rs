//! The terminal at this end: raw while a process in a container has it, and its size whenever that changes.

use std::io::{IsTerminal, stdin, stdout};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::channels::Size;
use crate::error::CliError;

/// Every key goes to the other end. Dropped, the terminal is as it was.
pub(crate) struct Raw {
    before: Termios,
}

impl Raw {
    /// Nothing if standard input is no terminal.
    pub(crate) fn enter() -> Result<Option<Self>, CliError> {
        if !is_terminal() {
            return Ok(None);
        }
        let wrong = |source: rustix::io::Errno| CliError::Io {
            what: "make the terminal raw".to_owned(),
            source: source.into(),
        };
        let before = tcgetattr(stdin()).map_err(wrong)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(wrong)?;
        Ok(Some(Self { before }))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing any more.
        let _gone = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

pub(crate) fn is_terminal() -> bool {
    stdin().is_terminal()
}

/// The size now and after each change.
pub(crate) fn sizes() -> Option<mpsc::Receiver<Size>> {
    let mut changed = signal(SignalKind::window_change()).ok()?;
    let (say, heard) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let Ok(size) = tcgetwinsize(stdout()).or_else(|_| tcgetwinsize(stdin())) else { return };
            if say.send((size.ws_col, size.ws_row)).await.is_err() || changed.recv().await.is_none() {
                return;
            }
        }
    });
    Some(heard)
}
