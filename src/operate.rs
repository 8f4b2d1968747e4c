//! The commands of whoever looks after a machine: what was typed, done by the parts that know how, and said.

use std::error::Error;
use std::path::{Path, PathBuf};

use kedge_cli::Beside;
use kedge_clock::Clock;
use tokio::runtime::{Builder, Runtime};

use crate::backup::Part;
use crate::command::Output;
use crate::hatch::{self, Ask, HatchError};
use crate::install::{self, Installed, Machine, Role};
use crate::settings::Settings;
use crate::{agent, backup, certs, doctor, say, secrets, status};

/// Something needs to be looked at; what was said already.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotWell(String);

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

pub(crate) fn status(data: &Path, output: Output) -> Result<(), Box<dyn Error>> {
    let status = runtime()?.block_on(status::look(data, &Clock::system()))?;
    match output {
        Output::Text => say(&status.text()),
        Output::Json => say(&format!("{:#}\n", status.json())),
    }
}

pub(crate) fn doctor(
    role: Option<Role>,
    settings: Settings,
    kubeconfig: Option<PathBuf>,
    output: Output,
) -> Result<(), Box<dyn Error>> {
    let settings = settings.with_file()?;
    let beside = Beside::new(|| "looking at this machine and its cluster".to_owned());
    let diagnosis = runtime()?.block_on(doctor::look(role, &settings, kubeconfig, &Clock::system()));
    drop(beside);
    match output {
        Output::Text => say(&diagnosis.text())?,
        Output::Json => say(&format!("{:#}\n", diagnosis.json()))?,
    }
    match diagnosis.wrong() {
        0 => Ok(()),
        1 => Err(NotWell("one of these things does not work".to_owned()).into()),
        number => Err(NotWell(format!("{number} of these things do not work")).into()),
    }
}

pub(crate) fn certs(data: &Path) -> Result<(), Box<dyn Error>> {
    say(&certs::table(&certs::find(data)?, Clock::system().now()))
}

/// A running server writes it itself: nobody else may read what it keeps.
pub(crate) fn backup(file: &Path, data: &Path, part: Part) -> Result<(), Box<dyn Error>> {
    let whole = std::path::absolute(file)?;
    let (growing, shown) = (whole.clone(), file.display().to_string());
    let beside = Beside::new(move || format!("writing {shown}, {}", status::bytes(backup::so_far(&growing))));
    let made = runtime()?.block_on(async {
        let ask = Ask::Backup { file: whole.clone(), part };
        match hatch::call(data, &ask).await {
            Err(HatchError::Nobody { .. }) => Ok(backup::write_stopped(data, &whole, part).await?),
            answered => Ok::<backup::Made, Box<dyn Error>>(answered?),
        }
    });
    drop(beside);
    let made = made?;
    let (file, objects, revision) = (file.display(), made.objects, made.revision);
    let careful = "keep it where nobody else reads it";
    say(&match part {
        Part::All => format!(
            "{file} holds {objects} objects at revision {revision} and the cluster's keys: {careful}\n"
        ),
        Part::Objects => {
            format!("{file} holds {objects} objects at revision {revision}, without the cluster's keys\n")
        }
        Part::Keys => format!("{file} holds the cluster's keys: {careful}\n"),
    })
}

pub(crate) fn restore(file: &Path, data: &Path, keys_only: bool, force: bool) -> Result<(), Box<dyn Error>> {
    let (from, into) = (file.display().to_string(), agent::absolute(data));
    let beside =
        Beside::new(move || format!("restoring {from}, {}", status::bytes(backup::restored_so_far(&into))));
    let made = runtime()?.block_on(backup::restore(file, data, keys_only, force));
    drop(beside);
    let made = made?;
    let (data, objects, made) = (data.display(), made.objects, made.made);
    say(&match keys_only {
        true => format!("{data} has the cluster's keys of {made}\n"),
        false => format!("{data} has the cluster's {objects} objects of {made}\n"),
    })
}

pub(crate) fn install(role: Role, flags: &[String]) -> Result<(), Box<dyn Error>> {
    let beside = Beside::new(move || format!("waiting until {} runs", role.unit()));
    let installed = install::install(&Machine::at(None), role, flags);
    drop(beside);
    let Installed { told, runs_on, gateway } = installed?;
    say(&told)?;
    let Some(data) = runs_on else { return Ok(()) };
    let beside = Beside::new(|| "waiting until the node is ready".to_owned());
    let arrived = runtime()?.block_on(install::until_ready(role, &data, &gateway, &Clock::system()));
    drop(beside);
    say(&arrived)
}

pub(crate) fn uninstall(data: &Path) -> Result<(), Box<dyn Error>> {
    let data = agent::absolute(data);
    let machine = Machine::at(None);
    if !data.exists() && !install::is_there(&machine, &data) {
        return say(&nothing(&data));
    }
    // Before anything is stopped: who may not take the rest away would leave a service that no longer starts.
    agent::may_take_away(&data)?;
    if !install::is_there(&machine, &data) {
        agent::is_ours(&data)?;
    }
    let beside = Beside::new(|| "stopping what systemd runs".to_owned());
    let stopped = install::stop(&machine, &data);
    drop(beside);
    stopped?;
    // The runtime disconnects pods by our program, so that goes last.
    ending(&data, || runtime()?.block_on(agent::uninstall(&data)).map_err(Into::into))?;
    for removed in install::uninstall(&machine, &data)? {
        say(&format!("removed {}\n", removed.display()))?;
    }
    say(&format!("nothing of what used {} is left on this machine\n", data.display()))
}

fn nothing(data: &Path) -> String {
    format!(
        "there is nothing to take away: {} does not exist; --data-dir names another folder\n",
        data.display()
    )
}

pub(crate) fn clean(data: &Path) -> Result<(), Box<dyn Error>> {
    if !data.exists() {
        return say(&nothing(data));
    }
    ending(data, || runtime()?.block_on(agent::clean(data)).map_err(Into::into))?;
    say("nothing of the node is left on this machine but its data\n")
}

/// Containers may take their time to end.
fn ending(data: &Path, gone: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let shown = data.display().to_string();
    let _beside = Beside::new(move || format!("taking away what runs from {shown}"));
    gone()
}

pub(crate) fn rotate(data: &Path) -> Result<(), Box<dyn Error>> {
    let beside = Beside::new(|| "encrypting all Secrets with a new key".to_owned());
    let name = runtime()?.block_on(secrets::rotate(data));
    drop(beside);
    say(&format!("all Secrets are encrypted with key {} now\n", name?))
}
