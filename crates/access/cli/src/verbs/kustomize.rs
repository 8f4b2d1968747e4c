//! `kustomize`: prints what a folder with a `kustomization.yaml` comes to. Whoever puts it together for `-k` does so here.

use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::error::CliError;
use crate::input::kustomize;
use crate::session::Session;

/// All of them are handed on.
const FLAGS: &[Flag] = &[
    value("output", "FILE", "Write it to this file, or into this folder").or('o'),
    value(
        "load-restrictor",
        "MODE",
        "LoadRestrictionsNone takes files from outside the folder too; LoadRestrictionsRootOnly doesn't",
    ),
    switch("enable-helm", "Let charts of Helm be rendered"),
    value("helm-command", "PROGRAM", "How Helm is called here"),
    value("helm-api-versions", "VERSION", "A version that charts find among the server's; can be repeated"),
    value("helm-kube-version", "VERSION", "The version of Kubernetes that charts are rendered for"),
    switch("helm-debug", "Show what Helm is told"),
    switch("enable-alpha-plugins", "Let plugins of kustomize run"),
    switch("as-current-user", "Run functions as you"),
    switch("network", "Let functions use the network that ask for it"),
    value("network-name", "NAME", "The network that they get"),
    value("mount", "MOUNT", "What functions find of this machine's files; can be repeated"),
    value("env", "NAME[=VALUE]", "A variable for functions; can be repeated").or('e'),
];

pub(crate) static COMMAND: Command = Command {
    name: "kustomize",
    about: "Print the manifests that a folder for kustomize comes to",
    usage: "[DIR]",
    examples: &["kustomize shop/production", "kustomize shop/production -o production.yaml"],
    flags: &[FLAGS],
    part: Part::Look,
    run: Some(|session, typed| Box::pin(async { run(session, typed) })),
    ..Command::EMPTY
};

fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let folder = match &typed.words[..] {
        [] => ".",
        [folder] => folder,
        _ => return Err(CliError::usage("specify one path to kustomization.yaml")),
    };
    let given = |flag: &Flag| {
        let handed_on = |value: &String| format!("--{}={value}", flag.long);
        typed.all(flag.long).iter().map(handed_on).collect::<Vec<String>>()
    };
    let flags: Vec<String> = FLAGS.iter().flat_map(given).collect();
    session.screen.say(&kustomize::build(folder, &flags)?)
}
