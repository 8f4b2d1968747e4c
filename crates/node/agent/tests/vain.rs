//! What is asked for in vain, with real containers: no room on the disk, limits that nothing can live with, users and servers that
//! are not there. The right reason within seconds, tried again, others undisturbed, always deletable. Needs what `real` needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use scene::{Scene, is_ready, phase, restarts, shell};
use serde_json::{Value, json};

const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/// A disk that is soon full; taken away at the end, however it ends.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(size: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = CString::new(format!("size={size}")).unwrap();
        mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), &*options).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Until nothing more can be written.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.path().join("filler")).unwrap();
        for size in [1 << 20, 4 << 10] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = unmount(self.path(), UnmountFlags::DETACH);
    }
}

fn one(container: Value) -> Value {
    json!({"containers": [container]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_hurts_only_those_who_need_it() {
    let disk = SmallDisk::new("128m");
    let scene = Scene::below(tempfile::tempdir_in(disk.path()).unwrap(), |_| {}).await;
    scene.make("there", one(shell("c", IDLE))).await;
    scene.until("it is ready", "there", is_ready).await;
    disk.fill();
    for name in ["late", "gone"] {
        scene.make(name, one(shell("c", IDLE))).await;
    }
    for name in ["late", "gone"] {
        scene
            .eventually("the pod says that there is no room", async || {
                let told = scene.events(name).await;
                let words = told.to_lowercase().contains("no space left on device");
                if words && told.contains("Failed") { Ok(()) } else { Err(told) }
            })
            .await;
        let pod = scene.pods().get(name).await.unwrap();
        assert_eq!(phase(&pod), "Pending");
    }
    scene.delete("gone").await;
    disk.fill();
    let there = scene.pods().get("there").await.unwrap();
    assert!(is_ready(&there) && restarts(&there) == 0, "{:?}", there.status);
    disk.empty();
    scene.until("there is room now", "late", is_ready).await;
    scene.delete_all().await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_this_machine_cannot_do_is_named() {
    let scene = Scene::new().await;
    scene.make("there", one(shell("c", IDLE))).await;
    let server = json!({"server": "127.0.0.1", "path": "/none", "readOnly": true});
    scene.claim("far", &json!({"mountOptions": ["soft", "nfsvers=4.1"], "nfs": server})).await;
    let mut far = one(shell("c", IDLE));
    far["containers"][0]["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
    far["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "far"}}]);
    scene.make("far", far).await;
    let mut own = one(shell("c", IDLE));
    own["hostUsers"] = json!(false);
    own["hostNetwork"] = json!(false);
    scene.make("own", own).await;
    // Nothing can be started with as little.
    let mut tiny = shell("c", IDLE);
    tiny["resources"] = json!({"limits": {"memory": "8Ki"}});
    scene.make("tiny", one(tiny)).await;
    let mut confined = one(shell("c", IDLE));
    confined["securityContext"] = json!({"appArmorProfile": {"type": "RuntimeDefault"}});
    let has_apparmor = std::fs::read_to_string("/sys/module/apparmor/parameters/enabled")
        .is_ok_and(|text| text.starts_with('Y'));
    scene.make("confined", confined).await;

    let told = scene
        .told("far", "FailedMount", "MountVolume.SetUp failed for volume \"far\" : mount failed: ")
        .await;
    let message = told.message.unwrap();
    assert!(message.contains(" -o soft,nfsvers=4.1,ro"), "{message}");
    assert!(message.contains(" 127.0.0.1:/none "), "{message}");
    let handlers = scene.runtime().status().await.unwrap().runtime_handlers;
    let can = |name: &str| {
        let found = handlers.iter().find(|one| one.name == name).and_then(|one| one.features);
        found.is_some_and(|features| features.user_namespaces)
    };
    if !can("") {
        let words = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
        scene.told("own", "FailedCreatePodSandBox", words).await;
    }
    // Already its sandbox cannot live with that.
    let told = scene.told("tiny", "FailedCreatePodSandBox", "Failed to create pod sandbox: ").await;
    let message = told.message.unwrap();
    assert!(message.contains("memory") || message.contains("OOM"), "{message}");
    if !has_apparmor {
        let refused = |pod: &Pod| phase(pod) == "Failed" && scene::reason(pod) == "AppArmor";
        let pod = scene.until("it cannot be confined", "confined", refused).await;
        let message = pod.status.unwrap().message.unwrap();
        assert_eq!(message, "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host");
    }
    let there = scene.until("it is ready", "there", is_ready).await;
    assert_eq!(restarts(&there), 0);
    for name in ["far", "own", "tiny", "confined", "there"] {
        scene.delete(name).await;
    }
    scene.end().await;
}
