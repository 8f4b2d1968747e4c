use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kedge_usage::{MemoryUse, Sample, Stored};
use serde_json::{Value, json};

use super::rank::{Candidate, rank};
use super::*;
use crate::usage::{ContainerUse, PodUse, Use, VolumeUse};

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

fn seen(signal: Signal, available: i64, capacity: i64) -> Observations {
    [(signal, Observed { available, capacity })].into()
}

fn eviction(thresholds: &str) -> Eviction {
    Eviction { thresholds: thresholds.parse().unwrap(), ..Eviction::default() }
}

#[test]
fn thresholds_are_read_as_people_write_them() {
    for (text, expected) in [
        ("memory.available<100Mi, nodefs.available<10%", Ok(2)),
        ("", Ok(0)),
        ("pid.available<0%", Ok(0)),
        ("nodefs.inodesFree<2.5%", Ok(1)),
        ("memory.available<1Gi:90s", Ok(1)),
        ("memory.available<1Gi:soon", Err("is not a threshold")),
        ("memory.available", Err("is not a threshold")),
        ("swap.available<1Gi", Err("unsupported eviction signal swap.available")),
        ("memory.available<-1", Err("must be positive")),
        ("memory.available<101%", Err("must be >= 0% and <= 100%")),
        ("memory.available<much", Err("is no amount")),
    ] {
        let found = text.parse::<Thresholds>();
        match (found, expected) {
            (Ok(found), Ok(count)) => assert_eq!(found.iter().count(), count, "{text}"),
            (Err(found), Err(part)) => assert!(found.to_string().contains(part), "{text}: {found}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
    assert_eq!(Thresholds::default().iter().count(), 5);
}

#[test]
fn a_shortage_is_seen_and_stays_known_for_a_while() {
    let eviction = eviction("memory.available<100,nodefs.available<10%");
    let mut history = History::default();
    for (case, seconds, observations, pressures, urgent) in [
        ("plenty", 0, seen(Signal::Memory, 100, 1000), &[][..], ""),
        ("too little", 10, seen(Signal::Memory, 99, 1000), &["MemoryPressure"], "memory"),
        (
            "a part of what there is",
            20,
            seen(Signal::NodeDisk, 99, 1000),
            &["DiskPressure", "MemoryPressure"],
            "ephemeral-storage",
        ),
        ("enough again", 30, seen(Signal::NodeDisk, 100, 1000), &["DiskPressure", "MemoryPressure"], ""),
        ("long enough", 310, seen(Signal::NodeDisk, 100, 1000), &["DiskPressure"], ""),
        ("for both", 320, seen(Signal::NodeDisk, 100, 1000), &[], ""),
    ] {
        let (found, new) =
            eviction.judge(&observations, &history, noon() + SignedDuration::from_secs(seconds));
        history = new;
        assert_eq!(found.pressures, pressures, "{case}");
        let resource = found.urgent.first().map(|threshold| threshold.signal.resource());
        assert_eq!(resource.unwrap_or_default(), urgent, "{case}");
    }
}

#[test]
fn some_may_be_short_for_a_while() {
    let eviction = eviction("memory.available<100:90s");
    let mut history = History::default();
    for (seconds, available, urgent) in [(0, 50, 0), (80, 50, 0), (90, 50, 1), (95, 200, 0), (100, 50, 0)] {
        let now = noon() + SignedDuration::from_secs(seconds);
        let (found, new) = eviction.judge(&seen(Signal::Memory, available, 1000), &history, now);
        history = new;
        assert_eq!(found.urgent.len(), urgent, "after {seconds} seconds");
        assert_eq!(found.pressures, ["MemoryPressure"]);
    }
}

#[test]
fn memory_comes_before_the_disk() {
    let both: Observations = [
        (Signal::NodeDisk, Observed { available: 0, capacity: 10 }),
        (Signal::Memory, Observed { available: 0, capacity: 10 }),
    ]
    .into();
    let (found, _) =
        eviction("nodefs.available<1,memory.available<1").judge(&both, &History::default(), noon());
    assert_eq!(found.urgent[0].signal, Signal::Memory);
    assert_eq!(found.urgent.len(), 2);
}

fn pod(name: &str, priority: i32, requests: Value) -> Pod {
    let container = json!({"name": "c", "resources": {"requests": requests}});
    let spec = json!({"priority": priority, "containers": [container]});
    serde_json::from_value(json!({"metadata": {"name": name, "uid": name}, "spec": spec})).unwrap()
}

fn uses(memory: u64, disk: u64, processes: u64) -> PodUse {
    let memory = Some(MemoryUse { working_set: memory, ..MemoryUse::default() });
    let used = Some(Use { sample: Sample { memory, ..Sample::default() }, nano_cores: None, window: None });
    let root = Some(Stored { bytes: disk, inodes: disk / 10 });
    let container = ContainerUse {
        name: "c".to_owned(),
        used: used.clone(),
        root,
        logs: Some(Stored::default()),
        ..ContainerUse::default()
    };
    PodUse { used, processes: Some(processes), containers: vec![container], ..PodUse::default() }
}

#[test]
fn whoever_takes_more_than_he_asked_for_goes_first() {
    let pods = [
        (pod("modest", 0, json!({"memory": "100", "ephemeral-storage": "500"})), Some(uses(90, 400, 1))),
        (pod("greedy", 0, json!({"memory": "100"})), Some(uses(300, 10, 5))),
        (pod("greedier", 0, json!({"memory": "10"})), Some(uses(301, 20, 2))),
        (pod("important", 9, json!({})), Some(uses(999, 999, 99))),
        (pod("unknown", 9, json!({})), None),
    ];
    for (signal, expected) in [
        (Signal::Memory, "unknown greedier greedy important modest"),
        (Signal::NodeDisk, "unknown greedier greedy important modest"),
        (Signal::Processes, "unknown greedy greedier modest important"),
    ] {
        let candidates = pods.iter().map(|(pod, used)| Candidate { pod, used: used.as_ref() }).collect();
        let ranked = rank(candidates, signal, false);
        let names: Vec<&str> = ranked.iter().filter_map(|one| one.pod.metadata.name.as_deref()).collect();
        assert_eq!(names.join(" "), expected, "{signal}");
    }
}

#[test]
fn what_is_said_names_the_amounts() {
    let thresholds: Thresholds = "memory.available<1Gi".parse().unwrap();
    let threshold = thresholds.iter().next().unwrap();
    let pod = pod("p", 0, json!({"memory": "1Mi"}));
    let said =
        message::low(threshold, &seen(Signal::Memory, 512 << 20, 4 << 30), &pod, Some(&uses(2 << 20, 0, 1)));
    assert_eq!(
        said,
        "The node was low on resource: memory. Threshold quantity: 1Gi, available: 512Mi. Container c was using 2Mi, \
         request is 1Mi, has larger consumption of memory. "
    );
}

#[test]
fn a_pod_keeps_no_more_than_it_may() {
    let volume = json!([{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]);
    let limited = json!({"name": "c", "resources": {"limits": {"ephemeral-storage": "1Mi"}}});
    let of = |volumes: &Value, container: &Value| -> Pod {
        serde_json::from_value(
            json!({"metadata": {"name": "p"}, "spec": {"volumes": volumes, "containers": [container]}}),
        )
        .unwrap()
    };
    let plain = json!({"name": "c"});
    let mut full = uses(0, 0, 1);
    let stored = Stored { bytes: 2 << 20, inodes: 1 };
    full.volumes =
        vec![VolumeUse { name: "v".to_owned(), stored, is_ephemeral: true, ..VolumeUse::default() }];
    for (case, pod, used, expected) in [
        ("room", of(&volume, &plain), &uses(0, 9 << 20, 1), None),
        (
            "a volume",
            of(&volume, &plain),
            &full,
            Some("Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". "),
        ),
        (
            "the pod",
            of(&json!([{"name": "v", "emptyDir": {}}]), &limited),
            &full,
            Some("Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "),
        ),
        ("nothing is limited", of(&json!([{"name": "v", "emptyDir": {}}]), &plain), &full, None),
    ] {
        assert_eq!(limits::exceeded(&pod, used).as_deref(), expected, "{case}");
        assert_eq!(limits::any(&pod), case != "nothing is limited", "{case}");
    }
}
