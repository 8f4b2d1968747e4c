//! Folders of other machines, with everything but the other machine: the agent calls the machine's own `mount`, and that a stand-in for
//! the helper that knows NFS. The test runs itself once more where only it sees the stand-in. Needs what `real` needs, and overlayfs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::Pod;
use scene::{Scene, container_id, is_ready, restarts, shell};
use serde_json::{Value, json};

const WITHIN: &str = "KEDGE_TEST_SERVER";
/// What `mount` looks for is in a folder of the system's, which others need as it is: another one lies over it for us alone.
const LAID_OVER: &str = "mount -t overlay -o \"lowerdir=$1:$2\" overlay \"$2\" && shift 2 && exec \"$@\"";
const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/// The other machine: `/there` is given to everybody, `/later` when somebody allows it, and `/silent` never answers.
struct Server(PathBuf);

impl Server {
    fn helper(&self) -> String {
        let at = self.0.display();
        format!(
            r#"#!/bin/sh
echo "$*" >> {at}/calls
case "$1" in
*:/later) test -e {at}/allowed || {{ echo "mount.nfs: access denied by server while mounting $1" >&2; exit 32; }} ;;
*:/silent) echo $$ > {at}/silent.new; mv {at}/silent.new {at}/silent; exec sleep 600 ;;
esac
mount --bind {at}/files "$2" || exit 32
case ",$4," in *,ro,*) exec mount -o remount,bind,ro "$2" ;; esac
"#
        )
    }

    /// How the helper was called for a folder: its source, and the options in order.
    fn calls(&self, folder: &str) -> Vec<(String, Vec<String>)> {
        let text = fs::read_to_string(self.0.join("calls")).unwrap_or_default();
        let call = |line: &str| {
            let mut words = line.split(' ');
            let (source, _, flag) = (words.next()?, words.next()?, words.next()?);
            assert_eq!(flag, "-o", "{line}");
            let mut options: Vec<String> = words.next()?.split(',').map(str::to_owned).collect();
            options.sort();
            source.ends_with(folder).then(|| (source.to_owned(), options))
        };
        text.lines().filter_map(call).collect()
    }
}

#[test]
fn folders_of_other_machines_are_mounted_kept_and_given_back() {
    if let Some(server) = std::env::var_os(WITHIN) {
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        return threads.unwrap().block_on(within(Server(server.into())));
    }
    let folder = tempfile::tempdir().unwrap();
    let (server, helpers) = (Server(folder.path().to_owned()), folder.path().join("helpers"));
    for made in [&helpers, &folder.path().join("files")] {
        fs::create_dir(made).unwrap();
    }
    let helper = helpers.join("mount.nfs");
    fs::write(&helper, server.helper()).unwrap();
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
    let done = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", LAID_OVER, "sh"])
        .args([&helpers, &fs::canonicalize("/sbin").unwrap(), &std::env::current_exe().unwrap()])
        .args(["--exact", "folders_of_other_machines_are_mounted_kept_and_given_back", "--nocapture"])
        .env(WITHIN, folder.path())
        .status();
    assert!(done.unwrap().success());
}

fn with(source: Value, script: &str) -> Value {
    let mut container = shell("c", script);
    container["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
    let mut volume = source;
    volume["name"] = json!("v");
    json!({"containers": [container], "volumes": [volume]})
}

fn place(scene: &Scene, pod: &Pod) -> PathBuf {
    let uid = pod.metadata.uid.as_deref().unwrap();
    scene.folder.path().join("pods").join(uid).join("volumes/nfs/v")
}

fn lives(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

async fn within(server: Server) {
    let mut scene = Scene::new().await;
    let nfs = |path: &str| json!({"nfs": {"server": "2001:db8::1", "path": path}});
    scene.make("later", with(nfs("/later"), IDLE)).await;
    scene.make("silent", with(nfs("/silent"), IDLE)).await;
    let script = format!("echo from a pod > /v/file; {IDLE}");
    scene.make("there", with(nfs("/there"), &script)).await;
    let volume =
        json!({"mountOptions": ["soft", "nfsvers=4.1"], "nfs": {"server": "192.0.2.1", "path": "/there"}});
    scene.claim("claimed", &volume).await;
    let claim = json!({"persistentVolumeClaim": {"claimName": "claimed", "readOnly": true}});
    let script = format!("touch /v/x || echo cannot write; {IDLE}");
    scene.make("reader", with(claim, &script)).await;

    let there = scene.until("it is ready", "there", is_ready).await;
    assert_eq!(fs::read_to_string(server.0.join("files/file")).unwrap(), "from a pod\n");
    assert_eq!(server.calls("/there")[0], ("[2001:db8::1]:/there".to_owned(), vec!["rw".to_owned()]));
    scene.until("it is ready", "reader", is_ready).await;
    scene.until_it_says("reader", "cannot write").await;
    let read = server.calls("192.0.2.1:/there");
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].1, ["nfsvers=4.1", "ro", "soft"]);

    // What the helper says is told on, and it is asked again until the server lets us.
    let words = "mount.nfs: access denied by server while mounting [2001:db8::1]:/later";
    let told = scene.told("later", "FailedMount", words).await;
    let message = told.message.unwrap();
    assert!(message.starts_with("MountVolume.SetUp failed for volume \"v\" : mount failed: "), "{message}");
    fs::write(server.0.join("allowed"), "").unwrap();
    scene.until("the server lets it in", "later", is_ready).await;
    assert!(server.calls("/later").len() >= 2);

    // A server that does not answer holds up neither the others nor the pod's end.
    let silent = server.0.join("silent");
    scene
        .eventually("the server is asked", async || {
            if silent.exists() { Ok(()) } else { Err(scene.events("silent").await) }
        })
        .await;
    let pid = fs::read_to_string(&silent).unwrap().trim().to_owned();
    scene.delete("silent").await;
    scene
        .eventually("nobody asks any more", async || if lives(&pid) { Err(pid.clone()) } else { Ok(()) })
        .await;

    // The next agent finds what is mounted.
    let before = server.calls("/there").len();
    scene.kill_agent().await;
    scene.start_agent().await;
    scene.make("next", with(nfs("/there"), IDLE)).await;
    scene.until("it is ready", "next", is_ready).await;
    let after = scene.until("it is ready", "there", is_ready).await;
    assert_eq!((container_id(&after), restarts(&after)), (container_id(&there), 0));
    assert_eq!(server.calls("/there").len(), before + 1, "only the new one");

    // Whoever holds a file there keeps nobody from going, as one that waits for a dead server does.
    let at = place(&scene, &there);
    let held = fs::File::open(at.join("file")).unwrap();
    scene.delete("there").await;
    assert!(!is_there(&at), "{} is still there", at.display());
    drop(held);
    scene.delete_all().await;
    assert_eq!(fs::read_to_string(server.0.join("files/file")).unwrap(), "from a pod\n");
    scene.end().await;
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
