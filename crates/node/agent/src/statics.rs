//! Pods that the node runs because a file says so, whether or not there is an API: read from a folder, and read again when
//! something in it changes. The same file gives the same pod, also to the next agent; a changed one gives another pod.

mod defaults;
mod inotify;
mod references;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Toleration};
use kedge_client::{Watched, Written};
use kedge_clock::Clock;
use kedge_images::Digest;
use serde_json::Value;
use tokio::sync::watch;

use self::inotify::Inotify;

pub(crate) const SOURCE: &str = "kubernetes.io/config.source";
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";
pub(crate) const HASH: &str = "kubernetes.io/config.hash";
const SEEN: &str = "kubernetes.io/config.seen";
/// Larger files are no pods.
const LARGEST: u64 = 10 << 20;
/// Whoever writes a file writes more than once.
const SETTLE: Duration = Duration::from_millis(50);
/// Where changes cannot be heard of, and in any case now and then.
const LOOK: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub(crate) enum StaticError {
    #[error("cannot read it")]
    Read(#[from] io::Error),
    #[error("it is larger than {LARGEST} bytes")]
    TooLarge,
    #[error("it is neither YAML nor JSON")]
    Yaml(#[from] Box<serde_saphyr::Error>),
    #[error("it is not a Pod of v1")]
    Pod(#[from] serde_json::Error),
    #[error("the pod has no {0}")]
    Lacks(&'static str),
    #[error("static pods may not reference {0}")]
    Refers(&'static str),
}

/// Whether a pod was told of by a file of this node.
pub(crate) fn is_static(pod: &Pod) -> bool {
    annotation(pod, SOURCE).is_some_and(|source| source != "api") && annotation(pod, MIRROR).is_none()
}

/// Whether a pod of the API only shows one that a file told of.
pub(crate) fn is_mirror(pod: &Pod) -> bool {
    annotation(pod, MIRROR).is_some()
}

pub(crate) fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The folder with the files.
pub(crate) struct Statics {
    folder: PathBuf,
    node: String,
    clock: Clock,
    /// By file; what was right stays while what is there now is wrong.
    pods: BTreeMap<PathBuf, Pod>,
}

impl Statics {
    /// Makes the folder if there is none.
    pub(crate) fn open(folder: PathBuf, node: &str, clock: Clock) -> Self {
        if let Err(error) = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder) {
            tracing::warn!(folder = %folder.display(), %error, "cannot make the folder of static pods");
        }
        Self { folder, node: node.to_owned(), clock, pods: BTreeMap::new() }
    }

    /// All pods of the folder as it is now.
    pub(crate) fn read(&mut self) -> Vec<Pod> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) => {
                // A folder that cannot be read tells nothing; a folder that is gone has no files.
                if error.kind() == io::ErrorKind::NotFound {
                    self.pods.clear();
                }
                return self.pods.values().cloned().collect();
            }
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let is_plain = |path: &PathBuf| {
            let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
            !hidden && path.is_file()
        };
        let paths: Vec<PathBuf> = paths.filter(is_plain).collect();
        self.pods.retain(|path, _| paths.contains(path));
        for path in paths {
            match self.file(&path) {
                Ok(pod) if self.pods.get(&path).is_some_and(|held| held.metadata.uid == pod.metadata.uid) => {
                }
                Ok(pod) => drop(self.pods.insert(path, pod)),
                Err(error) => {
                    let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                    tracing::warn!(path = %path.display(), %error, why, "a file of static pods is left alone");
                }
            }
        }
        self.pods.values().cloned().collect()
    }

    fn file(&self, path: &Path) -> Result<Pod, StaticError> {
        if fs::metadata(path)?.len() > LARGEST {
            return Err(StaticError::TooLarge);
        }
        pod(&fs::read_to_string(path)?, path, &self.node, self.clock.now())
    }

    /// Tells of the folder's pods whenever they change, until it is dropped.
    pub(crate) async fn follow(mut self, tell: watch::Sender<Vec<Pod>>) {
        let mut changes = Inotify::of(&self.folder);
        loop {
            match &mut changes {
                Ok(heard) => tokio::select! {
                    () = heard.changed() => self.clock.sleep(SETTLE).await,
                    () = self.clock.sleep(LOOK) => {}
                },
                Err(_) => self.clock.sleep(LOOK).await,
            }
            let pods = self.read();
            tell.send_if_modified(|told| {
                let is_new = *told != pods;
                *told = pods;
                is_new
            });
        }
    }
}

/// The pod that a file tells of.
fn pod(text: &str, path: &Path, node: &str, now: Timestamp) -> Result<Pod, StaticError> {
    // `n` and `yes` are names.
    let options = serde_saphyr::options! { strict_booleans: true };
    let mut value: Value = serde_saphyr::from_str_with_options(text, options).map_err(Box::new)?;
    defaults::numbers_are_amounts(&mut value);
    let mut pod = Pod::read(value.to_string().as_bytes())?;
    let hash = {
        let told = serde_json::to_string(&pod.write())?;
        let digest = Digest::of(format!("{told}\nhost:{node}\nfile:{}", path.display()).as_bytes());
        digest.letters().and_then(|letters| letters.get(..32)).unwrap_or_default().to_owned()
    };
    let meta = &mut pod.metadata;
    let name = meta.name.take().filter(|name| !name.is_empty()).ok_or(StaticError::Lacks("name"))?;
    meta.name = Some(format!("{name}-{}", node.to_lowercase()));
    meta.namespace.get_or_insert_with(|| "default".to_owned());
    let uid = meta.uid.get_or_insert(hash).clone();
    meta.creation_timestamp = None;
    meta.deletion_timestamp = None;
    meta.annotations.get_or_insert_default().extend([
        (HASH.to_owned(), uid),
        (SOURCE.to_owned(), "file".to_owned()),
        (SEEN.to_owned(), now.to_string()),
    ]);
    let spec = pod.spec.as_mut().ok_or(StaticError::Lacks("spec"))?;
    if spec.containers.is_empty() {
        return Err(StaticError::Lacks("containers"));
    }
    if let Some(what) = references::first(spec) {
        return Err(StaticError::Refers(what));
    }
    spec.node_name = Some(node.to_owned());
    // Whatever is wrong with the node, its own pods stay.
    spec.tolerations.get_or_insert_default().push(Toleration {
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        ..Toleration::default()
    });
    defaults::fill(spec);
    pod.status = None;
    Ok(pod)
}

#[cfg(test)]
mod tests;
