//! Keeps logs short: a file that has grown too long is put aside, the runtime begins a new one, and the oldest goes.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kedge_clock::Clock;
use kedge_runtime::wire::{ContainerFilter, ContainerState};
use kedge_runtime::{Runtime, RuntimeError};

use super::segments::aside;
use crate::pods::{CONTAINER_NAME, POD_UID, attempt};

/// How logs are kept short.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    /// The size at which a file is put aside.
    pub bytes: u64,
    /// With the one that is written.
    pub files: usize,
    pub every: Duration,
}

impl Default for Rotation {
    /// As Kubernetes has it.
    fn default() -> Self {
        Self { bytes: 10 * 1024 * 1024, files: 5, every: Duration::from_secs(10) }
    }
}

/// Looks after the logs below `folder`, each at `NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log`, until it is dropped.
pub async fn keep_short(folder: PathBuf, rotation: Rotation, runtime: Runtime, clock: Clock) {
    loop {
        clock.sleep(rotation.every).await;
        let below = folder.clone();
        // Only looks at sizes: the runtime is asked about a log that is too long, and about no other.
        let found = tokio::task::spawn_blocking(move || too_long(&below, rotation.bytes)).await;
        for log in found.unwrap_or_default() {
            match put_aside(&log, rotation, &runtime, clock.now()).await {
                Ok(()) => {}
                Err(error) => tracing::warn!(%error, log = %log.display(), "cannot put a log aside"),
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum RotateError {
    #[error("the runtime does not begin a new file")]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Files(#[from] io::Error),
}

fn too_long(folder: &Path, bytes: u64) -> Vec<PathBuf> {
    let inside = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let logs = inside(folder.to_owned()).into_iter().flat_map(inside).flat_map(inside);
    let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.filter(|path| std::fs::metadata(path).is_ok_and(|meta| meta.len() > bytes)).collect()
}

async fn put_aside(
    log: &Path,
    rotation: Rotation,
    runtime: &Runtime,
    now: Timestamp,
) -> Result<(), RotateError> {
    // What no longer runs writes no more.
    let Some(id) = writer(log, runtime).await? else { return Ok(()) };
    let to = stamped(log, now);
    std::fs::rename(log, &to)?;
    if let Err(error) = runtime.reopen_log(&id).await {
        // Otherwise nobody would find what the runtime goes on writing.
        std::fs::rename(&to, log)?;
        return Err(error.into());
    }
    let kept = rotation.files.saturating_sub(1);
    let old = aside(log)?;
    for oldest in old.iter().take(old.len().saturating_sub(kept)) {
        std::fs::remove_file(oldest)?;
    }
    Ok(())
}

/// The running container that writes it.
async fn writer(log: &Path, runtime: &Runtime) -> Result<Option<String>, RuntimeError> {
    let part = |path: Option<&Path>| Some(path?.file_name()?.to_str()?.to_owned());
    let named = || {
        let number: u32 = log.file_stem()?.to_str()?.parse().ok()?;
        let container = part(log.parent())?;
        let (_, uid) =
            part(log.parent()?.parent())?.rsplit_once('_').map(|(a, b)| (a.to_owned(), b.to_owned()))?;
        Some((number, container, uid))
    };
    let Some((number, container, uid)) = named() else { return Ok(None) };
    let label_selector = HashMap::from([(POD_UID.to_owned(), uid), (CONTAINER_NAME.to_owned(), container)]);
    let filter = ContainerFilter { label_selector, ..ContainerFilter::default() };
    let found = runtime.containers(filter).await?;
    let mut running = found.into_iter().filter(|one| one.state() == ContainerState::Running);
    Ok(running.find(|one| attempt(one) == number).map(|one| one.id))
}

/// A name that sorts by time, behind all that are there even if the clock was set back, and that nothing has yet.
pub(super) fn stamped(log: &Path, now: Timestamp) -> PathBuf {
    let stamp = now.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let before = aside(log).unwrap_or_default().pop();
    let stamp = before.and_then(|path| latest(log, &path)).filter(|before| *before > stamp).unwrap_or(stamp);
    let name = |more: &str| {
        let mut name = log.as_os_str().to_owned();
        name.push(format!(".{stamp}{more}"));
        PathBuf::from(name)
    };
    let tries = (0..1000).map(|number| if number == 0 { name("") } else { name(&format!("{number:03}")) });
    let mut free = tries.skip_while(|path| path.exists());
    free.next().unwrap_or_else(|| name(""))
}

/// The second in which a file was put aside.
fn latest(log: &Path, aside: &Path) -> Option<String> {
    let name = aside.file_name()?.to_str()?.strip_prefix(log.file_name()?.to_str()?)?;
    name.get(1..1 + "20060102-150405".len()).map(str::to_owned)
}
