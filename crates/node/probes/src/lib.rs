//! One attempt of a probe: a request, a connection, a health call or a command, and what it says. Knows neither pods nor when
//! to try, how often, or what an answer means for anybody. Walk: `node/agent` asks it.

mod command;
mod dial;
mod health;
mod web;

pub use command::{Ran, command};
pub use dial::tcp;
pub use health::grpc;
pub use web::{Page, WebError, fetch, http};

/// What one attempt says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    /// Fine, and yet people should read something.
    Warning(String),
    Failure(String),
    /// It could not be tried, which says nothing about whoever is probed.
    Unknown(String),
}

/// More than this of an answer is not looked at.
const MOST_READ: usize = 10 << 10;
