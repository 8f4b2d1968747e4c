//! A socket in the data folder, for commands on the same machine: what runs here, and one file with all that it keeps. It is nobody's
//! way to the objects; those who may not be root here, or whoever runs this, are turned away.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kedge_store::Store;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::backup::{self, Part};

const SOCKET: &str = "kedge.sock";
/// No question is longer.
const LONGEST: u64 = 64 * 1024;
/// How long somebody who connects may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", tag = "ask")]
pub(crate) enum Ask {
    Running,
    Backup { file: PathBuf, part: Part },
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum Answer<T> {
    Done(T),
    Failed(String),
}

/// What runs on a data folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Running {
    /// `server` or `agent`.
    pub(crate) role: String,
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// What this machine is called in the cluster, if it is a node.
    pub(crate) node: Option<String>,
    /// Where the API is.
    pub(crate) servers: Vec<String>,
    pub(crate) store: Option<StoreFigures>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoreFigures {
    pub(crate) engine: String,
    pub(crate) revision: u64,
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    pub(crate) watchers: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HatchError {
    #[error(
        "no server and no agent runs on {}: `systemctl start kedge` (or kedge-agent) starts what was installed, `kedge install server` installs a server, --data-dir names another folder",
        data.display()
    )]
    Nobody { data: PathBuf },
    #[error("only root, and the user who runs what runs on {}, may ask: use sudo", data.display())]
    Shut { data: PathBuf },
    #[error("cannot talk to what runs on {}", data.display())]
    Talk { data: PathBuf, source: io::Error },
    #[error("what runs on {} answers in words of another version", data.display())]
    Words { data: PathBuf, source: serde_json::Error },
    #[error("{0}")]
    Failed(String),
}

/// What answers behind the hatch.
pub(crate) struct Hatch {
    pub(crate) role: &'static str,
    pub(crate) data: PathBuf,
    pub(crate) node: Option<String>,
    pub(crate) servers: Vec<String>,
    pub(crate) store: Option<Store>,
}

impl Hatch {
    /// Answers until the task is ended. Where it cannot be opened everything works but those commands.
    pub(crate) async fn serve(self) {
        let listener = match open(&self.data) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "`kedge status` and `kedge backup` cannot ask this process: no {SOCKET}");
                return;
            }
        };
        let hatch = Arc::new(self);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let hatch = hatch.clone();
                    tokio::spawn(async move { hatch.answer(stream).await });
                }
                // Out of files, most likely: others close some.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    async fn answer(&self, stream: UnixStream) {
        if !stream.peer_cred().is_ok_and(|peer| is_allowed(peer.uid())) {
            return;
        }
        let (read, mut write) = stream.into_split();
        let mut line = String::new();
        let mut reader = BufReader::new(read.take(LONGEST));
        if !matches!(tokio::time::timeout(PATIENCE, reader.read_line(&mut line)).await, Ok(Ok(_))) {
            return;
        }
        let text = match serde_json::from_str(&line) {
            Ok(Ask::Running) => words(&Answer::Done(self.running())),
            Ok(Ask::Backup { file, part }) => words(&self.backup(&file, part).await),
            Err(error) => words(&Answer::<()>::Failed(format!("not understood: {error}"))),
        };
        // Who did not wait for the answer does not want it.
        let _told = write.write_all(text.as_bytes()).await;
    }

    fn running(&self) -> Running {
        let store = self.store.as_ref().map(|store| {
            let stats = store.stats();
            StoreFigures {
                engine: if store.is_shared() { "etcd" } else { "embedded" }.to_owned(),
                revision: stats.revision.get(),
                objects: stats.objects,
                bytes: stats.bytes,
                watchers: stats.watchers,
            }
        });
        Running {
            role: self.role.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            node: self.node.clone(),
            servers: self.servers.clone(),
            store,
        }
    }

    async fn backup(&self, file: &Path, part: Part) -> Answer<backup::Made> {
        let Some(store) = &self.store else {
            return Answer::Failed(
                "an agent keeps nothing that its servers don't: back up one of them".to_owned(),
            );
        };
        match backup::write(Some(store), &self.data, file, part).await {
            Ok(made) => Answer::Done(made),
            Err(error) => Answer::Failed(crate::told(&error)),
        }
    }
}

fn words<T: Serialize>(answer: &Answer<T>) -> String {
    serde_json::to_string(answer).map(|text| text + "\n").unwrap_or_default()
}

fn is_allowed(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Names of sockets are short, those of folders need not be: the folder is named by its open file.
fn reached(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()))
}

fn open(data: &Path) -> io::Result<UnixListener> {
    let folder = File::open(data)?;
    let path = reached(&folder);
    // What an earlier process left answers nobody.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// What runs on a data folder.
pub(crate) async fn running(data: &Path) -> Result<Running, HatchError> {
    call(data, &Ask::Running).await
}

/// Asks whoever runs on a data folder.
pub(crate) async fn call<T: for<'a> Deserialize<'a>>(data: &Path, ask: &Ask) -> Result<T, HatchError> {
    let talk = |source| HatchError::Talk { data: data.to_owned(), source };
    let nobody = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            HatchError::Nobody { data: data.to_owned() }
        }
        io::ErrorKind::PermissionDenied => HatchError::Shut { data: data.to_owned() },
        _ => talk(error),
    };
    let folder = File::open(data).map_err(nobody)?;
    let mut stream = UnixStream::connect(reached(&folder)).await.map_err(nobody)?;
    let question = serde_json::to_string(ask).unwrap_or_default() + "\n";
    stream.write_all(question.as_bytes()).await.map_err(talk)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await.map_err(talk)?;
    match serde_json::from_str(&text) {
        Ok(Answer::Done(done)) => Ok(done),
        Ok(Answer::Failed(why)) => Err(HatchError::Failed(why)),
        // It hung up: either we are not allowed in, or it ended.
        Err(_) if text.is_empty() => Err(HatchError::Shut { data: data.to_owned() }),
        Err(source) => Err(HatchError::Words { data: data.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_runs_answers_and_nobody_else_does() {
        let folder = tempfile::tempdir().unwrap();
        // Far longer than the name of a socket may be.
        let data = folder.path().join("d".repeat(120));
        std::fs::create_dir(&data).unwrap();
        assert!(matches!(running(&data).await, Err(HatchError::Nobody { .. })));
        let hatch = Hatch {
            role: "agent",
            data: data.clone(),
            node: Some("n".to_owned()),
            servers: vec!["https://a:6443".to_owned()],
            store: None,
        };
        let wanted = hatch.running();
        let serving = tokio::spawn(hatch.serve());
        let found = loop {
            match running(&data).await {
                Err(HatchError::Nobody { .. }) => tokio::task::yield_now().await,
                found => break found.unwrap(),
            }
        };
        assert_eq!(found, wanted);
        let mode = std::fs::metadata(data.join(SOCKET)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let ask = Ask::Backup { file: data.join("b"), part: Part::Keys };
        let refused = call::<backup::Made>(&data, &ask).await.unwrap_err();
        assert!(refused.to_string().contains("back up one of them"), "{refused}");
        serving.abort();
        assert!(serving.await.is_err());
        assert!(matches!(running(&data).await, Err(HatchError::Nobody { .. })));
    }
}
