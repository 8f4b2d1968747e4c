//! One node with real containers that was told of one server alone and learns of the others. What runs on it runs on, whichever server dies.
//! Nothing of it is left behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use kedge_shipped::{IMAGE, binary, eventually, start, sweep};
use serde_json::{Value, json};

use crate::cluster::Cluster;

const PATIENCE: Duration = Duration::from_secs(60);
/// Only pods that are made for this node come here.
const TAINT: &str = "only=some:NoSchedule";

pub(crate) struct Node {
    folder: PathBuf,
    running: Child,
}

impl Node {
    /// Joins by what one server keeps, and waits until it knows of all three.
    pub(crate) async fn start(folder: &Path, server: &str, token: &Path) -> Self {
        let folder = folder.join("node");
        std::fs::create_dir(&folder).unwrap();
        eventually("the server has a token for others", PATIENCE, || {
            std::fs::metadata(token).map_err(|error| error.to_string())
        });
        let mut command = Command::new(binary());
        command
            .args(["agent", "--server", server, "--node-name", "there", "--node-taint", TAINT])
            .args(["--node-listen", "127.0.0.1:0", "--hosts-file", "none"])
            .args(["--eviction-hard", "memory.available<1Mi"])
            .arg("--token-file")
            .arg(token)
            .arg("--data-dir")
            .arg(folder.join("data"));
        let node = Self { running: start(&mut command, &folder.join("log")), folder };
        eventually("the node knows of all servers", PATIENCE, || {
            let log = node.log();
            let known =
                log.lines().rfind(|line| line.contains("the cluster's servers are")).unwrap_or_default();
            if known.matches("https://").count() == 3 { Ok(()) } else { Err(log) }
        });
        eventually("the node's containerd listens", PATIENCE, || {
            let socket = node.data().join("containerd/containerd.sock");
            std::os::unix::net::UnixStream::connect(socket).map_err(|error| error.to_string())
        });
        kedge_shipped::import(&node.data()).await;
        node
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// A pod that finds its way here by the scheduler, and runs. Answers with its container and how often that was started again.
    pub(crate) async fn runs(&self, cluster: &Cluster, name: &str) -> Value {
        let container = json!({"name": "main", "image": IMAGE, "command": ["sleep", "1000000"]});
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {
                "containers": [container], "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
                "tolerations": [{"key": "only", "operator": "Exists"}],
            },
        });
        cluster.create("/api/v1/namespaces/kube-public/pods", &pod).await;
        cluster.until_running(&format!("/api/v1/namespaces/kube-public/pods/{name}"), || self.log()).await
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _already_gone = self.running.kill();
        let _reaped = self.running.wait();
        let _cleaned = Command::new(binary()).args(["uninstall", "--data-dir"]).arg(self.data()).output();
        sweep(&self.folder);
    }
}
