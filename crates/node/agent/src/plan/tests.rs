use serde_json::{Value, json};

use super::*;
use crate::memory::{Pause, Probed, Trouble, Verdict};
use crate::spec::container::hash;
use crate::view::{Exit, Sandbox};

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "p", "uid": "u"}, "spec": spec})).unwrap()
}

/// `a` with one container; `i` and `s` are an init container and a sidecar before it.
fn two_before() -> Pod {
    pod(json!({
        "initContainers": [{"name": "s", "restartPolicy": "Always", "startupProbe": {}}, {"name": "i"}],
        "containers": [{"name": "a"}],
    }))
}

fn view(ready: bool, containers: &[(&str, u32, State)]) -> View {
    let of = |(name, attempt, state): &(&str, u32, State)| Made {
        id: format!("{name}{attempt}"),
        name: (*name).to_owned(),
        sandbox: "box".to_owned(),
        attempt: *attempt,
        state: state.clone(),
        image: String::new(),
        image_id: String::new(),
        hash: hash(&Container { name: (*name).to_owned(), ..Container::default() }),
        started_at: Some(noon()),
        user: None,
    };
    let sandbox = Sandbox { id: "box".to_owned(), is_ready: ready, ..Sandbox::default() };
    View { sandboxes: vec![sandbox], containers: containers.iter().map(of).collect() }
}

fn exited(code: i32) -> State {
    State::Exited(Exit { code, at: Some(noon()), ..Exit::default() })
}

fn told(plan: &Plan) -> String {
    let mut words: Vec<String> = plan
        .steps
        .iter()
        .map(|step| match step {
            Step::MakeSandbox { attempt } => format!("box{attempt}"),
            Step::StopSandbox { id } => format!("stop {id}"),
            Step::Start { name, attempt } => format!("+{name}{attempt}"),
            Step::Kill { id, grace, .. } => format!("-{id}({}s)", grace.as_secs()),
            Step::Resize { id, .. } => format!("~{id}"),
            Step::ResizeAll { .. } => "~".to_owned(),
            Step::Discard { ids, .. } => format!("x{}", ids.join(",")),
            Step::Clear => "clear".to_owned(),
        })
        .collect();
    words.extend(plan.look_again.map(|at| format!("@{}", at.duration_since(noon()).as_secs())));
    words.join(" ")
}

fn planned(pod: &Pod, view: &View, memory: &Memory) -> String {
    told(&plan(Situation { pod, view, memory, now: noon(), steady: noon() }))
}

#[test]
fn containers_start_in_their_order() {
    let pod = two_before();
    let running = State::Running;
    let started = |id: &str| {
        let probed = Probed { started: Some(true), ..Probed::default() };
        Memory { probed: [(id.to_owned(), probed)].into(), ..Memory::default() }
    };
    for (case, view, memory, steps) in [
        ("nothing there", View::default(), Memory::default(), "box0"),
        ("a sandbox", view(true, &[]), Memory::default(), "+s0"),
        ("its start is not over", view(true, &[("s", 0, running.clone())]), Memory::default(), ""),
        ("it is", view(true, &[("s", 0, running.clone())]), started("s0"), "+i0"),
        (
            "the next one runs",
            view(true, &[("s", 0, running.clone()), ("i", 0, running.clone())]),
            started("s0"),
            "",
        ),
        ("it failed", view(true, &[("s", 0, running.clone()), ("i", 0, exited(1))]), started("s0"), "+i1"),
        ("it is done", view(true, &[("s", 0, running.clone()), ("i", 0, exited(0))]), started("s0"), "+a0"),
        (
            "all run",
            view(true, &[("s", 0, running.clone()), ("i", 0, exited(0)), ("a", 0, running.clone())]),
            started("s0"),
            "",
        ),
        (
            "the sidecar comes back and holds nobody up",
            view(true, &[("s", 0, exited(0)), ("a", 0, exited(1))]),
            Memory::default(),
            "+s1 +a1",
        ),
    ] {
        assert_eq!(planned(&pod, &view, &memory), steps, "{case}");
    }
}

#[test]
fn ended_containers_come_back_as_their_policy_says() {
    let of =
        |policy: &str| pod(json!({"restartPolicy": policy, "containers": [{"name": "a"}, {"name": "b"}]}));
    let busy = |name: &str| Memory { busy: [(name.to_owned(), Doing::Starting)].into(), ..Memory::default() };
    let pause = Pause { length: SignedDuration::from_secs(10), until: after(10) };
    let paused = Memory { pauses: [("a".to_owned(), pause)].into(), ..Memory::default() };
    let (reason, message) = ("ErrImagePull".to_owned(), String::new());
    let trouble = Trouble { reason, message, image: None, since: noon(), again_at: after(7) };
    let troubled = Memory { troubles: [("a".to_owned(), trouble)].into(), ..Memory::default() };
    let both = |a: State, b: State| view(true, &[("a", 0, a), ("b", 0, b)]);
    let running = || State::Running;
    for (case, policy, view, memory, steps) in [
        ("failed", "Always", both(exited(1), running()), Memory::default(), "+a1"),
        ("done", "Always", both(exited(0), running()), Memory::default(), "+a1"),
        ("failed", "OnFailure", both(exited(1), running()), Memory::default(), "+a1"),
        ("done", "OnFailure", both(exited(0), running()), Memory::default(), ""),
        ("failed", "Never", both(exited(1), running()), Memory::default(), ""),
        ("too soon", "Always", both(exited(1), running()), paused, "@10"),
        ("no image", "Always", view(true, &[("b", 0, running())]), troubled, "@7"),
        ("at it", "Always", both(exited(1), running()), busy("a"), ""),
        ("never started", "Always", both(State::Created, running()), Memory::default(), "xa0"),
        ("all done", "Never", both(exited(0), exited(1)), Memory::default(), "stop box"),
    ] {
        assert_eq!(planned(&of(policy), &view, &memory), steps, "{case}, {policy}");
    }
    let mut changed = view(true, &[("a", 0, running()), ("b", 0, running())]);
    changed.containers[0].hash = "other".to_owned();
    assert_eq!(planned(&of("Always"), &changed, &Memory::default()), "-a0(30s)");
    let dead = Probed { dead: Some(Kind::Liveness), ..Probed::default() };
    let dead = Memory { probed: [("b0".to_owned(), dead)].into(), ..Memory::default() };
    assert_eq!(planned(&of("Always"), &both(running(), running()), &dead), "-b0(30s)");
}

#[test]
fn a_lost_sandbox_is_made_again_once_its_containers_are_gone() {
    let pod = pod(json!({"containers": [{"name": "a"}]}));
    let lost = view(false, &[("a", 0, State::Running)]);
    assert_eq!(planned(&pod, &lost, &Memory::default()), "-a0(30s)");
    let gone = view(false, &[("a", 0, exited(137))]);
    assert_eq!(planned(&pod, &gone, &Memory::default()), "box1");
    // In a new sandbox everything starts again, and counts on.
    let mut anew = view(true, &[("a", 0, exited(137))]);
    anew.sandboxes[0].id = "newer".to_owned();
    assert_eq!(planned(&pod, &anew, &Memory::default()), "+a1");
}

#[test]
fn a_pod_ends_in_order() {
    let mut leaving = two_before();
    leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon()));
    leaving.metadata.deletion_grace_period_seconds = Some(5);
    let running = || State::Running;
    let busy =
        Memory { busy: [("a".to_owned(), Doing::Ending { until: after(5) })].into(), ..Memory::default() };
    for (case, view, memory, steps) in [
        ("all run", view(true, &[("s", 0, running()), ("a", 0, running())]), Memory::default(), "-a0(5s)"),
        ("being ended", view(true, &[("s", 0, running()), ("a", 0, running())]), busy.clone(), ""),
        (
            "the sidecar is left",
            view(true, &[("s", 0, running()), ("a", 0, exited(0))]),
            Memory::default(),
            "-s0(5s)",
        ),
        (
            "none is left",
            view(true, &[("s", 0, exited(0)), ("a", 0, exited(0))]),
            Memory::default(),
            "stop box",
        ),
        ("something is being made", view(true, &[]), busy, ""),
        ("all has ended", view(false, &[("a", 0, exited(0))]), Memory::default(), "clear"),
        ("it never began", View::default(), Memory::default(), "clear"),
    ] {
        assert_eq!(planned(&leaving, &view, &memory), steps, "{case}");
    }
}

#[test]
fn a_clock_that_is_set_holds_nobody_up() {
    let always = pod(json!({"containers": [{"name": "a"}]}));
    let late = pod(json!({"activeDeadlineSeconds": 10, "containers": [{"name": "a"}]}));
    let runs = view(true, &[("a", 0, State::Running)]);
    let ended = view(true, &[("a", 0, exited(1))]);
    let pause = Pause { length: SignedDuration::from_secs(20), until: after(20) };
    let paused = Memory { pauses: [("a".to_owned(), pause)].into(), ..Memory::default() };
    let hour = 3600;
    for (case, pod, view, memory, now, steady, planned) in [
        ("an hour ahead", &always, &ended, paused.clone(), hour, 5, "@20"),
        ("an hour ahead, and waited for", &always, &ended, paused.clone(), hour, 20, "+a1"),
        ("an hour behind", &always, &ended, paused.clone(), -hour, 5, "@20"),
        ("an hour behind, and waited for", &always, &ended, paused, -hour, 20, "+a1"),
        (
            "what is written down is waited for by counting",
            &late,
            &runs,
            Memory { begun: Some(after(hour)), ..Memory::default() },
            hour + 3,
            3,
            "@10",
        ),
    ] {
        let situation = Situation { pod, view, memory: &memory, now: after(now), steady: after(steady) };
        assert_eq!(told(&plan(situation)), planned, "{case}");
    }
    for (case, written, now, steady, past) in [
        ("nobody set it", 5, 10, 10, 5),
        ("set forward", 5, hour + 10, 10, 5 - hour),
        ("set back: it was just now at the latest", 5, 10 - hour, 10, 10),
    ] {
        let memory = Memory::default();
        let situation =
            Situation { pod: &always, view: &runs, memory: &memory, now: after(now), steady: after(steady) };
        assert_eq!(situation.past(after(written)), after(past), "{case}");
    }
}

#[test]
fn a_pod_that_may_not_stay_ends() {
    let late = pod(json!({"activeDeadlineSeconds": 10, "containers": [{"name": "a"}]}));
    let runs = view(true, &[("a", 0, State::Running)]);
    let begun = |seconds: i64| Memory { begun: Some(after(seconds)), ..Memory::default() };
    assert_eq!(planned(&late, &runs, &begun(-3)), "@7");
    assert_eq!(planned(&late, &runs, &begun(-10)), "-a0(30s)");
    let evicted = Verdict::new("Evicted", "");
    let evicted = Memory { verdict: Some(evicted), ..Memory::default() };
    assert_eq!(planned(&pod(json!({"containers": [{"name": "a"}]})), &runs, &evicted), "-a0(30s)");
    // An init container that failed for good.
    let never = pod(
        json!({"restartPolicy": "Never", "initContainers": [{"name": "i"}], "containers": [{"name": "a"}]}),
    );
    assert_eq!(planned(&never, &view(true, &[("i", 0, exited(2))]), &Memory::default()), "stop box");
}

#[test]
fn containers_of_a_pod_start_together_but_behind_hooks() {
    let names =
        |count: usize| (0..count).map(|number| json!({"name": format!("c{number}")})).collect::<Vec<_>>();
    let many = pod(json!({"containers": names(50)}));
    let started = planned(&many, &view(true, &[]), &Memory::default());
    assert_eq!(started.split(' ').count(), STARTS_AT_ONCE);
    let two = pod(json!({"containers": [
        {"name": "a", "lifecycle": {"postStart": {"sleep": {"seconds": 1}}}}, {"name": "b"},
    ]}));
    let starting = || Memory { busy: [("a".to_owned(), Doing::Starting)].into(), ..Memory::default() };
    for (case, view, memory, steps) in [
        ("the first", view(true, &[]), Memory::default(), "+a0"),
        ("is being made", view(true, &[]), starting(), ""),
        ("runs and is told so", view(true, &[("a", 0, State::Running)]), starting(), ""),
        ("was told", view(true, &[("a", 0, State::Running)]), Memory::default(), "+b0"),
    ] {
        assert_eq!(planned(&two, &view, &memory), steps, "{case}");
    }
}

#[test]
fn old_containers_are_forgotten() {
    let pod = pod(json!({"containers": [{"name": "a"}]}));
    let all = [("a", 3, State::Running), ("a", 2, exited(1)), ("a", 1, exited(1)), ("a", 0, exited(1))];
    assert_eq!(planned(&pod, &view(true, &all), &Memory::default()), "xa1,a0");
    let busy = Memory { busy: [("a".to_owned(), Doing::Else)].into(), ..Memory::default() };
    assert_eq!(planned(&pod, &view(true, &all), &busy), "");
    // What is counted goes on where nothing is left of it.
    let mut told = pod;
    let status = json!({"containerStatuses": [
        {"name": "a", "restartCount": 4, "containerID": "containerd://x", "image": "", "imageID": "", "ready": false},
    ]});
    told.status = Some(serde_json::from_value(status).unwrap());
    assert_eq!(planned(&told, &view(true, &[]), &Memory::default()), "+a5");
}

#[test]
fn a_container_may_take_all_with_it() {
    let rule = json!({"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}});
    let pod = pod(json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "i"}],
        "containers": [{"name": "a", "restartPolicyRules": [rule]}, {"name": "b"}],
    }));
    let all = |b: State| view(true, &[("a", 0, exited(42)), ("b", 0, b), ("i", 0, exited(0))]);
    let pause = Pause { length: SignedDuration::from_secs(10), until: after(10) };
    let paused = Memory { pauses: [("a".to_owned(), pause)].into(), ..Memory::default() };
    for (case, view, memory, steps) in [
        ("the others end", all(State::Running), Memory::default(), "-b0(30s)"),
        ("all are forgotten", all(exited(137)), Memory::default(), "xa0,b0,i0"),
        ("and the pod begins again", view(true, &[]), Memory::default(), "+i0"),
        ("not at once", all(State::Running), paused, "@10"),
        ("another end", view(true, &[("a", 0, exited(1)), ("b", 0, State::Running)]), Memory::default(), ""),
    ] {
        assert_eq!(planned(&pod, &view, &memory), steps, "{case}");
    }
}

#[test]
fn a_lost_sandbox_ends_a_pod_that_does_not_come_back() {
    for (case, policy, ended, steps) in [
        ("never", "Never", exited(137), "clear"),
        ("done", "OnFailure", exited(0), "clear"),
        ("failed", "OnFailure", exited(137), "box1"),
        ("always", "Always", exited(0), "box1"),
    ] {
        let pod = pod(json!({"restartPolicy": policy, "containers": [{"name": "a"}]}));
        assert_eq!(planned(&pod, &view(false, &[("a", 0, ended)]), &Memory::default()), steps, "{case}");
    }
}

#[test]
fn all_containers_share_one_grace() {
    let mut leaving = two_before();
    leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon()));
    leaving.metadata.deletion_grace_period_seconds = Some(20);
    let since = |seconds: i64, busy: Option<i64>| {
        let busy = busy.map(|until| ("a".to_owned(), Doing::Ending { until: after(until) }));
        Memory { leaving: Some(after(-seconds)), busy: busy.into_iter().collect(), ..Memory::default() }
    };
    let both = || view(true, &[("s", 0, State::Running), ("a", 0, State::Running)]);
    let last = || view(true, &[("s", 0, State::Running), ("a", 0, exited(0))]);
    for (case, view, memory, steps) in [
        ("at first", both(), since(0, None), "-a0(20s)"),
        ("under way", both(), since(5, Some(15)), ""),
        ("now there is less", both(), since(5, Some(60)), "-a0(15s)"),
        ("the sidecar has the rest", last(), since(13, None), "-s0(7s)"),
        ("or nothing", last(), since(25, None), "-s0(0s)"),
    ] {
        assert_eq!(planned(&leaving, &view, &memory), steps, "{case}");
    }
}

#[test]
fn a_dead_container_has_the_grace_of_its_probe() {
    let probe = |seconds: i64| json!({"terminationGracePeriodSeconds": seconds});
    let pod = pod(json!({
        "initContainers": [{"name": "s", "restartPolicy": "Always", "livenessProbe": probe(3)}],
        "containers": [{"name": "a", "livenessProbe": probe(4), "startupProbe": probe(5)}, {"name": "b", "livenessProbe": {}}],
    }));
    let all = [("s", 0, State::Running), ("a", 0, State::Running), ("b", 0, State::Running)];
    for (id, kind, steps) in [
        ("s0", Kind::Liveness, "-s0(3s)"),
        ("a0", Kind::Liveness, "-a0(4s)"),
        ("a0", Kind::Startup, "-a0(5s)"),
        ("b0", Kind::Liveness, "-b0(30s)"),
    ] {
        let probed = Probed { started: Some(true), ready: None, dead: Some(kind) };
        let memory = Memory { probed: [(id.to_owned(), probed)].into(), ..Memory::default() };
        assert_eq!(planned(&pod, &view(true, &all), &memory), steps, "{id} {kind:?}");
    }
}
