//! Where what no disk may hold is kept over a restart of the agent: a folder in memory, which nobody else can read and which
//! goes with the machine's power. Where the machine has no such place, nothing is kept.

use std::fs;
use std::io;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kedge_images::Digest;
use rustix::fs::statfs;

/// Folders that machines have in memory.
const PLACES: [&str; 2] = ["/run", "/dev/shm"];
/// How the kernel marks what is in memory.
const TMPFS: i64 = 0x0102_1994;

/// The folder that belongs to a data folder, whether or not it is there.
pub(crate) fn place(data: &Path) -> Option<PathBuf> {
    let is_memory = |place: &&&str| statfs(**place).is_ok_and(|found| found.f_type == TMPFS);
    let root = PLACES.iter().find(is_memory)?;
    let whole = fs::canonicalize(data).ok()?;
    let digest = Digest::of(whole.as_os_str().as_encoded_bytes());
    Some(Path::new(root).join(format!("kedge-{}", digest.letters()?.get(..16)?)))
}

/// Keeps something there. What cannot be kept is not; whoever needs it later asks for it again.
pub(crate) fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !is_ours(folder) {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let (new, path) = (folder.join(format!("{name}.new")), folder.join(name));
    let mut options = fs::File::options();
    options.create(true).truncate(true).write(true).mode(0o600).open(&new)?.write_all(bytes)?;
    fs::rename(new, path)
}

pub(crate) fn get(folder: &Path, name: &str) -> Option<Vec<u8>> {
    is_ours(folder).then(|| fs::read(folder.join(name)).ok()).flatten()
}

pub(crate) fn remove(folder: &Path, name: &str) {
    if is_ours(folder) {
        // It is gone, or was never kept.
        let _removed = fs::remove_file(folder.join(name));
        // Only when it was the last.
        let _removed = fs::remove_dir(folder);
    }
}

/// Forgets everything.
pub(crate) fn clear(folder: &Path) {
    if is_ours(folder) {
        let _removed = fs::remove_dir_all(folder);
    }
}

/// The places are everybody's, so that somebody else may have been there first.
fn is_ours(folder: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && found.uid() == me && found.mode().trailing_zeros() >= 6)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_what_is_ours_alone_is_trusted() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("kept");
        put(&folder, "a", b"1").unwrap();
        put(&folder, "a", b"2").unwrap();
        assert_eq!(get(&folder, "a").as_deref(), Some(&b"2"[..]));
        assert_eq!(get(&folder, "b"), None);
        // One that others can open, and one that leads elsewhere.
        let open = root.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        let link = root.path().join("link");
        symlink(&folder, &link).unwrap();
        for wrong in [&open, &link] {
            assert!(put(wrong, "a", b"3").is_err(), "{}", wrong.display());
            assert_eq!(get(wrong, "a"), None);
        }
        remove(&folder, "a");
        assert!(!folder.exists());
        put(&folder, "a", b"1").unwrap();
        clear(&folder);
        assert!(!folder.exists());
    }

    #[test]
    fn each_data_folder_has_its_own() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // A machine without such a place keeps nothing.
        if let (Some(first), Some(second)) = (place(one.path()), place(two.path())) {
            assert_ne!(first, second);
            assert_eq!(place(one.path()), Some(first));
        }
    }
}
