//! Plugins, as kubectl has them: `kubectl-foo` on the path is what `foo` means where no verb of ours is called so. Knows no server.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use crate::args::Takes;
use crate::error::CliError;
use crate::path;
use crate::verbs::ROOT;

/// How the names of all plugins begin.
pub(crate) const PREFIX: &str = "kubectl-";

/// A plugin with the words that are left for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plugin<'w> {
    program: PathBuf,
    words: &'w [OsString],
}

impl Plugin<'_> {
    /// Becomes the plugin; comes back only if that fails.
    pub(crate) fn run(self) -> CliError {
        let source = std::process::Command::new(&self.program).args(self.words).exec();
        CliError::Io { what: format!("run {}", self.program.display()), source }
    }
}

/// The plugin that is meant by what was typed.
pub(crate) fn meant(words: &[OsString]) -> Option<Plugin<'_>> {
    choose(words, installed)
}

/// Where the plugin of this name is.
fn installed(name: &str) -> Option<PathBuf> {
    // With a slash it would be a place, not a name.
    path::programs(&format!("{PREFIX}{name}")).next().filter(|_| !name.contains('/'))
}

/// The one with the longest name. Dashes stand between words, so that those within one are written `_`.
fn choose(words: &[OsString], installed: impl Fn(&str) -> Option<PathBuf>) -> Option<Plugin<'_>> {
    let named = words.iter().map_while(|word| word.to_str()).take_while(|word| !word.starts_with('-'));
    let named: Vec<&str> = named.collect();
    let least = match (ROOT.child(named.first()?), named.get(1)) {
        (None, _) if named.first() == Some(&"help") => return None,
        (None, _) => 1,
        // The one verb below which plugins may add words, as in kubectl.
        (Some(verb), Some(second)) if verb.name == "create" && verb.child(second).is_none() => 2,
        (Some(_), _) => return None,
    };
    let names: Vec<String> = named.iter().map(|word| word.replace('-', "_")).collect();
    (least..=names.len()).rev().find_map(|length| {
        let program = installed(&names.get(..length)?.join("-"))?;
        Some(Plugin { program, words: words.get(length..)? })
    })
}

/// The complaint about flags that stand before a plugin's name: they are the plugin's to understand.
pub(crate) fn misplaced(words: &[OsString]) -> Option<CliError> {
    let first = words.first()?.to_str()?;
    let name = behind_flags(words).filter(|name| first.starts_with('-') && ROOT.child(name).is_none())?;
    installed(&name.replace('-', "_"))?;
    Some(CliError::usage(format!("flags cannot be placed before plugin name: {first}")))
}

/// The first word that is neither a flag nor the value of one.
fn behind_flags(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().map_while(|word| word.to_str());
    loop {
        let word = words.next()?;
        let is_it = |long: &str, short: Option<char>| {
            word.strip_prefix("--") == Some(long) || short.is_some_and(|letter| word == format!("-{letter}"))
        };
        match ROOT.every_flag().find(|flag| is_it(flag.long, flag.short)) {
            Some(flag) if matches!(flag.takes, Takes::Value(_)) => drop(words.next()?),
            _ if word.starts_with('-') => {}
            _ => return Some(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_longest_name_is_meant_and_verbs_come_first() {
        let there = [
            "foo",
            "foo-bar",
            "baz-qux",
            "my_own",
            "get",
            "rollout-bar",
            "create-thing",
            "create-cm",
            "help",
        ];
        let installed = |name: &str| there.contains(&name).then(|| PathBuf::from(name));
        for (line, meant) in [
            ("foo", Some(("foo", ""))),
            ("foo bar baz -n x", Some(("foo-bar", "baz -n x"))),
            ("foo -n x bar", Some(("foo", "-n x bar"))),
            ("foo other bar", Some(("foo", "other bar"))),
            ("foo --help", Some(("foo", "--help"))),
            ("foo-bar", None),
            ("baz", None),
            ("baz qux", Some(("baz-qux", ""))),
            ("my-own a", Some(("my_own", "a"))),
            ("get foo", None),
            ("rollout bar", None),
            ("create thing x", Some(("create-thing", "x"))),
            ("create -f thing", None),
            ("create cm x", None),
            ("help foo", None),
            ("-n x foo", None),
            ("", None),
        ] {
            let words = words(line);
            let found = choose(&words, installed).map(|plugin| {
                let left: Vec<&str> = plugin.words.iter().filter_map(|word| word.to_str()).collect();
                (plugin.program.display().to_string(), left.join(" "))
            });
            let meant = meant.map(|(name, left)| (name.to_owned(), left.to_owned()));
            assert_eq!(found, meant, "{line}");
        }
    }

    #[test]
    fn flags_before_a_name_are_stepped_over() {
        for (line, name) in [
            ("-n x foo bar", Some("foo")),
            ("--namespace x --context=y foo", Some("foo")),
            ("-nx foo", Some("foo")),
            ("--insecure-skip-tls-verify foo", Some("foo")),
            ("-n x", None),
        ] {
            assert_eq!(behind_flags(&words(line)), name, "{line}");
        }
    }
}
