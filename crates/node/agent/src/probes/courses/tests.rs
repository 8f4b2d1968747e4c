use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use crate::view::{Made, Sandbox, State, View};

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

fn pod(container: Value) -> Pod {
    let mut container = container;
    container["name"] = json!("a");
    serde_json::from_value(
        json!({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [container]}}),
    )
    .unwrap()
}

fn view(running: bool) -> View {
    let state = if running { State::Running } else { State::Created };
    let made = Made {
        id: "a0".to_owned(),
        name: "a".to_owned(),
        sandbox: "box".to_owned(),
        attempt: 0,
        state,
        image: String::new(),
        image_id: String::new(),
        hash: String::new(),
        started_at: Some(noon()),
        user: None,
    };
    View {
        sandboxes: vec![Sandbox { id: "box".to_owned(), is_ready: true, ..Sandbox::default() }],
        containers: vec![made],
    }
}

/// A pod with its courses, and a clock that goes from one attempt to the next.
struct Scene {
    courses: Courses,
    memory: Memory,
    now: Timestamp,
}

impl Scene {
    fn new(container: Value) -> Self {
        let mut scene = Self { courses: Courses::default(), memory: Memory::default(), now: noon() };
        scene.align(&pod(container), &view(true));
        scene
    }

    fn align(&mut self, pod: &Pod, view: &View) {
        let before = self.memory.clone();
        let situation = Situation { pod, view, memory: &before, now: self.now, steady: self.now };
        self.courses.align(situation, &mut self.memory);
    }

    /// Tries what is due next. Answers which it was, when, and what came of it.
    fn next(&mut self, fine: bool) -> Option<String> {
        self.now = self.courses.next(&self.memory)?.max(self.now);
        let (key, _) = self.courses.due(&self.memory, self.now).into_iter().next()?;
        assert!(!self.courses.due(&self.memory, self.now).contains(&(key.clone(), "a".to_owned())));
        let kind = key.kind;
        let outcome = if fine { Outcome::Success } else { Outcome::Failure("no".to_owned()) };
        let heard = self.courses.took(Tried { key, begun: self.now, outcome }, &mut self.memory, self.now);
        let millis = self.now.duration_since(noon()).as_millis();
        let flags = [(heard.news, "!"), (heard.tell.is_some(), "?")];
        let flags: String = flags.iter().filter(|(holds, _)| *holds).map(|(_, flag)| *flag).collect();
        Some(format!("{} {millis}{flags}", kind.word()))
    }

    fn run(&mut self, answers: &[bool]) -> Vec<String> {
        answers.iter().map_while(|fine| self.next(*fine)).collect()
    }
}

#[test]
fn attempts_follow_their_course() {
    for (case, container, answers, course) in [
        ("none", json!({}), vec![true], vec![]),
        (
            "alive",
            json!({"livenessProbe": {"periodSeconds": 2, "initialDelaySeconds": 3}}),
            vec![true, true],
            vec!["liveness 3000", "liveness 5000"],
        ),
        (
            "dead after three in a row",
            json!({"livenessProbe": {"periodSeconds": 1}}),
            vec![false, true, false, false, false, true],
            vec!["liveness 0?", "liveness 1000", "liveness 2000?", "liveness 3000?", "liveness 4000!?"],
        ),
        (
            "not ready yet: soon, and quietly, then as the period says",
            json!({"readinessProbe": {"periodSeconds": 1, "failureThreshold": 1}}),
            vec![false, false, false, false, false, true, false],
            vec![
                "readiness 0",
                "readiness 100",
                "readiness 300",
                "readiness 700",
                "readiness 1500!?",
                "readiness 2500!",
                "readiness 3500!?",
            ],
        ),
        (
            "a delay is kept to",
            json!({"readinessProbe": {"initialDelaySeconds": 5, "failureThreshold": 1}}),
            vec![false, true],
            vec!["readiness 5000!?", "readiness 15000!"],
        ),
        (
            "ready after two in a row",
            json!({"readinessProbe": {"successThreshold": 2}}),
            vec![true, true],
            vec!["readiness 0", "readiness 10000!"],
        ),
        (
            "nothing else before the start",
            json!({"startupProbe": {"periodSeconds": 1}, "livenessProbe": {}}),
            vec![false, false, true, true],
            vec!["startup 0?", "startup 1000?", "startup 2000!", "liveness 2000"],
        ),
        (
            "a start that fails",
            json!({"startupProbe": {"periodSeconds": 1, "failureThreshold": 2}, "livenessProbe": {}}),
            vec![false, false, false],
            vec!["startup 0?", "startup 1000!?"],
        ),
    ] {
        assert_eq!(Scene::new(container).run(&answers), course, "{case}");
    }
}

#[test]
fn answers_are_told_in_known_words() {
    let mut scene = Scene::new(json!({"readinessProbe": {"initialDelaySeconds": 1}}));
    let mut told = |outcome: Outcome| {
        let now = scene.courses.next(&scene.memory).unwrap();
        let (key, _) = scene.courses.due(&scene.memory, now).remove(0);
        let heard = scene.courses.took(Tried { key, begun: now, outcome }, &mut scene.memory, now);
        heard.tell.map(|(container, reason, message)| format!("{container} {reason}: {message}"))
    };
    let text = || "what it said".to_owned();
    for (outcome, words) in [
        (Outcome::Success, None),
        (Outcome::Failure(text()), Some("a Unhealthy: Readiness probe failed: what it said")),
        (Outcome::Warning(text()), Some("a ProbeWarning: Readiness probe warning: what it said")),
        (
            Outcome::Unknown(text()),
            Some("a Unhealthy: Readiness probe errored and resulted in unknown state: what it said"),
        ),
    ] {
        assert_eq!(told(outcome).as_deref(), words);
    }
}

#[test]
fn whoever_leaves_is_asked_only_whether_he_is_ready() {
    let container = json!({"livenessProbe": {}, "readinessProbe": {}});
    let mut scene = Scene::new(container.clone());
    assert_eq!(scene.courses.all.len(), 2);
    let mut leaving = pod(container);
    let moment = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon());
    leaving.metadata.deletion_timestamp = Some(moment);
    scene.align(&leaving, &view(true));
    assert_eq!(scene.courses.all.keys().map(|key| key.kind).collect::<Vec<_>>(), [Kind::Readiness]);
    scene.align(&leaving, &view(false));
    assert_eq!(scene.courses.next(&scene.memory), None);
}

#[test]
fn whoever_was_evicted_or_is_too_late_is_asked_for_readiness_alone() {
    let container = json!({"startupProbe": {}, "livenessProbe": {}, "readinessProbe": {}});
    let mut scene = Scene::new(container.clone());
    assert_eq!(scene.courses.all.len(), 3);
    scene.memory.verdict = Some(crate::memory::Verdict::new("Evicted", "there is no room"));
    scene.align(&pod(container), &view(true));
    assert_eq!(scene.courses.all.keys().map(|key| key.kind).collect::<Vec<_>>(), [Kind::Readiness]);
}

#[test]
fn a_new_agent_takes_over_what_was_known() {
    let mut known = pod(json!({"startupProbe": {}, "readinessProbe": {}}));
    let of = |id: &str| {
        json!({"containerStatuses": [{
            "name": "a", "containerID": format!("containerd://{id}"), "ready": true, "started": true,
            "image": "", "imageID": "", "restartCount": 0,
        }]})
    };
    for (id, probed) in
        [("a0", Some(Probed { started: Some(true), ready: Some(true), dead: None })), ("other", None)]
    {
        known.status = Some(serde_json::from_value(of(id)).unwrap());
        let mut scene = Scene { courses: Courses::default(), memory: Memory::default(), now: noon() };
        scene.align(&known, &view(true));
        assert_eq!(scene.memory.probed.get("a0"), probed.as_ref(), "{id}");
    }
}
