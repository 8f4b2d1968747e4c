//! Images in a real containerd: made, read from an archive, and run. Needs root, containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use kedge_images::{Archive, File, PAUSE_IMAGE, Store, build, pause};
use kedge_runtime::Runtime;
use kedge_runtime::containerd::{Config, Containerd, follow, may_lower_oom_scores};
use kedge_runtime::wire::{
    ContainerConfig, ContainerFilter, ContainerMetadata, ContainerState, ImageSpec, LinuxPodSandboxConfig,
    LinuxSandboxSecurityContext, NamespaceMode, NamespaceOption, PodSandboxConfig, PodSandboxFilter,
    PodSandboxMetadata,
};
use serde_json::json;

const BUSYBOX: &str = "localhost/busybox:1";

fn config(folder: &Path) -> Config {
    Config {
        folder: folder.join("containerd"),
        program: "containerd".to_owned(),
        pause_image: PAUSE_IMAGE.to_owned(),
        cni_programs: folder.join("cni/bin"),
        cni_config: folder.join("cni/net.d"),
        restrict_oom_scores: !may_lower_oom_scores(),
        cgroups: Vec::new(),
    }
}

fn busybox() -> kedge_images::Image {
    let content = Bytes::from(fs::read("/bin/busybox").unwrap());
    let files = [
        File::Folder { path: "/bin".to_owned(), mode: 0o755 },
        File::Folder { path: "/tmp".to_owned(), mode: 0o1777 },
        File::Regular { path: "/bin/busybox".to_owned(), mode: 0o755, content },
        File::Link { path: "/bin/sh".to_owned(), target: "busybox".to_owned() },
    ];
    build(BUSYBOX, &files, json!({"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]})).unwrap()
}

fn sandbox(logs: &Path) -> PodSandboxConfig {
    let node = NamespaceMode::Node.into();
    let namespaces = NamespaceOption { network: node, ..NamespaceOption::default() };
    let security = LinuxSandboxSecurityContext { namespace_options: Some(namespaces), ..Default::default() };
    PodSandboxConfig {
        metadata: Some(PodSandboxMetadata {
            name: "pod".to_owned(),
            uid: "uid".to_owned(),
            namespace: "default".to_owned(),
            attempt: 0,
        }),
        log_directory: logs.display().to_string(),
        linux: Some(LinuxPodSandboxConfig { security_context: Some(security), ..Default::default() }),
        ..Default::default()
    }
}

fn container(name: &str, script: &str) -> ContainerConfig {
    ContainerConfig {
        metadata: Some(ContainerMetadata { name: name.to_owned(), attempt: 0 }),
        image: Some(ImageSpec::named(BUSYBOX)),
        command: ["/bin/sh", "-c", script].map(str::to_owned).into(),
        log_path: format!("{name}.log"),
        ..Default::default()
    }
}

struct Node {
    folder: tempfile::TempDir,
    containerd: Containerd,
    runtime: Runtime,
}

impl Node {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let containerd = Containerd::start(config(folder.path())).await.unwrap();
        let runtime = Runtime::at(&containerd.socket());
        let store = Store::at(&containerd.socket());
        for image in [pause().unwrap(), busybox()] {
            store.import(&image, None, Timestamp::now(), |_| {}).await.unwrap();
        }
        Self { folder, containerd, runtime }
    }

    fn logs(&self) -> PathBuf {
        let logs = self.folder.path().join("logs");
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&logs).unwrap();
        logs
    }

    /// Ends everything, so that the folder can go.
    async fn stop(self) {
        for sandbox in self.runtime.sandboxes(PodSandboxFilter::default()).await.unwrap() {
            self.runtime.stop_sandbox(&sandbox.id).await.unwrap();
            self.runtime.remove_sandbox(&sandbox.id).await.unwrap();
        }
        assert!(self.runtime.containers(ContainerFilter::default()).await.unwrap().is_empty());
        self.containerd.stop().await;
    }
}

async fn ended(runtime: &Runtime, id: &str) -> i32 {
    let waiting = async {
        loop {
            let status = runtime.container_status(id, false).await.unwrap().status;
            if status.state() == ContainerState::Exited {
                return status.exit_code;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("the container has not ended")
}

#[tokio::test]
async fn a_made_image_runs_and_outlives_its_starter() {
    let node = Node::start().await;
    let (runtime, logs) = (&node.runtime, node.logs());
    let pod = sandbox(&logs);
    let sandbox = runtime.run_sandbox(pod.clone(), "").await.unwrap();

    let short = container("short", "echo hello; exit 3");
    let short = runtime.create_container(&sandbox, short, pod.clone()).await.unwrap();
    runtime.start_container(&short).await.unwrap();
    assert_eq!(ended(runtime, &short).await, 3);
    let log = fs::read_to_string(logs.join("short.log")).unwrap();
    assert!(log.trim_end().ends_with(" stdout F hello"), "{log}");

    let long = container("long", "trap 'exit 7' TERM; while :; do sleep 0.1; done");
    let long = runtime.create_container(&sandbox, long, pod.clone()).await.unwrap();
    runtime.start_container(&long).await.unwrap();
    let said = runtime.exec(
        &long,
        vec!["/bin/sh".into(), "-c".into(), "echo $((6*7)); exit 5".into()],
        Duration::from_secs(10),
    );
    let said = said.await.unwrap();
    assert_eq!((said.exit_code, &*said.stdout), (5, &b"42\n"[..]));

    // Another starter finds the same one; and after it was killed, a new one finds the container.
    let again = Containerd::start(config(node.folder.path())).await.unwrap();
    assert_eq!(again.pid(), node.containerd.pid());
    again.stop().await;
    let Node { folder, containerd, .. } = node;
    drop(containerd);
    let containerd = Containerd::start(config(folder.path())).await.unwrap();
    let runtime = Runtime::at(&containerd.socket());
    let status = runtime.container_status(&long, false).await.unwrap().status;
    assert_eq!(status.state(), ContainerState::Running);
    runtime.stop_container(&long, Duration::from_secs(10)).await.unwrap();
    assert_eq!(ended(&runtime, &long).await, 7);
    Node { folder, containerd, runtime }.stop().await;
}

#[tokio::test]
async fn an_archive_of_either_form_is_taken_in() {
    let node = Node::start().await;
    let store = Store::at(&node.containerd.socket());
    let oci = node.folder.path().join("oci.tar");
    let docker = node.folder.path().join("docker.tar");
    let socket = node.containerd.socket();
    let exported = Command::new("ctr")
        .args(["--address", &socket.display().to_string(), "-n", "k8s.io", "images", "export"])
        .args([&oci.display().to_string(), BUSYBOX])
        .status()
        .unwrap();
    assert!(exported.success());
    let copied = Command::new("skopeo")
        .args(["copy", "-q", &format!("oci-archive:{}", oci.display())])
        .arg(format!("docker-archive:{}:other.example/box:2", docker.display()))
        .status()
        .unwrap();
    assert!(copied.success());

    for (path, name) in [(&oci, "localhost/busybox:1"), (&docker, "other.example/box:2")] {
        node.runtime.remove_image(name).await.unwrap();
        assert!(node.runtime.image_status(name).await.unwrap().is_none());
        let archive = Archive::open(path).unwrap();
        let images = archive.images().unwrap();
        let mut sent = 0;
        let names = store
            .import(&images[0], Some(archive.file()), Timestamp::now(), |more| sent += more)
            .await
            .unwrap();
        assert_eq!(names, [name]);
        assert_eq!(sent, images[0].size());
        let found = node.runtime.image_status(name).await.unwrap();
        assert!(found.is_some(), "{name} is not there");
    }
    node.stop().await;
}

#[tokio::test]
async fn what_happens_to_containers_is_told() {
    let node = Node::start().await;
    let (runtime, pod) = (&node.runtime, sandbox(&node.logs()));
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let socket = node.containerd.socket();
    let following = tokio::spawn(async move { follow(&socket, |id| drop(tell.send(id.to_owned()))).await });
    let patience = Duration::from_secs(20);
    let sandbox = runtime.run_sandbox(pod.clone(), "").await.unwrap();
    let id = runtime.create_container(&sandbox, container("c", "exit 0"), pod).await.unwrap();
    runtime.start_container(&id).await.unwrap();
    let heard = async { while told.recv().await.unwrap() != id {} };
    tokio::time::timeout(patience, heard).await.expect("nobody tells of the container");
    following.abort();
    node.stop().await;
}

/// Whoever starts one may be killed before he has written down who it is.
#[tokio::test]
async fn a_containerd_that_nobody_wrote_down_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    let first = Containerd::start(config.clone()).await.unwrap();
    let pid = first.pid();
    drop(first);
    fs::remove_file(config.folder.join("containerd.pid")).unwrap();
    let found = Containerd::start(config.clone()).await.unwrap();
    assert_eq!(found.pid(), pid, "the one that runs is taken");
    drop(found);
    // One that waits for the other's end is of no use to anybody.
    let mut twin = Command::new("containerd");
    let mut twin = twin.arg("--config").arg(config.folder.join("config.toml")).spawn().unwrap();
    let found = Containerd::start(config).await.unwrap();
    assert_eq!(found.pid(), pid);
    assert!(!twin.wait().unwrap().success(), "the other was ended");
    found.stop().await;
}
