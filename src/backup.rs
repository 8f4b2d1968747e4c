//! All that makes a cluster this cluster in one file: its objects, and the keys by which its clients and nodes know it. An archive that
//! `tar` can list; what is on nodes' disks (images, volumes) is not in it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kedge_seal::SealError;
use kedge_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::agent::{self, CleanupError};
use crate::secrets;

/// What is in the data folder and belongs to the cluster, not to the machine.
const KEPT: [&str; 3] = ["pki", "secrets.keys", "node-token"];
const ABOUT: &str = "kedge-backup.json";
const OBJECTS: &str = "objects";
const STORE: &str = "store";
/// Where a restore is made ready before anything is put in place.
const PARTIAL: &str = "restore.partial";
/// What is being written lies beside the file under these endings.
const OBJECTS_PARTIAL: &str = "objects.partial";
const PACKED_PARTIAL: &str = "partial";
const FORMAT: u32 = 1;

/// What of it is wanted. Whoever keeps objects and keys apart has to lose both to lose anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Part {
    All,
    Keys,
    Objects,
}

impl Part {
    pub(crate) fn of(keys_only: bool, without_keys: bool) -> Self {
        match (keys_only, without_keys) {
            (true, _) => Part::Keys,
            (false, true) => Part::Objects,
            (false, false) => Part::All,
        }
    }
}

/// What a backup says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Made {
    format: u32,
    /// Of the program that made it.
    version: String,
    pub(crate) made: String,
    pub(crate) part: Part,
    pub(crate) revision: u64,
    pub(crate) objects: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("there is no server's data in {}", data.display())]
    NoData { data: PathBuf },
    #[error(
        "there is no store in {}: a server that keeps its objects in etcd is backed up while it runs, or with `etcdctl snapshot save` and `kedge backup --keys-only`",
        data.display()
    )]
    NoStore { data: PathBuf },
    #[error("{} is no backup of Kedge: {why}", path.display())]
    NoBackup { path: PathBuf, why: String },
    #[error("{} holds keys alone, no objects: restore it with --keys-only", path.display())]
    KeysOnly { path: PathBuf },
    #[error("{} holds objects alone, no keys", path.display())]
    NoKeys { path: PathBuf },
    #[error(
        "{} has a server's data already ({found}): restore into another folder, or put it aside with --force", data.display()
    )]
    NotEmpty { data: PathBuf, found: &'static str },
    #[error("the store does not work")]
    Store(#[from] StoreError),
    #[error("Secrets cannot be read")]
    Seal(#[from] SealError),
    #[error(transparent)]
    InUse(#[from] CleanupError),
    #[error("it did not live to be done")]
    Died(#[from] tokio::task::JoinError),
}

/// Writes it; without a store there are the keys alone. The file appears once it is whole, and only its owner reads it.
pub(crate) async fn write(
    store: Option<&Store>,
    data: &Path,
    file: &Path,
    part: Part,
) -> Result<Made, BackupError> {
    let objects = beside(file, OBJECTS_PARTIAL);
    let mut made = Made {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made: kedge_clock::Clock::system().now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        part,
        revision: 0,
        objects: 0,
    };
    if let Some(store) = store.filter(|_| part != Part::Keys) {
        let copied = store.backup(&objects).await?;
        (made.revision, made.objects) = (copied.revision.get(), copied.objects);
    }
    let (data, file, about) = (data.to_owned(), file.to_owned(), made.clone());
    let packed = tokio::task::spawn_blocking(move || {
        let packed = pack(&about, &objects, &data, &file);
        // Not there if there was nothing to copy.
        let _removed = fs::remove_file(&objects);
        packed
    });
    packed.await??;
    Ok(made)
}

/// The same for a server that is not running.
pub(crate) async fn write_stopped(data: &Path, file: &Path, part: Part) -> Result<Made, BackupError> {
    if !data.join("pki").is_dir() {
        return Err(BackupError::NoData { data: data.to_owned() });
    }
    if part == Part::Keys {
        return write(None, data, file, part).await;
    }
    let folder = data.join(STORE);
    if !folder.is_dir() {
        return Err(BackupError::NoStore { data: data.to_owned() });
    }
    let seal = secrets::seal(data, false)?;
    let options = kedge_store::Options { seal, ..kedge_store::Options::default() };
    let store = Store::open(&folder, options).await?;
    let made = write(Some(&store), data, file, part).await;
    store.close().await;
    made
}

/// How much of it is on the disk while it is being written, objects before they are packed included.
pub(crate) fn so_far(file: &Path) -> u64 {
    let unfinished = [&format!("{OBJECTS_PARTIAL}.tmp"), OBJECTS_PARTIAL, PACKED_PARTIAL];
    let sizes = unfinished.map(|ending| fs::metadata(beside(file, ending)));
    sizes.into_iter().flatten().map(|about| about.len()).sum()
}

/// How much of a restore is ready to be put in place.
pub(crate) fn restored_so_far(data: &Path) -> u64 {
    crate::status::disk::below(&data.join(PARTIAL)).values().sum()
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    file.with_file_name(name)
}

fn pack(about: &Made, objects: &Path, data: &Path, file: &Path) -> Result<(), BackupError> {
    let partial = beside(file, PACKED_PARTIAL);
    let written = archive(about, objects, data, &partial).and_then(|()| {
        fs::rename(&partial, file)?;
        // A bare name has no folder but the one that we are in.
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    });
    if written.is_err() {
        let _removed = fs::remove_file(&partial);
    }
    written.map_err(|source| BackupError::Write { path: file.to_owned(), source })
}

fn archive(about: &Made, objects: &Path, data: &Path, to: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    let text = serde_json::to_vec_pretty(about)?;
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o600);
    archive.append_data(&mut header, ABOUT, &*text)?;
    if about.part != Part::Keys {
        archive.append_path_with_name(objects, OBJECTS)?;
    }
    for name in KEPT.into_iter().filter(|_| about.part != Part::Objects) {
        let path = data.join(name);
        if path.is_dir() {
            archive.append_dir_all(name, &path)?;
        } else if path.is_file() {
            archive.append_path_with_name(&path, name)?;
        }
    }
    let mut file = archive.into_inner()?.finish()?;
    file.flush()?;
    file.sync_all()
}

/// Puts a backup into a data folder: all of it, or the keys alone. What the folder has of it is put aside first if it may be.
pub(crate) async fn restore(
    file: &Path,
    data: &Path,
    keys_only: bool,
    force: bool,
) -> Result<Made, BackupError> {
    let data = agent::absolute(data);
    let failed = |source| BackupError::Write { path: data.clone(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(&data).map_err(failed)?;
    if crate::hatch::running(&data).await.is_ok() {
        return Err(CleanupError::InUse { data }.into());
    }
    let _held = agent::unused(&data)?;
    let partial = data.join(PARTIAL);
    let done = unpacked(file, &partial, &data, keys_only).and_then(|made| {
        let both = |name: &&str| partial.join(name).exists() && data.join(name).exists();
        let there: Vec<&'static str> = KEPT.into_iter().chain([STORE]).filter(both).collect();
        if let Some(found) = there.first().filter(|_| !force) {
            return Err(BackupError::NotEmpty { data: data.clone(), found });
        }
        put_aside(&data, &there).and_then(|()| put_in_place(&partial, &data)).map_err(failed)?;
        Ok(made)
    });
    // Whatever came of it, half a restore is of no use to anybody.
    let _removed = fs::remove_dir_all(&partial);
    done
}

/// Reads all of it into a folder, and makes a store there that can be opened.
fn unpacked(file: &Path, into: &Path, data: &Path, keys_only: bool) -> Result<Made, BackupError> {
    let no_backup = |why: String| BackupError::NoBackup { path: file.to_owned(), why };
    let _former = fs::remove_dir_all(into);
    let opened = File::open(file).map_err(|source| BackupError::Read { path: file.to_owned(), source })?;
    unpack(opened, into).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::PermissionDenied => BackupError::Write { path: into.to_owned(), source: error },
        _ => no_backup(error.to_string()),
    })?;
    let about = fs::read(into.join(ABOUT)).map_err(|_| no_backup(format!("there is no {ABOUT} in it")))?;
    let made: Made = serde_json::from_slice(&about).map_err(|error| no_backup(error.to_string()))?;
    if made.format != FORMAT {
        let why = format!(
            "its format is {}, and this program knows {FORMAT}: use one of {}",
            made.format, made.version
        );
        return Err(no_backup(why));
    }
    let objects = into.join(OBJECTS);
    match (keys_only, made.part) {
        (true, Part::Objects) => return Err(BackupError::NoKeys { path: file.to_owned() }),
        (true, _) => {}
        (false, Part::Keys) => return Err(BackupError::KeysOnly { path: file.to_owned() }),
        (false, part) => {
            // Objects alone are opened with the keys that came before them.
            let keys = if part == Part::Objects { data } else { into };
            match secrets::seal(keys, false)? {
                Some(seal) => Store::restore_sealed(&objects, &into.join(STORE), seal)?,
                None => Store::restore(&objects, &into.join(STORE))?,
            };
        }
    }
    let _unless_keys_alone = fs::remove_file(&objects);
    let _read = fs::remove_file(into.join(ABOUT));
    Ok(made)
}

fn unpack(file: File, into: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(into)?;
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some(path) = known(&path) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it holds {}", path.display())));
        };
        if entry.header().entry_type().is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(into.join(path))?;
            continue;
        }
        if !entry.header().entry_type().is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds more than files and folders"));
        }
        let place = into.join(path);
        if let Some(folder) = place.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place)?;
        io::copy(&mut entry, &mut written)?;
        written.sync_all()?;
    }
    // Only the end of the stream has its checksum.
    io::copy(&mut archive.into_inner().take(u64::MAX), &mut io::sink()).map(drop)
}

/// The path if a backup of ours has such a one: nothing leads out of the folder.
fn known(path: &Path) -> Option<PathBuf> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let first = path.components().next()?.as_os_str().to_str()?;
    let is_ours = KEPT.contains(&first) || [ABOUT, OBJECTS].contains(&first);
    (plain && is_ours).then(|| path.to_owned())
}

fn put_aside(data: &Path, names: &[&str]) -> io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let now = kedge_clock::Clock::system().now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let aside = data.join(format!("before-restore-{now}"));
    DirBuilder::new().mode(0o700).create(&aside)?;
    names.iter().try_for_each(|name| fs::rename(data.join(name), aside.join(name)))
}

fn put_in_place(partial: &Path, data: &Path) -> io::Result<()> {
    for entry in fs::read_dir(partial)? {
        let entry = entry?;
        fs::rename(entry.path(), data.join(entry.file_name()))?;
    }
    File::open(data)?.sync_all()
}

#[cfg(test)]
mod tests;
