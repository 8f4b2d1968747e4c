use serde_json::{Value, json};

use super::*;
use crate::view::State;

fn resources(cpu: &str, memory: &str) -> Value {
    json!({"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}})
}

fn of(cpu: &str, memory: &str) -> ResourceRequirements {
    serde_json::from_value(resources(cpu, memory)).unwrap()
}

fn pod(cpu: &str, memory: &str) -> Pod {
    let policies = json!([
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]);
    let container = json!({"name": "a", "resources": resources(cpu, memory), "resizePolicy": policies});
    let metadata = json!({"name": "p", "generation": 3});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": [container]}})).unwrap()
}

fn runs() -> View {
    let made = Made {
        id: "a0".to_owned(),
        name: "a".to_owned(),
        sandbox: "box".to_owned(),
        attempt: 0,
        state: State::Running,
        image: String::new(),
        image_id: String::new(),
        hash: String::new(),
        started_at: None,
        user: None,
    };
    View { sandboxes: Vec::new(), containers: vec![made] }
}

#[test]
fn running_containers_are_told_or_started_anew() {
    for (case, cpu, memory, wanted) in [
        ("as it is", "1", "1Gi", Change::None),
        ("the same in other words", "1000m", "1024Mi", Change::None),
        ("more cores", "2", "1Gi", Change::To(of("2", "1Gi"))),
        ("more memory", "1", "2Gi", Change::Restart),
    ] {
        let (before, after) = (pod("1", "1Gi"), pod(cpu, memory));
        let mut known = Memory::default();
        learn(&before, &runs(), &mut known);
        assert_eq!(is_asked_for(&after, &known), wanted != Change::None, "{case}");
        grant(&after, &mut known);
        let container = &after.spec.as_ref().unwrap().containers[0];
        assert_eq!(change(&known, container, &runs().containers[0]), wanted, "{case}");
        assert_eq!(is_done(after.spec.as_ref().unwrap(), &runs(), &known), wanted == Change::None, "{case}");
    }
}

#[test]
fn what_was_granted_is_known_to_the_next_agent() {
    let mut asking = pod("4", "1Gi");
    let told = json!({"containerStatuses": [{
        "name": "a", "containerID": "containerd://a0", "resources": resources("1", "1Gi"),
        "image": "", "imageID": "", "ready": true, "restartCount": 0,
    }]});
    asking.status = Some(serde_json::from_value(told).unwrap());
    let mut memory = Memory::default();
    learn(&asking, &runs(), &mut memory);
    assert_eq!(memory.granted["a"], of("1", "1Gi"));
    assert_eq!(memory.applied["a0"], of("1", "1Gi"));
    assert!(is_asked_for(&asking, &memory));
    // Until it is granted, containers are made as they were.
    let effective = effective(&asking, &memory).unwrap();
    assert_eq!(effective.spec.unwrap().containers[0].resources, Some(of("1", "1Gi")));
}

#[test]
fn what_does_not_fit_waits_or_never_will() {
    let short = |wanted: i64| Short { resource: "cpu".to_owned(), wanted, used: 1500, capacity: 2000 };
    let told = |wanted: i64| {
        let pending = defer(&pod("1", "1Gi"), &short(wanted));
        (pending.reason, pending.message, pending.generation)
    };
    let words = "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000";
    assert_eq!(told(1000), ("Deferred", words.to_owned(), Some(3)));
    let words = "Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000";
    assert_eq!(told(3000), ("Infeasible", words.to_owned(), Some(3)));
}

#[test]
fn a_pod_as_a_whole_is_granted_and_told_other_amounts() {
    let asking = |cpu: &str| {
        let mut pod = pod("1", "1Gi");
        pod.spec.as_mut().unwrap().resources = Some(of(cpu, "2Gi"));
        pod
    };
    let mut view = runs();
    let sandbox = crate::view::Sandbox { is_ready: true, ..Default::default() };
    view.sandboxes.push(sandbox);
    let mut memory = Memory::default();
    learn(&asking("2"), &view, &mut memory);
    assert!(!is_asked_for(&asking("2000m"), &memory) && change_of_all(&memory).is_none());
    let more = asking("3");
    assert!(is_asked_for(&more, &memory));
    assert_eq!(effective(&more, &memory).unwrap().spec.unwrap().resources, Some(of("2", "2Gi")));
    grant(&more, &mut memory);
    assert_eq!(change_of_all(&memory), Some(of("3", "2Gi")));
    assert!(!is_done(more.spec.as_ref().unwrap(), &view, &memory));
    memory.applied_to_all = change_of_all(&memory);
    assert!(is_done(more.spec.as_ref().unwrap(), &view, &memory));
    // The next agent takes from the status what is the pod's own.
    let mut told = asking("4");
    let resources = json!({"requests": {"cpu": "3", "memory": "2Gi", "ephemeral-storage": "1"}, "limits": {"cpu": "9", "memory": "2Gi"}});
    told.status = Some(serde_json::from_value(json!({"resources": resources})).unwrap());
    let mut memory = Memory::default();
    learn(&told, &view, &mut memory);
    assert_eq!(memory.granted_to_all, Some(of("3", "2Gi")));
    assert!(is_asked_for(&told, &memory));
    // Whoever said nothing and says something now is told.
    let mut memory = Memory::default();
    learn(&pod("1", "1Gi"), &view, &mut memory);
    assert!(is_asked_for(&more, &memory));
    grant(&more, &mut memory);
    assert_eq!(change_of_all(&memory), Some(of("3", "2Gi")));
}

#[test]
fn what_runs_before_the_others_is_told_as_well() {
    let pod = |cpu: &str| -> Pod {
        let first = json!({"name": "a", "resources": resources(cpu, "1Gi")});
        let spec = json!({"initContainers": [first], "containers": [{"name": "main"}]});
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    };
    let (before, after) = (pod("1"), pod("2"));
    let mut known = Memory::default();
    learn(&before, &runs(), &mut known);
    assert!(is_asked_for(&after, &known) && !is_asked_for(&before, &known));
    grant(&after, &mut known);
    let spec = after.spec.as_ref().unwrap();
    let first = &spec.init_containers.as_ref().unwrap()[0];
    assert_eq!(change(&known, first, &runs().containers[0]), Change::To(of("2", "1Gi")));
    assert!(!is_done(spec, &runs(), &known) && is_done(spec, &View::default(), &known));
}
