//! Where in the tables the typing is. Knows no server.

use crate::args::{Command, Flag, Takes, is_global};
use crate::verbs::ROOT;

pub(super) enum Wants {
    Word,
    /// The value of this flag.
    Value(&'static Flag),
    /// What stands behind `--` is somebody else's.
    Anything,
}

pub(super) struct Place<'w> {
    pub(super) command: &'static Command,
    /// `["rollout", "status"]`
    pub(super) path: Vec<&'static str>,
    pub(super) words: Vec<&'w str>,
    pub(super) wants: Wants,
    values: Vec<(&'static Flag, &'w str)>,
}

impl<'w> Place<'w> {
    pub(super) fn of(before: &[&'w str]) -> Self {
        let mut place = Self {
            command: &ROOT,
            path: Vec::new(),
            words: Vec::new(),
            wants: Wants::Word,
            values: Vec::new(),
        };
        for word in before {
            place.take(word);
        }
        place
    }

    fn take(&mut self, word: &'w str) {
        match self.wants {
            Wants::Anything => {}
            Wants::Value(flag) => {
                self.values.push((flag, word));
                self.wants = Wants::Word;
            }
            Wants::Word if word == "--" => self.wants = Wants::Anything,
            Wants::Word if word.len() > 1 && word.starts_with('-') => self.flag(word),
            Wants::Word => match self.command.child(word).filter(|_| self.words.is_empty()) {
                Some(child) => {
                    self.command = child;
                    self.path.push(child.name);
                }
                None => self.words.push(word),
            },
        }
    }

    fn flag(&mut self, word: &'w str) {
        if let Some(long) = word.strip_prefix("--") {
            let (name, given) =
                long.split_once('=').map_or((long, None), |(name, given)| (name, Some(given)));
            let Some(flag) = self.long(name) else { return };
            match (given, flag.takes) {
                (Some(given), _) => self.values.push((flag, given)),
                (None, Takes::Value(_)) => self.wants = Wants::Value(flag),
                (None, Takes::Nothing | Takes::Optional(_)) => {}
            }
            return;
        }
        let mut letters = word.chars();
        letters.next();
        while let Some(letter) = letters.next() {
            let Some(flag) = self.command.every_flag().find(|flag| flag.short == Some(letter)) else {
                return;
            };
            if matches!(flag.takes, Takes::Value(_)) {
                match letters.as_str() {
                    "" => self.wants = Wants::Value(flag),
                    given => self.values.push((flag, given.strip_prefix('=').unwrap_or(given))),
                }
                return;
            }
        }
    }

    pub(super) fn long(&self, name: &str) -> Option<&'static Flag> {
        self.command.every_flag().find(|flag| flag.long == name)
    }

    /// Flags that every command has, with what was given for them.
    pub(super) fn global(&self) -> impl Iterator<Item = String> {
        let given = self.values.iter().map(|(flag, value)| format!("--{}={value}", flag.long));
        given.filter(|word| is_global(word))
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Wants};

    #[test]
    fn the_place_of_the_typing_is_found() {
        for (line, path, words, flag, global) in [
            ("", "", 0, "", ""),
            ("get", "get", 0, "", ""),
            ("get pods -n", "get", 1, "namespace", ""),
            ("get pods -n x", "get", 1, "", "--namespace=x"),
            ("get -nx pods", "get", 1, "", "--namespace=x"),
            ("-n=x get --context=c pods", "get", 1, "", "--namespace=x --context=c"),
            ("rollout status", "rollout status", 0, "", ""),
            ("get --output", "get", 0, "output", ""),
            ("get -w pods", "get", 1, "", ""),
            ("exec web -it --", "exec", 1, "anything", ""),
            ("get --unknown pods", "get", 1, "", ""),
        ] {
            let before: Vec<&str> = line.split_whitespace().collect();
            let place = Place::of(&before);
            let wants = match place.wants {
                Wants::Word => "",
                Wants::Value(flag) => flag.long,
                Wants::Anything => "anything",
            };
            let globals: Vec<String> = place.global().collect();
            assert_eq!(
                (&*place.path.join(" "), place.words.len(), wants, &*globals.join(" ")),
                (path, words, flag, global),
                "{line}"
            );
        }
    }
}
