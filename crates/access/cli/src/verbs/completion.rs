//! `completion`: small scripts for the shells, which ask `__complete` what can come next; that reads the tables, and the server for
//! kinds and names.

use crate::args::{Command, Part, Takes, Typed};
use crate::error::CliError;
use crate::session::Session;

pub(crate) static COMMAND: Command = Command {
    name: "completion",
    about: "Print a script with which your shell completes what you type",
    usage: "(bash | zsh | fish)",
    examples: &["completion bash"],
    part: Part::Setup,
    run: Some(|session, typed| Box::pin(async { script(session, typed) })),
    ..Command::EMPTY
};

/// Asked by the scripts; `--` stands before what was typed so far, the last word of which is being typed.
pub(crate) static ASK: Command = Command {
    name: "__complete",
    about: "Say what can be typed next, for the scripts of `completion`",
    usage: "-- WORD…",
    part: Part::Hidden,
    run: Some(|session, typed| Box::pin(ask(session, typed))),
    ..Command::EMPTY
};

const BASH: &str = "\
_NAME_complete() {
    local IFS=$'\\n'
    COMPREPLY=($(compgen -W \"$(PROGRAM __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\" -- \"${COMP_WORDS[COMP_CWORD]}\"))
    [[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}
complete -o default -F _NAME_complete COMMAND
";

const ZSH: &str = "\
#compdef COMMAND
_NAME_complete() {
    local -a found
    found=(${(f)\"$(PROGRAM __complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})
    (( ${#found} )) && compadd -- $found || _files
}
compdef _NAME_complete COMMAND
";

const FISH: &str = "\
function __NAME_complete
    set -l words (commandline -opc)
    set -l typing (commandline -ct)
    set -e words[1]
    set -l found (PROGRAM __complete -- $words \"$typing\" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path \"$typing\"
    end
end
complete -c COMMAND -f -a '(__NAME_complete)'
";

fn script(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let template = match typed.words.first().map(String::as_str) {
        Some("bash") => BASH,
        Some("zsh") => ZSH,
        Some("fish") => FISH,
        Some(other) => {
            return Err(CliError::usage(format!("unsupported shell type {other:?}: bash, zsh or fish")));
        }
        None => return Err(CliError::usage("shell not specified: bash, zsh or fish")),
    };
    // Under `kedge kubectl` the command that the shell knows is `kedge`, which takes the verbs too.
    let command = session.program.split(' ').next().unwrap_or_default();
    session
        .screen
        .say(&template.replace("PROGRAM", command).replace("COMMAND", command).replace("NAME", command))
}

async fn ask(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let words: Vec<&str> =
        typed.words.iter().map(String::as_str).skip_while(|word| *word == "kubectl").collect();
    let (typing, before) = match words.split_last() {
        Some((last, before)) => (*last, before),
        None => ("", &[][..]),
    };
    let place = Place::of(before);
    let candidates = match &place.wants {
        Wants::Value(flag) => values(session, flag).await,
        Wants::Word if typing.starts_with('-') => {
            place.command.every_flag().map(|flag| format!("--{}", flag.long)).collect()
        }
        Wants::Word if !place.command.children.is_empty() && place.words.is_empty() => {
            let shown = place.command.children.iter().filter(|child| child.part != Part::Hidden);
            shown.map(|child| child.name.to_owned()).collect()
        }
        Wants::Word => objects(session, &place, typing).await,
    };
    let fitting: Vec<String> = candidates.into_iter().filter(|word| word.starts_with(typing)).collect();
    fitting.iter().try_for_each(|word| session.screen.line(word))
}

enum Wants {
    Word,
    Value(&'static str),
}

/// Where in the tables the typing is.
struct Place<'w> {
    command: &'static Command,
    words: Vec<&'w str>,
    wants: Wants,
}

impl<'w> Place<'w> {
    fn of(before: &[&'w str]) -> Self {
        let mut place = Self { command: &super::ROOT, words: Vec::new(), wants: Wants::Word };
        for word in before {
            if matches!(place.wants, Wants::Value(_)) {
                place.wants = Wants::Word;
            } else if let Some(flag) = place.flag(word) {
                place.wants = Wants::Value(flag);
            } else if !word.starts_with('-') {
                match place.command.child(word).filter(|_| place.words.is_empty()) {
                    Some(child) => place.command = child,
                    None => place.words.push(word),
                }
            }
        }
        place
    }

    /// The flag that this word is, if its value comes next.
    fn flag(&self, word: &str) -> Option<&'static str> {
        let is_it = |flag: &&crate::args::Flag| match word.strip_prefix("--") {
            Some(long) => flag.long == long,
            None => flag.short.is_some_and(|letter| *word == format!("-{letter}")),
        };
        let flag = self.command.every_flag().find(is_it)?;
        matches!(flag.takes, Takes::Value(_)).then_some(flag.long)
    }
}

/// Values that a flag can have, as far as they are known.
async fn values(session: &Session<'_>, flag: &str) -> Vec<String> {
    match flag {
        "namespace" => names(session, "namespaces").await,
        "output" => ["json", "yaml", "wide", "name", "jsonpath=", "go-template=", "custom-columns="]
            .map(str::to_owned)
            .to_vec(),
        "dry-run" => ["none", "client", "server"].map(str::to_owned).to_vec(),
        _ => Vec::new(),
    }
}

/// Kinds, and behind a kind the names of what there is. Verbs that know their kind name it at once.
async fn objects(session: &Session<'_>, place: &Place<'_>, typing: &str) -> Vec<String> {
    let own = match place.command.name {
        "logs" | "exec" | "attach" | "port-forward" | "debug" => Some("pods"),
        "cordon" | "uncordon" | "drain" => Some("nodes"),
        "use-context" | "delete-context" => return Vec::new(),
        _ => None,
    };
    let kind = own.or(place.words.first().copied());
    match (kind, typing.split_once('/')) {
        (_, Some((kind, _))) => {
            names(session, kind).await.into_iter().map(|name| format!("{kind}/{name}")).collect()
        }
        (Some(kind), None) => names(session, kind).await,
        (None, None) => match session.mapping().await {
            Ok(mapping) => mapping
                .resources
                .iter()
                .filter(|known| known.preferred)
                .map(|known| known.plural.clone())
                .collect(),
            Err(_) => Vec::new(),
        },
    }
}

/// Nobody wants to read errors while typing.
async fn names(session: &Session<'_>, kind: &str) -> Vec<String> {
    let read = async {
        let resource = session.mapping().await?.find(kind)?;
        session.read(&resource.collection(Some(&session.namespace()?))).await
    };
    let Ok::<_, CliError>(list) = read.await else { return Vec::new() };
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Place, Wants};

    #[test]
    fn the_place_of_the_typing_is_found() {
        for (line, command, words, flag) in [
            ("", "", 0, ""),
            ("get", "get", 0, ""),
            ("get pods -n", "get", 1, "namespace"),
            ("get pods -n x", "get", 1, ""),
            ("rollout status", "status", 0, ""),
            ("get --output", "get", 0, "output"),
            ("get -w pods", "get", 1, ""),
        ] {
            let before: Vec<&str> = line.split_whitespace().collect();
            let place = Place::of(&before);
            let wants = match place.wants {
                Wants::Word => "",
                Wants::Value(flag) => flag,
            };
            assert_eq!((place.command.name, place.words.len(), wants), (command, words, flag), "{line}");
        }
    }
}
