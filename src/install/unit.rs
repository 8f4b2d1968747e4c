//! The units with which systemd runs a server or an agent. Text alone; who writes it where is decided elsewhere.

use std::path::Path;
use std::time::Duration;

/// The first line of each unit of ours, by which it is known again; the data folder follows.
const MARK: &str = "# Made by `kedge install` for ";

/// What a machine is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Role {
    Server,
    Agent,
}

impl Role {
    pub(crate) const ALL: [Role; 2] = [Role::Server, Role::Agent];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Role::Server => "server",
            Role::Agent => "agent",
        }
    }

    pub(crate) fn unit(self) -> &'static str {
        match self {
            Role::Server => "kedge.service",
            Role::Agent => "kedge-agent.service",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Role::Server => "Kedge, a Kubernetes cluster in one binary",
            Role::Agent => "Kedge, a node of a Kubernetes cluster",
        }
    }
}

/// What systemd gives a service that says nothing to stop in, and what we take beyond what pods are given.
const USUAL_STOP: Duration = Duration::from_secs(90);
const OWN_STOP: Duration = Duration::from_secs(30);

/// `grace` is what pods are given to end in when the machine goes down: it must not be cut off.
pub(crate) fn text(role: Role, program: &Path, flags: &[String], data: &Path, grace: Duration) -> String {
    let stop = USUAL_STOP.max(grace.saturating_add(OWN_STOP)).as_secs();
    let words = [program.to_string_lossy().into_owned(), role.word().to_owned()];
    let line: Vec<String> = words.iter().chain(flags).map(|word| quoted(word)).collect();
    let (data, description, line) = (data.display(), role.description(), line.join(" "));
    format!(
        "{MARK}{data}
[Unit]
Description={description}
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
ExecStart={line}
Restart=always
RestartSec=1
# What runs in pods runs on while Kedge itself is replaced.
KillMode=process
Delegate=yes
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999
TimeoutStartSec=0
TimeoutStopSec={stop}

[Install]
WantedBy=multi-user.target
"
    )
}

/// The data folder of a unit that we made; none if another did.
pub(crate) fn data_of(text: &str) -> Option<&Path> {
    text.lines().next()?.strip_prefix(MARK).map(Path::new)
}

/// What a unit has systemd start.
pub(crate) fn line_of(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("ExecStart="))
}

/// One word as systemd reads it: nothing in it is a variable, a specifier or a blank.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/.:=,-_+@<[]".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut text = String::from("\"");
    for letter in word.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '%' | '$' => text.extend([letter, letter]),
            '\n' => text.push_str("\\n"),
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        for (word, text) in [
            ("--listen=0.0.0.0:6443", "--listen=0.0.0.0:6443"),
            ("memory.available<10%", "\"memory.available<10%%\""),
            ("a b", "\"a b\""),
            ("$HOME\"\\", "\"$$HOME\\\"\\\\\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(word), text, "{word}");
        }
    }

    #[test]
    fn a_unit_is_known_again() {
        let flags = ["--data-dir".to_owned(), "/srv/k".to_owned()];
        let unit = text(
            Role::Server,
            Path::new("/usr/local/bin/kedge"),
            &flags,
            Path::new("/srv/k"),
            Duration::ZERO,
        );
        assert_eq!(data_of(&unit), Some(Path::new("/srv/k")));
        assert!(unit.contains("\nExecStart=/usr/local/bin/kedge server --data-dir /srv/k\n"), "{unit}");
        assert!(unit.contains("\nTimeoutStopSec=90\n"), "{unit}");
        assert_eq!(data_of("[Unit]\nDescription=mine\n"), None);
    }

    /// As systemd itself reads them, where there is one.
    #[test]
    fn systemd_takes_the_units() {
        if kedge_runtime::containerd::find("systemd-analyze").is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        for role in Role::ALL {
            let flags = ["--eviction-hard".to_owned(), "memory.available<10%,nodefs.available<5%".to_owned()];
            let file = folder.path().join(role.unit());
            std::fs::write(
                &file,
                text(role, &program, &flags, Path::new("/var/lib/kedge"), Duration::from_secs(300)),
            )
            .unwrap();
            let mut command = std::process::Command::new("systemd-analyze");
            let said =
                command.args(["verify", "--man=no", "--recursive-errors=no"]).arg(&file).output().unwrap();
            let told = String::from_utf8_lossy(&said.stderr);
            let about_ours: Vec<&str> = told.lines().filter(|line| line.contains(role.unit())).collect();
            assert!(about_ours.is_empty(), "{about_ours:?}");
        }
    }
}
