//! `plugin`: which plugins there are, and what keeps some of them from being run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::args::{Command, Flag, Part, Typed, switch};
use crate::error::{CliError, why};
use crate::path;
use crate::plugin::PREFIX;
use crate::session::Session;
use crate::verbs::ROOT;

pub(crate) static COMMAND: Command = Command {
    name: "plugin",
    about: "See the plugins: kubectl-NAME on the path is run by NAME",
    examples: &["plugin list"],
    children: &[&LIST],
    part: Part::Setup,
    ..Command::EMPTY
};

const FLAGS: &[Flag] = &[switch("name-only", "Names without their folders")];

static LIST: Command = Command {
    name: "list",
    about: "Show every plugin on the path",
    examples: &["plugin list", "plugin list --name-only"],
    flags: &[FLAGS],
    run: Some(|session, typed| Box::pin(async { list(session, typed) })),
    ..Command::EMPTY
};

fn list(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let mut plugins = Vec::new();
    for folder in path::folders() {
        match inside(&folder) {
            Ok(found) => plugins.extend(found),
            Err(error) => session.screen.warn(&format!(
                "Unable to read directory {folder:?} from your PATH: open {}: {}. Skipping...",
                folder.display(),
                why(&error)
            )),
        }
    }
    if plugins.is_empty() {
        return Err(CliError::unmet("unable to find any kubectl plugins in your PATH"));
    }
    session.screen.say("The following compatible plugins are available:\n\n")?;
    let mut seen = BTreeMap::new();
    let mut warnings = 0;
    for plugin in plugins {
        let name = name_of(&plugin);
        let path = plugin.display().to_string();
        session.screen.line(if typed.is("name-only") { &name } else { &path })?;
        let mut warn = |warning: String| {
            session.screen.warn(&format!("  - warning: {warning}"));
            warnings += 1;
        };
        if !path::is_program(&plugin) {
            warn(format!("{path} identified as a kubectl plugin, but it is not executable"));
        }
        match seen.get(&name) {
            Some(first) => warn(format!("{path} is overshadowed by a similarly named plugin: {first}")),
            None => drop(seen.insert(name.clone(), path)),
        }
        if let Some(verb) = hidden_by(&name, session) {
            warn(format!("{name} overwrites existing command: \"{} {verb}\"", session.program));
        }
    }
    match warnings {
        0 => Ok(()),
        1 => Err(CliError::unmet("one plugin warning was found")),
        many => Err(CliError::unmet(format!("{many} plugin warnings were found"))),
    }
}

/// The plugins of a folder, by name.
fn inside(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && !entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn name_of(plugin: &Path) -> String {
    plugin.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The command of ours that is meant by a plugin's words.
fn hidden_by(name: &str, session: &Session<'_>) -> Option<String> {
    let words: Vec<&str> = name.strip_prefix(PREFIX)?.split('-').collect();
    let own = words.first().filter(|word| session.program == "kedge" && (session.setting.own)(word));
    own.map(|word| (*word).to_owned()).or_else(|| verb_of(&words))
}

/// As far as the words lead: `create configmap`.
fn verb_of(words: &[&str]) -> Option<String> {
    let mut command = &ROOT;
    let mut path = Vec::new();
    for word in words {
        let Some(child) = command.child(word) else { break };
        command = child;
        path.push(child.name);
    }
    (!path.is_empty()).then(|| path.join(" "))
}

/// First words of plugins that are no verbs, for completion.
pub(super) fn words() -> Vec<String> {
    let plugins = path::folders().into_iter().filter_map(|folder| inside(&folder).ok()).flatten();
    let words = plugins.filter(|plugin| path::is_program(plugin)).filter_map(|plugin| {
        let name = name_of(&plugin);
        Some(name.strip_prefix(PREFIX)?.split('-').next()?.replace('_', "-"))
    });
    words.filter(|word| ROOT.child(word).is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::verb_of;

    #[test]
    fn a_plugin_is_hidden_as_far_as_its_words_are_verbs() {
        for (words, verb) in [
            (&["get"][..], Some("get")),
            (&["create", "cm"], Some("create configmap")),
            (&["create", "thing"], Some("create")),
            (&["foo", "get"], None),
        ] {
            assert_eq!(verb_of(words).as_deref(), verb, "{words:?}");
        }
    }
}
