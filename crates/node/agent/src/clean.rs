//! Takes away what a node that no longer runs left on its machine: containers, their runtime, their network and mounts. Its
//! data stays.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::join_all;
use kedge_clock::Clock;
use kedge_images::{PAUSE_IMAGE, Store};
use kedge_mounts::MountError;
use kedge_network::{NetworkError, remove};
use kedge_runtime::Runtime;
use kedge_runtime::RuntimeError;
use kedge_runtime::containerd::{Config, Containerd, ContainerdError, may_lower_oom_scores};
use kedge_runtime::wire::{ContainerFilter, PodSandbox, PodSandboxFilter};
use kedge_usage::UsageError;
use serde::{Deserialize, Serialize};

use crate::belonging;
use crate::cgroups;
use crate::folders::Folders;
use crate::network::{Networking, given};
use crate::record;
use crate::vault;

#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    #[error("cannot reach the containers")]
    Containerd(#[from] ContainerdError),
    #[error("cannot end the containers")]
    Runtime(#[from] RuntimeError),
    #[error("cannot take away the network of pods")]
    Network(#[from] NetworkError),
    #[error("cannot remove the cgroups of pods")]
    Cgroups(#[from] UsageError),
    #[error("cannot take away what is mounted")]
    Mounts(#[from] MountError),
}

/// Where our own containerd keeps everything.
pub(crate) fn folder(data: &Path) -> PathBuf {
    data.join("containerd")
}

/// How our own containerd is set up.
pub(crate) fn containerd(data: &Path, networking: &Networking) -> Config {
    Config {
        folder: folder(data),
        program: "containerd".to_owned(),
        pause_image: PAUSE_IMAGE.to_owned(),
        cni_programs: networking.programs.clone(),
        cni_config: networking.config.clone(),
        restrict_oom_scores: !may_lower_oom_scores(),
        cgroups: Vec::new(),
    }
}

/// The folders of the network that a containerd was told of. Whoever ends its sandboxes needs the same.
#[derive(Serialize, Deserialize)]
struct Told {
    programs: PathBuf,
    config: PathBuf,
}

/// Written beside the containerd that it is about.
const RECORD: &str = "containerd/network.json";
/// How often a sandbox's end is tried, and after what pause again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);
/// What a container has to end by itself, if its pod does not grant it less: whoever takes a node away waits for that.
const GRACE: Duration = Duration::from_secs(3);

/// Writes down what `clean` has to know, which may be asked for without anything else.
pub(crate) fn note(data: &Path, networking: &Networking) -> io::Result<()> {
    let (programs, config) = (networking.programs.clone(), networking.config.clone());
    let file = data.join(RECORD);
    let text = serde_json::to_vec(&Told { programs, config })?;
    if fs::read(&file).is_ok_and(|held| held == text) {
        return Ok(());
    }
    let new = file.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(new, file)
}

/// What is not there any more is no error: doing it twice is doing it once. A network that was written down counts more than
/// the one that is given.
pub async fn clean(data: &Path, networking: &Networking) -> Result<(), CleanError> {
    let told = fs::read(data.join(RECORD)).ok().and_then(|text| serde_json::from_slice::<Told>(&text).ok());
    let told = told.map(|Told { programs, config }| Networking { programs, config, ..networking.clone() });
    let config = containerd(data, told.as_ref().unwrap_or(networking));
    // One that never ran here has nothing to end, and may not even be installed.
    if config.folder.join("root").exists() {
        let mut containerd = Containerd::start(config.clone()).await?;
        let graces = graces(&Folders::below(data));
        let mut ended = end_all(&Runtime::at(&containerd.socket()), &graces).await;
        if let Err(error) = &ended {
            // The start of a container that was broken off, as by the end of its agent, may leave a process of which containerd knows
            // only that it cannot be removed. One that starts anew looks at what there is, and ends it.
            tracing::debug!(%error, "cannot end all sandboxes; starting containerd again");
            containerd.stop().await;
            containerd = Containerd::start(config).await?;
            ended = end_all(&Runtime::at(&containerd.socket()), &graces).await;
        }
        give_back(&Store::at(&containerd.socket())).await;
        containerd.stop().await;
        ended?;
        // Every containerd notes there what it connects, and nobody can tell it of another place.
        for folder in ["/var/lib/cni/results", "/var/lib/cni"] {
            let _if_empty = fs::remove_dir(folder);
        }
    }
    if let Some(network) = given(data) {
        remove(&network)?;
        kedge_network::give_back(&network)?;
    }
    if let Some(vault) = vault::place(data) {
        vault::clear(&vault);
    }
    belonging::forget(data);
    cgroups::clear(data)?;
    let data = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    Ok(kedge_mounts::clear_below(&data)?)
}

/// What pods grant their containers to end, by the pods' uids.
fn graces(folders: &Folders) -> HashMap<String, Duration> {
    let granted = record::read(folders).into_iter().filter_map(|pod| {
        let seconds = u64::try_from(pod.spec?.termination_grace_period_seconds?).unwrap_or(0);
        Some((pod.metadata.uid?, Duration::from_secs(seconds).min(GRACE)))
    });
    granted.collect()
}

async fn end_all(runtime: &Runtime, graces: &HashMap<String, Duration>) -> Result<(), RuntimeError> {
    let clock = Clock::system();
    let sandboxes = runtime.sandboxes(PodSandboxFilter::default()).await?;
    let ended = sandboxes.iter().map(async |sandbox| {
        ask_to_end(runtime, sandbox, graces).await;
        end(runtime, &sandbox.id, &clock).await
    });
    join_all(ended).await.into_iter().collect()
}

/// Whoever does not end is ended with his sandbox.
async fn ask_to_end(runtime: &Runtime, sandbox: &PodSandbox, graces: &HashMap<String, Duration>) {
    let uid = sandbox.metadata.as_ref().map_or("", |pod| pod.uid.as_str());
    let grace = graces.get(uid).copied().unwrap_or(GRACE);
    let filter = ContainerFilter { pod_sandbox_id: sandbox.id.clone(), ..ContainerFilter::default() };
    let containers = runtime.containers(filter).await.unwrap_or_default();
    join_all(containers.iter().map(async |container| {
        if let Err(error) = runtime.stop_container(&container.id, grace).await {
            tracing::debug!(%error, container = container.id, "cannot ask a container to end");
        }
    }))
    .await;
}

/// Whoever looks after a sandbox may just be ending, too, and then breaks off what it was asked.
async fn end(runtime: &Runtime, sandbox: &str, clock: &Clock) -> Result<(), RuntimeError> {
    let mut left = TRIES;
    loop {
        let ended = async {
            runtime.stop_sandbox(sandbox).await?;
            runtime.remove_sandbox(sandbox).await
        };
        left -= 1;
        match ended.await {
            Err(error) if error.is_absent() => return Ok(()),
            Err(error) if left > 0 => tracing::debug!(%error, sandbox, "cannot end a sandbox yet"),
            done => return done,
        }
        clock.sleep(PAUSE).await;
    }
}

/// Images that pods had mounted take room on the disk for as long as nobody gives them back.
async fn give_back(store: &Store) {
    let keys = match store.views().await {
        Ok(keys) => keys,
        Err(error) => return tracing::warn!(%error, "cannot see which images were mounted"),
    };
    for key in keys {
        if let Err(error) = store.give_back(&key).await {
            tracing::warn!(%error, key, "cannot give back an image that was mounted");
        }
    }
}
