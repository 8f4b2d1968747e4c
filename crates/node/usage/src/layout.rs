//! Where this machine shows its cgroups: one tree (version 2), one tree for each controller (version 1), or both. Where both
//! are, the runtime puts containers into those of version 1.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::UsageError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// By controller; a tree without one is listed as `name=…`.
    trees: BTreeMap<String, PathBuf>,
    unified: Option<PathBuf>,
}

impl Layout {
    /// Of this machine.
    pub fn here() -> Result<Self, UsageError> {
        let table = Path::new("/proc/self/mountinfo");
        Ok(Self::of(&fs::read_to_string(table).map_err(UsageError::io("read", table))?))
    }

    /// As a table of mounts tells it.
    pub fn of(mountinfo: &str) -> Self {
        let mut layout = Self::default();
        for line in mountinfo.lines() {
            let Some((place, kind)) = line.split_once(" - ") else { continue };
            let Some(point) = place.split(' ').nth(4).map(PathBuf::from) else { continue };
            let mut kind = kind.split(' ');
            match kind.next() {
                Some("cgroup2") => shortest(&mut layout.unified, point),
                Some("cgroup") => {
                    for option in kind.nth(1).unwrap_or_default().split(',').filter(|option| is_tree(option))
                    {
                        let mut known = layout.trees.remove(option);
                        shortest(&mut known, point.clone());
                        layout.trees.extend(known.map(|known| (option.to_owned(), known)));
                    }
                }
                _ => {}
            }
        }
        layout
    }

    pub fn version(&self) -> Version {
        let controls = |name: &str| self.trees.contains_key(name);
        if controls("memory") || controls("cpu") { Version::V1 } else { Version::V2 }
    }

    /// The top of the tree in which a controller acts, if this machine has it.
    pub(crate) fn home(&self, controller: &str) -> Option<&Path> {
        match self.version() {
            Version::V1 => self.trees.get(controller),
            Version::V2 => self.unified.as_ref(),
        }
        .map(PathBuf::as_path)
    }

    /// The tops of all trees, each once.
    pub(crate) fn homes(&self) -> Vec<&Path> {
        let mut homes: Vec<&Path> = self.trees.values().chain(&self.unified).map(PathBuf::as_path).collect();
        homes.sort_unstable();
        homes.dedup();
        homes
    }
}

/// The same tree may be mounted at several places; the one that everybody uses has the shortest name.
fn shortest(known: &mut Option<PathBuf>, point: PathBuf) {
    if known.as_ref().is_none_or(|known| point.as_os_str().len() < known.as_os_str().len()) {
        *known = Some(point);
    }
}

fn is_tree(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    name == "name"
        || !option.contains('=')
            && !matches!(option, "" | "rw" | "ro" | "none" | "xattr" | "noprefix" | "clone_children" | "all")
}

#[cfg(test)]
mod tests;
