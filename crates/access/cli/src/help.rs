//! Help pages, made from the tables. Knows no verb.

use crate::args::{Command, Flag, GLOBAL, Part, Takes};

const PARTS: &[(Part, &str)] = &[
    (Part::Look, "Look"),
    (Part::Change, "Change"),
    (Part::Run, "Work with what runs"),
    (Part::Cluster, "Look after nodes"),
    (Part::Setup, "Set up"),
];

/// The page of a command that is reached by these words.
pub(crate) fn page(program: &str, command: &Command, path: &[&str]) -> String {
    let mut called = program.to_owned();
    path.iter().for_each(|word| called = format!("{called} {word}"));
    let mut page = String::new();
    if !command.about.is_empty() {
        page.push_str(&format!("{}\n\n", command.about));
    }
    if !command.examples.is_empty() {
        page.push_str("Examples:\n");
        command.examples.iter().for_each(|line| page.push_str(&format!("  {program} {line}\n")));
        page.push('\n');
    }
    match path.is_empty() {
        true => PARTS.iter().for_each(|(part, title)| {
            let of_part = command.children.iter().filter(|child| child.part == *part);
            page.push_str(&format!("{title}:\n{}\n", commands(of_part.copied())));
        }),
        false if !command.children.is_empty() => {
            page.push_str(&format!("Commands:\n{}\n", commands(command.children.iter().copied())));
        }
        false => {}
    }
    let own: Vec<&Flag> = command.flags.iter().copied().flatten().collect();
    if !own.is_empty() {
        page.push_str(&format!("Options:\n{}\n", flags(own.into_iter())));
    }
    page.push_str(&format!("Usage:\n  {called} {}\n", usage(command)));
    match path.is_empty() {
        true => page.push_str(&format!(
            "\nOptions of every command:\n{}\nUse \"{program} <command> --help\" for more about a command.\n",
            flags(GLOBAL.iter())
        )),
        false => page.push_str(&format!("\nUse \"{program} --help\" for options that every command has.\n")),
    }
    page
}

/// Options that every command has.
pub(crate) fn options() -> String {
    format!("The following options can be passed to any command:\n\n{}", flags(GLOBAL.iter()))
}

fn usage(command: &Command) -> String {
    match command.run {
        Some(_) => format!("{} [options]", command.usage).trim_start().to_owned(),
        None => "<command> [options]".to_owned(),
    }
}

fn commands<'c>(commands: impl Iterator<Item = &'c Command>) -> String {
    commands.map(|command| format!("  {:<16} {}\n", command.name, command.about)).collect()
}

fn flags<'f>(flags: impl Iterator<Item = &'f Flag>) -> String {
    flags
        .map(|flag| {
            let short = flag.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
            let value = match flag.takes {
                Takes::Nothing => String::new(),
                Takes::Value(value) => format!(" {value}"),
                Takes::Optional(bare) => format!("[={bare}]"),
            };
            let name = format!("{short}--{}{value}", flag.long);
            format!("  {name:<38} {}\n", flag.about)
        })
        .collect()
}
