//! The volumes that a pod's containers use: looked up, made, kept up to date and given back. What cannot be made yet is named in
//! words that people see in events.

mod cause;
mod claims;
mod files;
mod gather;
mod images;
mod keeper;
mod local_path;
mod medium;
mod record;
mod token;
mod uses;
mod watches;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{HostPathVolumeSource, Pod, Volume as Listed};
use kedge_mounts::{Group, HostKind, Nfs, Volume, is_there};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

pub(crate) use self::cause::VolumesError;
use self::cause::{Cause, VolumeError};
use self::files::Known;
use self::gather::{Gathered, Wants, gather};
pub(crate) use self::images::{Images, Layered, ReleaseError, is_layers_of, release};
use self::keeper::Keeper;
pub(crate) use self::local_path::LocalPaths;
pub(crate) use self::record::{Place, Places};
pub(crate) use self::watches::Watches;
use crate::tools::Tools;

/// Between two attempts at the volumes of a pod that runs already.
const AGAIN: Duration = Duration::from_secs(10);

/// The volumes of one pod. Made once in its life here, and kept.
pub(crate) struct PodVolumes {
    tools: Arc<Tools>,
    wanted: watch::Receiver<Arc<Pod>>,
    made: Arc<Mutex<Places>>,
    /// Held by whoever is at work on the node's disk, also if nobody waits for it any more.
    hand: Arc<Mutex<()>>,
    keeper: parking_lot::Mutex<Option<Task>>,
    adopter: parking_lot::Mutex<Option<Task>>,
    /// They were made, or are being taken over from the agent before.
    begun: AtomicBool,
    /// Nobody wants them any more.
    given_up: Arc<AtomicBool>,
}

/// Ends when nobody holds it.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Task {
    async fn end(mut self) {
        self.0.abort();
        let _ended = (&mut self.0).await;
    }
}

impl PodVolumes {
    pub(crate) fn new(tools: Arc<Tools>, wanted: watch::Receiver<Arc<Pod>>) -> Arc<Self> {
        Arc::new(Self {
            tools,
            wanted,
            made: Arc::default(),
            hand: Arc::default(),
            keeper: parking_lot::Mutex::default(),
            adopter: parking_lot::Mutex::default(),
            begun: AtomicBool::new(false),
            given_up: Arc::default(),
        })
    }

    /// Makes what isn't made yet, and answers where each is on the node.
    pub(crate) async fn ensure(&self, pod: &Pod) -> Result<Places, VolumesError> {
        self.begun.store(true, Ordering::Relaxed);
        let mut made = self.made.lock().await;
        let missing: Vec<&Listed> =
            uses::used(pod).into_iter().filter(|volume| !made.contains_key(&volume.name)).collect();
        if missing.is_empty() {
            return Ok(made.clone());
        }
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let file = self.tools.folders.volumes_record(uid);
        let before = record::read(&file);
        let gathered = gather(&self.tools, pod, &Wants::of(&missing)).await;
        let mut failures = Vec::new();
        for listed in missing {
            match self.make(pod, uid, listed, &gathered, &before).await {
                Ok(place) => drop(made.insert(listed.name.clone(), place)),
                Err(failure) => failures.push(failure),
            }
        }
        if *made != before
            && !made.is_empty()
            && let Err(error) = record::write(&file, &made)
        {
            tracing::warn!(%error, uid, "cannot note where volumes are");
        }
        let places = made.clone();
        drop(made);
        self.keep(pod, &places, gathered);
        if failures.is_empty() { Ok(places) } else { Err(VolumesError(failures)) }
    }

    /// Looks after the volumes of a pod that an agent before this one made.
    pub(crate) fn adopt(self: &Arc<Self>) {
        if self.begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let volumes = Arc::downgrade(self);
        let adopt = async move {
            while let Some(volumes) = volumes.upgrade() {
                let pod = volumes.wanted.borrow().clone();
                let Err(error) = volumes.ensure(&pod).await else { return };
                tracing::debug!(%error, "cannot look after the volumes of a pod");
                let clock = volumes.tools.clock.clone();
                drop(volumes);
                clock.sleep(AGAIN).await;
            }
        };
        *self.adopter.lock() = Some(Task(tokio::spawn(adopt)));
    }

    /// Takes away everything that the pod has.
    pub(crate) async fn release(&self, uid: &str) -> Result<(), ReleaseError> {
        self.given_up.store(true, Ordering::Relaxed);
        let tasks = [self.adopter.lock().take(), self.keeper.lock().take()];
        for task in tasks.into_iter().flatten() {
            task.end().await;
        }
        let mut made = self.made.lock().await;
        made.clear();
        let _hand = self.hand.lock().await;
        release(&self.tools, uid).await
    }

    /// From now on what changes is brought to the files.
    fn keep(&self, pod: &Pod, places: &Places, gathered: Gathered) {
        let used: Vec<&Listed> =
            uses::used(pod).into_iter().filter(|volume| places.contains_key(&volume.name)).collect();
        let wants = Wants::of(&used);
        let has_facts = used.iter().any(|volume| volume.downward_api.is_some());
        if wants.is_empty() && !has_facts {
            return;
        }
        let keeper = Keeper::new(self.tools.clone(), self.wanted.clone(), self.made.clone(), gathered, wants);
        *self.keeper.lock() = Some(Task(tokio::spawn(keeper.keep())));
    }

    async fn make(
        &self,
        pod: &Pod,
        uid: &str,
        listed: &Listed,
        gathered: &Gathered,
        before: &Places,
    ) -> Result<Place, VolumeError> {
        let tools = &self.tools;
        // What a claim led to does not change in a pod's life, and the API may be away.
        let claim = claims::named(pod, listed);
        let known = before.get(&listed.name).filter(|place| is_there(&place.path));
        if let Some(place) = known.filter(|_| claim.is_some()) {
            return Ok(place.clone());
        }
        let planned = match claim {
            Some(claim) => claims::find(tools, pod, listed, claim)
                .await
                .map(|found| (found.name, found.volume, found.read_only)),
            None => plan(tools, pod, listed, gathered)
                .map(|(volume, read_only)| (listed.name.clone(), volume, read_only)),
        };
        let (name, volume, read_only) = match (planned, known) {
            (Ok(planned), _) => planned,
            // The API says nothing; what is there is better than nothing.
            (Err(error), Some(place)) if error.is_silence() => return Ok(place.clone()),
            (Err(error), _) => return Err(error),
        };
        let group = uses::group(pod);
        let path = self.prepare(uid, &listed.name, volume, group).await;
        path.map(|path| Place { path, read_only }).map_err(|cause| VolumeError::SetUp { volume: name, cause })
    }

    /// A server that doesn't answer and a million files take their time.
    async fn prepare(
        &self,
        uid: &str,
        name: &str,
        volume: Volume,
        group: Option<Group>,
    ) -> Result<PathBuf, Cause> {
        let (mounts, uid, name) = (self.tools.mounts.clone(), uid.to_owned(), name.to_owned());
        let (hand, given_up) = (self.hand.clone().lock_owned().await, self.given_up.clone());
        let work = move || {
            let _hand = hand;
            mounts.prepare_unless(&given_up, &uid, &name, &volume, group)
        };
        let made = tokio::task::spawn_blocking(work).await;
        Ok(made.map_err(|_| Cause::Broken)??)
    }
}

/// What a volume is, and whether it may only be read.
fn plan(
    tools: &Tools,
    pod: &Pod,
    listed: &Listed,
    gathered: &Gathered,
) -> Result<(Volume, bool), VolumeError> {
    let set_up = |cause| VolumeError::SetUp { volume: listed.name.clone(), cause };
    let unprocessed = |cause| VolumeError::Unprocessed { volume: listed.name.clone(), cause };
    if uses::ways(pod, &listed.name).1 {
        let (volume, mode) = (listed.name.clone(), "Filesystem".to_owned());
        return Err(unprocessed(Cause::Mode { volume, mode, way: "volumeDevices" }));
    }
    let known = Known { place: &tools.place, allocatable: &tools.allocatable };
    if let Some(files) = files::of(listed, pod, gathered, known).map_err(set_up)? {
        return Ok((Volume::Files(files), true));
    }
    if let Some(source) = &listed.empty_dir {
        let medium = medium::of(source, pod, tools.memory()).map_err(set_up)?;
        return Ok((Volume::Empty { medium }, false));
    }
    if let Some(source) = &listed.host_path {
        return Ok((host(source), false));
    }
    if let Some(source) = &listed.nfs {
        let nfs = Nfs {
            server: source.server.clone(),
            path: source.path.clone(),
            read_only: source.read_only == Some(true),
            options: Vec::new(),
        };
        return Ok((Volume::Nfs(nfs), false));
    }
    let what = match listed {
        Listed { csi: Some(_), .. } => "csi",
        Listed { iscsi: Some(_), .. } => "iscsi",
        Listed { git_repo: Some(_), .. } => "gitRepo",
        _ => "such",
    };
    Err(unprocessed(Cause::Unsupported(what)))
}

fn host(source: &HostPathVolumeSource) -> Volume {
    let kind = match source.type_.as_deref().unwrap_or_default() {
        "Directory" => HostKind::Folder,
        "DirectoryOrCreate" => HostKind::FolderOrNew,
        "File" => HostKind::File,
        "FileOrCreate" => HostKind::FileOrNew,
        "Socket" => HostKind::Socket,
        "CharDevice" => HostKind::CharDevice,
        "BlockDevice" => HostKind::BlockDevice,
        _ => HostKind::Any,
    };
    Volume::Host { path: PathBuf::from(&source.path), kind }
}
