//! `kedge install`: has systemd run a server or an agent on this machine, now and whenever it starts; and takes that away again. What
//! the machine then does is decided by the flags that were given.

mod arrival;
mod ports;
mod unit;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser as _;
use jiff::Timestamp;

pub(crate) use self::arrival::until_ready;
pub(crate) use self::unit::Role;
use crate::command::{self, Kedge};
use crate::gateway;
use crate::join::{self, JoinError};
use crate::settings::{AgentSettings, SettingsError};

const PROGRAM: &str = "usr/local/bin/kedge";
const UNITS: &str = "etc/systemd/system";
/// Where an agent finds its token: a unit's text is everybody's to read.
const TOKEN: &str = "etc/kedge/agent-token";
/// There while systemd runs the machine.
const SYSTEMD: &str = "/run/systemd/system";

#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error("{0}")]
    Flags(String),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot remove {}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    #[error("{} is a unit of somebody else: remove it first", path.display())]
    Theirs { path: PathBuf },
    #[error("only root may have systemd run something: use sudo")]
    NotRoot,
    #[error("cannot run systemctl")]
    Start(#[source] io::Error),
    #[error("`systemctl {what}` failed: {said}")]
    Systemd { what: String, said: String },
}

/// Where things are put; below another folder than `/` nothing is started.
pub(crate) struct Machine {
    root: PathBuf,
    has_systemd: bool,
}

impl Machine {
    pub(crate) fn at(root: Option<PathBuf>) -> Self {
        let has_systemd = root.is_none() && Path::new(SYSTEMD).is_dir();
        Self { root: root.unwrap_or_else(|| PathBuf::from("/")), has_systemd }
    }

    fn unit(&self, role: Role) -> PathBuf {
        self.root.join(UNITS).join(role.unit())
    }

    fn systemctl(&self, words: &[&str]) -> Result<(), InstallError> {
        if !self.has_systemd {
            return Ok(());
        }
        let begun = Timestamp::now();
        let said = Command::new("systemctl")
            .args(words)
            .stdin(Stdio::null())
            .output()
            .map_err(InstallError::Start)?;
        match said.status.success() {
            true => Ok(()),
            false => {
                let mut told = String::from_utf8_lossy(&said.stderr).trim().to_owned();
                if let ["restart", unit] = words {
                    told.push_str(&last_words(unit, begun));
                    told.push_str("\nIt is started again every second until it runs: mend that, or take it away with `kedge uninstall`");
                }
                Err(InstallError::Systemd { what: words.join(" "), said: told })
            }
        }
    }
}

/// What a service that does not run said before it ended: itself and now, not what systemd says of it or what it said some other day.
fn last_words(unit: &str, since: Timestamp) -> String {
    let (unit, since) = (format!("_SYSTEMD_UNIT={unit}"), format!("--since=@{}", since.as_second()));
    let asked = [&*unit, &*since, "-p", "err", "-n", "3", "-o", "cat", "--no-pager", "-q"];
    // What was said a moment ago may still be on its way.
    let _synced = Command::new("journalctl").arg("--sync").stdin(Stdio::null()).output();
    let said = Command::new("journalctl").args(asked).stdin(Stdio::null()).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
    if said.is_empty() { said } else { format!("\nIts last words: {said}") }
}

/// What `install` did.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) told: String,
    /// Where what was started keeps its data; none if nothing was.
    pub(crate) runs_on: Option<PathBuf>,
    /// Where its gateway is to listen.
    pub(crate) gateway: Vec<SocketAddr>,
}

/// Writes the program and its unit, and has it started where systemd runs.
pub(crate) fn install(machine: &Machine, role: Role, flags: &[String]) -> Result<Installed, InstallError> {
    let Understood { flags, token, data, grace, gateway } = understood(role, flags)?;
    if machine.has_systemd && !rustix::process::geteuid().is_root() {
        return Err(InstallError::NotRoot);
    }
    let unit = machine.unit(role);
    let former = fs::read_to_string(&unit).unwrap_or_default();
    if !former.is_empty() && unit::data_of(&former).is_none() {
        return Err(InstallError::Theirs { path: unit });
    }
    let program = machine.root.join(PROGRAM);
    copy_program(&program)?;
    if let Some(token) = token {
        write(&machine.root.join(TOKEN), &format!("{token}\n"), 0o600)?;
    }
    let text = unit::text(role, &Path::new("/").join(PROGRAM), &flags, &data, grace);
    write(&unit, &text, 0o644)?;
    machine.systemctl(&["daemon-reload"])?;
    let name = role.unit();
    let mut told = format!("wrote {} and {}\n", program.display(), unit.display());
    // Flags are not kept from one time to the next, and without --data-dir it is another cluster.
    if let Some(line) = unit::line_of(&former).filter(|line| Some(*line) != unit::line_of(&text)) {
        told.push_str(&format!("before, it was started with other flags: {line}\n"));
    }
    match machine.has_systemd {
        true => {
            machine.systemctl(&["enable", name])?;
            machine.systemctl(&["restart", name])?;
            told.push_str(&format!(
                "{name} runs, now and whenever this machine starts; `journalctl -u {name}` shows its log\n"
            ));
        }
        false => told.push_str(&format!(
            "systemd does not run here; where it does, `systemctl enable --now {name}` starts it\n"
        )),
    }
    Ok(Installed { told, runs_on: machine.has_systemd.then_some(data), gateway })
}

/// What flags say, and the config file beside them.
struct Understood {
    flags: Vec<String>,
    token: Option<String>,
    data: PathBuf,
    /// What pods are given when the machine goes down.
    grace: Duration,
    gateway: Vec<SocketAddr>,
}

/// The flags are understood now, not when the unit starts; a token among them goes into a file. What an agent finds in the
/// environment is not there when systemd starts it, so it is written down as well.
fn understood(role: Role, flags: &[String]) -> Result<Understood, InstallError> {
    let typed = ["kedge", role.word()].into_iter().map(str::to_owned).chain(flags.iter().cloned());
    let parsed = Kedge::try_parse_from(typed).map_err(|error| {
        let said = error.render().to_string();
        InstallError::Flags(said.trim_start_matches("error: ").trim_end().to_owned())
    })?;
    let (node, agent, gateway) = match parsed.command {
        command::Command::Server(settings) => {
            let settings = settings.with_file()?;
            let gateway = gateway::places(&settings);
            (settings.node, None, gateway)
        }
        command::Command::Agent(settings) => (settings.clone().with_file()?.node, Some(settings), Vec::new()),
        _ => Default::default(),
    };
    let (data, grace) = (node.data(), node.shutdown_grace_period.map(|grace| grace.0).unwrap_or_default());
    let Some(agent) = agent else {
        return Ok(Understood { flags: flags.to_vec(), token: None, data, grace, gateway });
    };
    can_join(&agent, &data)?;
    let mut kept = without_token(flags);
    if !names(flags, "--server") {
        kept.extend(agent.server.iter().map(|place| format!("--server={place}")));
    }
    let token = agent.token.map(|token| token.0);
    if token.is_some() {
        kept.push(format!("--token-file={}", Path::new("/").join(TOKEN).display()));
    }
    Ok(Understood { flags: kept, token, data, grace, gateway })
}

/// An agent that has nobody to join, or nothing to join with, would be started for ever in vain.
fn can_join(agent: &AgentSettings, data: &Path) -> Result<(), InstallError> {
    if join::has_joined(data) {
        return Ok(());
    }
    let all = agent.clone().with_file()?;
    match (all.server.is_empty(), all.token.is_none() && all.token_file.is_none()) {
        (true, _) => Err(JoinError::NoServer.into()),
        (false, true) => Err(JoinError::NoToken.into()),
        (false, false) => Ok(()),
    }
}

fn names(flags: &[String], flag: &str) -> bool {
    flags
        .iter()
        .any(|word| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

fn without_token(flags: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = flags.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--token") {
            Some("") => {
                words.next();
            }
            Some(rest) if rest.starts_with('=') => {}
            _ => kept.push(word.clone()),
        }
    }
    kept
}

/// A program that runs cannot be written over, but another can take its name.
fn copy_program(to: &Path) -> Result<(), InstallError> {
    let failed = |source| InstallError::Write { path: to.to_owned(), source };
    let own = std::env::current_exe().map_err(failed)?;
    if fs::canonicalize(&own).ok() == fs::canonicalize(to).ok() {
        return Ok(());
    }
    let folder = to.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed)?;
    let beside = to.with_extension("new");
    fs::copy(&own, &beside).map_err(failed)?;
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    fs::rename(&beside, to).map_err(failed)
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), InstallError> {
    let failed = |source| InstallError::Write { path: path.to_owned(), source };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
    // Nobody reads it before its mode is right.
    let beside = path.with_extension("new");
    let _former = fs::remove_file(&beside);
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(&beside).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    fs::rename(&beside, path).map_err(failed)
}

/// Stops what systemd runs on a data folder, for good. What was installed stays: whatever is left of the node is taken away with
/// the program's help, and who fails at that has to be able to try again.
pub(crate) fn stop(machine: &Machine, data: &Path) -> Result<(), InstallError> {
    for role in ours(machine, data) {
        machine.systemctl(&["disable", "--now", role.unit()])?;
    }
    Ok(())
}

/// Removes what `install` wrote for a data folder. What was removed is the answer.
pub(crate) fn uninstall(machine: &Machine, data: &Path) -> Result<Vec<PathBuf>, InstallError> {
    let mut removed = Vec::new();
    for role in ours(machine, data) {
        removed.extend(remove(&machine.unit(role))?);
        machine.systemctl(&["daemon-reload"])?;
    }
    let none_left = Role::ALL.iter().all(|role| !machine.unit(*role).exists());
    if !removed.is_empty() && none_left {
        for path in [PROGRAM, TOKEN] {
            removed.extend(remove(&machine.root.join(path))?);
        }
        // A config file that a person wrote stays, and so does its folder.
        let _if_empty = fs::remove_dir(machine.root.join("etc/kedge"));
    }
    Ok(removed)
}

/// Whether anything was installed for a data folder.
pub(crate) fn is_there(machine: &Machine, data: &Path) -> bool {
    !ours(machine, data).is_empty()
}

/// What was installed for a data folder.
fn ours(machine: &Machine, data: &Path) -> Vec<Role> {
    let is_ours = |role: &Role| {
        fs::read_to_string(machine.unit(*role)).is_ok_and(|text| unit::data_of(&text) == Some(data))
    };
    Role::ALL.into_iter().filter(is_ours).collect()
}

fn remove(path: &Path) -> Result<Option<PathBuf>, InstallError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(Some(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(InstallError::Remove { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DATA_DIR;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_is_installed_can_be_taken_away_again() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(Some(root.path().to_owned()));
        let flags =
            words("--server https://10.0.0.1:6443 --token kedge1.a.b.c --data-dir /srv/k --node-name n1");
        let Installed { told, runs_on, gateway } = install(&machine, Role::Agent, &flags).unwrap();
        assert_eq!((runs_on, gateway), (None, Vec::new()));
        assert!(told.contains("systemctl enable --now kedge-agent.service"), "{told}");
        let unit = fs::read_to_string(machine.unit(Role::Agent)).unwrap();
        assert!(!unit.contains("kedge1.a.b.c"), "a unit is everybody's to read:\n{unit}");
        assert!(unit.contains("--server https://10.0.0.1:6443 --data-dir /srv/k --node-name n1 --token-file=/etc/kedge/agent-token"), "{unit}");
        let token = root.path().join(TOKEN);
        assert_eq!(fs::read_to_string(&token).unwrap(), "kedge1.a.b.c\n");
        assert_eq!(fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(root.path().join(PROGRAM)).unwrap().permissions().mode() & 0o777, 0o755);

        assert_eq!(
            uninstall(&machine, Path::new("/var/lib/kedge")).unwrap(),
            Vec::<PathBuf>::new(),
            "another's"
        );
        stop(&machine, Path::new("/srv/k")).unwrap();
        assert!(
            machine.unit(Role::Agent).exists() && root.path().join(PROGRAM).exists(),
            "pods are disconnected by the program, and whoever fails at it tries again"
        );
        assert_eq!(uninstall(&machine, Path::new("/srv/k")).unwrap().len(), 3);
        assert!(!root.path().join("etc/kedge").exists() && !root.path().join(PROGRAM).exists());
        assert!(uninstall(&machine, Path::new("/srv/k")).unwrap().is_empty(), "nothing twice");
    }

    #[test]
    fn two_roles_share_the_program() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(Some(root.path().to_owned()));
        let server = install(&machine, Role::Server, &[]).unwrap();
        assert_eq!(server.gateway, [gateway::HTTP, gateway::HTTPS]);
        let flags = words("--server https://10.0.0.1:6443 --token=kedge1.a.b.c --data-dir /srv/k");
        install(&machine, Role::Agent, &flags).unwrap();
        let told = install(
            &machine,
            Role::Agent,
            &words("--data-dir /srv/j --server https://10.0.0.1:6443 --token=t"),
        )
        .unwrap()
        .told;
        assert!(
            told.contains(
                "other flags: /usr/local/bin/kedge agent --server https://10.0.0.1:6443 --data-dir /srv/k "
            ),
            "{told}"
        );
        let told = install(&machine, Role::Agent, &flags).unwrap().told;
        assert!(told.contains("--data-dir /srv/j"), "{told}");
        assert!(!install(&machine, Role::Agent, &flags).unwrap().told.contains("other flags"));
        uninstall(&machine, Path::new("/srv/k")).unwrap();
        assert!(root.path().join(PROGRAM).exists() && machine.unit(Role::Server).exists());
        uninstall(&machine, Path::new(DATA_DIR)).unwrap();
        assert!(!root.path().join(PROGRAM).exists());
    }

    /// Said by a flag or in the file; systemd ends whoever takes longer than the unit says.
    #[test]
    fn pods_have_the_time_that_they_are_promised() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(Some(root.path().to_owned()));
        let file = root.path().join("config.yaml");
        fs::write(&file, "shutdown-grace-period: 10m\n").unwrap();
        for (flags, stop) in [
            ("--shutdown-grace-period 30s".to_owned(), 90),
            ("--shutdown-grace-period 5m".to_owned(), 330),
            (format!("--config {}", file.display()), 630),
        ] {
            install(&machine, Role::Server, &words(&flags)).unwrap();
            let unit = fs::read_to_string(machine.unit(Role::Server)).unwrap();
            assert!(unit.contains(&format!("\nTimeoutStopSec={stop}\n")), "{flags}:\n{unit}");
        }
    }

    #[test]
    fn wrong_flags_and_units_of_others_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(Some(root.path().to_owned()));
        let refused = install(&machine, Role::Server, &words("--lisen 1")).unwrap_err();
        assert!(refused.to_string().contains("--lisen"), "{refused}");
        for (flags, told) in [
            ("--data-dir /srv/k", "--server https://HOST:6443"),
            ("--data-dir /srv/k --server https://10.0.0.1:6443", "kedge token create --print-join-command"),
        ] {
            let refused = install(&machine, Role::Agent, &words(flags)).unwrap_err();
            assert!(refused.to_string().contains(told), "{refused}");
        }
        let unit = machine.unit(Role::Server);
        fs::create_dir_all(unit.parent().unwrap()).unwrap();
        fs::write(&unit, "[Service]\nExecStart=/opt/other\n").unwrap();
        let refused = install(&machine, Role::Server, &[]).unwrap_err();
        assert!(matches!(refused, InstallError::Theirs { .. }), "{refused}");
        assert!(!root.path().join(PROGRAM).exists());
    }
}
