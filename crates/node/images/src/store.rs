//! Puts images into containerd's store, through its own interface: blobs first, then the names. What is there already is not
//! sent again, and nothing is collected before it has a name.

mod views;
mod wire;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use jiff::{SignedDuration, Timestamp};
use kedge_grpc::{CallError, Caller};
use parking_lot::Mutex;

pub use self::views::ViewError;
use self::wire::{
    Action, CreateLease, Delete, Descriptor, InfoAnswer, InfoQuestion, Nothing, Record, RecordAnswer,
    RecordChange, UnderWayAnswer, UnderWayQuestion, WriteAnswer, WriteQuestion, WriteStatus,
};
use crate::digest::Digest;
use crate::manifest::{Blob, Image};

/// The corner of containerd in which CRI looks.
const NAMESPACE: &str = "k8s.io";
/// What is sent at once.
const PIECE: usize = 1 << 20;
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("containerd does not do it")]
    Call(#[from] CallError),
    #[error("cannot read the image")]
    Read(#[source] io::Error),
    #[error("{digest} is not what it is called")]
    Forged { digest: Digest },
    #[error("the image has no name; give it one")]
    Nameless,
}

#[derive(Clone, Debug)]
pub struct Store {
    caller: Caller,
}

impl Store {
    /// Needs a running tokio runtime.
    pub fn at(socket: &Path) -> Self {
        Self { caller: Caller::at(socket).with_header("containerd-namespace", NAMESPACE) }
    }

    /// Takes an image in, under its names. `source` is where blobs lie that are not in memory; `sent` is told of every piece.
    pub async fn import(
        &self,
        image: &Image,
        source: Option<&File>,
        now: Timestamp,
        mut sent: impl FnMut(u64) + Send,
    ) -> Result<Vec<String>, ImportError> {
        if image.names.is_empty() {
            return Err(ImportError::Nameless);
        }
        let lease = self.lease(now).await?;
        let leased = Self { caller: self.caller.clone().with_header("containerd-lease", &lease) };
        let taken = leased.take(image, source, &mut sent).await;
        // The lease ends by itself if this fails; what has a name by now stays.
        let _ended: Result<Nothing, CallError> = self
            .caller
            .ask("/containerd.services.leases.v1.Leases/Delete", Delete { name: lease, wait: false }, LIMIT)
            .await;
        taken
    }

    /// For as long as it exists, nothing new is collected.
    async fn lease(&self, now: Timestamp) -> Result<String, ImportError> {
        let id = format!("kedge-import-{}", uuid::Uuid::new_v4());
        let end = now.saturating_add(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX);
        let labels = HashMap::from([("containerd.io/gc.expire".to_owned(), end.to_string())]);
        let question = CreateLease { id: id.clone(), labels };
        let Nothing {} =
            self.caller.ask("/containerd.services.leases.v1.Leases/Create", question, LIMIT).await?;
        Ok(id)
    }

    async fn take(
        &self,
        image: &Image,
        source: Option<&File>,
        sent: &mut (impl FnMut(u64) + Send),
    ) -> Result<Vec<String>, ImportError> {
        for (digest, blob) in &image.blobs {
            match self.has(digest).await? {
                true => sent(blob.size()),
                false => self.write(digest, blob, source, HashMap::new(), sent).await?,
            }
        }
        // What a manifest's labels name lives as long as the manifest does.
        let mut labels =
            HashMap::from([("containerd.io/gc.ref.content.config".to_owned(), image.config.to_string())]);
        for (number, layer) in image.layers.iter().enumerate() {
            labels.insert(format!("containerd.io/gc.ref.content.l.{number}"), layer.to_string());
        }
        let digest = image.digest();
        let manifest = Blob::Memory(image.manifest.clone());
        match self.has(&digest).await? {
            true => sent(manifest.size()),
            false => self.write(&digest, &manifest, None, labels, sent).await?,
        }
        let mut names = Vec::new();
        for name in &image.names {
            let name = whole_name(name);
            self.name(&name, image, &digest).await?;
            names.push(name);
        }
        Ok(names)
    }

    /// Takes a name away from its image; an image without any goes. False if nothing has that name.
    pub async fn remove(&self, name: &str) -> Result<bool, ImportError> {
        let question = Delete { name: whole_name(name), wait: true };
        let path = "/containerd.services.images.v1.Images/Delete";
        match self.caller.ask::<_, Nothing>(path, question, LIMIT).await {
            Ok(Nothing {}) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// How many bytes are there of the blobs that are on their way in, and how many there will be.
    pub async fn under_way(&self) -> Result<(u64, u64), ImportError> {
        let path = "/containerd.services.content.v1.Content/ListStatuses";
        let answer: UnderWayAnswer =
            self.caller.ask(path, UnderWayQuestion { filters: Vec::new() }, LIMIT).await?;
        let sum = |part: fn(&WriteStatus) -> i64| {
            answer.statuses.iter().map(|one| u64::try_from(part(one)).unwrap_or(0)).sum::<u64>()
        };
        Ok((sum(|one| one.offset), sum(|one| one.total)))
    }

    async fn has(&self, digest: &Digest) -> Result<bool, ImportError> {
        let question = InfoQuestion { digest: digest.to_string() };
        let path = "/containerd.services.content.v1.Content/Info";
        match self.caller.ask::<_, InfoAnswer>(path, question, LIMIT).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn write(
        &self,
        digest: &Digest,
        blob: &Blob,
        source: Option<&File>,
        labels: HashMap<String, String>,
        sent: &mut (impl FnMut(u64) + Send),
    ) -> Result<(), ImportError> {
        let mut told = 0;
        let total = blob.size();
        let base = WriteQuestion {
            reference: format!("kedge-{digest}"),
            total: number(total),
            expected: digest.to_string(),
            ..WriteQuestion::default()
        };
        let source = source.map(File::try_clone).transpose().map_err(ImportError::Read)?;
        let (blob, failed) = (blob.clone(), Arc::new(Mutex::new(None)));
        let trouble = failed.clone();
        // The pieces one after the other, then the commit; a piece that cannot be read ends the stream and with it the write.
        let questions = stream::unfold(Some(0_u64), move |place| {
            let next = place.map(|offset| {
                if offset >= total {
                    let commit = WriteQuestion {
                        action: Action::Commit.into(),
                        offset: number(offset),
                        labels: labels.clone(),
                        ..base.clone()
                    };
                    return Some((commit, None));
                }
                match piece(&blob, source.as_ref(), offset) {
                    Ok(data) => {
                        let next = offset + data.len() as u64;
                        let write = WriteQuestion {
                            action: Action::Write.into(),
                            offset: number(offset),
                            data,
                            ..base.clone()
                        };
                        Some((write, Some(next)))
                    }
                    Err(error) => {
                        *trouble.lock() = Some(error);
                        None
                    }
                }
            });
            futures::future::ready(next.flatten())
        });
        let path = "/containerd.services.content.v1.Content/Write";
        let outcome = async {
            let mut answers = self.caller.talk::<_, WriteAnswer>(path, questions).await?;
            // Each answer says how much has arrived.
            while let Some(answer) = Caller::next("Write", &mut answers).await? {
                let arrived = u64::try_from(answer.offset).unwrap_or_default().min(total);
                sent(arrived.saturating_sub(told));
                told = told.max(arrived);
            }
            Ok::<(), CallError>(())
        };
        let outcome = outcome.await;
        let unread = failed.lock().take();
        match (unread, outcome) {
            (Some(error), _) => return Err(ImportError::Read(error)),
            (None, Err(CallError::Refused { code: kedge_grpc::Code::FailedPrecondition, .. })) => {
                return Err(ImportError::Forged { digest: digest.clone() });
            }
            (None, Err(error)) if !error.is_there_already() => return Err(error.into()),
            (None, _) => {}
        }
        sent(total.saturating_sub(told));
        Ok(())
    }

    async fn name(&self, name: &str, image: &Image, digest: &Digest) -> Result<(), ImportError> {
        let record = Record {
            name: name.to_owned(),
            labels: HashMap::from([("io.cri-containerd.image".to_owned(), "managed".to_owned())]),
            target: Some(Descriptor {
                media_type: image.media_type.clone(),
                digest: digest.to_string(),
                size: number(image.manifest.len() as u64),
            }),
        };
        let change = RecordChange { image: Some(record) };
        let path = "/containerd.services.images.v1.Images/Create";
        match self.caller.ask::<_, RecordAnswer>(path, change.clone(), LIMIT).await {
            Err(error) if error.is_there_already() => {
                let path = "/containerd.services.images.v1.Images/Update";
                self.caller.ask::<_, RecordAnswer>(path, change, LIMIT).await?;
            }
            answer => drop(answer?),
        }
        Ok(())
    }
}

fn piece(blob: &Blob, source: Option<&File>, offset: u64) -> io::Result<Bytes> {
    let part = usize::try_from((blob.size() - offset).min(PIECE as u64)).unwrap_or(PIECE);
    match (blob, source) {
        (Blob::Memory(bytes), _) => {
            let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            Ok(bytes.slice(from..(from + part).min(bytes.len())))
        }
        (Blob::File { offset: start, .. }, Some(file)) => {
            let mut data = vec![0; part];
            file.read_exact_at(&mut data, start + offset)?;
            Ok(Bytes::from(data))
        }
        (Blob::File { .. }, None) => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

fn number(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// A name as registries know it: `busybox` is `docker.io/library/busybox:latest`.
pub(crate) fn whole_name(name: &str) -> String {
    let (host, path) = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path.to_owned()),
        Some(_) => ("docker.io", name.to_owned()),
        None => ("docker.io", format!("library/{name}")),
    };
    let tagged = path.contains('@') || path.rsplit('/').next().is_some_and(|last| last.contains(':'));
    if tagged { format!("{host}/{path}") } else { format!("{host}/{path}:latest") }
}

#[cfg(test)]
mod tests {
    use super::whole_name;

    #[test]
    fn a_short_name_is_that_of_the_usual_registry() {
        for (short, whole) in [
            ("busybox", "docker.io/library/busybox:latest"),
            ("busybox:1", "docker.io/library/busybox:1"),
            ("me/app", "docker.io/me/app:latest"),
            ("kedge.dev/pause:1", "kedge.dev/pause:1"),
            ("localhost/app", "localhost/app:latest"),
            ("localhost:5000/a/b:c", "localhost:5000/a/b:c"),
            ("localhost:5000/app", "localhost:5000/app:latest"),
            ("r.io/app@sha256:0", "r.io/app@sha256:0"),
        ] {
            assert_eq!(whole_name(short), whole);
        }
    }
}
