//! The end of a test's node: nothing of it is left on the machine, also when the test fails.

use std::path::Path;
use std::time::{Duration, Instant};

use kedge_agent::{Networking, clean};
use kube::api::{DeleteParams, ListParams};

use super::{PATIENCE, Scene};

impl Scene {
    /// Deletes all pods, and waits until the API has none.
    pub(crate) async fn delete_all(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = self.pods().list(&ListParams::default()).await.unwrap();
            if left.items.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "pods are left: {:?}", left.items);
            for pod in left {
                let name = pod.metadata.name.as_deref().unwrap();
                let _it_may_be_gone = self.pods().delete(name, &DeleteParams::default()).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends what outlives the agent, so that nothing is left on the machine.
    pub(crate) async fn end(mut self) {
        let pods = self.folder.path().join("pods");
        let runtime = self.runtime();
        let end = Instant::now() + PATIENCE;
        loop {
            let sandboxes = runtime.sandboxes(Default::default()).await.unwrap();
            let folders: Vec<_> =
                std::fs::read_dir(&pods).unwrap().map(|entry| entry.unwrap().path()).collect();
            if sandboxes.is_empty() && folders.is_empty() {
                break;
            }
            assert!(Instant::now() < end, "something is left: {sandboxes:?} {folders:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.kill_agent().await;
        let folder = self.folder.path();
        clean(folder, &Networking::below(folder)).await.unwrap();
        assert!(!mounted_below(folder), "something is left mounted");
    }
}

/// A test that fails leaves no process and no mount behind either.
impl Drop for Scene {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let ours = processes_of(self.folder.path());
        let folder = self.folder.path().to_string_lossy().into_owned();
        let theirs: Vec<i32> = processes().filter(|pid| ours.contains(&parent(*pid))).collect();
        for pid in ours.into_iter().chain(theirs) {
            if pid != i32::try_from(std::process::id()).unwrap_or_default() {
                let pid = rustix::process::Pid::from_raw(pid);
                let _ended = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
            }
        }
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let places = table.lines().rev().filter_map(|line| line.split(' ').nth(4));
        for place in places.filter(|place| place.starts_with(&folder)) {
            let _unmounted = rustix::mount::unmount(place, rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// containerd and its shims are told where their socket is; what they run is below them.
pub(crate) fn processes_of(folder: &Path) -> Vec<i32> {
    processes().filter(|pid| told(*pid).contains(&*folder.to_string_lossy())).collect()
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
}

/// The words that a process was started with.
fn told(pid: i32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).into_owned()
}

fn parent(pid: i32) -> i32 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind = line.rsplit_once(')').map(|(_, behind)| behind.to_owned()).unwrap_or_default();
    behind.split_whitespace().nth(1).and_then(|pid| pid.parse().ok()).unwrap_or_default()
}

pub(crate) fn mounted_below(folder: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.contains(&*folder.to_string_lossy())
}
