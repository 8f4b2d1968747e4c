use serde_json::json;

use super::*;

fn pod(class: &str) -> Pod {
    serde_json::from_value(json!({"metadata": {"uid": "a-b"}, "status": {"qosClass": class}})).unwrap()
}

fn cgroups(driver: Driver) -> Cgroups {
    Cgroups {
        groups: Groups::new(Layout::default()),
        driver,
        node: "kedge-n1".to_owned(),
        most_processes: None,
        weighed: Arc::default(),
    }
}

#[test]
fn a_pod_has_its_place() {
    for (driver, class, path, parent) in [
        (Driver::Cgroupfs, "Guaranteed", "/kedge-n1/poda-b", "/kedge-n1/poda-b"),
        (Driver::Cgroupfs, "Burstable", "/kedge-n1/burstable/poda-b", "/kedge-n1/burstable/poda-b"),
        (Driver::Systemd, "Guaranteed", "/kedge_n1.slice/kedge_n1-poda_b.slice", "kedge_n1-poda_b.slice"),
        (
            Driver::Systemd,
            "BestEffort",
            "/kedge_n1.slice/kedge_n1-besteffort.slice/kedge_n1-besteffort-poda_b.slice",
            "kedge_n1-besteffort-poda_b.slice",
        ),
    ] {
        let cgroups = cgroups(driver);
        assert_eq!(cgroups.of(&pod(class)), path);
        assert_eq!(cgroups.parent(&pod(class)), parent);
        assert_eq!(cgroups.uid(path.rsplit('/').next().unwrap()).as_deref(), Some("a-b"));
    }
    assert_eq!(cgroups(Driver::Cgroupfs).container(&pod("Guaranteed"), "c1"), "/kedge-n1/poda-b/c1");
    assert_eq!(cgroups(Driver::Cgroupfs).uid("burstable"), None);
}

#[test]
fn two_on_one_machine_have_different_ones() {
    assert_eq!(name("n", Path::new("/var/lib/kedge")), "kedge-n");
    assert_ne!(name("n", Path::new("/a")), name("n", Path::new("/b")));
}
