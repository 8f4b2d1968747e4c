//! Makes, limits, reads and removes cgroups, in all trees of the machine at once.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Once;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::UsageError;
use crate::layout::{Layout, Version};
use crate::limits::Limits;
use crate::sample::{self, Sample};

/// Those that limit something for us. The rest is the runtime's to make.
const CONTROLLERS: [&str; 5] = ["cpu", "memory", "pids", "hugetlb", "cpuset"];
/// Without these, limits of pods are not kept.
const NEEDED: [&str; 3] = ["cpu", "memory", "pids"];
/// A set of processors that lacks one of these holds no process, in version 1.
const CPUSET: [&str; 2] = ["cpuset.cpus", "cpuset.mems"];
/// What cannot be had is told once, not with each pod.
static TOLD: Once = Once::new();

#[derive(Clone, Debug)]
pub struct Groups {
    layout: Layout,
}

impl Groups {
    pub fn new(layout: Layout) -> Self {
        Self { layout }
    }

    pub fn version(&self) -> Version {
        self.layout.version()
    }

    /// Makes a cgroup with everything above it, and limits it. What is there already gets the new limits.
    pub fn make(&self, path: &str, limits: &Limits) -> Result<(), UsageError> {
        let below = relative(path)?;
        match self.version() {
            Version::V1 => {
                // A set of processors that is made empty holds no process, so that one is left to the runtime.
                for controller in CONTROLLERS.iter().filter(|controller| **controller != "cpuset") {
                    let Some(home) = self.layout.home(controller) else { continue };
                    let folder = home.join(&below);
                    fs::create_dir_all(&folder).map_err(UsageError::io("make", &folder))?;
                }
            }
            Version::V2 => {
                if let Some(home) = self.layout.home("") {
                    let mut folder = home.to_owned();
                    for part in below.components() {
                        if let Err(lacking) = delegate(&folder) {
                            TOLD.call_once(|| tracing::warn!("{lacking}"));
                        }
                        folder.push(part);
                        make_one(&folder)?;
                    }
                }
            }
        }
        self.limit(path, limits)
    }

    /// Makes a cgroup that limits nothing in every tree, whatever the tree is for, and answers where it is in each. What a tree refuses
    /// says so, and costs none of the others.
    pub fn make_everywhere(&self, path: &str) -> Vec<Result<PathBuf, UsageError>> {
        let below = match relative(path) {
            Ok(below) => below,
            Err(error) => return vec![Err(error)],
        };
        let cpuset = self.layout.home("cpuset").filter(|_| self.version() == Version::V1);
        let made = self.layout.homes().into_iter().map(|home| {
            let folder = home.join(&below);
            fs::create_dir_all(&folder).map_err(UsageError::io("make", &folder))?;
            if cpuset == Some(home) {
                share_processors(home, &folder)?;
            }
            Ok(folder)
        });
        made.collect()
    }

    /// Changes what a cgroup may use.
    pub fn limit(&self, path: &str, limits: &Limits) -> Result<(), UsageError> {
        let below = relative(path)?;
        for write in limits.writes(self.version()) {
            let Some(home) = self.layout.home(write.controller) else { continue };
            let file = home.join(&below).join(&write.file);
            match fs::write(&file, &write.value) {
                // A controller that the machine has switched off limits nothing.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(UsageError::Write { value: write.value, path: file, source }),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    pub fn exists(&self, path: &str) -> bool {
        let Ok(below) = relative(path) else { return false };
        self.layout.homes().iter().any(|home| home.join(&below).is_dir())
    }

    /// The names of the cgroups directly below one, in any tree.
    pub fn below(&self, path: &str) -> Result<BTreeSet<String>, UsageError> {
        let below = relative(path)?;
        let mut names = BTreeSet::new();
        for home in self.layout.homes() {
            names.extend(folders(&home.join(&below))?);
        }
        Ok(names)
    }

    /// Whoever is in a cgroup or below it.
    pub fn processes(&self, path: &str) -> Vec<u32> {
        let Ok(below) = relative(path) else { return Vec::new() };
        let Some(home) = self.layout.home("memory").or_else(|| self.layout.home("cpu")) else {
            return Vec::new();
        };
        let mut found = BTreeSet::new();
        collect(&home.join(below), &mut found);
        found.into_iter().collect()
    }

    /// Ends whoever is still in a cgroup, and removes it with all below it from every tree. One that isn't there is removed.
    pub fn remove(&self, path: &str) -> Result<(), UsageError> {
        let below = relative(path)?;
        for home in self.layout.homes() {
            remove_all(&home.join(&below))?;
        }
        Ok(())
    }

    /// What a cgroup uses now; nothing if it isn't there.
    pub fn sample(&self, path: &str) -> Option<Sample> {
        let below = relative(path).ok()?;
        let folder = |controller: &str| self.layout.home(controller).map(|home| home.join(&below));
        match self.version() {
            Version::V1 => sample::v1(folder),
            Version::V2 => sample::v2(&folder("")?),
        }
    }

    /// The time that a cgroup has had, in nanoseconds: the cheapest thing to ask for.
    pub fn cpu(&self, path: &str) -> Option<u64> {
        let below = relative(path).ok()?;
        match self.version() {
            Version::V1 => sample::number(&self.layout.home("cpuacct")?.join(below), "cpuacct.usage"),
            Version::V2 => Some(sample::v2_cpu(&self.layout.home("")?.join(below))?.total),
        }
    }

    /// Whether those below a cgroup can be kept from swapping.
    pub fn limits_swap(&self, path: &str) -> bool {
        match self.version() {
            Version::V1 => self
                .layout
                .home("memory")
                .is_some_and(|home| home.join("memory.memsw.limit_in_bytes").exists()),
            // The top has no such file; whoever is below it has.
            Version::V2 => {
                let below = relative(path).ok();
                let folder = self.layout.home("").zip(below).map(|(home, below)| home.join(below));
                folder.is_some_and(|folder| folder.join("memory.swap.max").exists())
            }
        }
    }

    /// The sizes of huge pages that the kernel counts, as it writes them: `2MB`.
    pub fn huge_page_sizes() -> Vec<String> {
        let entries = fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
        let sizes = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let kibibytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            Some(page_size(kibibytes * 1024))
        });
        let mut sizes: Vec<String> = sizes.collect();
        sizes.sort();
        sizes
    }
}

/// As the kernel writes it.
fn page_size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("GB", 30), ("MB", 20), ("KB", 10), ("B", 0)];
    let (unit, shift) = UNITS.into_iter().find(|(_, shift)| bytes >> shift > 0).unwrap_or(("B", 0));
    format!("{}{unit}", bytes >> shift)
}

/// A path below the top that stays below it.
fn relative(path: &str) -> Result<PathBuf, UsageError> {
    let trimmed = Path::new(path.trim_start_matches('/'));
    if trimmed.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(trimmed.to_owned());
    }
    Err(UsageError::Path { path: path.to_owned() })
}

fn make_one(folder: &Path) -> Result<(), UsageError> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(UsageError::io("make", folder)(error)),
        _ => Ok(()),
    }
}

/// Lets a set of processors have all that another has, unless it has some already.
fn share_processors(from: &Path, to: &Path) -> Result<(), UsageError> {
    for name in CPUSET {
        let (source, target) = (from.join(name), to.join(name));
        let held = fs::read_to_string(&target).map_err(UsageError::io("read", &target))?;
        if held.trim().is_empty() {
            let value = fs::read_to_string(&source).map_err(UsageError::io("read", &source))?;
            let value = value.trim().to_owned();
            let written = fs::write(&target, &value);
            written.map_err(|source| UsageError::Write { value, path: target, source })?;
        }
    }
    Ok(())
}

/// Controllers that the folders below one cannot have, and why.
#[derive(Debug, thiserror::Error)]
#[error(
    "limits of pods for {} are not kept: the cgroup {} does not give them on ({cause}); have whoever set up this machine or \
     container enable them there in cgroup.subtree_control, and keep processes out of that cgroup unless it is the top of all; \
     `kedge doctor` says more",
    controllers.join(", "), folder.display()
)]
struct Lacking {
    folder: PathBuf,
    controllers: Vec<&'static str>,
    cause: String,
}

/// Lets the folders below have the controllers that this one has. One by one: what cannot be had must not cost the rest.
fn delegate(folder: &Path) -> Result<(), Lacking> {
    let has = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
    let file = folder.join("cgroup.subtree_control");
    let holds = |text: &str, name: &str| text.split_whitespace().any(|one| one == name);
    let given = fs::read_to_string(&file).unwrap_or_default();
    let wanted = CONTROLLERS.into_iter().filter(|name| holds(&has, name) && !holds(&given, name));
    let mut cause = None;
    for controller in wanted {
        if let Err(error) = fs::write(&file, format!("+{controller}")) {
            cause = Some(error.to_string());
        }
    }
    let given = fs::read_to_string(&file).unwrap_or_default();
    let is_due = |name: &&str| holds(&has, name) || NEEDED.contains(name);
    let controllers: Vec<_> =
        CONTROLLERS.into_iter().filter(is_due).filter(|name| !holds(&given, name)).collect();
    if controllers.is_empty() {
        return Ok(());
    }
    let cause = cause.unwrap_or_else(|| "it has none itself".to_owned());
    Err(Lacking { folder: folder.to_owned(), controllers, cause })
}

fn folders(folder: &Path) -> Result<Vec<String>, UsageError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(UsageError::io("list", folder))?,
    };
    let entries = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn pids(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn collect(folder: &Path, found: &mut BTreeSet<u32>) {
    found.extend(pids(folder));
    for name in folders(folder).unwrap_or_default() {
        collect(&folder.join(name), found);
    }
}

fn remove_all(folder: &Path) -> Result<(), UsageError> {
    for name in folders(folder)? {
        remove_all(&folder.join(name))?;
    }
    // A process that was told to end is gone a moment later.
    const TRIES: u32 = 50;
    for _ in 1..TRIES {
        match fs::remove_dir(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if is_busy(&error) => {
                for pid in pids(folder) {
                    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                        let _sent = kill_process(pid, Signal::KILL);
                    }
                }
                std::thread::sleep(std::time::Duration::from_millis(4));
            }
            Err(error) => return Err(UsageError::io("remove", folder)(error)),
        }
    }
    fs::remove_dir(folder).map_err(UsageError::io("remove", folder))
}

fn is_busy(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ResourceBusy)
}

#[cfg(test)]
mod tests;
