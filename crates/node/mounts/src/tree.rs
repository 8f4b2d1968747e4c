//! A set of files that changes all at once. They lie in a folder of their own to which a link points; a new set gets a new
//! folder, and turning the link is the change. Whoever reads sees the one set or the other, never a mixture.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown, symlink};
use std::path::{Component, Path};

use crate::group::{self, mode_for_group};
use crate::mounts::{MountError, new_folder};
use crate::volume::{Content, Files, Group};

/// Both names are Kubernetes' own; programs look for the link to notice changes.
const LINK: &str = "..data";
const NEXT_LINK: &str = "..data_tmp";

pub(crate) fn write(volume: &Path, wanted: &Files, group: Option<u32>) -> Result<(), MountError> {
    let files = &wanted.files;
    for path in files.iter().map(|file| &file.path).chain(&wanted.folders) {
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || !inside || path.starts_with("..") {
            return Err(MountError::Outside { path: path.clone() });
        }
    }
    let link = volume.join(LINK);
    let current = fs::read_link(&link).ok();
    if current.as_ref().is_some_and(|current| is_same(&volume.join(current), files, group)) {
        return complete(volume, wanted);
    }
    let name = (1_u64..).map(|number| format!("..{number:08}")).find(|name| !volume.join(name).exists());
    let name = name.unwrap_or_default();
    let folder = volume.join(&name);
    new_folder(&folder, 0o755)?;
    files.iter().try_for_each(|file| write_file(&folder, file))?;
    if let Some(id) = group {
        group::give(volume, Group { id, trust_root: false }, true)?;
    }
    let next = volume.join(NEXT_LINK);
    remove(&next)?;
    symlink(&name, &next).map_err(MountError::io("make", &next))?;
    fs::rename(&next, &link).map_err(MountError::io("turn", &link))?;
    complete(volume, wanted)?;
    clear(volume, &name)
}

fn write_file(folder: &Path, file: &Content) -> Result<(), MountError> {
    let path = folder.join(&file.path);
    if let Some(above) = path.parent() {
        fs::create_dir_all(above).map_err(MountError::io("make", above))?;
    }
    // A path that is wanted twice has what was wanted last.
    let opened = fs::File::options().create(true).truncate(true).write(true).mode(0o600).open(&path);
    let mut opened = opened.map_err(MountError::io("make", &path))?;
    opened.write_all(&file.bytes).map_err(MountError::io("write", &path))?;
    if file.owner.is_some() {
        fchown(&opened, file.owner, None).map_err(MountError::io("give away", &path))?;
    }
    // After the content, and whatever the process' own mask is.
    let permissions = fs::Permissions::from_mode(file.mode);
    opened.set_permissions(permissions).map_err(MountError::io("open up", &path))
}

/// What is seen at the top of the volume.
fn complete(volume: &Path, wanted: &Files) -> Result<(), MountError> {
    link_tops(volume, &wanted.files)?;
    for folder in &wanted.folders {
        let folder = volume.join(folder);
        fs::create_dir_all(&folder).map_err(MountError::io("make", &folder))?;
    }
    Ok(())
}

/// One link for each first name, through the link that turns. Anything else is not ours.
fn link_tops(volume: &Path, files: &[Content]) -> Result<(), MountError> {
    let tops: BTreeSet<&str> = files.iter().filter_map(|file| file.path.split('/').next()).collect();
    for top in &tops {
        let at = volume.join(top);
        let target = Path::new(LINK).join(top);
        if fs::read_link(&at).ok().as_deref() != Some(&*target) {
            remove(&at)?;
            symlink(&target, &at).map_err(MountError::io("make", &at))?;
        }
    }
    for entry in entries(volume)? {
        let at = volume.join(&entry);
        let is_ours = fs::read_link(&at).is_ok_and(|target| target == Path::new(LINK).join(&entry));
        if is_ours && !tops.contains(&*entry) {
            remove(&at)?;
        }
    }
    Ok(())
}

/// Older sets, and what a crash left.
fn clear(volume: &Path, current: &str) -> Result<(), MountError> {
    for entry in entries(volume)? {
        if entry.starts_with("..") && entry != LINK && entry != current {
            remove(&volume.join(&entry))?;
        }
    }
    Ok(())
}

fn is_same(folder: &Path, files: &[Content], group: Option<u32>) -> bool {
    let same = |file: &Content| {
        let path = folder.join(&file.path);
        let wanted = group.map_or(file.mode, |_| mode_for_group(file.mode, false, true));
        let mode = fs::metadata(&path).map(|found| found.permissions().mode() & 0o7777);
        mode.is_ok_and(|mode| mode == wanted) && fs::read(&path).is_ok_and(|bytes| bytes == file.bytes)
    };
    count(folder) == files.len() && files.iter().all(same)
}

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

fn entries(folder: &Path) -> Result<Vec<String>, MountError> {
    let read = fs::read_dir(folder).map_err(MountError::io("read", folder))?;
    let names = read.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect::<io::Result<_>>().map_err(MountError::io("read", folder))
}

fn remove(path: &Path) -> Result<(), MountError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(MountError::io("look at", path)(error)),
    };
    let removed = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(MountError::io("remove", path))
}
