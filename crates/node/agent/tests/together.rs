//! What the containers of one pod have to do with each other and with their node, with real containers: variables that one leaves
//! for the next, rules for who comes back, debugging containers, gates, deadlines, what is shared. Needs what `real` needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::node::v1::RuntimeClass;
use kedge_testkit::admin;
use kube::api::{Patch, PatchParams, PostParams};
use scene::{Scene, is_ready, phase, reason, restarts, shell, waits};
use serde_json::{Value, json};

const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

fn one(container: Value) -> Value {
    json!({"restartPolicy": "Never", "containers": [container]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_leaves_variables_for_the_next() {
    let scene = Scene::new().await;
    let pod = |key: &str, optional: bool| {
        let mut first = shell("first", "echo \"A='one'\" > /d/env");
        first["volumeMounts"] = json!([{"name": "d", "mountPath": "/d"}]);
        let mut main = shell("c", "echo $V.");
        let from = json!({"volumeName": "d", "path": "env", "key": key, "optional": optional});
        main["env"] = json!([{"name": "V", "valueFrom": {"fileKeyRef": from}}]);
        let volumes = json!([{"name": "d", "emptyDir": {}}]);
        json!({"restartPolicy": "Never", "initContainers": [first], "containers": [main], "volumes": volumes})
    };
    assert_eq!(scene.says("found", pod("A", false)).await, "one.");
    assert_eq!(scene.says("optional", pod("B", true)).await, ".");
    scene.make("missed", pod("B", false)).await;
    let missed =
        scene.until("it is missed", "missed", |pod| waits(pod) == "CreateContainerConfigError").await;
    let told = serde_json::to_string(&missed.status).unwrap();
    assert!(told.contains("environment variable key \\\"B\\\" not found in file"), "{told}");
    scene.delete_all().await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_say_who_comes_back() {
    let scene = Scene::new().await;
    let rule = |action: &str, code: i32| json!([{"action": action, "exitCodes": {"operator": "In", "values": [code]}}]);
    // Comes back with one code only, and then ends with another.
    let mut again = shell("c", "test -e /d/x && exit 7; touch /d/x; exit 42");
    again["restartPolicy"] = json!("Never");
    again["restartPolicyRules"] = rule("Restart", 42);
    again["volumeMounts"] = json!([{"name": "d", "mountPath": "/d"}]);
    let mut spec = one(again);
    spec["volumes"] = json!([{"name": "d", "emptyDir": {}}]);
    scene.make("again", spec).await;
    // Takes the others with it, and the pod begins again.
    let mut taking = shell("c", "test -e /d/x && exit 0; touch /d/x; exit 42");
    taking["restartPolicy"] = json!("Never");
    taking["restartPolicyRules"] = rule("RestartAllContainers", 42);
    taking["volumeMounts"] = json!([{"name": "d", "mountPath": "/d"}]);
    let mut first = shell("first", "echo x >> /d/first");
    first["volumeMounts"] = json!([{"name": "d", "mountPath": "/d"}]);
    let host = scene.folder.path().join("host");
    std::fs::create_dir_all(&host).unwrap();
    let mut spec = one(taking);
    spec["initContainers"] = json!([first]);
    spec["volumes"] = json!([{"name": "d", "hostPath": {"path": host}}]);
    scene.make("taking", spec).await;

    let pod = scene.until("it ended with the other code", "again", |pod| phase(pod) == "Failed").await;
    assert_eq!(restarts(&pod), 1);
    scene.until("all began again", "taking", |pod| phase(pod) == "Succeeded").await;
    assert_eq!(std::fs::read_to_string(host.join("first")).unwrap(), "x\nx\n");
    scene.delete_all().await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shared_with_the_node_and_with_whoever_looks() {
    let scene = Scene::new().await;
    let classes = kube::Api::<RuntimeClass>::all(scene.api.client(admin("somebody")));
    for (name, handler) in [("usual", "runc"), ("unknown", "none")] {
        let class = json!({"metadata": {"name": name}, "handler": handler});
        classes.create(&PostParams::default(), &serde_json::from_value(class).unwrap()).await.unwrap();
    }
    let with = |mut spec: Value, field: &str, value: Value| {
        spec[field] = value;
        spec
    };
    let me = std::process::id();
    let sees = format!("test -e /proc/{me} && echo sees it");
    assert_eq!(scene.says("pid", with(one(shell("c", &sees)), "hostPID", json!(true))).await, "sees it");
    assert_eq!(scene.says("alone", one(shell("c", "echo $$$$"))).await, "1");
    let ipc = with(one(shell("c", "busybox readlink /proc/self/ns/ipc")), "hostIPC", json!(true));
    let ours = std::fs::read_link("/proc/self/ns/ipc").unwrap();
    assert_eq!(scene.says("ipc", ipc).await, ours.to_string_lossy());
    let usual = with(one(shell("c", "echo runs")), "runtimeClassName", json!("usual"));
    assert_eq!(scene.says("usual", usual).await, "runs");
    let unknown = with(one(shell("c", "echo runs")), "runtimeClassName", json!("unknown"));
    scene.make("unknown", unknown).await;
    scene.told("unknown", "FailedCreatePodSandBox", "none").await;
    let late = with(one(shell("c", IDLE)), "activeDeadlineSeconds", json!(1));
    scene.make("late", late).await;
    scene
        .until("its time is over", "late", |pod| phase(pod) == "Failed" && reason(pod) == "DeadlineExceeded")
        .await;

    // A gate that somebody else opens.
    let gated = with(one(shell("c", IDLE)), "readinessGates", json!([{"conditionType": "example.com/open"}]));
    scene.make("gated", gated).await;
    let says = |pod: &Pod| {
        let told = serde_json::to_string(&pod.status).unwrap();
        phase(pod) == "Running" && told.contains("ReadinessGatesNotReady") && !is_ready(pod)
    };
    scene.until("it waits at the gate", "gated", says).await;
    let open = json!({"status": {"conditions": [{"type": "example.com/open", "status": "True"}]}});
    scene.pods().patch_status("gated", &PatchParams::default(), &Patch::Strategic(open)).await.unwrap();
    scene.until("the gate is open", "gated", is_ready).await;

    // Somebody looks into it: one that sees the processes of the container that it was made for.
    let mut looks = shell("looks", "ps | grep -q '[t]rap' && echo seen > /dev/termination-log");
    looks["targetContainerName"] = json!("c");
    let debugging = json!({"spec": {"ephemeralContainers": [looks]}});
    scene
        .pods()
        .patch_subresource(
            "ephemeralcontainers",
            "gated",
            &PatchParams::default(),
            &Patch::Strategic(debugging),
        )
        .await
        .unwrap();
    let ended = |pod: &Pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.ephemeral_container_statuses.clone());
        let ended = statuses.and_then(|all| all.first()?.state.clone()?.terminated);
        ended.is_some_and(|ended| ended.exit_code == 0 && ended.message.as_deref() == Some("seen\n"))
    };
    let pod = scene.until("somebody looked", "gated", ended).await;
    assert!(is_ready(&pod) && restarts(&pod) == 0);

    // What one mounts in a volume, another one sees.
    let at = |how: &str| json!([{"name": "v", "mountPath": "/v", "mountPropagation": how}]);
    let script = format!("mkdir /v/s; busybox mount -t tmpfs x /v/s; echo mounted > /v/s/f; {IDLE}");
    let mut mounts = shell("mounts", &script);
    mounts["securityContext"] = json!({"privileged": true});
    mounts["volumeMounts"] = at("Bidirectional");
    let mut sees = shell(
        "c",
        &format!("until busybox grep -q /v/s /proc/mounts && cat /v/s/f; do sleep 0.1; done; {IDLE}"),
    );
    sees["volumeMounts"] = at("HostToContainer");
    let both = json!({"containers": [mounts, sees], "volumes": [{"name": "v", "emptyDir": {}}]});
    scene.make("both", both).await;
    scene.until_it_says("both", "mounted").await;
    scene.delete_all().await;
    scene.end().await;
}
