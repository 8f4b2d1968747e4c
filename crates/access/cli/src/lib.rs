//! The command line of a cluster's users, as they know it from kubectl: typed → meant → done → printed. Everything goes through the
//! API and is dynamic: kinds are known from discovery alone, so that custom ones are no exception. Knows no server from the inside.

mod args;
mod change;
mod client;
mod describe;
mod error;
mod help;
mod input;
mod mapping;
mod merge;
mod path;
mod plugin;
mod print;
mod progress;
mod screen;
mod select;
mod session;
mod stream;
mod verbs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use args::{Command, Parsed};
use error::CliError;
pub use progress::{Beside, bar};
use screen::Screen;
pub use screen::aside;
use session::Session;
pub use verbs::{Candidate, Next};

/// What the binary knows and the command line has to be told.
pub struct Setting {
    /// Where a server of this machine keeps the administrator's kubeconfig, for when no other is named.
    pub kubeconfig: PathBuf,
    /// Commands that are the binary's own, also where a verb is called the same.
    pub own: fn(&str) -> bool,
    /// What can be typed behind these words, the first of which are a command of the binary's own; behind no words: its commands.
    pub next: fn(&[&str]) -> Option<Next>,
    /// The binary's version.
    pub version: &'static str,
}

/// Answers if what was typed is for the command line: the program is called `kubectl`, or the first word is `kubectl`, a verb or a plugin.
pub fn called(setting: &Setting) -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    let (name, words) = addressed(setting, &program, &words)?;
    Some(match plugin::meant(words) {
        Some(plugin) => plugin.run().tell(Screen::real()),
        None => run(setting, &name, words),
    })
}

/// Words that are for the command line, for whoever has to tell what was probably meant.
pub fn verbs() -> impl Iterator<Item = &'static str> {
    verbs::ROOT.children.iter().filter(|verb| verb.part != args::Part::Hidden).map(|verb| verb.name)
}

/// What the user calls us, and the words that are ours.
fn addressed<'w>(
    setting: &Setting,
    program: &OsString,
    words: &'w [OsString],
) -> Option<(String, &'w [OsString])> {
    if Path::new(program).file_stem().is_some_and(|name| name == "kubectl") {
        return Some(("kubectl".to_owned(), words));
    }
    let first = words.first()?.to_str()?;
    if first == "kubectl" {
        return Some(("kedge kubectl".to_owned(), words.get(1..)?));
    }
    let is_verb = || verbs::ROOT.child(first).is_some() || plugin::meant(words).is_some();
    let is_flag = args::is_global(first);
    (is_flag || !(setting.own)(first) && is_verb()).then(|| ("kedge".to_owned(), words))
}

fn run(setting: &Setting, program: &str, words: &[OsString]) -> ExitCode {
    let screen = Screen::real();
    let typed = typed(program, words).map_err(|error| plugin::misplaced(words).unwrap_or(error));
    let done = typed.and_then(|parsed| match parsed {
        Parsed::Help(command, path) => screen.say(&help::page(program, command, &path)),
        Parsed::Unfinished(command, path) => {
            screen.warn(help::page(program, command, &path).trim_end());
            Err(CliError::Exit(1))
        }
        Parsed::Run(typed) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|source| CliError::Io { what: "start".to_owned(), source })?;
            let session = Session::new(&typed, screen, setting, program);
            let done = runtime.block_on((typed.run)(&session, &typed));
            // Reading standard input may still block a thread of the runtime; nobody waits for it.
            runtime.shutdown_background();
            done
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.tell(screen),
    }
}

fn typed(program: &str, words: &[OsString]) -> Result<Parsed, CliError> {
    let words: Option<Vec<String>> = words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let words = words.ok_or_else(|| CliError::usage("arguments must be UTF-8"))?;
    let root: &'static Command = &verbs::ROOT;
    args::parse(program, root, &words)
}
