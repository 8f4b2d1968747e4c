//! What can be typed, as tables: commands with their flags, and how words become a [`Typed`]. One table serves parsing, help and
//! completion. Knows no verb's meaning.

mod flags;
mod parse;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::LocalBoxFuture;

pub(crate) use self::flags::*;
pub(crate) use self::parse::{is_global, nearest, parse};
use crate::error::CliError;
use crate::session::Session;

/// Does what was typed.
pub(crate) type Run = for<'a> fn(&'a Session<'a>, &'a Typed) -> LocalBoxFuture<'a, Result<(), CliError>>;

/// A verb, or a word under which there are several.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    /// One line.
    pub(crate) about: &'static str,
    /// What follows the command's name.
    pub(crate) usage: &'static str,
    /// Lines that can be typed, without the program's name: `get pods -o wide`.
    pub(crate) examples: &'static [&'static str],
    /// Several tables, so that verbs share them.
    pub(crate) flags: &'static [&'static [Flag]],
    pub(crate) children: &'static [&'static Command],
    pub(crate) run: Option<Run>,
    /// The heading under which help shows it.
    pub(crate) part: Part,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Look,
    Change,
    Run,
    Cluster,
    Setup,
    /// Help doesn't show it.
    Hidden,
}

impl Command {
    /// A command without anything; the tables fill in what differs.
    pub(crate) const EMPTY: Self = Self {
        name: "",
        aliases: &[],
        about: "",
        usage: "",
        examples: &[],
        flags: &[],
        children: &[],
        run: None,
        part: Part::Look,
    };

    pub(crate) fn child(&self, name: &str) -> Option<&'static Command> {
        self.children.iter().copied().find(|child| child.name == name || child.aliases.contains(&name))
    }

    /// The flag of this name, its own or one that every command has.
    fn long(&self, name: &str) -> Option<&'static Flag> {
        self.every_flag().find(|flag| flag.long == name)
    }

    fn short(&self, letter: char) -> Option<&'static Flag> {
        self.every_flag().find(|flag| flag.short == Some(letter))
    }

    /// Its own flags first: `-f` or `-p` may mean something else here than elsewhere.
    pub(crate) fn every_flag(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        self.flags.iter().copied().flatten().chain(GLOBAL)
    }
}

pub(crate) struct Flag {
    pub(crate) long: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) takes: Takes,
    pub(crate) about: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// There or not; `=false` takes it back.
    Nothing,
    /// A value, in the next word or behind `=`.
    Value(&'static str),
    /// A value behind `=` only; without one it means this.
    Optional(&'static str),
}

/// A switch.
pub(crate) const fn switch(long: &'static str, about: &'static str) -> Flag {
    Flag { long, short: None, takes: Takes::Nothing, about }
}

/// A flag with a value.
pub(crate) const fn value(long: &'static str, value: &'static str, about: &'static str) -> Flag {
    Flag { long, short: None, takes: Takes::Value(value), about }
}

/// A flag whose value may be left out.
pub(crate) const fn optional(long: &'static str, bare: &'static str, about: &'static str) -> Flag {
    Flag { long, short: None, takes: Takes::Optional(bare), about }
}

impl Flag {
    pub(crate) const fn or(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    /// `-w, --watch`
    fn told(&self) -> String {
        match self.short {
            Some(letter) => format!("-{letter}, --{}", self.long),
            None => format!("--{}", self.long),
        }
    }
}

/// What parsing comes to.
pub(crate) enum Parsed {
    Help(&'static Command, Vec<&'static str>),
    /// A word under which there are several, without one of them.
    Unfinished(&'static Command, Vec<&'static str>),
    Run(Typed),
}

/// A command as it was typed.
pub(crate) struct Typed {
    pub(crate) run: Run,
    command: &'static Command,
    /// `kubectl rollout status`
    called: String,
    /// `["rollout", "status"]`
    pub(crate) path: Vec<&'static str>,
    /// What is no flag.
    pub(crate) words: Vec<String>,
    /// How many of the words stood before `--`, if it was there.
    pub(crate) dash: Option<usize>,
    values: BTreeMap<&'static str, Vec<String>>,
}

impl Typed {
    /// A switch is on.
    pub(crate) fn is(&self, long: &str) -> bool {
        self.is_or(long, false)
    }

    pub(crate) fn is_or(&self, long: &str, otherwise: bool) -> bool {
        self.text(long).map_or(otherwise, |text| matches!(text, "true" | "1" | "t" | "T" | "True" | "TRUE"))
    }

    pub(crate) fn given(&self, long: &str) -> bool {
        self.values.contains_key(long)
    }

    /// The last value given.
    pub(crate) fn text(&self, long: &str) -> Option<&str> {
        self.all(long).last().map(String::as_str)
    }

    /// The value of a flag that every command has, unless the command means something else by it.
    pub(crate) fn global(&self, long: &str) -> Option<&str> {
        let own = self.command.flags.iter().copied().flatten().any(|flag| flag.long == long);
        self.text(long).filter(|_| !own)
    }

    /// Every value given, in order.
    pub(crate) fn all(&self, long: &str) -> &[String] {
        self.values.get(long).map_or(&[], Vec::as_slice)
    }

    /// Every value given, each of which may name several with commas.
    pub(crate) fn list(&self, long: &str) -> Vec<String> {
        self.all(long).iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
    }

    /// Every value given, each `key=value`.
    pub(crate) fn pairs(&self, long: &str) -> Result<Vec<(String, String)>, CliError> {
        self.list(long)
            .into_iter()
            .filter(|text| !text.is_empty())
            .map(|text| match text.split_once('=') {
                Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
                None => Err(self.wrong_value(long, &text, &format!("{text} must be formatted as key=value"))),
            })
            .collect()
    }

    pub(crate) fn number(&self, long: &str) -> Result<Option<i64>, CliError> {
        self.text(long)
            .map(|text| {
                let why = || format!("strconv.ParseInt: parsing {text:?}: invalid syntax");
                text.parse().map_err(|_| self.wrong_value(long, text, &why()))
            })
            .transpose()
    }

    /// `1m30s`; a bare number is seconds.
    pub(crate) fn duration(&self, long: &str) -> Result<Option<Duration>, CliError> {
        let wrong = |text: &str| self.wrong_value(long, text, &format!("time: invalid duration {text:?}"));
        self.text(long).map(|text| duration(text).ok_or_else(|| wrong(text))).transpose()
    }

    /// Typed wrongly; the command's help is pointed to.
    pub(crate) fn wrong(&self, message: impl Into<String>) -> CliError {
        CliError::Usage { message: message.into(), help: Some(format!("{} --help", self.called)) }
    }

    /// For commands that take no words; `said` is how the complaint begins.
    pub(crate) fn no_words(&self, said: &str) -> Result<(), CliError> {
        match &self.words[..] {
            [] => Ok(()),
            words => Err(self.wrong(format!("{said}: [{}]", words.join(" ")))),
        }
    }

    fn wrong_value(&self, long: &str, text: &str, why: &str) -> CliError {
        let name = self.command.long(long).map_or_else(|| format!("--{long}"), Flag::told);
        self.wrong(format!("invalid argument {text:?} for {name:?} flag: {why}"))
    }
}

/// Negative ones mean "very long" to those who take them, as in kubectl.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(u64::try_from(seconds).map_or(VERY_LONG, Duration::from_secs));
    }
    let nanos = kedge_kinds::duration::parse(text).ok()?;
    Some(u64::try_from(nanos).map_or(VERY_LONG, Duration::from_nanos))
}

/// A week, which kubectl waits when asked to wait less than no time.
const VERY_LONG: Duration = Duration::from_secs(7 * 24 * 3600);

#[cfg(test)]
mod tests;
