//! Pods with users of their own, with real containers, where the runtime can do that. Needs what `real` needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use scene::{Scene, container_id, is_ready, restarts, shell};
use serde_json::{Value, json};

const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
/// Users of their own need a network of their own, which nobody uses here.
const NETWORK: &str = r#"#!/bin/sh
cat > /dev/null
case "$CNI_COMMAND" in
ADD) echo '{"cniVersion": "0.3.1", "interfaces": [{"name": "'$CNI_IFNAME'", "sandbox": "'$CNI_NETNS'"}],
  "ips": [{"version": "4", "address": "198.51.100.2/24", "interface": 0}]}' ;;
*) echo '{"cniVersion": "0.3.1"}' ;;
esac
"#;

async fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let (programs, config) = (folder.path().join("cni/bin"), folder.path().join("cni/net.d"));
    for folder in [&programs, &config] {
        fs::create_dir_all(folder).unwrap();
    }
    for name in ["loopback", "nowhere"] {
        fs::write(programs.join(name), NETWORK).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let list = json!({"cniVersion": "0.3.1", "name": "nowhere", "plugins": [{"type": "nowhere"}]});
    fs::write(config.join("10-nowhere.conflist"), list.to_string()).unwrap();
    Scene::below(folder, |_| {}).await
}

fn own(script: &str, mounts: &Value, volumes: &Value) -> Value {
    let mut container = shell("c", script);
    container["volumeMounts"] = mounts.clone();
    json!({"hostUsers": false, "hostNetwork": false, "containers": [container], "volumes": volumes})
}

/// The first of the node's users that stand for the pod's, as the kernel tells the pod.
async fn first(scene: &Scene, pod: &Pod) -> u32 {
    let map = run(scene, pod, &["cat", "/proc/self/uid_map"]).await;
    let numbers: Vec<u32> = map.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [0, first, 65536] = numbers[..] else { panic!("{map}") };
    assert_eq!(run(scene, pod, &["cat", "/proc/self/gid_map"]).await, map);
    first
}

async fn run(scene: &Scene, pod: &Pod, command: &[&str]) -> String {
    let id = container_id(pod).unwrap();
    let (_, id) = id.split_once("//").unwrap();
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    let done = scene.runtime().exec(id, command, std::time::Duration::from_secs(20)).await.unwrap();
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.exit_code, 0, "{told}{}", String::from_utf8_lossy(&done.stderr));
    told.trim().to_owned()
}

/// The node's user that a pod's first process runs as.
async fn on_the_node(scene: &Scene, pod: &Pod) -> u32 {
    let id = container_id(pod).unwrap();
    let told = scene.runtime().container_status(id.split_once("//").unwrap().1, true).await.unwrap();
    let info: Value = serde_json::from_str(&told.info["info"]).unwrap();
    fs::metadata(format!("/proc/{}", info["pid"])).unwrap().uid()
}

fn can(status: &kedge_runtime::wire::StatusResponse) -> bool {
    let usual = status.runtime_handlers.iter().find(|one| one.name.is_empty());
    usual.and_then(|one| one.features).is_some_and(|features| features.user_namespaces)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_have_users_of_their_own_where_the_runtime_can() {
    let mut scene = scene().await;
    if !can(&scene.runtime().status().await.unwrap()) {
        scene.make("refused", own(IDLE, &json!([]), &json!([]))).await;
        let words = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
        scene.told("refused", "FailedCreatePodSandBox", words).await;
        scene.delete("refused").await;
        return scene.end().await;
    }
    let nodes = tempfile::tempdir().unwrap();
    fs::write(nodes.path().join("roots"), "").unwrap();
    fs::write(nodes.path().join("thousands"), "").unwrap();
    chown(nodes.path().join("thousands"), Some(1000), Some(1000)).unwrap();
    scene.put::<ConfigMap>(json!({"metadata": {"name": "m"}, "data": {"k": "from the map"}})).await;
    let at = |name: &str| json!({"name": name, "mountPath": format!("/{name}")});
    let volumes = json!([
        {"name": "disk", "emptyDir": {}}, {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "map", "configMap": {"name": "m", "defaultMode": 0o400}},
        {"name": "node", "hostPath": {"path": nodes.path(), "type": "Directory"}},
    ]);
    let part = json!({"name": "disk", "mountPath": "/part", "subPath": "below"});
    let fixed =
        json!({"name": "node", "mountPath": "/fixed", "readOnly": true, "recursiveReadOnly": "Enabled"});
    let mounts = json!([at("disk"), at("memory"), at("map"), at("node"), part, fixed]);
    let script = format!(
        "for place in disk memory node part; do echo mine > /$place/made || exit 1; done
         touch /fixed/x && exit 2
         echo last > /dev/termination-log || exit 3
         cat /map/k || exit 4
         ls -ln /node; {IDLE}"
    );
    scene.make("a", own(&script, &mounts, &volumes)).await;
    scene.make("b", own(IDLE, &json!([]), &json!([]))).await;
    let a = scene.until("it is ready", "a", is_ready).await;
    let b = scene.until("it is ready", "b", is_ready).await;

    // Root in the pod and nobody on the node, with files that look in the pod as they look on the node.
    let (of_a, of_b) = (first(&scene, &a).await, first(&scene, &b).await);
    assert!(of_a >= 65536 && of_b >= 65536 && of_a != of_b, "{of_a} {of_b}");
    assert_eq!((on_the_node(&scene, &a).await, on_the_node(&scene, &b).await), (of_a, of_b));
    assert_eq!(run(&scene, &a, &["id", "-u"]).await, "0");
    let log = scene.lines(&a);
    let owner = |name: &str| {
        let line = log.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap_or_default();
        line.split_whitespace().nth(2).map(str::to_owned)
    };
    assert_eq!(
        (owner("roots"), owner("thousands")),
        (Some("0".to_owned()), Some("1000".to_owned())),
        "{log}"
    );
    assert!(log.starts_with("from the map"), "{log}");
    let made = |path: &Path| fs::metadata(path).map(|meta| (meta.uid(), meta.gid())).unwrap();
    assert_eq!(made(&nodes.path().join("made")), (0, 0));

    // Kept by the next agent, also for a container that is made again.
    scene.kill_agent().await;
    scene.start_agent().await;
    run(&scene, &b, &["sh", "-c", "kill -TERM 1"]).await;
    let again = |pod: &Pod| is_ready(pod) && restarts(pod) == 1;
    let b = scene.until("it has come back", "b", again).await;
    assert_eq!(first(&scene, &b).await, of_b);
    let still = scene.until("it is ready", "a", is_ready).await;
    assert_eq!((container_id(&still), restarts(&still)), (container_id(&a), 0));

    scene.delete("a").await;
    scene.make("c", own(IDLE, &json!([]), &json!([]))).await;
    let c = scene.until("it is ready", "c", is_ready).await;
    assert_ne!(first(&scene, &c).await, of_b);
    scene.delete_all().await;
    scene.end().await;
}
