//! An image's files as folders that lie on each other, for those who want to read them and run nothing. What is handed out is
//! kept until it is given back, whatever becomes of the image's names.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use kedge_grpc::{CallError, Caller};
use serde::Deserialize;

use super::wire::{
    self, ApplyQuestion, CommitSnapshot, Delete, GetRecord, ListSnapshots, Mount, MountsAnswer, NewSnapshot,
    Nothing, ReadAnswer, ReadQuestion, RecordAnswer, Snapshot, SnapshotsAnswer,
};
use super::{ImportError, LIMIT, Store, number};
use crate::digest::Digest;
use crate::manifest::{Descriptor, Index, Manifest};

/// The one that CRI is told to use.
const SNAPSHOTTER: &str = "overlayfs";
/// Whoever has it is never collected, and neither is what it lies on.
const ROOT: &str = "containerd.io/gc.root";
/// Whose views these are.
const OURS: &str = "dev.kedge/view";
/// Larger documents than this are no manifests.
const LARGEST: usize = 8 << 20;
/// An index may lead to another one, but not for ever.
const DEEPEST: usize = 4;
/// A large layer takes its time to be unpacked.
const UNPACK: Duration = Duration::from_secs(600);

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("containerd does not do it: {0}")]
    Call(#[from] CallError),
    #[error("there is no image {0:?}")]
    Absent(String),
    #[error("{digest} is no part of an image: {source}")]
    Document { digest: String, source: serde_json::Error },
    #[error("{0} is too large for a part of an image")]
    TooLarge(String),
    #[error("the image is not made for this machine")]
    Foreign,
    #[error("the image has no files")]
    Empty,
    #[error("the image names {layers} layers and {contents} contents")]
    Torn { layers: usize, contents: usize },
    #[error("containerd's snapshotter offers {0:?}, which cannot be mounted here")]
    Unknown(String),
}

/// What a manifest or an index may be told by.
#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    Index(Index),
    Manifest(Manifest),
}

/// As much of an image's configuration as is needed.
#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    rootfs: Files,
}

#[derive(Default, Deserialize)]
struct Files {
    #[serde(default)]
    diff_ids: Vec<Digest>,
}

/// A layer with the name of what it and all below it make together.
struct Layer {
    descriptor: Descriptor,
    chain: String,
}

impl Store {
    /// The folders of an image that goes by one of these names, the uppermost first. The same key twice is the same view.
    pub async fn view(&self, key: &str, names: &[String], now: Timestamp) -> Result<Vec<PathBuf>, ViewError> {
        if let Some(mounts) = self.mounts(key).await? {
            return folders(&mounts);
        }
        let lease = self.lease(now).await.map_err(|error| match error {
            ImportError::Call(error) => error,
            // Nothing else goes wrong with a lease.
            other => CallError::Unreachable { call: "Create", reason: other.to_string() },
        })?;
        let leased = Self { caller: self.caller.clone().with_header("containerd-lease", &lease) };
        let viewed = leased.lay_out(key, names, now).await;
        // The lease ends by itself if this fails.
        let _ended: Result<Nothing, CallError> = self
            .caller
            .ask("/containerd.services.leases.v1.Leases/Delete", Delete { name: lease, wait: false }, LIMIT)
            .await;
        viewed
    }

    /// What is not there is given back already.
    pub async fn give_back(&self, key: &str) -> Result<(), ViewError> {
        let path = "/containerd.services.snapshots.v1.Snapshots/Remove";
        match self.caller.ask::<_, Nothing>(path, snapshot(key), LIMIT).await {
            Err(error) if !error.is_absent() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The keys of all views.
    pub async fn views(&self) -> Result<Vec<String>, ViewError> {
        let filters = vec![format!("labels.\"{OURS}\"")];
        let question = ListSnapshots { snapshotter: SNAPSHOTTER.to_owned(), filters };
        let path = "/containerd.services.snapshots.v1.Snapshots/List";
        let mut answers = self.caller.follow::<_, SnapshotsAnswer>(path, question).await?;
        let mut keys = Vec::new();
        while let Some(answer) = Caller::next("List", &mut answers).await? {
            keys.extend(answer.snapshots.into_iter().map(|snapshot| snapshot.name));
        }
        Ok(keys)
    }

    async fn lay_out(&self, key: &str, names: &[String], now: Timestamp) -> Result<Vec<PathBuf>, ViewError> {
        let layers = self.layers(names).await?;
        let mut below = String::new();
        for layer in &layers {
            if !self.is_unpacked(&layer.chain).await? {
                self.unpack(layer, &below).await?;
            }
            below.clone_from(&layer.chain);
        }
        let labels =
            HashMap::from([(ROOT.to_owned(), now.to_string()), (OURS.to_owned(), "image".to_owned())]);
        let path = "/containerd.services.snapshots.v1.Snapshots/View";
        let question = NewSnapshot { parent: below, labels, ..new(key) };
        match self.caller.ask::<_, MountsAnswer>(path, question, LIMIT).await {
            Ok(answer) => folders(&answer.mounts),
            // Somebody else was faster.
            Err(error) if error.is_there_already() => folders(&self.mounts(key).await?.unwrap_or_default()),
            Err(error) => Err(error.into()),
        }
    }

    /// None if there is no such view.
    async fn mounts(&self, key: &str) -> Result<Option<Vec<Mount>>, ViewError> {
        let path = "/containerd.services.snapshots.v1.Snapshots/Mounts";
        match self.caller.ask::<_, MountsAnswer>(path, snapshot(key), LIMIT).await {
            Ok(answer) => Ok(Some(answer.mounts)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The layers of an image, the lowest first.
    async fn layers(&self, names: &[String]) -> Result<Vec<Layer>, ViewError> {
        let mut digest = self.target(names).await?;
        for _ in 0..DEEPEST {
            let manifest = match self.document(&digest).await? {
                Document::Manifest(manifest) => manifest,
                Document::Index(index) => {
                    let ours = |one: &&Descriptor| one.platform.as_ref().is_none_or(|it| it.is_ours());
                    let found = index.manifests.iter().find(ours).ok_or(ViewError::Foreign)?;
                    digest = found.digest.to_string();
                    continue;
                }
            };
            let config: Config = self.document(manifest.config.digest.as_str()).await?;
            return chained(manifest.layers, config.rootfs.diff_ids);
        }
        Err(ViewError::Foreign)
    }

    async fn target(&self, names: &[String]) -> Result<String, ViewError> {
        for name in names {
            let path = "/containerd.services.images.v1.Images/Get";
            let question = GetRecord { name: name.clone() };
            match self.caller.ask::<_, RecordAnswer>(path, question, LIMIT).await {
                Ok(answer) => {
                    let target = answer.image.and_then(|image| image.target);
                    return target.map(|target| target.digest).ok_or(ViewError::Absent(name.clone()));
                }
                Err(error) if error.is_absent() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ViewError::Absent(names.first().cloned().unwrap_or_default()))
    }

    async fn document<T: for<'a> Deserialize<'a>>(&self, digest: &str) -> Result<T, ViewError> {
        let path = "/containerd.services.content.v1.Content/Read";
        let question = ReadQuestion { digest: digest.to_owned() };
        let mut answers = self.caller.follow::<_, ReadAnswer>(path, question).await?;
        let mut bytes = Vec::new();
        while let Some(answer) = Caller::next("Read", &mut answers).await? {
            bytes.extend_from_slice(&answer.data);
            if bytes.len() > LARGEST {
                return Err(ViewError::TooLarge(digest.to_owned()));
            }
        }
        let wrong = |source| ViewError::Document { digest: digest.to_owned(), source };
        serde_json::from_slice(&bytes).map_err(wrong)
    }

    async fn is_unpacked(&self, chain: &str) -> Result<bool, ViewError> {
        let path = "/containerd.services.snapshots.v1.Snapshots/Stat";
        match self.caller.ask::<_, Nothing>(path, snapshot(chain), LIMIT).await {
            Ok(Nothing {}) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What came from a file was never unpacked, as nobody has run it yet.
    async fn unpack(&self, layer: &Layer, below: &str) -> Result<(), ViewError> {
        let key = format!("kedge-unpack-{}", uuid::Uuid::new_v4());
        let path = "/containerd.services.snapshots.v1.Snapshots/Prepare";
        let question = NewSnapshot { parent: below.to_owned(), ..new(&key) };
        let MountsAnswer { mounts } = self.caller.ask(path, question, LIMIT).await?;
        let done = self.fill(&key, layer, mounts).await;
        if !matches!(done, Ok(true)) {
            self.give_back(&key).await?;
        }
        done.map(drop)
    }

    /// False if somebody else has done the same meanwhile.
    async fn fill(&self, key: &str, layer: &Layer, mounts: Vec<Mount>) -> Result<bool, ViewError> {
        let Descriptor { media_type, digest, size, .. } = &layer.descriptor;
        let descriptor = wire::Descriptor {
            media_type: media_type.clone(),
            digest: digest.to_string(),
            size: number(*size),
        };
        let question = ApplyQuestion { layer: Some(descriptor), mounts };
        let Nothing {} = self.caller.ask("/containerd.services.diff.v1.Diff/Apply", question, UNPACK).await?;
        let path = "/containerd.services.snapshots.v1.Snapshots/Commit";
        let question = CommitSnapshot {
            snapshotter: SNAPSHOTTER.to_owned(),
            name: layer.chain.clone(),
            key: key.to_owned(),
        };
        match self.caller.ask::<_, Nothing>(path, question, LIMIT).await {
            Ok(Nothing {}) => Ok(true),
            Err(error) if error.is_there_already() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn snapshot(key: &str) -> Snapshot {
    Snapshot { snapshotter: SNAPSHOTTER.to_owned(), key: key.to_owned() }
}

fn new(key: &str) -> NewSnapshot {
    NewSnapshot {
        snapshotter: SNAPSHOTTER.to_owned(),
        key: key.to_owned(),
        parent: String::new(),
        labels: HashMap::new(),
    }
}

/// What lies on each other is named by all that is below it.
fn chained(layers: Vec<Descriptor>, contents: Vec<Digest>) -> Result<Vec<Layer>, ViewError> {
    if layers.len() != contents.len() {
        return Err(ViewError::Torn { layers: layers.len(), contents: contents.len() });
    }
    if layers.is_empty() {
        return Err(ViewError::Empty);
    }
    let mut chain = String::new();
    let each = layers.into_iter().zip(contents).map(|(descriptor, content)| {
        chain = match chain.as_str() {
            "" => content.to_string(),
            below => Digest::of(format!("{below} {content}").as_bytes()).to_string(),
        };
        Layer { descriptor, chain: chain.clone() }
    });
    Ok(each.collect())
}

/// One layer is offered as a folder, several as a list of them.
fn folders(mounts: &[Mount]) -> Result<Vec<PathBuf>, ViewError> {
    let unknown =
        |mount: Option<&Mount>| ViewError::Unknown(mount.map(|mount| mount.kind.clone()).unwrap_or_default());
    let [mount] = mounts else { return Err(unknown(mounts.first())) };
    match mount.kind.as_str() {
        "bind" => Ok(vec![PathBuf::from(&mount.source)]),
        "overlay" => {
            let lower = mount.options.iter().find_map(|option| option.strip_prefix("lowerdir="));
            Ok(lower.ok_or_else(|| unknown(Some(mount)))?.split(':').map(PathBuf::from).collect())
        }
        _ => Err(unknown(Some(mount))),
    }
}

#[cfg(test)]
mod tests;
