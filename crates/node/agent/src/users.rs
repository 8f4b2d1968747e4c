//! Which of the node's users stand for those of pods that have users of their own: a range for each pod, nobody else's for as long as
//! something of the pod is here. Kept in the pod's folder and nowhere else, so that the next agent knows it and it goes with the pod.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kedge_runtime::wire::{IdMapping, NamespaceMode, RuntimeHandler, UserNamespace};
use parking_lot::Mutex;

use crate::folders::Folders;

const FILE: &str = "users";
/// As many as programs expect. The first range is the node's own.
const LENGTH: u32 = 1 << 16;
const RANGES: u32 = u32::MAX / LENGTH;
/// Whoever is neither the owner nor of the group: may go through a folder, and may do anything at all.
const PASS: u32 = 0o001;
const OTHERS: u32 = 0o007;

#[derive(Debug, thiserror::Error)]
pub(crate) enum UsersError {
    #[error("can't set `spec.hostUsers: false`, runtime does not support user namespaces")]
    Runtime,
    #[error("can't set `spec.hostUsers: false`, RuntimeClass handler {0:?} does not support user namespaces")]
    Handler(String),
    #[error("create user namespace: all of the node's users are taken")]
    Taken,
    #[error("create user namespace: cannot keep {}: {source}", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("create user namespace: cannot let its users pass through {}: {source}", path.display())]
    Way { path: PathBuf, source: io::Error },
    #[error("create user namespace: nobody knows any more which of the node's users are the pod's")]
    Lost,
}

/// The users of one pod: its first one is this one of the node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Users {
    first: u32,
}

impl Users {
    pub(crate) fn mapping(self) -> IdMapping {
        IdMapping { host_id: self.first, container_id: 0, length: LENGTH }
    }

    pub(crate) fn namespace(self) -> UserNamespace {
        let all = vec![self.mapping()];
        UserNamespace { mode: NamespaceMode::Pod.into(), uids: all.clone(), gids: all }
    }
}

/// Whether the runtime can do it, the way that the pod is to be run.
pub(crate) fn supported(handlers: &[RuntimeHandler], handler: &str) -> Result<(), UsersError> {
    let found = handlers.iter().find(|one| one.name == handler).and_then(|one| one.features);
    match found.is_some_and(|features| features.user_namespaces) {
        true => Ok(()),
        false if handler.is_empty() => Err(UsersError::Runtime),
        false => Err(UsersError::Handler(handler.to_owned())),
    }
}

/// A pod's root is nobody on the node, and has to get to the pod's files all the same: it may pass through these folders, though not see
/// what is in them, nor use what nobody else could get to before. A folder that isn't there is another runtime's concern.
pub(crate) fn let_pass(folders: &[PathBuf]) -> Result<(), UsersError> {
    for (depth, path) in folders.iter().enumerate() {
        let failed = |source| UsersError::Way { path: path.clone(), source };
        let mode = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found.map_err(failed)?.permissions().mode(),
        };
        // The folders further down are the runtime's own, which knows who has to get through them.
        close(path, folders, depth == 0).map_err(failed)?;
        if mode & PASS == 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode | PASS)).map_err(failed)?;
        }
    }
    Ok(())
}

/// Shuts others out of what is in a folder: files, and other folders if they are meant, too.
fn close(folder: &Path, way: &[PathBuf], with_folders: bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if !(kind.is_file() || kind.is_dir() && with_folders) || way.contains(&entry.path()) {
            continue;
        }
        let shut = || {
            let mode = entry.metadata()?.permissions().mode();
            if mode & OTHERS == 0 {
                return Ok(());
            }
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode & !OTHERS))
        };
        match shut() {
            // What is written anew has another name for a moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
    }
    Ok(())
}

/// Gives out ranges.
#[derive(Default)]
pub(crate) struct Ranges {
    /// Held by whoever looks for a free one.
    hand: Mutex<()>,
}

impl Ranges {
    /// The range that a pod has, or a free one that is its own from now on.
    pub(crate) fn give(&self, folders: &Folders, uid: &str) -> Result<Users, UsersError> {
        let _hand = self.hand.lock();
        if let Some(users) = of(folders, uid) {
            return Ok(users);
        }
        let taken: BTreeSet<u32> =
            folders.uids().iter().filter_map(|uid| of(folders, uid)).map(|users| users.first).collect();
        let free = (1..RANGES).map(|number| number * LENGTH).find(|first| !taken.contains(first));
        let first = free.ok_or(UsersError::Taken)?;
        let path = folders.pod(uid).join(FILE);
        keep(&path, first).map_err(|source| UsersError::Record { path, source })?;
        Ok(Users { first })
    }
}

/// Whole or not at all: half a number would be others' users.
fn keep(path: &Path, first: u32) -> io::Result<()> {
    let new = path.with_extension("new");
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    fs::write(&new, first.to_string())?;
    fs::rename(&new, path)
}

/// The range that a pod has.
pub(crate) fn of(folders: &Folders, uid: &str) -> Option<Users> {
    let first: u32 = fs::read_to_string(folders.pod(uid).join(FILE)).ok()?.parse().ok()?;
    (first >= LENGTH && first.is_multiple_of(LENGTH)).then_some(Users { first })
}

#[cfg(test)]
mod tests {
    use kedge_runtime::wire::RuntimeHandlerFeatures;

    use super::*;

    #[test]
    fn each_pod_has_users_of_its_own_for_as_long_as_it_is_here() {
        let data = tempfile::tempdir().unwrap();
        let folders = Folders::below(data.path());
        let ranges = Ranges::default();
        let first = |uid: &str| ranges.give(&folders, uid).unwrap().mapping().host_id;
        assert_eq!((first("a"), first("b"), first("a")), (65536, 131_072, 65536));
        assert_eq!(of(&folders, "c"), None);
        let again = Ranges::default().give(&folders, "b").unwrap();
        assert_eq!(again.mapping(), IdMapping { host_id: 131_072, container_id: 0, length: 65536 });
        folders.remove("a");
        assert_eq!(first("c"), 65536, "what nobody has any more is given again");
        // Root of the node is nobody's.
        fs::write(folders.pod("b").join(FILE), "0").unwrap();
        assert_eq!(of(&folders, "b"), None);
    }

    #[test]
    fn they_pass_through_folders_and_see_nothing_in_them() {
        let data = tempfile::tempdir().unwrap();
        let below = data.path().join("containerd");
        fs::create_dir(&below).unwrap();
        for folder in [data.path(), &below] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (logs, state) = (data.path().join("logs"), below.join("state"));
        let (names, log) = (data.path().join("dns-names"), below.join("containerd.log"));
        for (folder, bits) in [(&logs, 0o755), (&state, 0o711)] {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(bits)).unwrap();
        }
        for file in [&names, &log] {
            fs::write(file, "").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        let all = [data.path().to_owned(), below, data.path().join("absent")];
        for _ in 0..2 {
            let_pass(&all).unwrap();
            for folder in &all[..2] {
                assert_eq!(mode(folder), 0o701);
            }
        }
        assert_eq!([&logs, &names, &log].map(|path| mode(path)), [0o750, 0o640, 0o640], "nobody else's");
        assert_eq!(mode(&state), 0o711, "the runtime's own");
    }

    #[test]
    fn only_a_runtime_that_says_so_can_do_it() {
        let handler = |name: &str, user_namespaces| RuntimeHandler {
            name: name.to_owned(),
            features: Some(RuntimeHandlerFeatures { user_namespaces, ..RuntimeHandlerFeatures::default() }),
        };
        let both = [handler("", true), handler("small", false)];
        for (case, handlers, wanted, told) in [
            ("an older one says nothing", &[][..], "", "runtime does not support user namespaces"),
            ("it can", &both, "", ""),
            (
                "the other way of running pods cannot",
                &both,
                "small",
                "RuntimeClass handler \"small\" does not support user namespaces",
            ),
        ] {
            let found = supported(handlers, wanted).err().map(|error| error.to_string()).unwrap_or_default();
            let whole = if told.is_empty() {
                String::new()
            } else {
                format!("can't set `spec.hostUsers: false`, {told}")
            };
            assert_eq!(found, whole, "{case}");
        }
    }
}
