//! Words to a [`Typed`], by the rules of kubectl's flags: anywhere between the words, `--name value`, `--name=value`, `-n value`,
//! `-nvalue`, `-n=value`, letters together, and nothing but words behind `--`.

use std::collections::BTreeMap;

use super::{Command, Flag, GLOBAL, Parsed, Takes, Typed};
use crate::error::CliError;

/// A flag that every command has, so that it may stand before the verb.
pub(crate) fn is_global(word: &str) -> bool {
    let Some(name) = word.strip_prefix('-') else { return false };
    match name.strip_prefix('-') {
        Some(long) => {
            let long = long.split('=').next().unwrap_or_default();
            GLOBAL.iter().any(|flag| flag.long == long && long != "help")
        }
        None => name.starts_with('n') || name.starts_with('s'),
    }
}

pub(crate) fn parse(program: &str, root: &'static Command, words: &[String]) -> Result<Parsed, CliError> {
    let mut reading = Reading {
        program,
        command: root,
        path: Vec::new(),
        values: BTreeMap::new(),
        words: Vec::new(),
        dash: None,
    };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            reading.dash = Some(reading.words.len());
            reading.words.extend(rest.by_ref().cloned());
        } else if let Some(long) = word.strip_prefix("--") {
            reading.long(long, &mut rest)?;
        } else if word.starts_with('-') && word.len() > 1 {
            reading.short(word, &mut rest)?;
        } else {
            reading.word(word)?;
        }
    }
    reading.finish()
}

struct Reading<'p> {
    program: &'p str,
    command: &'static Command,
    path: Vec<&'static str>,
    values: BTreeMap<&'static str, Vec<String>>,
    words: Vec<String>,
    dash: Option<usize>,
}

impl Reading<'_> {
    fn word(&mut self, word: &str) -> Result<(), CliError> {
        if !self.words.is_empty() || self.command.children.is_empty() {
            self.words.push(word.to_owned());
            return Ok(());
        }
        if self.path.is_empty() && word == "help" {
            self.values.entry("help").or_default().push("true".to_owned());
            return Ok(());
        }
        match self.command.child(word) {
            Some(child) => {
                self.command = child;
                self.path.push(child.name);
                Ok(())
            }
            None if self.command.run.is_some() => {
                self.words.push(word.to_owned());
                Ok(())
            }
            None => Err(self.unknown_command(word)),
        }
    }

    fn unknown_command(&self, word: &str) -> CliError {
        let near = nearest(word, self.command.children.iter().map(|child| child.name));
        let near = near.map_or_else(String::new, |near| format!("\n\nDid you mean this?\n\t{near}\n"));
        let whose = if self.path.is_empty() { format!(" for {:?}", self.program) } else { String::new() };
        self.wrong(format!("unknown command {word:?}{whose}{near}"))
    }

    fn called(&self) -> String {
        let mut called = self.program.to_owned();
        for word in &self.path {
            called.push(' ');
            called.push_str(word);
        }
        called
    }

    fn long<'w>(&mut self, typed: &str, rest: &mut impl Iterator<Item = &'w String>) -> Result<(), CliError> {
        let (name, given) = match typed.split_once('=') {
            Some((name, given)) => (name, Some(given.to_owned())),
            None => (typed, None),
        };
        let Some(flag) = self.command.long(name) else { return Err(self.unknown_flag(&format!("--{name}"))) };
        let value = match (flag.takes, given) {
            (_, Some(given)) => given,
            (Takes::Nothing, None) => "true".to_owned(),
            (Takes::Optional(bare), None) => bare.to_owned(),
            (Takes::Value(_), None) => self.next(&format!("--{name}"), rest)?,
        };
        self.keep(flag, value)
    }

    fn short<'w>(&mut self, word: &str, rest: &mut impl Iterator<Item = &'w String>) -> Result<(), CliError> {
        let mut letters = word.chars();
        letters.next();
        while let Some(letter) = letters.next() {
            let Some(flag) = self.command.short(letter) else {
                return Err(self.unknown_flag(&format!("-{letter}")));
            };
            let behind = letters.as_str();
            let value = match flag.takes {
                _ if behind.starts_with('=') => {
                    letters = "".chars();
                    behind.get(1..).unwrap_or_default().to_owned()
                }
                Takes::Nothing => "true".to_owned(),
                Takes::Optional(bare) => bare.to_owned(),
                Takes::Value(_) if !behind.is_empty() => {
                    letters = "".chars();
                    behind.to_owned()
                }
                Takes::Value(_) => self.next(&format!("'{letter}' in {word}"), rest)?,
            };
            self.keep(flag, value)?;
        }
        Ok(())
    }

    fn next<'w>(&self, typed: &str, rest: &mut impl Iterator<Item = &'w String>) -> Result<String, CliError> {
        rest.next().cloned().ok_or_else(|| self.wrong(format!("flag needs an argument: {typed}")))
    }

    fn keep(&mut self, flag: &'static Flag, value: String) -> Result<(), CliError> {
        let is_truth = ["true", "false", "1", "0", "t", "f", "T", "F", "True", "False", "TRUE", "FALSE"];
        if matches!(flag.takes, Takes::Nothing) && !is_truth.contains(&&*value) {
            return Err(self.wrong(format!(
                "invalid argument {value:?} for {:?} flag: strconv.ParseBool: parsing {value:?}: invalid syntax",
                flag.told()
            )));
        }
        self.values.entry(flag.long).or_default().push(value);
        Ok(())
    }

    fn unknown_flag(&self, typed: &str) -> CliError {
        let bare = typed.trim_start_matches('-');
        let near = match typed.starts_with("--") {
            true => nearest(bare, self.command.every_flag().map(|flag| flag.long)),
            false => None,
        };
        let near = near.map_or_else(String::new, |near| format!("; did you mean --{near}?"));
        match typed.strip_prefix("--") {
            Some(_) => self.wrong(format!("unknown flag: {typed}{near}")),
            None => self.wrong(format!("unknown shorthand flag: '{bare}' in {typed}")),
        }
    }

    fn wrong(&self, message: String) -> CliError {
        CliError::Usage { message, help: Some(format!("{} --help", self.called())) }
    }

    fn finish(self) -> Result<Parsed, CliError> {
        let help =
            self.values.get("help").and_then(|given| given.last()).is_some_and(|given| given != "false");
        let called = self.called();
        match self.command.run {
            Some(run) if !help => Ok(Parsed::Run(Typed {
                run,
                command: self.command,
                called,
                path: self.path,
                words: self.words,
                dash: self.dash,
                values: self.values,
            })),
            None if !help && !self.path.is_empty() => Ok(Parsed::Unfinished(self.command, self.path)),
            _ => Ok(Parsed::Help(self.command, self.path)),
        }
    }
}

/// The name that was probably meant.
pub(crate) fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len() || name.starts_with(typed))
        .min()
        .map(|(_, name)| name)
}

/// How many letters have to be put in, taken out or changed.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.chars().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        let mut next = vec![left];
        for (column, other) in to.iter().enumerate() {
            let over = row.get(column + 1).copied().unwrap_or_default();
            let best = (diagonal + usize::from(letter != *other)).min(over + 1).min(left + 1);
            diagonal = over;
            left = best;
            next.push(best);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
