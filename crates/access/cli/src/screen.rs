//! Where answers and complaints go. Knows whether a person looks on; whoever reads no further ends the program quietly.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::CliError;

/// A line of progress is shown. There is one terminal, whoever writes to it.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Takes a line of progress away, for somebody who is about to write one that stays.
pub fn aside() {
    if SHOWN.load(Ordering::Relaxed) && SHOWN.swap(false, Ordering::Relaxed) {
        written("\r\x1b[K");
    }
}

/// If even this cannot be written there is nobody left to tell.
fn written(text: &str) {
    let _told = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Standard output and standard error.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    terminal: bool,
}

impl Screen {
    pub(crate) fn real() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }

    /// To standard output, as it is.
    pub(crate) fn say(&self, text: &str) -> Result<(), CliError> {
        self.bytes(text.as_bytes())
    }

    /// A line to standard output.
    pub(crate) fn line(&self, text: &str) -> Result<(), CliError> {
        self.say(&format!("{text}\n"))
    }

    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), CliError> {
        aside();
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|source| match source.kind() {
            std::io::ErrorKind::BrokenPipe => CliError::Exit(0),
            _ => CliError::Io { what: "write the answer".to_owned(), source },
        })
    }

    /// A line to standard error: a warning, a prompt.
    pub(crate) fn warn(&self, text: &str) {
        self.murmur(&format!("{text}\n"));
    }

    /// Standard error without a line's end.
    pub(crate) fn murmur(&self, text: &str) {
        aside();
        written(text);
    }

    /// In the place of what was shown before; it goes away when anything else is written. Only one line can be taken back.
    pub(crate) fn show(&self, progress: &str) {
        let width =
            rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let most = if width > 1 { width - 1 } else { usize::MAX };
        written(&format!("\r\x1b[K{}", progress.chars().take(most).collect::<String>()));
        SHOWN.store(true, Ordering::Relaxed);
    }

    /// Somebody looks on.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }
}
