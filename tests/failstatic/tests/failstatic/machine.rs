//! A server with its node on this machine, which is killed and started again at will. It leaves nothing behind.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_shipped::{binary, start};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

pub(crate) use kedge_shipped::IMAGE;
const NODE: &str = "static";
/// Far longer than anything here takes; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Machine {
    folder: tempfile::TempDir,
    port: u16,
    server: Child,
}

impl Machine {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The same door after every start, so that whoever works on it does not have to look for it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = serve(folder.path(), port);
        let machine = Self { folder, port, server };
        machine.until_ready().await;
        kedge_shipped::import(&machine.data()).await;
        machine
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// As if the power had failed: nothing of it gets a chance to finish anything.
    pub(crate) fn kill_server(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    pub(crate) fn start_server(&mut self) {
        self.server = serve(self.folder.path(), self.port);
    }

    pub(crate) fn kill_containerd(&self) {
        let _it_may_be_down = kedge_fleet::kill_containerd(&self.data());
    }

    /// None while there is no server.
    pub(crate) async fn client(&self) -> Option<Client> {
        client(self.folder.path()).await
    }

    /// Makes a client again whenever the old one's server is gone.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(crate) async fn pods(&self) -> Option<Api<Pod>> {
        Some(Api::namespaced(self.client().await?, "default"))
    }

    pub(crate) async fn until_ready(&self) {
        self.eventually("the node is ready", async || {
            let client = self.client().await.ok_or("there is no server yet")?;
            let node = Api::<Node>::all(client).get(NODE).await.map_err(|error| error.to_string())?;
            let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
            let ready = conditions.iter().any(|found| found.type_ == "Ready" && found.status == "True");
            if ready { Ok(()) } else { Err(format!("{conditions:#?}")) }
        })
        .await;
    }

    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        mut holds: impl AsyncFnMut() -> Result<T, String>,
    ) -> T {
        let begun = Instant::now();
        loop {
            match holds().await {
                Ok(done) => return done,
                Err(still) if begun.elapsed() > PATIENCE => panic!("{what}: still {still}\n{}", self.log()),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _already_gone = self.server.kill();
        let _reaped = self.server.wait();
        let cleaned = Command::new(binary()).args(["clean", "--data-dir"]).arg(self.data()).output();
        if let Ok(output) = cleaned
            && !output.status.success()
        {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

pub(crate) async fn client(folder: &Path) -> Option<Client> {
    let kubeconfig = Kubeconfig::read_from(folder.join("kubeconfig")).ok()?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.ok()?;
    Client::try_from(config).ok()
}

fn serve(folder: &Path, port: u16) -> Child {
    let mut command = Command::new(binary());
    command
        .args([
            "server",
            "--node-name",
            NODE,
            "--node-listen",
            "127.0.0.1:0",
            "--cluster-cidr",
            "10.219.0.0/16",
            "--service-cidr",
            "10.218.0.0/16",
        ])
        // How full this machine's disk is must not matter here.
        .args(["--eviction-hard", "memory.available<1Mi"])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .arg("--data-dir")
        .arg(folder.join("data"))
        .arg("--write-kubeconfig")
        .arg(folder.join("kubeconfig"));
    start(&mut command, &folder.join("log"))
}
