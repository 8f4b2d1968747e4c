//! Starts the programs under test on loopback and ends them again, by their own handles.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use tokio::process::{Child, Command};

use crate::BenchError;
use crate::connect::Connection;
use crate::kubeconfig::Target;

/// How long a program may take to get ready before the suite gives up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    child: Child,
    pub(crate) pid: u32,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) took: Duration,
}

impl Server {
    /// Starts Kedge on `data` and waits for `/readyz`.
    pub(crate) async fn kedge(program: &Path, data: &Path) -> Result<Self, BenchError> {
        Self::kedge_with(program, data, &[]).await
    }

    /// The same with more options.
    pub(crate) async fn kedge_with(
        program: &Path,
        data: &Path,
        options: &[&str],
    ) -> Result<Self, BenchError> {
        Self::kedge_node(program, data, &[&["--no-agent"], options].concat()).await
    }

    /// The same with a node on this machine. What it runs outlives it: see `kedge clean`.
    pub(crate) async fn kedge_node(
        program: &Path,
        data: &Path,
        options: &[&str],
    ) -> Result<Self, BenchError> {
        let kubeconfig = data.join("bench.kubeconfig");
        let mut command = Command::new(program);
        command.args(["server", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
        command.arg("--write-kubeconfig").arg(&kubeconfig).args(options);
        Self::start(command, kubeconfig, true).await
    }

    /// Starts ourselves as the bare server.
    pub(crate) async fn bare(folder: &Path, answer: &Path, list: &Path) -> Result<Self, BenchError> {
        let kubeconfig = folder.join("bare.kubeconfig");
        let myself =
            std::env::current_exe().map_err(|source| BenchError::Read { path: "self".into(), source })?;
        let mut command = Command::new(myself);
        command.arg("bare").arg("--write-kubeconfig").arg(&kubeconfig);
        command.arg("--answer").arg(answer).arg("--list").arg(list);
        Self::start(command, kubeconfig, true).await
    }

    /// Starts etcd with a data folder of its own; ready when its client port answers.
    pub(crate) async fn etcd(program: &Path, folder: &Path) -> Result<(Self, String), BenchError> {
        let port = free_port()?;
        let endpoint = format!("http://127.0.0.1:{port}");
        let mut command = Command::new(program);
        command.arg("--data-dir").arg(folder.join("etcd"));
        command.args(["--listen-client-urls", &endpoint, "--advertise-client-urls", &endpoint]);
        command.args(["--listen-peer-urls", &format!("http://127.0.0.1:{}", free_port()?)]);
        command.args(["--log-level", "error", "--quota-backend-bytes", "4294967296"]);
        let server = Self::start(command, PathBuf::new(), false).await?;
        let start = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if start.elapsed() > PATIENCE {
                return Err(not_ready("etcd", "its port does not answer"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok((server, endpoint))
    }

    async fn start(mut command: Command, kubeconfig: PathBuf, probe: bool) -> Result<Self, BenchError> {
        let name = command.as_std().get_program().to_string_lossy().into_owned();
        // A kubeconfig left from an earlier start names a port that is gone.
        let _ = std::fs::remove_file(&kubeconfig);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let start = Instant::now();
        let mut child = command.spawn().map_err(|error| not_ready(&name, &error.to_string()))?;
        let pid = child.id().ok_or_else(|| not_ready(&name, "it ended at once"))?;
        while probe && !answers(&kubeconfig).await {
            if let Ok(Some(status)) = child.try_wait() {
                return Err(not_ready(&name, &format!("it ended with {status}")));
            }
            if start.elapsed() > PATIENCE {
                return Err(not_ready(&name, "/readyz does not answer"));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(Self { child, pid, kubeconfig, took: start.elapsed() })
    }

    pub(crate) fn target(&self) -> Result<Target, BenchError> {
        Target::load(&self.kubeconfig)
    }

    pub(crate) async fn stop(mut self) {
        // SIGKILL is a fair end: whatever was acknowledged must survive it.
        let _ = self.child.kill().await;
    }
}

async fn answers(kubeconfig: &Path) -> bool {
    let Ok(target) = Target::load(kubeconfig) else { return false };
    let Ok(mut connection) = Connection::open(&target).await else { return false };
    connection.drain(Method::GET, "/readyz", "", Bytes::new()).await.is_ok()
}

fn free_port() -> Result<u16, BenchError> {
    let failed = |source| BenchError::Connect { address: "127.0.0.1:0".to_owned(), source };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    Ok(listener.local_addr().map_err(failed)?.port())
}

fn not_ready(program: &str, why: &str) -> BenchError {
    BenchError::NotReady { program: program.to_owned(), why: why.to_owned() }
}
