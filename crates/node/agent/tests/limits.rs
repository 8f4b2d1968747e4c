//! What pods may use and do, seen from inside real containers and in the kernel's own files. Needs root, containerd, runc and a
//! static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

#[path = "support/scene.rs"]
mod scene;

use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_agent::{CpuPolicy, CpuSet, Eviction, Thresholds};
use kedge_testkit::admin;
use kedge_usage::{Groups, Layout};
use serde_json::{Value, json};

use crate::scene::{Scene, phase, reason, shell};

const FOR_EVER: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

fn with(mut value: Value, field: &str, new: Value) -> Value {
    value[field] = new;
    value
}

fn one(container: Value) -> Value {
    json!({"containers": [container]})
}

fn terminated(pod: &Pod) -> (i32, String) {
    let statuses = pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap();
    let state = statuses[0].state.as_ref().unwrap().terminated.as_ref().unwrap();
    (state.exit_code, state.reason.clone().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_pod_may_use() {
    let calm =
        Eviction { thresholds: Thresholds::none(), every: Duration::from_millis(500), ..Eviction::default() };
    let scene = Scene::with(|settings| {
        settings.eviction = calm;
        settings.most_processes = Some(100);
    })
    .await;
    let amounts = json!({"cpu": "100m", "memory": "32Mi"});
    let limited = with(shell("c", FOR_EVER), "resources", json!({"requests": amounts, "limits": amounts}));
    scene.make("limited", one(limited)).await;
    let pod = scene.until("it runs", "limited", |pod| phase(pod) == "Running").await;
    let groups = Groups::new(Layout::here().unwrap());
    let path = format!("{}/pod{}", scene.cgroup(), pod.metadata.uid.as_deref().unwrap());
    let used = groups.sample(&path).expect("the pod has a cgroup");
    assert_eq!(used.memory.unwrap().limit, Some(32 << 20));
    assert!(used.threads.unwrap() >= 2, "{used:?}");
    // As the kernel itself says, in the words of either version of cgroups.
    let says = |file: &str| {
        let roots = ["", "unified", "cpu", "cpu,cpuacct", "pids"].into_iter();
        let places =
            roots.map(|root| Path::new("/sys/fs/cgroup").join(root).join(path.trim_start_matches('/')));
        let text = places.filter_map(|place| std::fs::read_to_string(place.join(file)).ok()).next();
        text.map(|text| text.trim().to_owned())
    };
    let either = |one: &str, other: &str| says(one).or_else(|| says(other)).unwrap_or_default();
    assert_eq!(says("pids.max").as_deref(), Some("100"));
    let quota = either("cpu.max", "cpu.cfs_quota_us");
    assert_eq!(quota.split(' ').next(), Some("10000"), "a tenth of a CPU");
    let shares = either("cpu.shares", "cpu.weight");
    assert!(["102", "4"].contains(&&*shares), "{shares}");
    let below = groups.below(&path).unwrap();
    assert_eq!(below.len(), 2, "a container and the sandbox: {below:?}");
    assert!(!groups.processes(&path).is_empty());

    // Whoever takes more than he may is killed, and it is said why.
    let memory = json!({"limits": {"memory": "16Mi"}});
    let greedy = with(shell("c", "tail /dev/zero"), "resources", memory);
    let greedy = json!({"restartPolicy": "Never", "containers": [with(greedy, "command", json!(["tail", "/dev/zero"]))]});
    scene.make("greedy", greedy).await;
    let pod = scene.until("it was killed", "greedy", |pod| phase(pod) == "Failed").await;
    assert_eq!(terminated(&pod), (137, "OOMKilled".to_owned()));

    // So does whoever keeps more than he may.
    let mounted = with(
        shell("c", &format!("dd if=/dev/zero of=/data/x bs=1M count=4; {FOR_EVER}")),
        "volumeMounts",
        json!([{"name": "v", "mountPath": "/data"}]),
    );
    let volumes = json!([{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]);
    scene.make("hoarder", with(one(mounted), "volumes", volumes)).await;
    let pod = scene.until("it had to go", "hoarder", |pod| phase(pod) == "Failed").await;
    assert_eq!(reason(&pod), "Evicted");
    let message = pod.status.as_ref().unwrap().message.clone().unwrap_or_default();
    assert_eq!(message, "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". ");

    // What is gone leaves no cgroup.
    let top = scene.cgroup();
    scene.delete_all().await;
    let classes = [top.clone(), format!("{top}/burstable"), format!("{top}/besteffort")];
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let left: Vec<String> = classes.iter().flat_map(|class| groups.below(class).unwrap()).collect();
        let left: Vec<&String> = left.iter().filter(|name| name.starts_with("pod")).collect();
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < end, "cgroups are left: {left:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_pod_may_do() {
    let scene = Scene::new().await;
    let context = |script: &str, context: Value| one(with(shell("c", script), "securityContext", context));
    let status = "cat /proc/self/status";
    let field = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ")
    };

    let user = with(
        context("id -u; id -g; id -G", json!({"runAsUser": 1234, "runAsGroup": 55})),
        "securityContext",
        json!({"supplementalGroups": [7], "fsGroup": 8}),
    );
    assert_eq!(scene.says("user", user).await, "1234\n55\n55 7 8");

    let none = scene
        .says(
            "none",
            context(status, json!({"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": false})),
        )
        .await;
    assert_eq!((&*field(&none, "CapEff"), &*field(&none, "NoNewPrivs")), ("0000000000000000", "1"));
    let some = scene
        .says("some", context(status, json!({"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]}})))
        .await;
    assert_eq!((&*field(&some, "CapEff"), &*field(&some, "NoNewPrivs")), ("0000000000001000", "0"));
    let all = scene.says("all", context(status, json!({"privileged": true}))).await;
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    assert_eq!(field(&all, "CapEff"), field(&own, "CapEff"), "privileged is as much as there is");

    let fixed = context(
        "touch /x 2>&1; touch /proc/sys/kernel/domainname 2>&1; ls /proc/scsi 2>&1 | cat",
        json!({"readOnlyRootFilesystem": true}),
    );
    let fixed = scene.says("fixed", fixed).await;
    assert!(fixed.starts_with("touch: /x: Read-only file system"), "{fixed}");

    let filtered =
        scene.says("filtered", context(status, json!({"seccompProfile": {"type": "RuntimeDefault"}}))).await;
    assert_eq!(field(&filtered, "Seccomp"), "2");
    let open = scene.says("open", context(status, json!({"seccompProfile": {"type": "Unconfined"}}))).await;
    assert_eq!(field(&open, "Seccomp"), "0");
    let profiles = scene.folder.path().join("seccomp");
    std::fs::create_dir_all(&profiles).unwrap();
    let refuse = json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]});
    std::fs::write(profiles.join("no-folders.json"), refuse.to_string()).unwrap();
    let local = json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "no-folders.json"}});
    let local = scene.says("local", context("mkdir /tmp/x 2>&1", local)).await;
    assert!(local.contains("Operation not permitted"), "{local}");

    let mut sysctls = one(shell("c", "cat /proc/sys/kernel/shm_rmid_forced"));
    sysctls["securityContext"] = json!({"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]});
    assert_eq!(scene.says("sysctls", sysctls).await, "1");

    // Both see each other's processes.
    let mut shared = one(shell("c", "ps | cat"));
    shared["shareProcessNamespace"] = json!(true);
    assert!(scene.says("shared", shared).await.contains("pause"));
    scene.delete_all().await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_turns_away() {
    let scene = Scene::new().await;
    let mut sysctl = one(shell("c", "true"));
    sysctl["securityContext"] = json!({"sysctls": [{"name": "vm.swappiness", "value": "1"}]});
    let big = with(shell("c", "true"), "resources", json!({"requests": {"cpu": "5000"}}));
    let elsewhere = with(one(shell("c", "true")), "nodeSelector", json!({"disk": "none"}));
    for (name, spec, expected, words) in [
        (
            "sysctl",
            sysctl,
            "SysctlForbidden",
            "Pod was rejected: forbidden sysctl: \"vm.swappiness\" not allowlisted",
        ),
        (
            "big",
            one(big),
            "OutOfcpu",
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000000, used: 0",
        ),
        (
            "elsewhere",
            elsewhere,
            "NodeAffinity",
            "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
    ] {
        scene.make(name, spec).await;
        let pod = scene.until("it was turned away", name, |pod| phase(pod) == "Failed").await;
        let message = pod.status.as_ref().unwrap().message.clone().unwrap_or_default();
        assert_eq!(reason(&pod), expected);
        assert!(message.starts_with(words), "{message}");
    }
    let root = one(with(shell("c", "true"), "securityContext", json!({"runAsNonRoot": true})));
    scene.make("root", root).await;
    let waits = |pod: &Pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.clone());
        let state = statuses.and_then(|all| all.first()?.state.clone()).unwrap_or_default();
        state.waiting.is_some_and(|waiting| waiting.reason.as_deref() == Some("CreateContainerConfigError"))
    };
    let pod = scene.until("it may not be root", "root", waits).await;
    let told = serde_json::to_string(&pod.status).unwrap();
    assert!(told.contains("container has runAsNonRoot and image will run as root"), "{told}");
    scene.delete_all().await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_runs_short_ends_pods() {
    // There is never as much memory as this.
    let thresholds: Thresholds = "memory.available<1Ei".parse().unwrap();
    let short = Eviction { thresholds, every: Duration::from_millis(300), ..Eviction::default() };
    let scene = Scene::with(|settings| settings.eviction = short).await;
    let modest = with(shell("c", FOR_EVER), "resources", json!({"requests": {"memory": "1Mi"}}));
    let critical = json!({"containers": [shell("c", FOR_EVER)], "priorityClassName": "system-node-critical"});
    scene.make("critical", critical).await;
    scene.make("modest", one(modest)).await;
    let pod = scene.until("it had to go", "modest", |pod| phase(pod) == "Failed").await;
    assert_eq!(reason(&pod), "Evicted");
    let status = pod.status.as_ref().unwrap();
    let message = status.message.clone().unwrap_or_default();
    assert!(
        message.starts_with("The node was low on resource: memory. Threshold quantity: 1Ei, available: "),
        "{message}"
    );
    let conditions = status.conditions.clone().unwrap_or_default();
    assert!(
        conditions.iter().any(|found| found.type_ == "DisruptionTarget" && found.status == "True"),
        "{conditions:?}"
    );
    let nodes = kube::Api::<Node>::all(scene.api.client(admin("somebody")));
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let node = nodes.get("here").await.unwrap();
        let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|found| found.type_ == "MemoryPressure" && found.status == "True") {
            break;
        }
        assert!(Instant::now() < end, "the node does not say that it is short: {conditions:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    scene.until("what the node needs runs on", "critical", |pod| phase(pod) == "Running").await;
    scene.delete_all().await;
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_short_of_disk_and_processes_takes_nobody_in() {
    // There is never as much of either as this.
    let thresholds: Thresholds = "nodefs.available<1Ei,pid.available<1Ei".parse().unwrap();
    let short = Eviction { thresholds, every: Duration::from_millis(300), ..Eviction::default() };
    let scene = Scene::with(|settings| settings.eviction = short).await;
    let critical = json!({"containers": [shell("c", FOR_EVER)], "priorityClassName": "system-node-critical"});
    scene.make("critical", critical).await;
    let nodes = kube::Api::<Node>::all(scene.api.client(admin("somebody")));
    for wanted in ["DiskPressure", "PIDPressure"] {
        scene
            .eventually(&format!("the node says {wanted}"), async || {
                let node = nodes.get("here").await.unwrap();
                let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
                let says = conditions.iter().any(|found| found.type_ == wanted && found.status == "True");
                if says { Ok(()) } else { Err(format!("{conditions:?}")) }
            })
            .await;
    }
    scene.make("late", one(shell("c", FOR_EVER))).await;
    let pod = scene.until("it was turned away", "late", |pod| phase(pod) == "Failed").await;
    let message = pod.status.as_ref().unwrap().message.clone().unwrap_or_default();
    assert_eq!(reason(&pod), "Evicted", "{message}");
    assert!(message.contains("DiskPressure"), "{message}");
    scene.until("what the node needs runs on", "critical", |pod| phase(pod) == "Running").await;
    scene.delete_all().await;
    scene.end().await;
}

/// The CPUs on which a container may run.
fn allowed(scene: &Scene, pod: &Pod, container: &str) -> String {
    let log = scene.log(pod, container);
    let last = log.lines().filter_map(|line| line.split_once("Cpus_allowed_list:")).next_back();
    last.map(|(_, cpus)| cpus.trim().to_owned()).unwrap_or_default()
}

/// Waits until the CPUs on which a pod may run are as wanted.
async fn on(scene: &Scene, what: &str, name: &str, holds: impl Fn(&CpuSet) -> bool) -> CpuSet {
    let seen = async || {
        let pod = scene.of::<Pod>().get(name).await.unwrap();
        let seen = allowed(scene, &pod, "c");
        let read = seen.parse::<CpuSet>().ok().filter(|set| !set.is_empty() && holds(set));
        read.ok_or_else(|| format!("{name} may use {seen:?}: {:?}", pod.status))
    };
    scene.eventually(what, seen).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_cpus_are_for_those_who_ask_for_them() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let all = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let cpus: CpuSet = all.parse().unwrap();
    if cpus.len() < 2 {
        return;
    }
    let first: CpuSet = all.split(['-', ',']).next().unwrap().parse().unwrap();
    let mut scene =
        Scene::with(|settings| settings.cpus = CpuPolicy::Static { reserved: first.clone() }).await;
    let looks = || {
        shell(
            "c",
            "trap 'exit 0' TERM; while :; do grep Cpus_allowed_list /proc/self/status; sleep 0.2; done",
        )
    };
    let exact = |cpu: &str| {
        let amounts = json!({"cpu": cpu, "memory": "32Mi"});
        one(with(looks(), "resources", json!({"requests": amounts, "limits": amounts})))
    };
    scene.make("shares", one(looks())).await;
    on(&scene, "all share all", "shares", |set| *set == cpus).await;
    scene.make("alone", exact("1")).await;
    scene.make("half", exact("500m")).await;
    let own = on(&scene, "it has one to itself", "alone", |set| set.len() == 1 && *set != first).await;
    for name in ["shares", "half"] {
        on(&scene, "it has the rest", name, |set| set.len() == cpus.len() - 1 && !overlap(set, &own)).await;
    }
    let most = i64::try_from(cpus.len()).unwrap();
    scene.make("greedy", exact(&most.to_string())).await;
    let refused = scene.until("there are too few", "greedy", |pod| phase(pod) == "Failed").await;
    let why = serde_json::to_string(&refused.status).unwrap();
    assert!(why.contains("not enough cpus available") || reason(&refused) == "OutOfcpu", "{why}");

    // The next agent knows whose they are.
    scene.kill_agent().await;
    scene.start_agent().await;
    scene.make("late", one(looks())).await;
    on(&scene, "it has the rest", "late", |set| !overlap(set, &own)).await;
    on(&scene, "it has the same", "alone", |set| *set == own).await;
    scene.delete("alone").await;
    on(&scene, "all share all again", "shares", |set| *set == cpus).await;
    scene.delete_all().await;
    scene.end().await;
}

fn overlap(one: &CpuSet, other: &CpuSet) -> bool {
    let both: CpuSet = format!("{one},{other}").parse().unwrap();
    both.len() < one.len() + other.len()
}
