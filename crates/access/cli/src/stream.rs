//! Talking with what runs in a pod: a WebSocket to the server, the streams inside it, and the terminal at this end. Which pod and what
//! for is the verbs' to know.

pub(crate) mod channels;
pub(crate) mod input;
pub(crate) mod terminal;
pub(crate) mod tunnel;
mod websocket;

use std::io;

use crate::error::CliError;

/// Our own words for a stream that broke.
fn broken(source: io::Error) -> CliError {
    CliError::Io { what: "go on with the stream".to_owned(), source }
}

/// The server does not keep to what was agreed on.
fn nonsense(what: &str) -> CliError {
    CliError::unmet(format!("the server's stream cannot be understood: {what}"))
}
