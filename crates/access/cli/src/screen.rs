//! Where answers and complaints go. Knows whether a person looks on; whoever reads no further ends the program quietly.

use std::io::{IsTerminal, Write};

use crate::error::CliError;

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
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|source| match source.kind() {
            std::io::ErrorKind::BrokenPipe => CliError::Exit(0),
            _ => CliError::Io { what: "write the answer".to_owned(), source },
        })
    }

    /// A line to standard error: a warning, a prompt. If even this cannot be written there is nobody left to tell.
    pub(crate) fn warn(&self, text: &str) {
        self.murmur(&format!("{text}\n"));
    }

    /// Standard error without a line's end, for progress.
    pub(crate) fn murmur(&self, text: &str) {
        let _told = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Somebody looks on.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }
}
