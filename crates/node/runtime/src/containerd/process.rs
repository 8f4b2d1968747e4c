//! A process that outlives us: known by its pid in a file and by when it started, so that another one with the same number
//! is never taken for it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
use tokio::sync::watch;

use super::ContainerdError;

/// What systemd gives to each of its services.
const FROM_THE_MANAGER: [&str; 5] =
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "INVOCATION_ID", "JOURNAL_STREAM"];

pub(crate) struct Process {
    pid: u32,
    handle: Arc<OwnedFd>,
    over: watch::Receiver<bool>,
    /// Ours to bury if we started it.
    child: Option<Child>,
}

impl Process {
    /// Starts a program in a group of its own, so that a signal to ours does not end it, puts it into these cgroups, and writes down who
    /// it is.
    pub(crate) fn start(
        program: &str,
        arguments: &[&OsStr],
        log: fs::File,
        cgroups: &[PathBuf],
        pid_file: &Path,
    ) -> Result<Self, ContainerdError> {
        let failed = |source| ContainerdError::Start { program: program.to_owned(), source };
        let output = log.try_clone().map_err(failed)?;
        let mut command = command(program, arguments);
        command.stdin(Stdio::null()).stdout(output).stderr(log);
        let child = with_huge_pages(|| command.spawn()).map_err(failed)?;
        let pid = child.id();
        // It starts others when it is asked to, and nobody can ask it yet.
        settle(pid, cgroups);
        write_down(pid, pid_file)?;
        let (handle, over) = follow(pid)?;
        Ok(Self { pid, handle, over, child: Some(child) })
    }

    /// One that runs and that nobody wrote down; none if it has just ended.
    pub(crate) fn adopted(pid: u32, pid_file: &Path) -> Result<Option<Self>, ContainerdError> {
        if started(pid).is_none() {
            return Ok(None);
        }
        write_down(pid, pid_file)?;
        Self::running(pid_file)
    }

    /// The process that the file tells of, if it still runs.
    pub(crate) fn running(pid_file: &Path) -> Result<Option<Self>, ContainerdError> {
        let Ok(line) = fs::read_to_string(pid_file) else { return Ok(None) };
        let mut words = line.split_whitespace();
        let known = words.next().and_then(|pid| pid.parse().ok()).zip(words.next());
        let Some((pid, since)) = known else { return Ok(None) };
        if started(pid).as_deref() != Some(since) {
            return Ok(None);
        }
        match follow(pid) {
            Ok((handle, over)) => Ok(Some(Self { pid, handle, over, child: None })),
            // It ended between the two looks.
            Err(_) if started(pid).is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn is_alive(&self) -> bool {
        started(self.pid).is_some()
    }

    pub(crate) async fn ended(&mut self) {
        // Whoever follows it says so or is gone; either way there is nothing left to wait for.
        let _told = self.over.wait_for(|over| *over).await;
        if let Some(child) = &mut self.child {
            let _buried = child.wait();
        }
    }

    /// Asks it to end.
    pub(crate) fn end(&self) {
        // It may have ended by itself.
        let _sent = pidfd_send_signal(&self.handle, Signal::TERM);
    }
}

/// What a service manager told us is about us alone: it would take another's word for ours, or complain of it.
fn command(program: &str, arguments: &[&OsStr]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    for name in FROM_THE_MANAGER {
        command.env_remove(name);
    }
    command
}

/// Puts a process into cgroups. Where that cannot be, it stays in ours: then it is counted with us, and that is all.
fn settle(pid: u32, cgroups: &[PathBuf]) {
    for folder in cgroups {
        if let Err(error) = fs::write(folder.join("cgroup.procs"), pid.to_string()) {
            tracing::debug!(%error, pid, "containerd cannot be put into {}", folder.display());
        }
    }
}

fn write_down(pid: u32, pid_file: &Path) -> Result<(), ContainerdError> {
    let line = format!("{pid} {}\n", started(pid).unwrap_or_default());
    fs::write(pid_file, line).map_err(|source| ContainerdError::Prepare { path: pid_file.to_owned(), source })
}

/// Whoever is started by somebody who does without huge pages has to do without them, too, and so have all pods. We may be such a one;
/// they are none.
fn with_huge_pages<T>(start: impl FnOnce() -> T) -> T {
    let is_without = transparent_huge_pages_are_disabled().unwrap_or(false);
    if !is_without {
        return start();
    }
    // A kernel that does not let us leaves them slower, and that is all.
    let _with = disable_transparent_huge_pages(false);
    let started = start();
    let _without = disable_transparent_huge_pages(true);
    started
}

/// A handle on a process, and its end. A thread waits for it: the process is not always our child, and a thread that waits
/// keeps nobody from ending.
fn follow(pid: u32) -> Result<(Arc<OwnedFd>, watch::Receiver<bool>), ContainerdError> {
    let failed = |source| ContainerdError::Process { pid, source };
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let known = raw.ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidInput)))?;
    let handle = pidfd_open(known, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    let handle = Arc::new(handle);
    let (tell, over) = watch::channel(false);
    let followed = handle.clone();
    let wait = move || {
        // A process handle becomes readable when the process ends.
        while poll(&mut [PollFd::new(&followed, PollFlags::IN)], None) == Err(Errno::INTR) {}
        tell.send_replace(true);
    };
    thread::Builder::new().name("containerd".to_owned()).spawn(wait).map_err(failed)?;
    Ok((handle, over))
}

/// When a process that lives was started, in the kernel's own count. A dead one that nobody buried does not live.
pub(super) fn started(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then_some(())?;
    fields.nth(18).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_starts_has_huge_pages_although_we_do_without() {
        disable_transparent_huge_pages(true).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let pid_file = folder.path().join("pid");
        let process = Process::start("sleep", &[OsStr::new("60")], log, &[], &pid_file).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
        process.end();
        assert!(status.contains("THP_enabled:\t1"), "{status}");
        assert!(transparent_huge_pages_are_disabled().unwrap(), "and we go on without");
    }

    #[test]
    fn what_it_starts_is_in_its_cgroups_where_that_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let places = ["gone", "there"].map(|name| folder.path().join(name));
        fs::create_dir(&places[1]).unwrap();
        let sleep = [OsStr::new("60")];
        let process = Process::start("sleep", &sleep, log, &places, &folder.path().join("pid")).unwrap();
        process.end();
        let held = fs::read_to_string(places[1].join("cgroup.procs")).unwrap();
        assert_eq!(held, process.pid().to_string());
    }

    #[test]
    fn what_our_manager_told_us_is_told_to_nobody_else() {
        let command = command("containerd", &[OsStr::new("--version")]);
        let removed = command.get_envs().filter(|(_, value)| value.is_none());
        let names: Vec<_> = removed.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        for name in FROM_THE_MANAGER {
            assert!(names.iter().any(|removed| removed == name), "{name}: {names:?}");
        }
    }
}
