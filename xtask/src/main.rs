//! Chores of the project that are code: `cargo run -p xtask -- kinds` writes the table of built-in kinds anew.
//! Nothing here is part of the shipped binary.

mod kinds;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let outcome = match chore.as_str() {
        "kinds" => kinds::write_table().map_err(|error| error.to_string()),
        other => Err(format!("no chore is called {other:?}; there is: kinds")),
    };
    match outcome {
        Ok(told) => say(&told, ExitCode::SUCCESS),
        Err(told) => say(&told, ExitCode::FAILURE),
    }
}

fn say(told: &str, code: ExitCode) -> ExitCode {
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(std::io::stderr(), "{told}");
    code
}
