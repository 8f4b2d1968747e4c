//! This program as a container runtime calls it, to connect a sandbox to the network. Nothing else of it is started then: the
//! runtime waits.

use std::env;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use kedge_network::cni;

/// Answers the runtime, if it is one that calls: it names a command in the environment and gives no arguments.
pub(crate) fn called() -> Option<ExitCode> {
    env::var_os("CNI_COMMAND")?;
    let mut arguments = env::args_os();
    let program = arguments.next()?;
    if arguments.next().is_some() {
        return None;
    }
    let program = Path::new(&program).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let mut input = Vec::new();
    // What could not be read makes no sense, and is answered so.
    let _read = std::io::stdin().read_to_end(&mut input);
    let outcome = cni::answer(program, |name| env::var(name).ok(), &input);
    let told = std::io::stdout().write_all(outcome.text.as_bytes());
    Some(if told.is_ok() && outcome.is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
