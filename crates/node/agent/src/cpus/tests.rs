use serde_json::{Value, json};

use super::*;

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// Two packages of two cores of two CPUs: 0-3 and 4-7, where 0 and 1 are one core.
fn large() -> Topology {
    Topology::of(&[0, 1, 2, 3, 4, 5, 6, 7].map(|cpu| (cpu, cpu / 4, cpu / 2)))
}

#[test]
fn near_ones_are_chosen() {
    for (case, free, count, chosen) in [
        ("none", "0-7", 0, Some("")),
        ("too many", "0-3", 5, None),
        ("one of a whole machine", "0-7", 1, Some("0")),
        ("one of a broken core", "1-7", 1, Some("1")),
        ("a whole core", "1-7", 2, Some("2-3")),
        ("a whole package", "1-7", 4, Some("4-7")),
        ("a package and a core", "0-7", 6, Some("0-5")),
        ("a core and the rest of another", "1-7", 3, Some("1-3")),
        ("all", "0-7", 8, Some("0-7")),
        ("from where less is left", "2-7", 2, Some("2-3")),
        ("single ones", "1,3,5", 2, Some("1,3")),
    ] {
        let found = choose(&large(), &set(free), count).map(|found| found.to_string());
        assert_eq!(found.as_deref(), chosen, "{case}");
    }
}

fn pod(uid: &str, containers: &[(&str, &str)], init: Value) -> Pod {
    let exact = |name: &str, cpu: &str| {
        let amounts = json!({"cpu": cpu, "memory": "1Mi"});
        json!({"name": name, "resources": {"requests": amounts, "limits": amounts}})
    };
    let containers: Vec<_> = containers.iter().map(|(name, cpu)| exact(name, cpu)).collect();
    let spec = json!({"containers": containers, "initContainers": init});
    serde_json::from_value(json!({"metadata": {"uid": uid, "name": uid}, "spec": spec})).unwrap()
}

#[test]
fn only_whole_cpus_of_guaranteed_pods_are_given_away() {
    let amounts = json!({"cpu": "2", "memory": "1Mi"});
    let init = json!([
        {"name": "first", "resources": {"requests": amounts, "limits": amounts}},
        {"name": "beside", "restartPolicy": "Always", "resources": {"requests": amounts, "limits": amounts}},
    ]);
    let shown = |pod: &Pod| {
        let wanted = wanted(pod);
        wanted
            .iter()
            .map(|it| format!("{}={}{}", it.container, it.cpus, if it.ends { "." } else { "" }))
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&pod("p", &[("a", "1"), ("b", "1500m"), ("c", "2000m")], json!([]))), ["a=1", "c=2"]);
    assert_eq!(shown(&pod("p", &[("a", "1")], init)), ["first=2.", "beside=2", "a=1"]);
    let mut burstable = pod("p", &[("a", "1")], json!([]));
    burstable.spec.as_mut().unwrap().containers[0].resources.as_mut().unwrap().limits = None;
    assert!(shown(&burstable).is_empty());
}

#[test]
fn what_init_containers_had_is_used_again() {
    let one = |container: &str, cpus, ends| Wanted { container: container.to_owned(), cpus, ends };
    let wanted =
        [one("init", 2, true), one("second", 1, true), one("beside", 1, false), one("main", 2, false)];
    let sets = share_out(&large(), set("2-7"), &wanted).unwrap();
    let of = |name: &str| sets[name].to_string();
    assert_eq!((of("init"), of("second"), of("beside")), ("2-3".into(), "2".into(), "2".into()));
    let main = &sets["main"];
    assert!(main.len() == 2 && main.common(&set("2-3")) == set("3"), "{main}");
    assert_eq!(share_out(&large(), set("2"), &[one("a", 2, false)]), Err((2, 1)));
}

#[test]
fn who_has_which_is_known_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cpus.json");
    let open = |reserved: &str| Cpus::on(large(), &set(reserved), file.clone());
    assert!(matches!(open(""), Err(CpusError::NoReserve)));
    assert!(matches!(open("8"), Err(CpusError::Unknown { .. })));
    let of = |cpus: &Cpus, uid: &str| cpus.of(uid, "a").unwrap().to_string();
    let cpus = open("0").unwrap();
    assert_eq!(of(&cpus, "nobody"), "0-7");
    cpus.admit(&pod("x", &[("a", "4")], json!([]))).unwrap();
    cpus.admit(&pod("y", &[("a", "2"), ("b", "500m")], json!([]))).unwrap();
    // Asking twice is asking once.
    cpus.admit(&pod("x", &[("a", "4")], json!([]))).unwrap();
    assert_eq!(
        (of(&cpus, "x"), of(&cpus, "y"), of(&cpus, "nobody")),
        ("4-7".into(), "2-3".into(), "0-1".into())
    );
    assert_eq!(cpus.of("y", "b").unwrap().to_string(), "0-1");
    let refused = cpus.admit(&pod("z", &[("a", "2")], json!([]))).unwrap_err();
    assert_eq!(refused.reason, "UnexpectedAdmissionError");
    assert!(refused.message.contains("requested=2, available=1"), "{}", refused.message);
    drop(cpus);
    let cpus = open("0").unwrap();
    assert_eq!((of(&cpus, "x"), of(&cpus, "nobody")), ("4-7".into(), "0-1".into()));
    assert!(cpus.binds("x") && !cpus.binds("z"));
    cpus.retain(|uid| uid == "x");
    assert_eq!(of(&cpus, "nobody"), "0-3");
    cpus.release("x");
    assert_eq!(of(&cpus, "nobody"), "0-7");
    // What is reserved now cannot be somebody's.
    cpus.admit(&pod("x", &[("a", "2")], json!([]))).unwrap();
    assert_eq!(of(&open("2-3").unwrap(), "x"), "0-7");
    let free = Cpus::open(&CpuPolicy::None, file.clone()).unwrap();
    assert!(free.of("x", "a").is_none() && !file.exists());
}
