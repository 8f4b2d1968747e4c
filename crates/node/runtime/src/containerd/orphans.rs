//! Shims that nobody knows: a containerd that is killed while it starts one leaves it behind, and the next one does not look. And containerds
//! that nobody wrote down, as whoever started them was killed.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use super::process::started;
use crate::client::Runtime;
use crate::error::RuntimeError;

/// A process as the kernel's table has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    pid: u32,
    parent: u32,
    /// In the kernel's own count.
    since: u64,
    words: Vec<String>,
}

/// What a killed containerd was about to start may come up a moment later, in hundredths of a second.
pub(super) const LATE: u64 = 200;

/// Ends shims of the containerd at this socket that were there before it, or so much later, and that it knows no sandbox of.
pub(super) async fn end(
    runtime: &Runtime,
    socket: &Path,
    containerd: u32,
    late: u64,
) -> Result<(), RuntimeError> {
    let known = runtime.sandboxes(Default::default()).await?;
    let known: HashSet<String> = known.into_iter().map(|sandbox| sandbox.id).collect();
    let Some(since) = started(containerd).and_then(|since| since.parse::<u64>().ok()) else { return Ok(()) };
    let all = seen();
    for (pid, id) in orphans(&all, &socket.to_string_lossy(), since.saturating_add(late), &known) {
        tracing::warn!(pid, id, "ending a shim that its containerd does not know");
        // Its processes first: without it they would be nobody's.
        let below = all.iter().filter(|one| one.parent == pid).map(|one| one.pid);
        for pid in below.chain([pid]) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _it_may_be_gone = kill_process(pid, Signal::KILL);
            }
        }
    }
    Ok(())
}

/// The containerds that were told this config, the oldest first.
pub(super) fn twins(config: &Path) -> Vec<u32> {
    twins_among(seen(), &config.to_string_lossy())
}

/// Ends all but one.
pub(super) fn end_twins(config: &Path, own: u32) {
    for pid in twins(config).into_iter().filter(|pid| *pid != own) {
        tracing::warn!(pid, "ending a containerd that nobody wrote down");
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _it_may_be_gone = kill_process(pid, Signal::KILL);
        }
    }
}

fn twins_among(mut all: Vec<Seen>, config: &str) -> Vec<u32> {
    all.sort_by_key(|one| one.since);
    all.retain(|one| {
        one.words.get(1).is_some_and(|word| word == "--config")
            && one.words.get(2..) == Some(&[config.to_owned()])
    });
    all.into_iter().map(|one| one.pid).collect()
}

/// What this containerd starts itself is younger than it, so that nothing that is just being made is taken for lost.
fn orphans(all: &[Seen], socket: &str, since: u64, known: &HashSet<String>) -> Vec<(u32, String)> {
    let shims = all.iter().filter(|one| {
        one.since < since && one.words.first().is_some_and(|program| program.contains("containerd-shim"))
    });
    let mine = shims.filter(|one| option(one, "-address") == Some(socket));
    let lost = mine.filter_map(|one| Some((one.pid, option(one, "-id")?.to_owned())));
    lost.filter(|(_, id)| !known.contains(id)).collect()
}

fn option<'a>(one: &'a Seen, name: &str) -> Option<&'a str> {
    let at = one.words.iter().position(|word| word == name)?;
    one.words.get(at + 1).map(String::as_str)
}

fn seen() -> Vec<Seen> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        Some(Seen { pid, parent, since: fields.nth(17)?.parse().ok()?, words })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_knows_is_lost() {
        let shim = |pid, since, id: &str, socket: &str| {
            let words =
                ["/usr/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", id, "-address", socket];
            Seen { pid, parent: 1, since, words: words.map(str::to_owned).into() }
        };
        let all = [
            shim(1, 5, "known", "/our.sock"),
            shim(2, 5, "lost", "/our.sock"),
            shim(3, 15, "being made", "/our.sock"),
            shim(4, 5, "another's", "/other.sock"),
            Seen { pid: 5, parent: 2, since: 5, words: vec!["sleep".to_owned()] },
        ];
        let known = HashSet::from(["known".to_owned()]);
        assert_eq!(orphans(&all, "/our.sock", 10, &known), [(2, "lost".to_owned())]);
    }

    #[test]
    fn containerds_are_known_by_what_they_were_told() {
        let one = |pid, since, words: &str| Seen {
            pid,
            parent: 1,
            since,
            words: words.split(' ').map(str::to_owned).collect(),
        };
        let all = vec![
            one(1, 9, "containerd --config /our/config.toml"),
            one(2, 5, "/usr/bin/containerd --config /our/config.toml"),
            one(3, 5, "containerd --config /other/config.toml"),
            one(4, 5, "vi /our/config.toml"),
            one(5, 5, "containerd --config /our/config.toml config dump"),
        ];
        assert_eq!(twins_among(all, "/our/config.toml"), [2, 1]);
    }

    #[test]
    fn this_process_is_seen() {
        let own = seen().into_iter().find(|one| one.pid == std::process::id()).unwrap();
        assert_eq!(Some(own.since.to_string()), started(own.pid));
        assert_eq!(own.parent, std::os::unix::process::parent_id());
    }
}
