//! The command line of a cluster's users, told what only the binary knows: its own commands, and where its kubeconfig is.

use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory as _};
use kedge_cli::{Candidate, Next};

use crate::command::Kedge;
use crate::settings::DATA_DIR;

/// Answers if what was typed is for the cluster, not for this machine.
pub(crate) fn called() -> Option<ExitCode> {
    kedge_cli::called(&kedge_cli::Setting {
        kubeconfig: Path::new(DATA_DIR).join("kubeconfig"),
        own: |name| Kedge::command().find_subcommand(name).is_some(),
        next,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// What can be typed behind these words.
fn next(before: &[&str]) -> Option<Next> {
    let mut kedge = Kedge::command();
    kedge.build();
    let mut command = &kedge;
    let mut wanted: Option<&Arg> = None;
    for word in before {
        if wanted.take().is_some() {
            continue;
        }
        match word.strip_prefix("--") {
            Some(long) => {
                wanted = command.get_arguments().find(|arg| arg.get_long() == Some(long) && takes(arg))
            }
            None if word.starts_with('-') => {}
            None => command = command.find_subcommand(word).unwrap_or(command),
        }
    }
    Some(match wanted {
        Some(flag) => values(flag),
        None => words(command),
    })
}

fn takes(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn words(command: &Command) -> Next {
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut words: Vec<Candidate> =
        commands.map(|command| Candidate::of(command.get_name(), told(command.get_about()))).collect();
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
    words
        .extend(flags.filter_map(|flag| {
            Some(Candidate::of(format!("--{}", flag.get_long()?), told(flag.get_help())))
        }));
    let mut next = Next { words, files: false };
    for word in command.get_positionals() {
        let more = values(word);
        next.words.extend(more.words);
        next.files |= more.files;
    }
    next
}

fn values(arg: &Arg) -> Next {
    let possible = arg.get_possible_values();
    let words = possible.iter().map(|value| Candidate::of(value.get_name(), told(value.get_help())));
    let names = arg.get_value_names().unwrap_or_default();
    let files = names.iter().any(|name| ["FILE", "DIR", "SOCKET"].contains(&name.as_str()));
    Next { words: words.collect(), files }
}

/// The first sentence is enough beside a word.
fn told(about: Option<&clap::builder::StyledStr>) -> String {
    let about = about.map(ToString::to_string).unwrap_or_default();
    let line = about.lines().next().unwrap_or_default();
    line.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_follow_is_read_from_the_commands() {
        for (before, has, hasnt, files) in [
            (&[][..], "server", "--data-dir", false),
            (&["token"], "create", "server", false),
            (&["token", "create"], "--ttl", "list", false),
            (&["token", "create"], "--data-dir", "", false),
            (&["doctor", "--output"], "json", "--output", false),
            (&["install"], "agent", "", false),
            (&["status", "--data-dir"], "", "", true),
            (&["image", "import"], "--name", "", true),
        ] {
            let next = next(before).unwrap();
            let offered = |word: &str| next.words.iter().any(|candidate| candidate.word == word);
            assert!(has.is_empty() || offered(has), "{before:?} has no {has}: {next:?}");
            assert!(hasnt.is_empty() || !offered(hasnt), "{before:?} has {hasnt}");
            assert_eq!(next.files, files, "{before:?}");
        }
        let told: Vec<String> =
            next(&[]).unwrap().words.into_iter().map(|candidate| candidate.about).collect();
        assert!(told.iter().all(|about| !about.is_empty() && !about.contains('\n')), "{told:?}");
    }
}
