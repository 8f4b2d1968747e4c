use super::*;

fn runtime(network: bool) -> Runtime {
    let condition = |kind: &str, status| RuntimeCondition {
        r#type: kind.to_owned(),
        status,
        reason: "Why".to_owned(),
        message: "because".to_owned(),
    };
    // A newer containerd complains of what it will not do some day, which says nothing about today.
    let complaint = condition("ContainerdHasNoDeprecationWarnings", false);
    let conditions = vec![condition("RuntimeReady", true), condition("NetworkReady", network), complaint];
    Runtime::Says(RuntimeStatus { conditions })
}

fn notes(pressure: Pressure, trouble: Option<&str>) -> Notes {
    let troubles = trouble.map(|text| ("test", text.to_owned())).into_iter().collect();
    Notes { pressure, troubles, ..Notes::default() }
}

fn shown(conditions: &[NodeCondition]) -> String {
    let one = |condition: &NodeCondition| {
        format!(
            "{}={} {}",
            condition.type_,
            condition.status,
            condition.reason.as_deref().unwrap_or_default()
        )
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_node_is_what_its_parts_are() {
    let noon: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
    let short = Pressure { memory: true, disk: true, pids: true };
    let fine = "MemoryPressure=False KubeletHasSufficientMemory, DiskPressure=False KubeletHasNoDiskPressure, \
                PIDPressure=False KubeletHasSufficientPID";
    for (case, seen, said, told, message) in [
        (
            "everything is well",
            runtime(true),
            notes(Pressure::default(), None),
            format!("{fine}, Ready=True KubeletReady"),
            "kubelet is posting ready status",
        ),
        (
            "no network",
            runtime(false),
            notes(Pressure::default(), None),
            format!("{fine}, Ready=False KubeletNotReady"),
            "container runtime network not ready: NetworkReady=false reason:Why message:because",
        ),
        (
            "no runtime, and going down",
            Runtime::Silent("gone".to_owned()),
            notes(Pressure::default(), Some("node is shutting down")),
            format!("{fine}, Ready=False KubeletNotReady"),
            "[container runtime is down: gone, node is shutting down]",
        ),
        (
            "everything is short",
            runtime(true),
            notes(short, None),
            "MemoryPressure=True KubeletHasInsufficientMemory, DiskPressure=True KubeletHasDiskPressure, \
             PIDPressure=True KubeletHasInsufficientPID, Ready=True KubeletReady"
                .to_owned(),
            "kubelet is posting ready status",
        ),
    ] {
        let (conditions, events) = conditions(&[], &seen, &said, noon, true);
        assert_eq!(shown(&conditions), told, "{case}");
        assert_eq!(conditions[3].message.as_deref(), Some(message), "{case}");
        assert_eq!(events.len(), 4, "{case}");
    }
}

#[test]
fn times_move_only_with_what_they_tell_of() {
    let noon: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
    let later: Timestamp = "2030-01-01T12:00:10.5Z".parse().unwrap();
    let quiet = notes(Pressure::default(), None);
    let (first, _) = conditions(&[], &runtime(false), &quiet, noon, true);
    let (same, events) = conditions(&first, &runtime(false), &quiet, later, false);
    assert_eq!((same == first, events), (true, vec![]));
    let (reminded, _) = conditions(&first, &runtime(false), &quiet, later, true);
    assert_eq!(reminded[0].last_heartbeat_time, second(later));
    assert_eq!(reminded[0].last_transition_time, second(noon));
    let (ready, events) = conditions(&first, &runtime(true), &quiet, later, false);
    assert_eq!(ready[3].last_transition_time, second(later));
    assert_eq!(events, ["NodeReady"]);
    assert!(is_ready(&ready) && !is_ready(&first));
    // Conditions that others wrote stay.
    let mut others = first.clone();
    others[0].type_ = "NetworkUnavailable".to_owned();
    assert_eq!(conditions(&others, &runtime(true), &quiet, later, false).0.len(), 5);
}
