//! A containerd of our own: its config, folders and socket are ours alone, and no other one on the machine is touched. It and
//! its shims outlive us; whoever comes next finds the one that runs.

mod config;
mod events;
mod networks;
mod orphans;
mod process;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::config::Config;
use self::config::Version;
pub use self::events::follow;
use self::process::Process;
use crate::client::Runtime;

/// How often a containerd that starts is asked whether it is there.
const ASK: Duration = Duration::from_millis(10);
const START: Duration = Duration::from_secs(60);
/// Between an end that nobody asked for and the next start.
const PAUSE: Duration = Duration::from_millis(500);
const TRIES: u32 = 3;
/// When is looked for what its predecessor left, each after the one before. Whatever is being made is made by then.
const SWEEPS: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(45)];

#[derive(Debug, thiserror::Error)]
pub enum ContainerdError {
    #[error("cannot prepare {}", path.display())]
    Prepare { path: PathBuf, source: io::Error },
    #[error("cannot start {program}: is the package containerd installed?")]
    Start { program: String, source: io::Error },
    #[error("{program} ended while it started; {} says why", log.display())]
    Ended { program: String, log: PathBuf },
    #[error("{program} did not answer within {START:?}; {} may say why", log.display())]
    Silent { program: String, log: PathBuf },
    #[error("cannot look after the process {pid}")]
    Process { pid: u32, source: io::Error },
}

/// The one that runs in a folder.
pub struct Containerd {
    config: Config,
    process: Process,
    /// Networks of sandboxes that were there when it began to answer.
    networks: HashSet<PathBuf>,
}

impl Containerd {
    /// Finds the one that runs in the config's folder, or starts it, and returns once it answers.
    pub async fn start(config: Config) -> Result<Self, ContainerdError> {
        prepare(&config)?;
        let mut tries = 1;
        loop {
            let process = match Process::running(&config.pid_file())? {
                Some(process) => process,
                None => found_or_launched(&config)?,
            };
            let mut this = Self { config: config.clone(), process, networks: HashSet::new() };
            match this.answers().await {
                Ok(()) => return Ok(this),
                // Somebody may have ended it just now.
                Err(ContainerdError::Ended { .. }) if tries < TRIES => this.process.ended().await,
                Err(error) => return Err(error),
            }
            tries += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.config.socket()
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Starts it again whenever it ends, until the future is dropped. Containers run on meanwhile.
    pub async fn keep(&mut self) -> ContainerdError {
        loop {
            let (runtime, socket) = (Runtime::at(&self.config.socket()), self.config.socket());
            let (pid, networks, config) = (self.process.pid(), &self.networks, self.config.file());
            let sweep = async {
                for wait in SWEEPS {
                    tokio::time::sleep(wait).await;
                    if let Err(error) = orphans::end(&runtime, &socket, pid, orphans::LATE).await {
                        tracing::debug!(%error, "cannot look for shims that nobody knows");
                    }
                    orphans::end_twins(&config, pid);
                    if let Err(error) = networks::remove(&runtime, networks).await {
                        tracing::debug!(%error, "cannot look for networks that nobody has");
                    }
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = self.process.ended() => {}
                () = sweep => {}
            }
            tracing::warn!("containerd has ended; starting it again");
            tokio::time::sleep(PAUSE).await;
            match found_or_launched(&self.config) {
                Ok(process) => self.process = process,
                Err(error) => return error,
            }
            if let Err(error) = self.answers().await {
                tracing::error!(%error, "containerd does not come back");
            }
        }
    }

    /// Ends it. Containers run on.
    pub async fn stop(mut self) {
        self.process.end();
        self.process.ended().await;
    }

    async fn answers(&mut self) -> Result<(), ContainerdError> {
        let runtime = Runtime::at(&self.config.socket());
        let asked = async {
            loop {
                if runtime.version().await.is_ok() {
                    return true;
                }
                if !self.process.is_alive() {
                    return false;
                }
                tokio::time::sleep(ASK).await;
            }
        };
        let program = || self.config.program.clone();
        match tokio::time::timeout(START, asked).await {
            Ok(true) => {
                let socket = self.config.socket();
                orphans::end_twins(&self.config.file(), self.process.pid());
                if let Err(error) = orphans::end(&runtime, &socket, self.process.pid(), 0).await {
                    tracing::warn!(%error, "cannot look for shims that nobody knows");
                }
                self.networks = networks::there(&self.config.networks());
                Ok(())
            }
            Ok(false) => Err(ContainerdError::Ended { program: program(), log: self.config.log() }),
            Err(_) => Err(ContainerdError::Silent { program: program(), log: self.config.log() }),
        }
    }
}

fn prepare(config: &Config) -> Result<(), ContainerdError> {
    for folder in [config.folder.clone(), config.hosts()] {
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| ContainerdError::Prepare { path: folder, source })?;
    }
    Ok(())
}

/// Whoever started it may have been killed before he wrote down who it is. A second one would wait until the first one ends.
fn found_or_launched(config: &Config) -> Result<Process, ContainerdError> {
    for pid in orphans::twins(&config.file()) {
        if let Some(process) = Process::adopted(pid, &config.pid_file())? {
            return Ok(process);
        }
    }
    launch(config)
}

/// The program may be another one than last time.
fn launch(config: &Config) -> Result<Process, ContainerdError> {
    let (path, text) = (config.file(), config.text(Version::of(&config.program)));
    // Only what changed is written: an idle start leaves the disk alone.
    if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
        fs::write(&path, text).map_err(|source| ContainerdError::Prepare { path, source })?;
    }
    let log = config.log();
    let file = fs::File::options().create(true).append(true).open(&log);
    let file = file.map_err(|source| ContainerdError::Prepare { path: log, source })?;
    Process::start(
        &config.program,
        &["--config".as_ref(), config.file().as_os_str()],
        file,
        &config.cgroups,
        &config.pid_file(),
    )
}

/// Whether this process may lower its children's chance to be killed for memory.
pub fn may_lower_oom_scores() -> bool {
    const CAP_SYS_RESOURCE: u32 = 24;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    bits & (1 << CAP_SYS_RESOURCE) != 0
}

/// Where a program is, as a shell would find it.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Services are often started without the folders of the administrator's tools.
    let usual = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin"];
    let folders = std::env::split_paths(&path).chain(usual.map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
