//! `options`: what every command takes.

use crate::args::{Command, Part};
use crate::help;

pub(crate) static COMMAND: Command = Command {
    name: "options",
    about: "Show the options that every command has",
    part: Part::Setup,
    run: Some(|session, _| Box::pin(async { session.screen.say(&help::options()) })),
    ..Command::EMPTY
};
