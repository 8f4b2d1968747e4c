//! Folders of another machine. The kernel wants more than a name of it, so the machine's own `mount` is asked to do it, by way of the
//! helper that knows NFS where there is one. A server that does not answer holds up nobody but the pod that wants it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::ToSocketAddrs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::mounts::MountError;
use crate::table;
use crate::volume::Nfs;

/// How often is looked whether it is done, and for how long: a server that doesn't answer is not waited for for ever.
const LOOK: Duration = Duration::from_millis(20);
const LIMIT: Duration = Duration::from_secs(30);
/// So long whoever was ended may take to go.
const BURIAL: Duration = Duration::from_secs(1);
/// So much of what it says is told on.
const WORDS: u64 = 4096;
/// Where `mount` looks for what knows a file system.
const PLACES: [&str; 4] = ["/sbin", "/usr/sbin", "/bin", "/usr/bin"];
const HELPER: &str = "mount.nfs";
/// Before what `mount` says: that has several lines, and lists of events show the first alone.
const NO_HELPER: &str = "the kernel cannot mount it by itself, and there is no mount.nfs on this machine (Debian's package nfs-common): ";
const PORT: u16 = 2049;

/// `given_up` turns true when nobody wants the folder any more.
pub(crate) fn mount(nfs: &Nfs, target: &Path, given_up: &AtomicBool) -> Result<(), MountError> {
    let source = source(nfs);
    let has_helper = PLACES.iter().any(|folder| Path::new(folder).join(HELPER).exists());
    let arguments = match has_helper {
        true => by_helper(nfs, &source, target),
        false => by_kernel(nfs, &source, target, || address(&nfs.server)),
    };
    let mut command = Command::new("mount");
    command.args(&arguments);
    run(command, given_up, LIMIT).map_err(|failure| {
        let output = failure.told(has_helper);
        MountError::Command { arguments: arguments.join(" "), output }
    })
}

/// Takes a mount away, and waits for a while until the server has all that was written there. Whoever takes the last one away is held by
/// the kernel until then, beyond any signal: with a server that is gone that must be nobody of ours. The mount is gone at once.
pub(crate) fn unmount(target: &Path) -> Result<(), MountError> {
    let mut command = Command::new("umount");
    // It must not ask the server, neither itself nor by a helper.
    command.args(["--lazy", "--internal-only", "--no-canonicalize"]).arg(target);
    match leave(command, LIMIT) {
        Ok(true) => Ok(()),
        // Where it is no more, what is left to do is the kernel's.
        Ok(false) if !table::is_listed(target)? => Ok(()),
        Ok(false) => Err(MountError::io("unmount", target)(io::ErrorKind::TimedOut.into())),
        Err(_) => table::detach(target),
    }
}

/// Why something is not mounted.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// The machine or the server says so.
    Refused(String),
    /// Nobody says anything, or nobody listens any more.
    Silent(String),
}

impl Failure {
    /// A helper would have had no answer either.
    fn told(self, has_helper: bool) -> String {
        match self {
            Self::Refused(output) if !has_helper => format!("{NO_HELPER}{output}"),
            Self::Refused(output) | Self::Silent(output) => output,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Runs it to its end, or says why there was none.
fn run(mut command: Command, given_up: &AtomicBool, limit: Duration) -> Result<(), Failure> {
    // Not a pipe: a helper may leave a process behind that holds its end for ever, as it does with locks of NFS.
    let mut errors = words()?;
    let kept = errors.try_clone()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(kept);
    // A group of its own: who is ended takes his helpers along.
    let mut child = command.process_group(0).spawn()?;
    let not_wanted = || given_up.load(Ordering::Relaxed);
    let Some(ended) = wait(&mut child, limit, not_wanted)? else {
        end(child);
        return Err(Failure::Silent(match not_wanted() {
            true => "nobody wants it any more".to_owned(),
            false => format!("the server does not answer within {limit:?}{}", said(&mut errors)),
        }));
    };
    match ended.success() {
        true => Ok(()),
        false => Err(Failure::Refused(format!("{ended}{}", said(&mut errors)))),
    }
}

/// Runs it, and leaves it alone if it takes too long: whoever is ended while he gives something back may lose it. Answers whether it is
/// done; what fails is an error.
fn leave(mut command: Command, limit: Duration) -> io::Result<bool> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    match wait(&mut child, limit, || false)? {
        Some(ended) if ended.success() => Ok(true),
        Some(ended) => Err(io::Error::other(ended.to_string())),
        None => {
            bury(child);
            Ok(false)
        }
    }
}

/// A place for what it says.
fn words() -> io::Result<File> {
    Ok(memfd_create("mount", MemfdFlags::CLOEXEC)?.into())
}

/// What it said, behind what is said of it.
fn said(errors: &mut File) -> String {
    let mut told = Vec::new();
    let read = errors.rewind().and_then(|()| errors.take(WORDS).read_to_end(&mut told));
    let told = String::from_utf8_lossy(&told);
    match told.trim() {
        "" => String::new(),
        told if read.is_ok() => format!(": {told}"),
        _ => String::new(),
    }
}

/// With all that it has started.
fn end(mut child: Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _killed = kill_process_group(group, Signal::KILL);
    }
    if matches!(wait(&mut child, BURIAL, || false), Ok(None)) {
        bury(child);
    }
}

/// The kernel holds it until the server answers; whoever buries it then holds up nobody.
fn bury(mut child: Child) {
    let burial = std::thread::Builder::new().name("mount".to_owned());
    let _buried = burial.spawn(move || child.wait());
}

/// None if it takes too long, or if nobody wants it any more.
fn wait(child: &mut Child, limit: Duration, not_wanted: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    let mut left = limit;
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok(Some(ended));
        }
        if left.is_zero() || not_wanted() {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
        left = left.saturating_sub(LOOK);
    }
}

fn source(nfs: &Nfs) -> String {
    match nfs.server.contains(':') {
        true => format!("[{}]:{}", nfs.server, nfs.path),
        false => format!("{}:{}", nfs.server, nfs.path),
    }
}

fn options(nfs: &Nfs) -> Vec<String> {
    let mut options = nfs.options.clone();
    if nfs.read_only && !options.iter().any(|option| option == "ro") {
        options.push("ro".to_owned());
    }
    options
}

fn by_helper(nfs: &Nfs, source: &str, target: &Path) -> Vec<String> {
    line(&["-t", "nfs"], &options(nfs), source, target)
}

/// The kernel has to be told what the helper would have found out: where the server is, and which version is spoken.
fn by_kernel(
    nfs: &Nfs,
    source: &str,
    target: &Path,
    address: impl FnOnce() -> Option<String>,
) -> Vec<String> {
    let mut options = options(nfs);
    let says = |options: &[String], names: &[&str]| {
        let named = |option: &String| names.iter().any(|name| option.split('=').next() == Some(*name));
        options.iter().any(named)
    };
    if !says(&options, &["vers", "nfsvers", "v4.0", "v4.1", "v4.2"]) {
        options.push("vers=4.2".to_owned());
    }
    if !says(&options, &["addr"]) {
        options.extend(address().map(|address| format!("addr={address}")));
    }
    line(&["-i", "-t", "nfs"], &options, source, target)
}

fn line(first: &[&str], options: &[String], source: &str, target: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = first.iter().map(|word| (*word).to_owned()).collect();
    if !options.is_empty() {
        arguments.extend(["-o".to_owned(), options.join(",")]);
    }
    arguments.extend([source.to_owned(), target.display().to_string()]);
    arguments
}

/// Where the server is, as far as this machine knows.
fn address(server: &str) -> Option<String> {
    let found = (server, PORT).to_socket_addrs().ok()?.next()?;
    Some(found.ip().to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn nfs(server: &str, read_only: bool, options: &[&str]) -> Nfs {
        Nfs {
            server: server.to_owned(),
            path: "/x".to_owned(),
            read_only,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        }
    }

    #[test]
    fn a_server_is_named_as_mount_wants_it() {
        for (wanted, helper, kernel) in [
            (
                nfs("192.0.2.1", false, &[]),
                "-t nfs 192.0.2.1:/x /t",
                "-i -t nfs -o vers=4.2,addr=192.0.2.1 192.0.2.1:/x /t",
            ),
            (
                nfs("2001:db8::1", true, &[]),
                "-t nfs -o ro [2001:db8::1]:/x /t",
                "-i -t nfs -o ro,vers=4.2,addr=2001:db8::1 [2001:db8::1]:/x /t",
            ),
            (
                nfs("192.0.2.1", true, &["ro", "hard", "nfsvers=3"]),
                "-t nfs -o ro,hard,nfsvers=3 192.0.2.1:/x /t",
                "-i -t nfs -o ro,hard,nfsvers=3,addr=192.0.2.1 192.0.2.1:/x /t",
            ),
            (
                nfs("192.0.2.1", true, &["vers=4.1", "addr=192.0.2.9"]),
                "-t nfs -o vers=4.1,addr=192.0.2.9,ro 192.0.2.1:/x /t",
                "-i -t nfs -o vers=4.1,addr=192.0.2.9,ro 192.0.2.1:/x /t",
            ),
        ] {
            let (source, target) = (source(&wanted), Path::new("/t"));
            assert_eq!(by_helper(&wanted, &source, target).join(" "), helper);
            let found = by_kernel(&wanted, &source, target, || address(&wanted.server));
            assert_eq!(found.join(" "), kernel);
        }
    }

    #[test]
    fn what_fails_says_why() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such server >&2; exit 32"]);
        let told = run(command, &AtomicBool::new(false), LIMIT).unwrap_err();
        assert_eq!(told, Failure::Refused("exit status: 32: no such server".to_owned()));
        // What it leaves behind has its words, too, and is not waited for.
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 30 & echo busy >&2; kill -9 $$"]);
        let begun = Instant::now();
        let told = run(command, &AtomicBool::new(false), LIMIT).unwrap_err();
        assert_eq!(told, Failure::Refused("signal: 9 (SIGKILL): busy".to_owned()));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_server_that_does_not_answer_is_not_waited_for_for_ever() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo trying >&2; sleep 600"]);
        let begun = Instant::now();
        let told = run(command, &AtomicBool::new(false), Duration::from_secs(2)).unwrap_err();
        assert_eq!(told, Failure::Silent("the server does not answer within 2s: trying".to_owned()));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_missing_helper_is_named_where_it_would_have_helped() {
        let refused = || Failure::Refused("exit status: 32: protocol not supported".to_owned());
        assert_eq!(refused().told(true), "exit status: 32: protocol not supported");
        assert_eq!(refused().told(false), format!("{NO_HELPER}exit status: 32: protocol not supported"));
        assert_eq!(Failure::Silent("no answer".to_owned()).told(false), "no answer");
    }

    #[test]
    fn what_is_held_while_it_gives_back_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("given back");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1; touch \"$0\""]).arg(&file);
        let begun = Instant::now();
        assert!(!leave(command, Duration::from_millis(100)).unwrap());
        while !file.exists() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it was ended");
            std::thread::sleep(LOOK);
        }
        assert!(leave(Command::new("true"), LIMIT).unwrap());
        assert!(leave(Command::new("false"), LIMIT).is_err());
    }

    #[test]
    fn whoever_is_not_wanted_any_more_is_ended_with_his_helpers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $! > \"$0.new\"; mv \"$0.new\" \"$0\"; wait"]).arg(&file);
        let given_up = AtomicBool::new(false);
        let begun = Instant::now();
        let helper = std::thread::scope(|scope| {
            let ended = scope.spawn(|| run(command, &given_up, LIMIT));
            while !file.exists() && begun.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(LOOK);
            }
            given_up.store(true, Ordering::Relaxed);
            assert!(ended.join().unwrap().is_err());
            std::fs::read_to_string(&file).unwrap().trim().to_owned()
        });
        let is_there = || {
            let state = std::fs::read_to_string(format!("/proc/{helper}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        while is_there() {
            assert!(begun.elapsed() < Duration::from_secs(20), "its helper still runs");
            std::thread::sleep(LOOK);
        }
    }
}
