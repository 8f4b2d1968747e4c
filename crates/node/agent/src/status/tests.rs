use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use crate::memory::{Doing, Memory, Pause, Pending, Probed, Trouble, Verdict};
use crate::view::{Exit, Made, Sandbox, State, View};

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

fn made(name: &str, attempt: u32, state: State) -> Made {
    Made {
        id: format!("{name}{attempt}"),
        name: name.to_owned(),
        sandbox: "box".to_owned(),
        attempt,
        state,
        image: "i:1".to_owned(),
        image_id: "sha256:1".to_owned(),
        hash: String::new(),
        started_at: Some(noon()),
        user: None,
    }
}

fn exited(code: i32) -> State {
    State::Exited(Exit { code, at: Some(noon()), ..Exit::default() })
}

fn view(containers: Vec<Made>) -> View {
    let ips = vec!["10.1.0.2".to_owned()];
    let sandbox = Sandbox { id: "box".to_owned(), attempt: 0, is_ready: true, ips };
    View { sandboxes: vec![sandbox], containers }
}

fn pod(policy: &str, spec: Value) -> Pod {
    let mut spec = spec;
    spec["restartPolicy"] = json!(policy);
    serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}))
        .unwrap()
}

fn told(pod: &Pod, view: &View, memory: &Memory) -> (String, String, PodStatus) {
    let place = Place { node: "n1".to_owned(), node_ips: vec!["192.0.2.1".to_owned()], ..Place::default() };
    let status = status(Situation { pod, view, memory, now: noon(), steady: noon() }, &place);
    let word = |status: &k8s_openapi::api::core::v1::ContainerStatus| {
        let state = status.state.clone().unwrap_or_default();
        let word = match (state.waiting, state.running, state.terminated) {
            (Some(waiting), ..) => waiting.reason.unwrap_or_default(),
            (_, Some(_), _) if status.ready => "ready".to_owned(),
            (_, Some(_), _) => "running".to_owned(),
            (.., Some(ended)) => format!("{}({})", ended.reason.unwrap_or_default(), ended.exit_code),
            _ => "nothing".to_owned(),
        };
        format!("{}:{word}", status.name)
    };
    let lists = [&status.init_container_statuses, &status.container_statuses];
    let words: Vec<String> = lists.into_iter().flatten().flatten().map(word).collect();
    let holds = |type_: &str| {
        let found = status.conditions.iter().flatten().find(|condition| condition.type_ == type_);
        found.is_some_and(|condition| condition.status == "True")
    };
    let conditions = [("Initialized", "i"), ("ContainersReady", "c"), ("Ready", "r")];
    let flags: String = conditions.iter().filter(|(type_, _)| holds(type_)).map(|(_, flag)| *flag).collect();
    let phase = status.phase.clone().unwrap_or_default();
    (format!("{phase} {flags}"), words.join(" "), status)
}

#[test]
fn the_phase_follows_from_the_containers() {
    let one = || json!({"containers": [{"name": "a"}]});
    let two = || json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let init = || json!({"initContainers": [{"name": "i"}], "containers": [{"name": "a"}]});
    let running = || State::Running;
    for (case, policy, spec, containers, phase, words) in [
        ("nothing yet", "Always", one(), vec![], "Pending i", "a:ContainerCreating"),
        ("runs", "Always", one(), vec![made("a", 0, running())], "Running icr", "a:ready"),
        (
            "one is missing",
            "Always",
            two(),
            vec![made("a", 0, running())],
            "Pending i",
            "a:ready b:ContainerCreating",
        ),
        (
            "one has failed",
            "Never",
            two(),
            vec![made("a", 0, running()), made("b", 0, exited(1))],
            "Running i",
            "a:ready b:Error(1)",
        ),
        ("done", "Never", one(), vec![made("a", 0, exited(0))], "Succeeded i", "a:Completed(0)"),
        ("failed", "Never", one(), vec![made("a", 0, exited(3))], "Failed i", "a:Error(3)"),
        (
            "done, on failure",
            "OnFailure",
            one(),
            vec![made("a", 0, exited(0))],
            "Succeeded i",
            "a:Completed(0)",
        ),
        ("failed, on failure", "OnFailure", one(), vec![made("a", 0, exited(3))], "Running i", "a:Error(3)"),
        ("done, comes back", "Always", one(), vec![made("a", 0, exited(0))], "Running i", "a:Completed(0)"),
        ("before it", "Always", init(), vec![], "Pending ", "i:PodInitializing a:PodInitializing"),
        (
            "it runs",
            "Always",
            init(),
            vec![made("i", 0, running())],
            "Pending ",
            "i:running a:PodInitializing",
        ),
        (
            "it is done",
            "Always",
            init(),
            vec![made("i", 0, exited(0))],
            "Pending i",
            "i:Completed(0) a:PodInitializing",
        ),
        (
            "it failed",
            "Never",
            init(),
            vec![made("i", 0, exited(1))],
            "Failed ",
            "i:Error(1) a:PodInitializing",
        ),
        (
            "it failed and comes back",
            "Always",
            init(),
            vec![made("i", 0, exited(1))],
            "Pending ",
            "i:Error(1) a:PodInitializing",
        ),
    ] {
        let (found, containers, _) = told(&pod(policy, spec), &view(containers), &Memory::default());
        let found = (&*found, &*containers);
        assert_eq!(found, (phase, words), "{case}");
    }
}

#[test]
fn trouble_is_named() {
    let one = pod("Always", json!({"containers": [{"name": "a"}]}));
    let (reason, message) = ("ErrImagePull".to_owned(), "no such image".to_owned());
    let trouble = Trouble { reason, message, image: None, since: noon(), again_at: noon() };
    let memory = Memory { troubles: [("a".to_owned(), trouble)].into(), ..Memory::default() };
    let (phase, words, status) = told(&one, &view(vec![]), &memory);
    assert_eq!((&*phase, &*words), ("Pending i", "a:ErrImagePull"));
    let waiting = status.container_statuses.unwrap()[0].state.clone().unwrap().waiting.unwrap();
    assert_eq!(waiting.message.as_deref(), Some("no such image"));

    let until = noon() + SignedDuration::from_secs(80);
    let pause = Pause { length: SignedDuration::from_secs(80), until };
    let memory = Memory { pauses: [("a".to_owned(), pause)].into(), ..Memory::default() };
    let (phase, words, status) = told(&one, &view(vec![made("a", 3, exited(1))]), &memory);
    assert_eq!((&*phase, &*words), ("Running i", "a:CrashLoopBackOff"));
    let found = &status.container_statuses.unwrap()[0];
    assert_eq!(found.restart_count, 3);
    assert_eq!(found.last_state.as_ref().unwrap().terminated.as_ref().unwrap().exit_code, 1);
    let message = found.state.as_ref().unwrap().waiting.as_ref().unwrap().message.clone().unwrap();
    assert_eq!(message, "back-off 1m20s restarting failed container=a pod=p_n(u)");

    // As long as something runs, the pod has not failed yet.
    let memory = Memory { verdict: Some(Verdict::new("Evicted", "no room")), ..Memory::default() };
    let (phase, _, status) = told(&one, &view(vec![made("a", 0, State::Running)]), &memory);
    assert_eq!((&*phase, status.reason.as_deref()), ("Running icr", None));
    let (phase, _, status) = told(&one, &view(vec![made("a", 0, exited(137))]), &memory);
    assert_eq!((&*phase, status.reason.as_deref()), ("Failed i", Some("Evicted")));
    let (_, words, status) = told(&one, &view(vec![]), &memory);
    assert_eq!((&*words, status.phase.as_deref()), ("", Some("Failed")));
}

#[test]
fn probes_and_gates_stand_before_readiness() {
    let probed = |started: Option<bool>, ready: Option<bool>| {
        let probed = Probed { started, ready, dead: None };
        Memory { probed: [("a0".to_owned(), probed)].into(), ..Memory::default() }
    };
    let with = |probes: Value| {
        let mut container = probes;
        container["name"] = json!("a");
        pod("Always", json!({"containers": [container]}))
    };
    let runs = view(vec![made("a", 0, State::Running)]);
    for (case, pod, memory, flags) in [
        ("no probe", with(json!({})), Memory::default(), "Running icr"),
        ("not asked yet", with(json!({"readinessProbe": {}})), Memory::default(), "Running i"),
        ("not ready", with(json!({"readinessProbe": {}})), probed(None, Some(false)), "Running i"),
        ("ready", with(json!({"readinessProbe": {}})), probed(None, Some(true)), "Running icr"),
        (
            "starting",
            with(json!({"startupProbe": {}, "readinessProbe": {}})),
            probed(None, Some(true)),
            "Running i",
        ),
        ("started", with(json!({"startupProbe": {}})), probed(Some(true), None), "Running icr"),
    ] {
        assert_eq!(told(&pod, &runs, &memory).0, flags, "{case}");
    }
    let mut gated =
        pod("Always", json!({"readinessGates": [{"conditionType": "x/y"}], "containers": [{"name": "a"}]}));
    let (flags, _, status) = told(&gated, &runs, &Memory::default());
    assert_eq!(flags, "Running ic");
    let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!(ready.reason.as_deref(), Some("ReadinessGatesNotReady"));
    let gate = json!({"conditions": [{"type": "x/y", "status": "True"}]});
    gated.status = Some(serde_json::from_value(gate).unwrap());
    assert_eq!(told(&gated, &runs, &Memory::default()).0, "Running icr");
}

#[test]
fn saying_the_same_again_changes_nothing() {
    let mut one = pod("Always", json!({"containers": [{"name": "a"}]}));
    let runs = view(vec![made("a", 0, State::Running)]);
    let memory = Memory { begun: Some(noon()), ..Memory::default() };
    let place = Place { node_ips: vec!["192.0.2.1".to_owned()], ..Place::default() };
    let first =
        status(Situation { pod: &one, view: &runs, memory: &memory, now: noon(), steady: noon() }, &place);
    one.status = Some(first.clone());
    let later = noon() + SignedDuration::from_secs(60);
    let second =
        status(Situation { pod: &one, view: &runs, memory: &memory, now: later, steady: later }, &place);
    assert_eq!(first, second);
    assert_eq!(second.pod_ip.as_deref(), Some("10.1.0.2"));
    assert_eq!(second.host_ip.as_deref(), Some("192.0.2.1"));
}

#[test]
fn a_container_is_not_seen_before_it_was_greeted() {
    let hook = json!({"postStart": {"sleep": {"seconds": 1}}});
    let pod = pod("Always", json!({"containers": [{"name": "a", "lifecycle": hook}]}));
    let runs = view(vec![made("a", 0, State::Running)]);
    let doing = |doing: Doing| Memory { busy: [("a".to_owned(), doing)].into(), ..Memory::default() };
    assert_eq!(told(&pod, &runs, &doing(Doing::Starting)).1, "a:ContainerCreating");
    assert_eq!(told(&pod, &runs, &doing(Doing::Ending { until: noon() })).1, "a:ready");
    assert_eq!(told(&pod, &runs, &Memory::default()).1, "a:ready");
}

#[test]
fn what_failed_to_start_waits() {
    let pod = |policy: &str| pod(policy, json!({"containers": [{"name": "a"}]}));
    let failed = State::Exited(Exit { code: 128, reason: "StartError".to_owned(), ..Exit::default() });
    let (reason, message) = ("RunContainerError".to_owned(), "no such file".to_owned());
    let trouble = Trouble { reason, message, image: None, since: noon(), again_at: noon() };
    let memory = Memory { troubles: [("a".to_owned(), trouble)].into(), ..Memory::default() };
    let seen = view(vec![made("a", 0, failed)]);
    let (phase, words, status) = told(&pod("Always"), &seen, &memory);
    assert_eq!((&*phase, &*words), ("Running i", "a:RunContainerError"));
    let last = status.container_statuses.unwrap()[0].last_state.clone().unwrap().terminated.unwrap();
    assert_eq!((last.exit_code, last.reason.as_deref()), (128, Some("StartError")));
    let (phase, words, _) = told(&pod("Never"), &seen, &memory);
    assert_eq!((&*phase, &*words), ("Failed i", "a:StartError(128)"));
}

#[test]
fn a_pod_is_ready_while_it_ends() {
    let mut pod = pod("Always", json!({"containers": [{"name": "a"}, {"name": "b"}]}));
    pod.metadata.deletion_timestamp = Some(Time(noon()));
    let both = |b: State| view(vec![made("a", 0, State::Running), made("b", 0, b)]);
    assert_eq!(told(&pod, &both(State::Running), &Memory::default()).0, "Running icr");
    assert_eq!(told(&pod, &both(exited(0)), &Memory::default()).0, "Running i");
    let done = view(vec![made("a", 0, exited(0)), made("b", 0, exited(143))]);
    assert_eq!(told(&pod, &done, &Memory::default()).0, "Failed i");
    let fine = view(vec![made("a", 0, exited(0)), made("b", 0, exited(0))]);
    assert_eq!(told(&pod, &fine, &Memory::default()).0, "Succeeded i");
}

#[test]
fn sidecars_keep_a_pod_running() {
    let sidecar = json!({"name": "s", "restartPolicy": "Always"});
    let pod = pod("Never", json!({"initContainers": [sidecar], "containers": [{"name": "a"}]}));
    let runs = |s: State, a: State| view(vec![made("s", 0, s), made("a", 0, a)]);
    for (case, view, phase) in [
        ("before", view(vec![made("s", 0, State::Running)]), "Pending i"),
        ("both", runs(State::Running, State::Running), "Running icr"),
        ("done", runs(State::Running, exited(0)), "Running i"),
        ("and gone", runs(exited(137), exited(0)), "Succeeded i"),
        ("failed", runs(exited(0), exited(2)), "Failed i"),
    ] {
        assert_eq!(told(&pod, &view, &Memory::default()).0, phase, "{case}");
    }
}

#[test]
fn last_words_have_their_limits() {
    let spec = json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]});
    let exit = Exit { code: 1, message: "x".repeat(5000), ..Exit::default() };
    let (_, _, status) =
        told(&pod("Never", spec), &view(vec![made("a", 0, State::Exited(exit))]), &Memory::default());
    let ended = status.container_statuses.unwrap()[0].state.clone().unwrap().terminated.unwrap();
    assert_eq!(ended.message.unwrap().len(), 3072);
}

#[test]
fn what_a_pod_asked_for_is_told_apart_from_what_it_has() {
    let resources = |cpu: &str| json!({"requests": {"cpu": cpu}});
    let of = |cpu: &str| serde_json::from_value(resources(cpu)).unwrap();
    let one = pod("Always", json!({"containers": [{"name": "a", "resources": resources("4")}]}));
    let pending = Pending { reason: "Deferred", message: "later".to_owned(), generation: Some(2) };
    let mut memory = Memory {
        granted: [("a".to_owned(), of("1"))].into(),
        applied: [("a0".to_owned(), of("1"))].into(),
        pending: Some(pending),
        ..Memory::default()
    };
    let runs = view(vec![made("a", 0, State::Running)]);
    let conditions = |status: &PodStatus| -> Vec<String> {
        let all = status.conditions.iter().flatten().filter(|one| one.type_.starts_with("PodResize"));
        all.map(|one| format!("{}={}", one.type_, one.reason.as_deref().unwrap_or_default())).collect()
    };
    let (_, _, status) = told(&one, &runs, &memory);
    assert_eq!(conditions(&status), ["PodResizePending=Deferred"]);
    let of_a = status.container_statuses.clone().unwrap()[0].clone();
    assert_eq!(of_a.resources, Some(of("1")));
    assert_eq!(of_a.allocated_resources.unwrap()["cpu"].0, "1");
    // It is granted, and then it has it.
    memory.pending = None;
    memory.resizing = Some(Some(2));
    memory.granted.insert("a".to_owned(), of("4"));
    let (_, _, status) = told(&Pod { status: Some(status), ..one.clone() }, &runs, &memory);
    assert_eq!(conditions(&status), ["PodResizeInProgress="]);
    assert_eq!(status.container_statuses.clone().unwrap()[0].resources, Some(of("1")));
    memory.resizing = None;
    memory.applied.insert("a0".to_owned(), of("4"));
    let (_, _, status) = told(&Pod { status: Some(status), ..one.clone() }, &runs, &memory);
    assert_eq!(conditions(&status), Vec::<String>::new());
    assert_eq!(status.container_statuses.unwrap()[0].resources, Some(of("4")));
}
