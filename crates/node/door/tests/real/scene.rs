//! One pod with one container, a containerd of its own, and the door before them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kedge_clock::Clock;
use kedge_door::{
    Door, Judge, JudgeError, Listening, Nothing, Pods, Rotation, Settings, Tls, User, keep_short,
};
use kedge_images::{File, PAUSE_IMAGE, Store, build, pause};
use kedge_pki::{Authority, Leaf, Names, Purpose, Serving};
use kedge_runtime::Runtime;
use kedge_runtime::containerd::{Config, Containerd};
use kedge_runtime::wire::{
    ContainerConfig, ContainerMetadata, ImageSpec, LinuxPodSandboxConfig, LinuxSandboxSecurityContext,
    NamespaceMode, NamespaceOption, PodSandboxConfig, PodSandboxMetadata,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::client::Client;

const UID: &str = "00000000-1111-2222-3333-444444444444";

pub(crate) struct Scene {
    folder: tempfile::TempDir,
    containerd: Option<Containerd>,
    runtime: Runtime,
    authority: Authority,
    address: SocketAddr,
    door: JoinHandle<()>,
}

impl Scene {
    /// The container runs this, and has an input.
    pub(crate) async fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            folder: folder.path().join("containerd"),
            program: "containerd".to_owned(),
            pause_image: PAUSE_IMAGE.to_owned(),
            cni_programs: folder.path().join("cni/bin"),
            cni_config: folder.path().join("cni/net.d"),
            restrict_oom_scores: true,
            cgroups: Vec::new(),
        };
        let containerd = Containerd::start(config).await.unwrap();
        let runtime = Runtime::at(&containerd.socket());
        let clock = Clock::system();
        let authority = Authority::open(&folder.path().join("pki"), "test-ca", &clock).unwrap();
        let names =
            Names { common_name: "node".to_owned(), organization: None, hosts: vec!["localhost".to_owned()] };
        let leaf = Leaf::new(&folder.path().join("pki"), "node", names, Purpose::Server);
        let serving = Serving::start(leaf, &authority, clock.now()).unwrap();
        let tls = Tls::new(serving, authority.clients().unwrap()).unwrap();
        let listening = Listening::at("127.0.0.1:0".parse().unwrap(), tls).await.unwrap();
        let address = listening.address();
        let door = Door::new(Settings {
            runtime: runtime.clone(),
            pods: Arc::new(One::new()),
            judge: Arc::new(Known),
            figures: Arc::new(Nothing),
            clock,
            machine_logs: folder.path().join("containerd"),
            config: json!({}),
        });
        let door = tokio::spawn(async move { match listening.serve(door).await {} });
        let scene = Self { folder, containerd: Some(containerd), runtime, authority, address, door };
        scene.run(script).await;
        scene
    }

    async fn run(&self, script: &str) {
        let store = Store::at(&self.folder.path().join("containerd/containerd.sock"));
        let content = Bytes::from(std::fs::read("/bin/busybox").unwrap());
        let files = [
            File::Folder { path: "/bin".to_owned(), mode: 0o755 },
            File::Regular { path: "/bin/busybox".to_owned(), mode: 0o755, content },
            File::Link { path: "/bin/sh".to_owned(), target: "busybox".to_owned() },
        ];
        let image = build("busybox:1", &files, json!({"Env": ["PATH=/bin"]})).unwrap();
        for image in [pause().unwrap(), image] {
            store.import(&image, None, Timestamp::now(), |_| {}).await.unwrap();
        }
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| (format!("io.kubernetes.{key}"), (*value).to_owned())).collect()
        };
        let pod = [("pod.name", "p"), ("pod.namespace", "default"), ("pod.uid", UID)];
        let sandbox = PodSandboxConfig {
            metadata: Some(PodSandboxMetadata {
                name: "p".to_owned(),
                uid: UID.to_owned(),
                namespace: "default".to_owned(),
                attempt: 0,
            }),
            log_directory: self.logs().join(format!("default_p_{UID}")).display().to_string(),
            labels: owned(&pod),
            linux: Some(LinuxPodSandboxConfig {
                security_context: Some(LinuxSandboxSecurityContext {
                    namespace_options: Some(NamespaceOption {
                        network: NamespaceMode::Node.into(),
                        pid: NamespaceMode::Container.into(),
                        ..NamespaceOption::default()
                    }),
                    ..LinuxSandboxSecurityContext::default()
                }),
                ..LinuxPodSandboxConfig::default()
            }),
            ..PodSandboxConfig::default()
        };
        std::fs::create_dir_all(&sandbox.log_directory).unwrap();
        let id = self.runtime.run_sandbox(sandbox.clone(), "").await.unwrap();
        let config = ContainerConfig {
            metadata: Some(ContainerMetadata { name: "main".to_owned(), attempt: 0 }),
            image: Some(ImageSpec::named("docker.io/library/busybox:1")),
            command: ["sh", "-c", script].map(str::to_owned).into(),
            labels: owned(&[&pod[..], &[("container.name", "main")]].concat()),
            log_path: "main/0.log".to_owned(),
            stdin: true,
            ..ContainerConfig::default()
        };
        let container = self.runtime.create_container(&id, config, sandbox).await.unwrap();
        self.runtime.start_container(&container).await.unwrap();
    }

    fn logs(&self) -> PathBuf {
        self.folder.path().join("logs/pods")
    }

    /// How many files the container's log has.
    pub(crate) fn log_files(&self) -> usize {
        std::fs::read_dir(self.logs().join(format!("default_p_{UID}/main"))).unwrap().count()
    }

    pub(crate) fn keep_short(&self, bytes: u64, files: usize) -> JoinHandle<()> {
        let rotation = Rotation { bytes, files, every: Duration::from_millis(20) };
        tokio::spawn(keep_short(self.logs(), rotation, self.runtime.clone(), Clock::system()))
    }

    /// Somebody with a certificate of the node's authority, and every right.
    pub(crate) fn client(&self) -> Client {
        self.with(&self.authority, String::new())
    }

    /// The same with a certificate of another authority.
    pub(crate) fn stranger(&self) -> Client {
        let other = Authority::open(&self.folder.path().join("other"), "other", &Clock::system()).unwrap();
        self.with(&other, String::new())
    }

    fn with(&self, authority: &Authority, credentials: String) -> Client {
        let names = Names { common_name: "admin".to_owned(), organization: None, hosts: Vec::new() };
        let issued = authority.issue(&names, Purpose::Client, Timestamp::now()).unwrap();
        let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
        let tls = self.tls().with_client_auth_cert(vec![certificate], key).unwrap();
        Client { address: self.address, tls: Arc::new(tls), credentials }
    }

    pub(crate) fn nobody(&self) -> Client {
        let tls = self.tls().with_no_client_auth();
        Client { address: self.address, tls: Arc::new(tls), credentials: String::new() }
    }

    pub(crate) fn with_token(&self, token: &str) -> Client {
        Client { credentials: format!("Authorization: Bearer {token}\r\n"), ..self.nobody() }
    }

    fn tls(&self) -> rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        builder.unwrap().with_root_certificates(roots)
    }

    /// Leaves nothing on the machine.
    pub(crate) async fn end(mut self) {
        self.door.abort();
        remove(&self.runtime).await;
        self.containerd.take().unwrap().stop().await;
    }
}

async fn remove(runtime: &Runtime) {
    for sandbox in runtime.sandboxes(Default::default()).await.unwrap() {
        runtime.stop_sandbox(&sandbox.id).await.unwrap();
        runtime.remove_sandbox(&sandbox.id).await.unwrap();
    }
}

/// A test that fails leaves nothing either.
impl Drop for Scene {
    fn drop(&mut self) {
        let Some(containerd) = self.containerd.take() else { return };
        let socket = containerd.socket();
        let ended = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let end = Instant::now() + Duration::from_secs(20);
                let runtime = Runtime::at(&socket);
                let _late = tokio::time::timeout_at(end.into(), remove(&runtime)).await;
                containerd.stop().await;
            });
        });
        let _joined = ended.join();
    }
}

/// The one pod.
struct One(Arc<Pod>);

impl One {
    fn new() -> Self {
        let metadata = json!({"name": "p", "namespace": "default", "uid": UID});
        let spec = json!({"containers": [{"name": "main"}, {"name": "gone"}]});
        Self(serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
    }
}

impl Pods for One {
    fn all(&self) -> Vec<Arc<Pod>> {
        vec![self.0.clone()]
    }

    fn named(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        (namespace == "default" && name == "p").then(|| self.0.clone())
    }
}

/// Lets `admin` do everything, and who has the token `healthy` ask for the node's health.
struct Known;

impl Judge for Known {
    fn who<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, JudgeError>> {
        let user = (token == "healthy").then(|| User { name: token.to_owned(), ..User::default() });
        Box::pin(async { Ok(user) })
    }

    fn may<'a>(
        &'a self,
        user: &'a User,
        _verb: &'static str,
        subresource: &'static str,
    ) -> BoxFuture<'a, Result<bool, JudgeError>> {
        Box::pin(async move { Ok(user.name == "admin" || subresource == "healthz") })
    }
}
