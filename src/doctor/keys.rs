//! Whether what is secret in a data folder is read by its owner alone. Looks at modes, never at what is in the files.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::finding::{Finding, fine, wrong};

/// Whoever has one of these can be somebody else in the cluster.
const SECRET: [&str; 4] = ["secrets.keys", "node-token", "kubeconfig", "kedge.sock"];
const KEYS: &str = "pki";

/// How many secret files there are, and which of them others can read.
pub(crate) struct Seen {
    number: usize,
    open: Vec<PathBuf>,
}

pub(crate) fn open_to_others(data: &Path) -> Seen {
    let mut files: Vec<PathBuf> = SECRET.iter().map(|name| data.join(name)).collect();
    let mut folders = vec![data.join(KEYS)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ if entry.path().extension().is_some_and(|ending| ending == "key") => {
                    files.push(entry.path())
                }
                _ => {}
            }
        }
    }
    let modes = files.into_iter().filter_map(|path| Some((fs::metadata(&path).ok()?.mode(), path)));
    let (mut number, mut open) = (0, Vec::new());
    for (mode, path) in modes {
        number += 1;
        if mode & 0o077 != 0 {
            open.push(path);
        }
    }
    Seen { number, open }
}

pub(crate) fn judge(seen: &Seen) -> Vec<Finding> {
    if seen.number == 0 {
        return Vec::new();
    }
    if seen.open.is_empty() {
        return vec![fine("keys and tokens are read by their owner alone")];
    }
    let said = |path: &PathBuf| {
        let shown = path.display();
        wrong(
            format!("{shown} is open to others"),
            "whoever reads it can be somebody else in the cluster",
            format!("`chmod go= {shown}`, and think of who may have read it"),
        )
    };
    seen.open.iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_that_others_read_is_named() {
        let data = tempfile::tempdir().unwrap();
        assert!(judge(&open_to_others(data.path())).is_empty(), "nothing there, nothing to say");
        fs::create_dir_all(data.path().join("pki/front-proxy")).unwrap();
        for (name, mode) in [("pki/ca.crt", 0o644), ("pki/front-proxy/ca.key", 0o600), ("kubeconfig", 0o600)]
        {
            let path = data.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let found = judge(&open_to_others(data.path()));
        assert_eq!(found, [fine("keys and tokens are read by their owner alone")]);
        let key = data.path().join("pki/front-proxy/ca.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        let found = judge(&open_to_others(data.path()));
        assert!(found.len() == 1 && found[0].what.contains("front-proxy/ca.key"), "{found:?}");
    }
}
