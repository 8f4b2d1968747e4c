//! `completion`: small scripts for the shells, which ask `__complete` what can come next; that reads the tables, and the server for
//! kinds and names.

mod next;
mod place;

pub use self::next::{Candidate, Next};
use self::place::Place;
use crate::args::{Command, Parsed, Part, Typed, parse};
use crate::error::CliError;
use crate::session::Session;

pub(crate) static COMMAND: Command = Command {
    name: "completion",
    about: "Print a script with which your shell completes what you type",
    usage: "(bash | zsh | fish)",
    examples: &["completion bash"],
    part: Part::Setup,
    run: Some(|session, typed| Box::pin(async { script(session, typed) })),
    ..Command::EMPTY
};

/// Asked by the scripts; `--` stands before what was typed so far, the last word of which is being typed. Answers with a candidate a line,
/// behind a tab what it is for; `:files` says that it may be a file, too.
pub(crate) static ASK: Command = Command {
    name: "__complete",
    about: "Say what can be typed next, for the scripts of `completion`",
    usage: "-- WORD…",
    part: Part::Hidden,
    run: Some(|session, typed| Box::pin(ask(session, typed))),
    ..Command::EMPTY
};

const BASH: &str = include_str!("completion/kedge.bash");
const ZSH: &str = include_str!("completion/kedge.zsh");
const FISH: &str = include_str!("completion/kedge.fish");

/// Nobody waits longer for a word.
const PATIENCE: &str = "--request-timeout=3s";

fn script(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    if typed.words.len() > 1 {
        return Err(typed.wrong("Too many arguments. Expected only the shell type."));
    }
    let template = match typed.words.first().map(String::as_str) {
        Some("bash") => BASH,
        Some("zsh") => ZSH,
        Some("fish") => FISH,
        Some(other) => {
            return Err(CliError::usage(format!(
                "Unsupported shell type {other:?}.\nThere are bash, zsh or fish"
            )));
        }
        None => return Err(CliError::usage("Shell not specified.\nThere are bash, zsh or fish")),
    };
    // Under `kedge kubectl` the command that the shell knows is `kedge`, which takes the verbs too.
    let command = session.program.split(' ').next().unwrap_or_default();
    session
        .screen
        .say(&template.replace("PROGRAM", command).replace("COMMAND", command).replace("NAME", command))
}

async fn ask(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let words: Vec<&str> = typed.words.iter().map(String::as_str).collect();
    let (typing, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (*last, before));
    let next = match own(session, before, typing) {
        Some(next) => next,
        None => {
            let before = before.strip_prefix(&["kubectl"]).unwrap_or(before);
            let place = Place::of(before);
            // The server, the user and the namespace are those of the line that is typed.
            let mut line = vec![ASK.name.to_owned(), PATIENCE.to_owned()];
            line.extend(place.global());
            let Parsed::Run(meant) = parse(session.program, &super::ROOT, &line)? else { return Ok(()) };
            let meant = Session::new(&meant, session.screen, session.setting, session.program);
            let mut next = next::of(&meant, &place, typing).await;
            // `kedge` takes its own commands and the verbs.
            if words.len() == 1 && session.program != "kubectl" {
                next.words.extend((session.setting.next)(before).into_iter().flat_map(|own| own.words));
                next.words.push(Candidate::of("kubectl", "Work with a cluster, as kubectl does"));
            }
            next
        }
    };
    let Next { mut words, files } = next;
    words.retain(|candidate| candidate.word.starts_with(typing));
    words.sort_by(|a, b| a.word.cmp(&b.word));
    words.dedup_by(|a, b| a.word == b.word);
    words.iter().try_for_each(|candidate| session.screen.line(&candidate.line()))?;
    if files { session.screen.line(":files") } else { Ok(()) }
}

/// What can follow a command of the binary's own.
fn own(session: &Session<'_>, before: &[&str], typing: &str) -> Option<Next> {
    let first = before.first()?;
    if session.program == "kubectl" || !(session.setting.own)(first) {
        return None;
    }
    let mut next = (session.setting.next)(before)?;
    next.words.retain(|candidate| candidate.word.starts_with('-') == typing.starts_with('-'));
    Some(next)
}
