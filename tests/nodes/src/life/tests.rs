use serde_json::{Value, json};

use super::*;

fn at(seconds: i64) -> Timestamp {
    after("2030-01-01T00:00:00Z".parse().unwrap(), seconds)
}

/// Plays a pod's life to its end or for `until` seconds; what happened and when.
fn play(policy: &str, image: &str, command: &[&str], annotations: Value, until: i64) -> String {
    let mut pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p", "namespace": "n", "uid": "u", "annotations": annotations },
        "spec": {
            "nodeName": "n1", "restartPolicy": policy,
            "containers": [{ "name": "c", "image": image, "command": command }],
        },
    }))
    .unwrap();
    let (machine, script, mut lives) = (Machine::new("n1", 0), Script::default(), Lives::default());
    let mut told = Vec::new();
    let mut now = at(0);
    loop {
        match lives.step(&pod, &machine, &script, now) {
            Step::Rest => break,
            Step::At(moment) => {
                if moment > at(until) {
                    break;
                }
                assert!(moment > now, "waits for the past");
                now = moment;
            }
            Step::Remove => {
                told.push("removed".to_owned());
                break;
            }
            Step::Report(status) => {
                let container = &status.container_statuses.as_ref().unwrap()[0];
                let ready =
                    status.conditions.iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True");
                let ready = if ready { "+" } else { "" };
                let waits = container.state.as_ref().and_then(|state| state.waiting.as_ref());
                let waits = waits
                    .and_then(|waits| waits.reason.clone())
                    .map(|why| format!(" {why}"))
                    .unwrap_or_default();
                let seconds = now.duration_since(at(0)).as_secs();
                let phase = status.phase.clone().unwrap();
                told.push(format!("{seconds}:{phase}{ready}/{}{waits}", container.restart_count));
                pod.status = Some(*status);
            }
        }
        assert!(told.len() < 50, "goes on for ever: {told:?}");
    }
    told.join(" ")
}

#[test]
fn pods_live_as_their_programs_say() {
    for (policy, image, command, annotations, wanted) in [
        ("Always", "nginx", vec![], json!({}), "0:Running+/0"),
        ("Always", "nginx", vec![], json!({ START: "5" }), "5:Running+/0"),
        ("Always", "nginx", vec![], json!({ READY: "false" }), "0:Running/0"),
        ("Always", "webserver:404", vec![], json!({}), "0:Pending/0 ErrImagePull"),
        ("Never", "busybox", vec!["true"], json!({}), "0:Running+/0 0:Succeeded/0"),
        ("Never", "busybox", vec!["sh", "-c", "sleep 7; exit 2"], json!({}), "0:Running+/0 7:Failed/0"),
        ("Never", "busybox", vec![], json!({ EXIT: "3", RUN: "4" }), "0:Running+/0 4:Failed/0"),
        (
            "OnFailure",
            "busybox",
            vec!["sh", "-c", "if [[ -r /data/foo ]]\nthen\nexit 0\nelse\ntouch /data/foo\nexit 1\nfi"],
            json!({}),
            "0:Running+/0 0:Running+/1 0:Succeeded/1",
        ),
        (
            "Always",
            "busybox",
            vec!["false"],
            json!({}),
            "0:Running+/0 0:Running+/1 0:Running/1 CrashLoopBackOff 10:Running+/2 10:Running/2 CrashLoopBackOff 30:Running+/3 30:Running/3 CrashLoopBackOff",
        ),
    ] {
        assert_eq!(play(policy, image, &command, annotations, 60), wanted, "{policy} {image} {command:?}");
    }
}

const START: &str = crate::script::START_AFTER;
const READY: &str = crate::script::READY;
const EXIT: &str = crate::script::EXIT_CODE;
const RUN: &str = crate::script::RUN_FOR;

#[test]
fn leaving_pods_go_when_their_program_allows() {
    for (case, command, finalizers, phase, grace, now, wanted) in [
        ("a server hears the signal", vec![], vec![], "Running", 30, 0, "remove"),
        ("a shell does not", vec!["sleep", "9"], vec![], "Running", 30, 0, "at 30"),
        ("until its time is over", vec!["sleep", "9"], vec![], "Running", 30, 30, "remove"),
        ("whoever holds it hears how it ended", vec![], vec!["x/y"], "Running", 30, 0, "Succeeded"),
        ("also if it was killed", vec!["sleep", "9"], vec!["x/y"], "Running", 30, 30, "Failed"),
        ("it never began", vec![], vec!["x/y"], "Pending", 30, 0, "Failed"),
        ("it has ended", vec![], vec!["x/y"], "Failed", 30, 0, "remove"),
        ("it is only held", vec![], vec!["x/y"], "Failed", 0, 0, "rest"),
    ] {
        let running = json!([{ "name": "c", "state": { "running": {} }, "image": "", "imageID": "", "ready": true, "restartCount": 0 }]);
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "name": "p", "namespace": "n", "uid": "u", "finalizers": finalizers,
                "deletionTimestamp": at(grace).to_string(), "deletionGracePeriodSeconds": grace,
            },
            "spec": { "containers": [{ "name": "c", "image": "nginx", "command": command }] },
            "status": { "phase": phase, "containerStatuses": if phase == "Pending" { Value::Null } else { running } },
        }))
        .unwrap();
        let step = Lives::default().step(&pod, &Machine::new("n1", 0), &Script::default(), at(now));
        let told = match step {
            Step::Rest => "rest".to_owned(),
            Step::At(moment) => format!("at {}", moment.duration_since(at(0)).as_secs()),
            Step::Remove => "remove".to_owned(),
            Step::Report(status) => status.phase.unwrap(),
        };
        assert_eq!(told, wanted, "{case}");
    }
}
