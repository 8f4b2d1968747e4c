//! Three servers that share an etcd and their keys, and one client that knows all of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use kedge_client::{Client, Place, Servers, Ties};
use kedge_shipped::{binary, eventually, start};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::etcd::Etcd;
use crate::node::Node;

/// What a server says when it begins to do the work.
const LEADS: &str = "this server leads now lease=\"kedge-controllers\"";
const PATIENCE: Duration = Duration::from_secs(60);
const PODS: &str = "/api/v1/namespaces/default/pods";

pub(crate) struct Cluster {
    folder: TempDir,
    servers: Vec<Option<Child>>,
    pub(crate) etcd: Etcd,
    pub(crate) client: Client,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let etcd = Etcd::start(folder.path());
        let mut servers = vec![Some(serve(folder.path(), 0, 0, &etcd))];
        ready(folder.path(), 0);
        // The keys of the first make the others servers of the same cluster.
        let keys = folder.path().join("keys.tar.gz");
        kedge(&["backup", "--keys-only"], &data(folder.path(), 0), &keys);
        for at in 1..3 {
            kedge(&["restore", "--keys-only"], &data(folder.path(), at), &keys);
            servers.push(Some(serve(folder.path(), at, 0, &etcd)));
        }
        for at in 1..3 {
            ready(folder.path(), at);
        }
        let pki = data(folder.path(), 0).join("pki");
        let read = |name: &str| std::fs::read_to_string(pki.join(name)).unwrap();
        let ties = Ties::Certificate {
            authority: read("ca.crt"),
            certificate: read("admin.crt"),
            key: read("admin.key"),
        };
        let client = Servers::new(listed(folder.path(), 0), &ties).unwrap().client();
        Self { folder, servers, etcd, client }
    }

    /// A node that was told of the first server.
    pub(crate) async fn node(&self) -> Node {
        let folder = self.folder.path();
        let server = ready(folder, 0).to_string();
        Node::start(folder, &server, &data(folder, 0).join("node-token")).await
    }

    /// Waits until a pod runs, and answers with what its container is.
    pub(crate) async fn until_running(&self, path: &str, log: impl Fn() -> String) -> Value {
        let begun = Instant::now();
        loop {
            let pod = self.insist("GET", path, &Value::Null).await;
            let told = &pod["status"]["containerStatuses"][0];
            if pod["status"]["phase"] == "Running" && told["ready"] == true {
                return json!([told["containerID"], told["restartCount"]]);
            }
            assert!(begun.elapsed() < PATIENCE, "still {}\n{}", pod["status"], log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn kill_server(&mut self, at: usize) {
        let mut server = self.servers[at].take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// At the port that it had, where clients look for it.
    pub(crate) async fn start_server(&mut self, at: usize) {
        let port = ready(self.folder.path(), at).port;
        let _former = std::fs::remove_file(data(self.folder.path(), at).join("kubeconfig"));
        self.servers[at] = Some(serve(self.folder.path(), at, port, &self.etcd));
        ready(self.folder.path(), at);
    }

    /// Which server does the work, by what they said last.
    pub(crate) fn leader(&self) -> usize {
        eventually("one server leads", PATIENCE, || {
            let leading = |at: &usize| {
                let log = std::fs::read_to_string(log(self.folder.path(), *at)).unwrap_or_default();
                let began = log.rfind("kedge is ready at");
                let won = log.rfind(LEADS);
                let lost = log.rfind("no longer leads lease=\"kedge-controllers\"");
                won > began && won > lost
            };
            let alive = (0..3).filter(|at| self.servers[*at].is_some());
            let leading: Vec<usize> = alive.filter(leading).collect();
            match leading[..] {
                [one] => Ok(one),
                _ => Err(format!("{leading:?} lead")),
            }
        })
    }

    async fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let asked = self.client.request(request.body(body).unwrap());
        match tokio::time::timeout(Duration::from_secs(10), asked).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err("no answer".to_owned()),
        }
    }

    /// As a person would: again if it did not work.
    async fn insist(&self, method: &str, path: &str, body: &Value) -> Value {
        let begun = Instant::now();
        loop {
            match self.call(method, path, body).await {
                Ok(answer) => return answer,
                Err(why) if begun.elapsed() > Duration::from_secs(20) => panic!("{method} {path}: {why}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) {
        self.insist("POST", path, object).await;
    }

    pub(crate) async fn scale(&self, replicas: u32) {
        let path = "/apis/apps/v1/namespaces/default/deployments/web";
        self.insist("PATCH", path, &json!({"spec": {"replicas": replicas}})).await;
    }

    async fn list(&self, path: &str) -> Vec<Value> {
        self.insist("GET", path, &Value::Null).await["items"].as_array().cloned().unwrap_or_default()
    }

    pub(crate) async fn until_pods(&self, wanted: u32, patience: Duration) {
        let begun = Instant::now();
        loop {
            let found = u32::try_from(self.list(PODS).await.len()).unwrap();
            assert!(found <= wanted, "{found} pods in the place of {wanted}");
            if found == wanted {
                return;
            }
            assert!(
                begun.elapsed() < patience,
                "still {found} of {wanted} pods after {patience:?}\n{}",
                self.logs()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Every server by itself shows the same.
    pub(crate) async fn until_agreed(&self) {
        let begun = Instant::now();
        loop {
            let mut seen = BTreeSet::new();
            for at in 0..3 {
                let names = names(&kubectl(&data(self.folder.path(), at), PODS));
                seen.insert(names);
            }
            if seen.len() == 1 {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "servers show different pods: {seen:?}");
        }
    }

    pub(crate) async fn assert_has(&self, wanted: &BTreeSet<String>) {
        let found = self.list("/api/v1/namespaces/default/configmaps").await;
        let found: BTreeSet<String> =
            found.iter().filter_map(|one| one["metadata"]["name"].as_str()).map(str::to_owned).collect();
        let lost: Vec<&String> = wanted.difference(&found).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    }

    /// No pod was made that had to go again, and no second ReplicaSet.
    pub(crate) async fn assert_nothing_twice(&self, pods: u32) {
        assert_eq!(self.list("/apis/apps/v1/namespaces/default/replicasets").await.len(), 1);
        let events = self.list("/api/v1/namespaces/default/events").await;
        let count = |reason: &str| -> u64 {
            let those = events.iter().filter(|event| event["reason"] == reason);
            those
                .map(|event| event["series"]["count"].as_u64().or(event["count"].as_u64()).unwrap_or(1))
                .sum()
        };
        assert_eq!(count("SuccessfulDelete"), 0, "pods were made that nobody wanted");
        // Whoever dies between a pod and its event leaves one untold.
        let (told, pods) = (count("SuccessfulCreate"), u64::from(pods));
        assert!((pods - 4..=pods).contains(&told), "{told} pods were made");
    }

    /// Waits until the kubeconfig that a server wrote names all of them.
    pub(crate) fn until_listed(&self, at: usize) {
        listed(self.folder.path(), at);
    }

    /// With the kubeconfig of one that is gone, by whoever of the list answers.
    pub(crate) fn assert_tokens_are_listed_by(&self, gone: usize) {
        let kubeconfig = data(self.folder.path(), gone).join("kubeconfig");
        let listed =
            Command::new(binary()).args(["token", "list", "--kubeconfig"]).arg(kubeconfig).output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    }

    fn logs(&self) -> String {
        let end = |at: usize| {
            let text = std::fs::read_to_string(log(self.folder.path(), at)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(15).collect();
            format!("server {at}:\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        (0..3).map(end).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in self.servers.iter_mut().flatten() {
            let _already_gone = server.kill();
            let _reaped = server.wait();
        }
    }
}

fn data(folder: &Path, at: usize) -> PathBuf {
    folder.join(format!("s{at}"))
}

fn log(folder: &Path, at: usize) -> PathBuf {
    folder.join(format!("s{at}.log"))
}

fn serve(folder: &Path, at: usize, port: u16, etcd: &Etcd) -> Child {
    let mut command = Command::new(binary());
    command
        .args(["server", "--no-agent", "--no-gateway", "--listen", &format!("127.0.0.1:{port}")])
        .args(["--cluster-cidr", &ranges().0, "--service-cidr", &ranges().1])
        .args(["--store", &format!("etcd={}", etcd.urls())])
        .arg("--data-dir")
        .arg(data(folder, at));
    start(&mut command, &log(folder, at))
}

/// Tests of other builds may run beside this one, and others of this one.
fn ranges() -> (String, String) {
    let own = std::process::id() % 16;
    (format!("10.{}.128.0/17", 216 + own), format!("10.{}.128.0/17", 176 + own))
}

/// Waits until a server answers, and says where.
fn ready(folder: &Path, at: usize) -> Place {
    let data = data(folder, at);
    eventually("a server is ready", PATIENCE, || {
        let kubeconfig =
            std::fs::read_to_string(data.join("kubeconfig")).map_err(|error| error.to_string())?;
        let url =
            kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: ")).ok_or("no address")?;
        match try_kubectl(&data, "/readyz") {
            // Asked of one that is gone, for its address alone.
            Err(why) if is_listening(url) => Err(why),
            _ => url.parse().map_err(|_| url.to_owned()),
        }
    })
}

/// All servers, as the kubeconfig that one of them wrote lists them.
fn listed(folder: &Path, at: usize) -> Vec<Place> {
    let file = data(folder, at).join("kubeconfig");
    eventually("the kubeconfig names all servers", PATIENCE, || {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let list = text.lines().find_map(|line| line.trim().strip_prefix("servers: ")).unwrap_or_default();
        let urls = list.split(['[', ',', ' ', ']']).filter(|word| word.starts_with("https://"));
        let places: Vec<Place> = urls.filter_map(|url| url.parse().ok()).collect();
        if places.len() == 3 { Ok(places) } else { Err(format!("{list:?}")) }
    })
}

fn is_listening(url: &str) -> bool {
    std::net::TcpStream::connect(url.trim_start_matches("https://")).is_ok()
}

fn try_kubectl(data: &Path, path: &str) -> Result<Vec<u8>, String> {
    let mut command = Command::new(kedge_shipped::kubectl());
    let said = command
        .arg("--kubeconfig")
        .arg(data.join("kubeconfig"))
        .args(["--request-timeout=10s", "get", "--raw", path])
        .output()
        .unwrap();
    if said.status.success() {
        Ok(said.stdout)
    } else {
        Err(String::from_utf8_lossy(&said.stderr).into_owned())
    }
}

/// A list as stock kubectl gets it from one server.
fn kubectl(data: &Path, path: &str) -> Vec<Value> {
    let list: Value = serde_json::from_slice(&try_kubectl(data, path).unwrap()).unwrap();
    list["items"].as_array().cloned().unwrap_or_default()
}

fn names(objects: &[Value]) -> Vec<String> {
    objects.iter().filter_map(|one| one["metadata"]["name"].as_str()).map(str::to_owned).collect()
}

fn kedge(words: &[&str], data: &Path, file: &Path) {
    let done = Command::new(binary()).args(words).arg(file).arg("--data-dir").arg(data).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}
