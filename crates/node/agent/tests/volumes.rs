//! Volumes in real containers: what they look like inside, how they follow their objects, what is said of those that cannot be
//! had, and that nothing of them is left. Needs root, containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim, Pod, Secret};
use kedge_testkit::admin;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use rustix::fs::{FileType, Mode};
use serde_json::{Value, json};

use crate::scene::Scene;

/// A pod of one container that mounts volumes and says something.
fn shows(script: &str, mounts: Value, volumes: Value) -> Value {
    let container =
        json!({"name": "c", "image": "busybox:1", "command": ["sh", "-c", script], "volumeMounts": mounts});
    json!({"restartPolicy": "Never", "containers": [container], "volumes": volumes})
}

fn at(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}

fn with(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volumes_are_what_their_pods_ask_for() {
    let scene = Scene::new().await;
    let data = json!({"data-1": "value-1", "data-2": "value-2"});
    scene
        .put::<ConfigMap>(json!({"metadata": {"name": "m"}, "data": data, "binaryData": {"raw": "3sre"}}))
        .await;
    scene.put::<Secret>(json!({"metadata": {"name": "s"}, "stringData": {"key": "hidden"}})).await;
    let host = scene.folder.path().join("host");
    std::fs::create_dir_all(host.join("inner")).unwrap();
    std::fs::write(host.join("inner/x"), "on the node").unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(host.join("socket")).unwrap();
    let (block, device) = (host.join("block"), rustix::fs::makedev(7, 250));
    rustix::fs::mknodat(rustix::fs::CWD, &block, FileType::BlockDevice, Mode::from_raw_mode(0o600), device)
        .unwrap();
    let special = |path: &std::path::Path, kind: &str| {
        let volumes = json!([{"name": "v", "hostPath": {"path": path, "type": kind}}]);
        shows("busybox stat -c %F /v", json!([at("v", "/v")]), volumes)
    };
    // A volume that a person made, of either kind, and its claim.
    let here = json!([{"key": "kubernetes.io/hostname", "operator": "In", "values": ["here"]}]);
    let affinity = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": here}]}});
    scene.claim("fixed", &json!({"local": {"path": host.join("inner")}, "nodeAffinity": affinity})).await;
    scene.claim("plain", &json!({"hostPath": {"path": host.join("inner"), "type": "Directory"}})).await;
    let claimed = |name: &str| json!([{"name": "v", "persistentVolumeClaim": {"claimName": name}}]);
    let memory = json!([{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "10Mi"}}]);
    let disk = json!([{"name": "v", "emptyDir": {}}]);
    let map = json!([{"name": "v", "configMap": {"name": "m"}}]);
    let secret = |more: Value| json!([{"name": "v", "secret": with(json!({"secretName": "s"}), more)}]);
    let on_node = json!([{"name": "v", "hostPath": {"path": host, "type": "Directory"}}]);
    let look = "busybox stat -c '%a %u %g' /v";
    let plain = |name: &str| json!([at(name, "/v")]);
    let sub = |path: &str| json!([with(at("v", "/v"), json!({"subPath": path}))]);
    let as_group = |group: i64| json!({"securityContext": {"fsGroup": group}});
    let as_user = |user: i64, group: i64| json!({"securityContext": {"runAsUser": user, "runAsGroup": user, "fsGroup": group}});
    let make_file = "umask 0; echo hi > /v/f; busybox chmod 0660 /v/f; busybox stat -c '%a %u %g' /v/f";
    let mut with_name = shows(
        "busybox cat /v/../w/p-expr/f",
        json!([with(at("v", "/v"), json!({"subPathExpr": "$(NAME)"})), at("v", "/w")]),
        disk.clone(),
    );
    with_name["containers"][0]["env"] =
        json!([{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    with_name["containers"][0]["command"][2] = json!("echo written > /v/f; busybox cat /w/expr/f");
    let cases = [
        ("disk", shows(look, plain("v"), disk.clone()), "777 0 0"),
        ("socket", special(&host.join("socket"), "Socket"), "socket"),
        ("char-device", special("/dev/null".as_ref(), "CharDevice"), "character special file"),
        ("block-device", special(&block, "BlockDevice"), "block special file"),
        ("local-volume", shows("busybox cat /v/x", plain("v"), claimed("fixed")), "on the node"),
        ("path-volume", shows("busybox cat /v/x", plain("v"), claimed("plain")), "on the node"),
        (
            "memory",
            shows(
                &format!("{look}; busybox df /v | busybox tail -1 | busybox awk '{{print $1, $2}}'"),
                plain("v"),
                memory.clone(),
            ),
            "1777 0 0\ntmpfs 10240",
        ),
        (
            "group-disk",
            with(shows(&format!("{look}; {make_file}"), plain("v"), disk.clone()), as_group(123)),
            "2777 0 123\n660 0 123",
        ),
        (
            "group-memory",
            with(shows(&format!("{look}; {make_file}"), plain("v"), memory.clone()), as_user(1001, 123)),
            "3777 0 123\n660 1001 123",
        ),
        ("group-sub", with(shows(look, sub("test-sub"), memory.clone()), as_user(1001, 123)), "3777 0 123"),
        (
            "map",
            shows(
                "cd /v; for f in *; do echo $f; done; busybox cat data-1; echo; busybox od -An -tx1 raw; \
            busybox stat -L -c %a data-1; echo x > y || echo read-only",
                plain("v"),
                map.clone(),
            ),
            "data-1\ndata-2\nraw\nvalue-1\n de ca de\n644\nread-only",
        ),
        (
            "map-user",
            with(shows("busybox cat /v/data-2", plain("v"), map.clone()), as_user(1000, 1001)),
            "value-2",
        ),
        (
            "secret",
            shows(
                "busybox cat /v/key; echo; busybox stat -L -c '%a %u %g' /v/key; busybox df /v | busybox tail -1 | \
            busybox awk '{print $1}'",
                plain("v"),
                secret(json!({"defaultMode": 0o400})),
            ),
            "hidden\n400 0 0\ntmpfs",
        ),
        (
            "secret-group",
            with(
                shows(
                    "busybox cat /v/key; echo; busybox stat -L -c '%a %u %g' /v/key",
                    plain("v"),
                    secret(json!({"defaultMode": 0o440})),
                ),
                as_user(1000, 1001),
            ),
            "hidden\n440 0 1001",
        ),
        (
            "secret-items",
            shows(
                "busybox cat /v/deep/er; echo; busybox stat -L -c %a /v/deep/er",
                plain("v"),
                secret(json!({"items": [{"key": "key", "path": "deep/er", "mode": 0o400}]})),
            ),
            "hidden\n400",
        ),
        (
            "secret-absent",
            shows(
                "cd /v; echo *",
                plain("v"),
                json!([{"name": "v", "secret":
            {"secretName": "none", "optional": true}}]),
            ),
            "*",
        ),
        (
            "host",
            shows("busybox cat /v/inner/x; echo; echo made > /v/made", plain("v"), on_node.clone()),
            "on the node",
        ),
        ("host-sub", shows("busybox cat /v/x", sub("inner"), on_node.clone()), "on the node"),
        ("map-sub", shows("busybox cat /v", sub("data-1"), map.clone()), "value-1"),
        ("expr", with_name, "written"),
        (
            "nested",
            shows(
                "busybox cat /v/data-1 /v/in/key",
                json!([at("v", "/v"), at("w", "/v/in")]),
                json!([
            {"name": "v", "configMap": {"name": "m"}}, {"name": "w", "secret": {"secretName": "s"}}]),
            ),
            "value-1hidden",
        ),
        (
            "rro",
            shows(
                "echo x > /v/y || echo read-only; busybox cat /v/inner/x",
                json!([with(at("v", "/v"), json!({"readOnly": true, "recursiveReadOnly": "Enabled"}))]),
                on_node.clone(),
            ),
            "read-only\non the node",
        ),
        (
            "unused",
            shows("echo fine", json!([]), json!([{"name": "v", "configMap": {"name": "none"}}])),
            "fine",
        ),
        (
            "hosts",
            with(
                shows(
                    "busybox grep -c 'Kubernetes-managed hosts file (host network).' /etc/hosts; \
            busybox tail -2 /etc/hosts",
                    json!([]),
                    json!([]),
                ),
                json!({"hostAliases": [{"ip": "192.0.2.9",
            "hostnames": ["a", "b"]}]}),
            ),
            "1\n# Entries added by HostAliases.\n192.0.2.9\ta\tb",
        ),
        (
            "dns",
            with(
                shows("busybox cat /etc/resolv.conf", json!([]), json!([])),
                json!({"dnsPolicy": "None", "dnsConfig":
            {"nameservers": ["192.0.2.53"], "searches": ["example.org"], "options": [{"name": "ndots", "value": "3"}]}}),
            ),
            "search example.org\nnameserver 192.0.2.53\noptions ndots:3",
        ),
    ];
    for (name, spec, _) in &cases {
        scene.make(name, spec.clone()).await;
    }
    for (name, _, expected) in &cases {
        assert_eq!(scene.said(name).await, *expected, "{name}");
    }
    for (name, ..) in &cases {
        scene.delete(name).await;
    }
    assert_eq!(std::fs::read_to_string(host.join("inner/x")).unwrap(), "on the node");
    assert_eq!(std::fs::read_to_string(host.join("made")).unwrap(), "made\n");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_follow_their_objects() {
    let mut scene = Scene::new().await;
    let map = |value: &str| json!({"metadata": {"name": "m"}, "data": {"k": value}});
    let secret = |value: &str| json!({"metadata": {"name": "s"}, "stringData": {"k": value}});
    scene.put::<ConfigMap>(map("1")).await;
    scene.put::<Secret>(secret("1")).await;
    let all = "busybox cat /map/k /secret/k /late/k 2> /dev/null; busybox cat /fact/l; busybox cat /sub";
    let script = format!(
        "old=; while :; do new=$({all}); [ \"$new\" = \"$old\" ] || echo $new; old=$new; sleep 0.05; done"
    );
    let fact = json!({"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels['key']"}}]});
    let late = json!({"sources": [{"secret": {"name": "later", "optional": true}}]});
    let mounts = json!([
        at("map", "/map"),
        at("secret", "/secret"),
        at("late", "/late"),
        at("fact", "/fact"),
        with(at("map", "/sub"), json!({"subPath": "k"}))
    ]);
    let volumes = json!([
        {"name": "map", "configMap": {"name": "m"}}, {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "late", "projected": late}, {"name": "fact", "downwardAPI": fact},
    ]);
    scene.make("p", shows(&script, mounts, volumes)).await;
    scene.until_it_says("p", "11first1").await;
    let begun = Instant::now();
    scene.put::<ConfigMap>(map("2")).await;
    scene.until_it_says("p", "21first1").await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    scene.put::<Secret>(secret("2")).await;
    scene.until_it_says("p", "22first1").await;
    scene.put::<Secret>(json!({"metadata": {"name": "later"}, "stringData": {"k": "x"}})).await;
    scene.until_it_says("p", "22xfirst1").await;
    scene.put::<Pod>(json!({"metadata": {"name": "p", "labels": {"key": "second"}}})).await;
    scene.until_it_says("p", "22xsecond1").await;
    scene.of::<Secret>().delete("later", &DeleteParams::default()).await.unwrap();
    scene.until_it_says("p", "22second1").await;
    // What must be there and goes is kept, and missed aloud.
    scene.of::<ConfigMap>().delete("m", &DeleteParams::default()).await.unwrap();
    scene
        .eventually("the map is missed", async || {
            let told = scene.events("p").await;
            let wanted =
                "FailedMount MountVolume.SetUp failed for volume \"map\" : configmap \"m\" not found";
            if told.contains(wanted) { Ok(()) } else { Err(told) }
        })
        .await;
    // The next agent goes on with it.
    scene.kill_agent().await;
    scene.put::<ConfigMap>(map("3")).await;
    scene.start_agent().await;
    scene.until_it_says("p", "32second1").await;
    scene.put::<ConfigMap>(map("4")).await;
    scene.until_it_says("p", "42second1").await;
    scene.delete("p").await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_mounted_says_why_and_goes() {
    let scene = Scene::new().await;
    let file = scene.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let claim = json!({"metadata": {"name": "free"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}});
    scene.put::<PersistentVolumeClaim>(claim).await;
    scene.put::<ConfigMap>(json!({"metadata": {"name": "m"}, "data": {"k": "v"}})).await;
    let set_up = "FailedMount MountVolume.SetUp failed for volume \"v\" : ";
    let unable = "FailedMount Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], \
                  failed to process volumes=[v]: ";
    let not_a_folder = format!("hostPath type check failed: {} is not a directory", file.display());
    let cases = [
        ("map", json!({"configMap": {"name": "none"}}), set_up, "configmap \"none\" not found"),
        (
            "key",
            json!({"configMap": {"name": "m", "items": [{"key": "z", "path": "z"}]}}),
            set_up,
            "configmap references non-existent config key: z",
        ),
        ("secret", json!({"secret": {"secretName": "none"}}), set_up, "secret \"none\" not found"),
        ("host", json!({"hostPath": {"path": file, "type": "Directory"}}), set_up, &*not_a_folder),
        (
            "claim",
            json!({"persistentVolumeClaim": {"claimName": "none"}}),
            unable,
            "error processing PVC default/none: failed to fetch PVC from API server: persistentvolumeclaims \"none\" not found",
        ),
        (
            "unbound",
            json!({"persistentVolumeClaim": {"claimName": "free"}}),
            unable,
            "error processing PVC default/free: PVC is not bound",
        ),
        ("nfs", json!({"nfs": {"server": "192.0.2.1", "path": "/x"}}), set_up, "mount failed: "),
    ];
    for (name, source, ..) in &cases {
        let volume = with(json!({"name": "v"}), source.clone());
        scene.make(name, shows("echo fine", json!([at("v", "/v")]), json!([volume]))).await;
    }
    let escape = json!([with(at("v", "/v"), json!({"subPathExpr": "$(UP)"}))]);
    let mut up = shows("echo fine", escape, json!([{"name": "v", "emptyDir": {}}]));
    up["containers"][0]["env"] = json!([{"name": "UP", "value": "/tmp"}]);
    scene.make("up", up).await;
    for (name, _, prefix, cause) in &cases {
        scene
            .eventually(&format!("{name} is told of"), async || {
                let told = scene.events(name).await;
                if told.contains(&format!("{prefix}{cause}")) { Ok(()) } else { Err(told) }
            })
            .await;
    }
    scene
        .eventually("the path is refused", async || {
            let pod = scene.of::<Pod>().get("up").await.unwrap();
            let told = serde_json::to_string(&pod.status).unwrap();
            let wanted = "error SubPath `/tmp` must not be an absolute path";
            if told.contains("CreateContainerConfigError") && told.contains(wanted) {
                Ok(())
            } else {
                Err(told)
            }
        })
        .await;
    // What comes later is enough.
    scene.put::<ConfigMap>(json!({"metadata": {"name": "none"}, "data": {"k": "v"}})).await;
    assert_eq!(scene.said("map").await, "fine");
    for (name, ..) in &cases {
        scene.delete(name).await;
    }
    scene.delete("up").await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn volumes_on_the_nodes_disk_come_and_go() {
    let scene = Scene::new().await;
    let volumes = scene.folder.path().join("volumes");
    let annotations =
        json!({"kedge.dev/node": "here", "pv.kubernetes.io/provisioned-by": "kedge.dev/local-path"});
    let persistent = kube::Api::<PersistentVolume>::all(scene.api.client(admin("somebody")));
    let claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "pvc-1",
        "storageClassName": "local-path", "resources": {"requests": {"storage": "1Gi"}}}});
    scene.put::<PersistentVolumeClaim>(claim).await;
    let claims = scene.of::<PersistentVolumeClaim>();
    let uid = claims.get("c").await.unwrap().metadata.uid;
    let bound = json!({"status": {"phase": "Bound"}});
    claims.patch_status("c", &PatchParams::default(), &Patch::Merge(&bound)).await.unwrap();
    let volume = json!({"metadata": {"name": "pvc-1", "annotations": annotations, "finalizers": ["kedge.dev/local-path"]},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": "local-path",
            "persistentVolumeReclaimPolicy": "Delete", "claimRef": {"namespace": "default", "name": "c", "uid": uid},
            "hostPath": {"path": volumes.join("pvc-1"), "type": "DirectoryOrCreate"}}});
    let volume = serde_json::from_value(volume).unwrap();
    persistent.create(&PostParams::default(), &volume).await.unwrap();
    let source = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    let writes =
        shows("echo kept > /v/x; busybox stat -c '%a %g' /v", json!([at("v", "/v")]), source.clone());
    scene.make("writes", with(writes, json!({"securityContext": {"runAsUser": 1000, "fsGroup": 77}}))).await;
    assert_eq!(scene.said("writes").await, "2777 77");
    scene.delete("writes").await;
    scene.make("reads", shows("busybox cat /v/x", json!([at("v", "/v")]), source)).await;
    assert_eq!(scene.said("reads").await, "kept");
    scene.delete("reads").await;
    assert!(volumes.join("pvc-1/x").exists());
    persistent.delete("pvc-1", &DeleteParams::default()).await.unwrap();
    scene
        .eventually("the node lets go of the volume", async || {
            let left = persistent.get_opt("pvc-1").await.unwrap().and_then(|left| left.metadata.finalizers);
            match left.iter().flatten().any(|finalizer| finalizer == "kedge.dev/local-path") {
                false => Ok(()),
                true => Err(format!("{left:?}")),
            }
        })
        .await;
    assert!(!volumes.join("pvc-1").exists());
    scene.end().await;
}
