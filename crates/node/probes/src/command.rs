//! A command that was run in a container: its exit code is the answer. Whoever runs it hands it in.

use std::time::Duration;

use crate::{MOST_READ, Outcome};

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Its exit code, and what it said on both of its outputs.
    Ended {
        code: i32,
        output: Vec<u8>,
    },
    TimedOut,
    /// It could not be run.
    Not(String),
}

/// Reads the answer. `words` and `limit` are what was run and how long it was given.
pub fn command(words: &[String], limit: Duration, ran: Ran) -> Outcome {
    match ran {
        Ran::Ended { code: 0, .. } => Outcome::Success,
        Ran::Ended { mut output, .. } => {
            output.truncate(MOST_READ);
            Outcome::Failure(String::from_utf8_lossy(&output).into_owned())
        }
        Ran::TimedOut => Outcome::Failure(format!(
            "command timed out: {:?} timed out after {}s",
            words.join(" "),
            limit.as_secs()
        )),
        Ran::Not(reason) => Outcome::Unknown(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_the_answer() {
        let words = ["sh".to_owned(), "-c".to_owned(), "exit 1".to_owned()];
        let ended = |code, output: &str| Ran::Ended { code, output: output.as_bytes().to_vec() };
        for (ran, wanted) in [
            (ended(0, "fine"), Outcome::Success),
            (ended(1, "not fine"), Outcome::Failure("not fine".to_owned())),
            (ended(7, &"x".repeat(20 << 10)), Outcome::Failure("x".repeat(10 << 10))),
            (
                Ran::TimedOut,
                Outcome::Failure("command timed out: \"sh -c exit 1\" timed out after 3s".to_owned()),
            ),
            (Ran::Not("no such container".to_owned()), Outcome::Unknown("no such container".to_owned())),
        ] {
            assert_eq!(command(&words, Duration::from_secs(3), ran), wanted);
        }
    }
}
