//! The tables of the verbs are sound.

use std::collections::BTreeSet;

use super::ROOT;
use crate::args::Command;

fn every(command: &'static Command, path: &str, look: &mut dyn FnMut(&'static Command, &str)) {
    for child in command.children {
        let path = format!("{path} {}", child.name);
        look(child, &path);
        every(child, &path, look);
    }
}

#[test]
fn every_verb_says_what_it_does_and_no_flag_means_two_things() {
    every(&ROOT, "", &mut |command, path| {
        assert!(!command.about.is_empty(), "{path} says nothing about itself");
        assert!(command.run.is_some() || !command.children.is_empty(), "{path} does nothing");
        let mut long = BTreeSet::new();
        let mut short = BTreeSet::new();
        for flag in command.flags.iter().copied().flatten() {
            assert!(long.insert(flag.long), "{path} has --{} twice", flag.long);
            assert!(
                flag.short.is_none_or(|letter| short.insert(letter)),
                "{path} has -{:?} twice",
                flag.short
            );
            assert!(!flag.about.is_empty(), "{path} --{} says nothing", flag.long);
        }
    });
}

#[test]
fn every_example_can_be_typed() {
    every(&ROOT, "", &mut |command, path| {
        for line in command.examples {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let read = crate::args::parse("kubectl", &ROOT, &words);
            assert!(read.is_ok(), "{path}: {line}: {:?}", read.err().map(|error| error.to_string()));
        }
    });
}
