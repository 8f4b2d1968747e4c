//! Pods, pod templates and disruption budgets as rows. A pod's status is a story told in one word; it is told here.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::selector::labels;
use super::{Column, Printer, age, condition, containers, flag, is_leaving, items, name, number, text_or};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "Pod" => Some(Printer { columns: POD, cells: pod, conditions: Some(finished) }),
        "PodTemplate" => Some(Printer::new(POD_TEMPLATE, |object, _| {
            let [names, images] = containers(&object["template"]["spec"]["containers"]);
            vec![name(object), names, images, labels(&object["template"]["metadata"]["labels"]).into()]
        })),
        _ => None,
    }
}

pub(super) fn policy(kind: &str) -> Option<Printer> {
    (kind == "PodDisruptionBudget").then_some(Printer::new(DISRUPTION_BUDGET, |object, now| {
        let bound = |field: &str| match &object["spec"][field] {
            Value::String(share) => share.clone(),
            Value::Number(pods) => pods.to_string(),
            _ => "N/A".to_owned(),
        };
        let allowed = number(&object["status"]["disruptionsAllowed"]);
        vec![
            name(object),
            bound("minAvailable").into(),
            bound("maxUnavailable").into(),
            allowed.into(),
            age(object, now),
        ]
    }))
}

const POD: &[Column] = &[
    Column::name(),
    Column::text("Ready"),
    Column::text("Status"),
    Column::text("Restarts"),
    Column::age(),
    Column::text("IP").wide(),
    Column::text("Node").wide(),
    Column::text("Nominated Node").wide(),
    Column::text("Readiness Gates").wide(),
];

const POD_TEMPLATE: &[Column] =
    &[Column::name(), Column::text("Containers"), Column::text("Images"), Column::text("Pod Labels")];

const DISRUPTION_BUDGET: &[Column] = &[
    Column::name(),
    Column::text("Min Available"),
    Column::text("Max Unavailable"),
    Column::int("Allowed Disruptions"),
    Column::age(),
];

/// A pod that has ended is marked, so that a client may dim its row.
fn finished(pod: &Value) -> Option<Value> {
    let (reason, message) = match pod["status"]["phase"].as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!({"type": "Completed", "status": "True", "reason": reason, "message": message}))
}

fn pod(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let story = Story::of(pod);
    let restarts = match story.restarts.last {
        Some(last) if story.restarts.count > 0 => {
            let ago = age::human(now.as_second() - last.as_second());
            format!("{} ({ago} ago)", story.restarts.count)
        }
        _ => story.restarts.count.to_string(),
    };
    vec![
        name(pod),
        format!("{}/{}", story.ready, story.containers).into(),
        story.word.into(),
        restarts.into(),
        age(pod, now),
        text_or(&status["podIPs"][0]["ip"], "<none>"),
        text_or(&spec["nodeName"], "<none>"),
        text_or(&status["nominatedNodeName"], "<none>"),
        gates(spec, status).into(),
    ]
}

/// How many readiness gates are open.
fn gates(spec: &Value, status: &Value) -> String {
    let gates = items(&spec["readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| {
        let kind = gate["conditionType"].as_str().unwrap_or_default();
        condition(&status["conditions"], kind).is_some_and(|condition| condition["status"] == "True")
    });
    format!("{}/{}", open.count(), gates.len())
}

/// What a row says about a pod's life so far.
struct Story {
    word: String,
    ready: usize,
    containers: usize,
    restarts: Restarts,
}

#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += number(&container["restartCount"]);
        self.last = self.last.max(age::parse(&container["lastState"]["terminated"]["finishedAt"]));
    }
}

impl Story {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let sidecars: Vec<&Value> =
            items(&spec["initContainers"]).iter().filter(|one| one["restartPolicy"] == "Always").collect();
        let mut story = Story {
            word: opening(status),
            ready: 0,
            containers: items(&spec["containers"]).len() + sidecars.len(),
            restarts: Restarts::default(),
        };
        let is_sidecar = |container: &Value| sidecars.iter().any(|one| one["name"] == container["name"]);
        let (done, of_sidecars) = story.initialise(spec, status, is_sidecar);
        let marked =
            condition(&status["conditions"], "Initialized").is_some_and(|one| one["status"] == "True");
        if done || marked {
            // Restarts from the time before the pod was initialised no longer matter to anyone.
            story.restarts = of_sidecars;
            story.run(status);
        }
        if is_leaving(pod) {
            let ended = matches!(status["phase"].as_str(), Some("Succeeded" | "Failed"));
            if status["reason"] == "NodeLost" {
                story.word = "Unknown".to_owned();
            } else if !ended {
                story.word = "Terminating".to_owned();
            }
        }
        story
    }

    /// Goes through the init containers up to the first that isn't done. Returns whether all are, and the sidecars' restarts.
    fn initialise(
        &mut self,
        spec: &Value,
        status: &Value,
        is_sidecar: impl Fn(&Value) -> bool,
    ) -> (bool, Restarts) {
        let mut of_sidecars = Restarts::default();
        for (at, container) in items(&status["initContainerStatuses"]).iter().enumerate() {
            self.restarts.add(container);
            let sidecar = is_sidecar(container);
            if sidecar {
                of_sidecars.add(container);
            }
            let terminated = &container["state"]["terminated"];
            if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
                continue;
            }
            if sidecar && flag(&container["started"]) {
                self.ready += usize::from(flag(&container["ready"]));
                continue;
            }
            let waiting = container["state"]["waiting"]["reason"].as_str().unwrap_or_default();
            self.word = if terminated.is_object() {
                format!("Init:{}", ending(terminated))
            } else if !matches!(waiting, "" | "PodInitializing") {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{}", items(&spec["initContainers"]).len())
            };
            return (false, of_sidecars);
        }
        (true, of_sidecars)
    }

    fn run(&mut self, status: &Value) {
        let (mut running, mut failure) = (false, None);
        // From the last to the first: what the first container says has the last word.
        for container in items(&status["containerStatuses"]).iter().rev() {
            self.restarts.add(container);
            let state = &container["state"];
            let waiting = state["waiting"]["reason"].as_str().unwrap_or_default();
            if !waiting.is_empty() {
                self.word = waiting.to_owned();
            } else if state["terminated"].is_object() {
                self.word = ending(&state["terminated"]);
                if number(&state["terminated"]["exitCode"]) != 0 {
                    failure = Some(self.word.clone());
                }
            } else if flag(&container["ready"]) && state["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        // One container may be done while another still runs; the pod as a whole isn't completed then.
        if self.word == "Completed" {
            let ready = condition(&status["conditions"], "Ready").is_some_and(|one| one["status"] == "True");
            if running && ready {
                self.word = "Running".to_owned();
            } else if let Some(failure) = failure {
                self.word = failure;
            } else if running {
                self.word = "NotReady".to_owned();
            }
        }
    }
}

/// What is known before looking at any container.
fn opening(status: &Value) -> String {
    let gated = items(&status["conditions"])
        .iter()
        .any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated");
    if gated {
        return "SchedulingGated".to_owned();
    }
    let word = status["reason"].as_str().filter(|reason| !reason.is_empty());
    word.or(status["phase"].as_str()).unwrap_or_default().to_owned()
}

/// How a container ended: its reason, or else the signal or exit code.
fn ending(terminated: &Value) -> String {
    match (terminated["reason"].as_str().unwrap_or_default(), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
