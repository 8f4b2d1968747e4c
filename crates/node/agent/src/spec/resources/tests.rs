use serde_json::json;

use super::*;

fn pod(containers: serde_json::Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"uid": "u"}, "spec": {"containers": containers}})).unwrap()
}

fn wants(requests: serde_json::Value, limits: serde_json::Value) -> serde_json::Value {
    json!([{"name": "c", "resources": {"requests": requests, "limits": limits}}])
}

#[test]
fn the_class_follows_from_requests_and_limits() {
    for (case, containers, class) in [
        ("nothing", json!([{"name": "c"}]), Qos::BestEffort),
        ("requests", wants(json!({"cpu": "1"}), json!({})), Qos::Burstable),
        ("limits alone", wants(json!({}), json!({"cpu": "1", "memory": "1Gi"})), Qos::Guaranteed),
        ("a limit of one", wants(json!({}), json!({"memory": "1Gi"})), Qos::Burstable),
        (
            "the same",
            wants(json!({"cpu": "1000m", "memory": "1Gi"}), json!({"cpu": "1", "memory": "1024Mi"})),
            Qos::Guaranteed,
        ),
        (
            "less than the limit",
            wants(json!({"cpu": "1", "memory": "1Mi"}), json!({"cpu": "1", "memory": "1Gi"})),
            Qos::Burstable,
        ),
    ] {
        assert_eq!(Qos::of(&pod(containers)), class, "{case}");
    }
}

#[test]
fn amounts_become_the_kernels() {
    for (case, containers, shares, quota, memory, score) in [
        ("nothing", json!([{"name": "c"}]), 2, 0, 0, 1000),
        (
            "half a core",
            wants(json!({"cpu": "500m", "memory": "512Mi"}), json!({"cpu": "1", "memory": "1Gi"})),
            512,
            100_000,
            1 << 30,
            500,
        ),
        (
            "a limit is a request",
            wants(json!({}), json!({"cpu": "250m", "memory": "1Mi"})),
            256,
            25_000,
            1 << 20,
            -997,
        ),
        ("a hair", wants(json!({"cpu": "1m"}), json!({"cpu": "1m"})), 2, 1000, 0, 999),
    ] {
        let pod = pod(containers);
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let found = of_container(&pod, container, &Machine { memory: 1 << 30, ..Machine::default() });
        let found = (found.cpu_shares, found.cpu_quota, found.memory_limit_in_bytes, found.oom_score_adj);
        assert_eq!(found, (shares, quota, memory, score), "{case}");
    }
}

fn whole_pod(spec: serde_json::Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"uid": "u"}, "spec": spec})).unwrap()
}

fn container(name: &str, cpu: &str, memory: &str) -> serde_json::Value {
    let amounts = json!({"cpu": cpu, "memory": memory});
    json!({"name": name, "resources": {"requests": amounts, "limits": amounts}})
}

#[test]
fn a_pod_asks_for_what_it_needs_at_its_fullest() {
    let sidecar = |cpu: &str, memory: &str| {
        let mut sidecar = container("s", cpu, memory);
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    };
    let main = || json!([container("a", "1", "1Mi"), container("b", "1", "1Mi")]);
    for (case, spec, cpu, memory) in [
        ("all of them", json!({"containers": main()}), 2000, 2 << 20),
        (
            "one that goes before them",
            json!({"containers": main(), "initContainers": [container("i", "3", "1Mi")]}),
            3000,
            2 << 20,
        ),
        (
            "beside the sidecars that were there already",
            json!({"containers": main(), "initContainers": [sidecar("1", "1Mi"), container("i", "3", "1Mi")]}),
            4000,
            3 << 20,
        ),
        (
            "a later sidecar is not beside it",
            json!({"containers": main(), "initContainers": [container("i", "3", "1Mi"), sidecar("500m", "1Mi")]}),
            3000,
            3 << 20,
        ),
        (
            "what the pod says, and its overhead",
            json!({"containers": main(), "resources": {"requests": {"cpu": "7"}}, "overhead": {"memory": "1Mi"}}),
            7000,
            3 << 20,
        ),
    ] {
        let found = requests(&whole_pod(spec));
        assert_eq!((found["cpu"].milli_value(), found["memory"].value()), (cpu, memory), "{case}");
    }
}

#[test]
fn a_pod_is_limited_as_its_class_is() {
    let half = json!([{"name": "a", "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Mi"}}}, {"name": "b"}]);
    let own = json!({"limits": {"cpu": "1", "memory": "4Mi"}, "requests": {"memory": "1Mi"}});
    let pages = json!({"requests": {"hugepages-2Mi": "4Mi", "cpu": "1"}, "limits": {"hugepages-2Mi": "4Mi"}});
    for (case, spec, shares, quota, memory) in [
        (
            "exactly",
            json!({"containers": [container("a", "1", "1Mi"), container("b", "500m", "1Mi")]}),
            1536,
            Some(150_000),
            Some(2 << 20),
        ),
        ("one is not limited", json!({"containers": half}), 102, None, None),
        ("the pod is", json!({"containers": half, "resources": own}), 102, Some(100_000), Some(4 << 20)),
        ("nothing", json!({"containers": [{"name": "a"}]}), 2, None, None),
        ("pages", json!({"containers": [{"name": "a", "resources": pages}]}), 1024, None, None),
    ] {
        let found = of_pod(&whole_pod(spec), Some(9));
        assert_eq!(found.cpu.shares, Some(shares), "{case}");
        assert_eq!(found.cpu.quota, Some(quota), "{case}");
        assert_eq!(found.memory, memory, "{case}");
        assert_eq!(found.processes, Some(9), "{case}");
        assert_eq!(found.huge_pages.get("2MB").copied(), (case == "pages").then_some(4 << 20), "{case}");
    }
}

#[test]
fn a_container_is_limited_with_its_pod_and_on_this_machine() {
    let spec = json!({
        "containers": [{"name": "a", "resources": {"limits": {"hugepages-2Mi": "2Mi"}}}],
        "resources": {"limits": {"cpu": "1", "memory": "4Mi"}},
    });
    let pod = whole_pod(spec);
    let machine = Machine {
        memory: 1 << 30,
        is_unified: true,
        limits_swap: true,
        huge_pages: vec!["1GB".to_owned(), "2MB".to_owned()],
        ..Machine::default()
    };
    let found = of_container(&pod, &pod.spec.as_ref().unwrap().containers[0], &machine);
    assert_eq!(
        (found.cpu_quota, found.memory_limit_in_bytes, found.memory_swap_limit_in_bytes),
        (100_000, 4 << 20, 4 << 20)
    );
    assert_eq!(found.unified["memory.oom.group"], "1");
    let pages: Vec<(&str, u64)> =
        found.hugepage_limits.iter().map(|limit| (&*limit.page_size, limit.limit)).collect();
    assert_eq!(pages, [("1GB", 0), ("2MB", 2 << 20)]);
}

#[test]
fn sidecars_do_not_go_before_those_they_serve() {
    let mut sidecar = container("s", "1", "1Mi");
    sidecar["restartPolicy"] = json!("Always");
    sidecar["resources"] = json!({"requests": {"memory": "1Mi"}});
    let main = json!({"name": "m", "resources": {"requests": {"memory": "512Mi"}}});
    let plain = whole_pod(json!({"containers": [main], "initContainers": [sidecar]}));
    let of = |pod: &Pod, name: &str| {
        let all = pod.spec.as_ref().unwrap();
        let found = crate::plan::containers(all).find(|container| container.name == name).unwrap();
        oom::score(pod, found, 1 << 30)
    };
    assert_eq!((of(&plain, "m"), of(&plain, "s")), (500, 500));
    let critical: Pod = whole_pod(json!({
        "containers": [{"name": "m"}], "priority": 2_000_001_000, "priorityClassName": "system-node-critical",
    }));
    assert_eq!(of(&critical, "m"), -997);
    let spare = whole_pod(json!({
        "containers": [{"name": "m"}, {"name": "n"}], "resources": {"requests": {"memory": "512Mi"}},
    }));
    assert_eq!(of(&spare, "m"), 750);
}
