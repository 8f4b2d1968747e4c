use jiff::Timestamp;
use kedge_usage::{CpuUse, MemoryUse, Pressure, Pressures, Stall, Traffic};
use serde_json::json;

use super::*;

fn used(total: u64, working_set: u64) -> Use {
    let cpu = Some(CpuUse { total, ..CpuUse::default() });
    let memory = Some(MemoryUse { usage: working_set + 10, working_set, ..MemoryUse::default() });
    let some = Stall { last_10: 150, total: 2_500_000, ..Stall::default() };
    let pressures =
        Pressures { cpu: Some(Pressure { some, full: Stall::default() }), ..Pressures::default() };
    Use {
        sample: Sample { cpu, memory, threads: Some(3), pressures },
        nano_cores: Some(5),
        window: Some(SignedDuration::from_secs(7)),
    }
}

fn measured() -> Measured {
    let at: Timestamp = "2030-01-01T12:00:00.25Z".parse().unwrap();
    let container = ContainerUse {
        name: "c".to_owned(),
        id: "abc".to_owned(),
        image: "busy\"box".to_owned(),
        since: Some(at),
        path: "/k/podu/abc".to_owned(),
        used: Some(used(1_500_000_000, 1000)),
        root: Some(Stored { bytes: 7, inodes: 1 }),
        logs: Some(Stored { bytes: 5, inodes: 2 }),
        shares: 512,
    };
    let interface = Interface {
        name: "eth0".to_owned(),
        received: Traffic { bytes: 11, ..Traffic::default() },
        ..Interface::default()
    };
    let pod = PodUse {
        name: "p".to_owned(),
        namespace: "n".to_owned(),
        uid: "u".to_owned(),
        since: Some(at),
        path: "/k/podu".to_owned(),
        used: Some(used(2_000_000_000, 2000)),
        network: vec![interface],
        processes: Some(3),
        containers: vec![container],
        volumes: vec![VolumeUse {
            name: "v".to_owned(),
            stored: Stored { bytes: 9, inodes: 1 },
            ..VolumeUse::default()
        }],
    };
    let silent = PodUse { name: "gone".to_owned(), ..PodUse::default() };
    let node = NodeUse {
        name: "here".to_owned(),
        used: used(9_000_000_000, 4000),
        memory: 10_000,
        ..NodeUse::default()
    };
    Measured { at, node, pods: vec![pod, silent] }
}

#[test]
fn a_summary_is_what_clients_of_a_kubelet_read() {
    let told = summary::write(&measured(), false);
    let pods = told["pods"].as_array().unwrap();
    assert_eq!(pods.len(), 1);
    let pod = &pods[0];
    assert_eq!(pod["podRef"], json!({"name": "p", "namespace": "n", "uid": "u"}));
    assert_eq!(
        pod["cpu"],
        json!({
            "time": "2030-01-01T12:00:00Z", "usageNanoCores": 5, "usageCoreNanoSeconds": 2_000_000_000_u64,
            "windowNanoSeconds": 7_000_000_000_u64, "psi": {
                "full": {"total": 0, "avg10": 0.0, "avg60": 0.0, "avg300": 0.0},
                "some": {"total": 2_500_000, "avg10": 1.5, "avg60": 0.0, "avg300": 0.0},
            },
        })
    );
    assert_eq!((pod.get("io"), pod["memory"].get("psi")), (None, None), "what is not counted is not told");
    assert_eq!(pod["containers"][0]["memory"]["workingSetBytes"], 1000);
    assert_eq!(pod["containers"][0]["rootfs"]["usedBytes"], 7);
    assert_eq!(pod["ephemeral-storage"]["usedBytes"], 12);
    assert_eq!(pod["network"]["interfaces"][0]["rxBytes"], 11);
    assert_eq!(pod["volume"][0]["name"], "v");
    assert_eq!(told["node"]["memory"]["availableBytes"], 6000);
    let small = summary::write(&measured(), true);
    assert_eq!(small["pods"][0].get("network"), None);
    assert_eq!(small["node"].get("fs"), None);
    assert_eq!(small["pods"][0]["memory"]["usageBytes"], 2010);
}

#[test]
fn lines_are_what_prometheus_reads() {
    let resource = resource::write(&measured());
    for line in [
        "# TYPE container_cpu_usage_seconds_total counter\n",
        "container_cpu_usage_seconds_total{container=\"c\",namespace=\"n\",pod=\"p\"} 1.5 1893499200250\n",
        "node_cpu_usage_seconds_total 9 1893499200250\n",
        "pod_memory_working_set_bytes{namespace=\"n\",pod=\"p\"} 2000 1893499200250\n",
        "resource_scrape_error 0\n",
    ] {
        assert!(resource.contains(line), "{line} is not in\n{resource}");
    }
    let all = containers::write(&measured());
    for line in [
        "container_cpu_usage_seconds_total{container=\"c\",id=\"/k/podu/abc\",image=\"busy\\\"box\",name=\"abc\",namespace=\"n\",pod=\"p\",cpu=\"total\"} 1.5 1893499200250\n",
        "container_network_receive_bytes_total{container=\"\",id=\"/k/podu\",image=\"\",name=\"\",namespace=\"n\",pod=\"p\",interface=\"eth0\"} 11 ",
        "container_spec_cpu_shares{container=\"c\",",
        "container_pressure_cpu_waiting_seconds_total{container=\"c\",id=\"/k/podu/abc\",image=\"busy\\\"box\",name=\"abc\",namespace=\"n\",pod=\"p\"} 2.5 ",
    ] {
        assert!(all.contains(line), "{line} is not in\n{all}");
    }
    // Everything of a family stands together, and nothing twice.
    let mut families: Vec<&str> = all.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let count = families.len();
    families.sort_unstable();
    families.dedup();
    assert_eq!(families.len(), count);
}

#[test]
fn probes_are_counted_by_their_results() {
    use crate::probes::{Kind, Tally};
    let pod = |uid: &str| -> k8s_openapi::api::core::v1::Pod {
        let meta = serde_json::json!({"name": "p", "namespace": "n", "uid": uid});
        serde_json::from_value(serde_json::json!({"metadata": meta})).unwrap()
    };
    let tally = Tally::default();
    for (uid, kind, result) in [
        ("1", Kind::Liveness, "successful"),
        ("1", Kind::Liveness, "successful"),
        ("1", Kind::Readiness, "failed"),
        ("2", Kind::Startup, "unknown"),
    ] {
        tally.note(&pod(uid), "c", kind, result);
    }
    let told = probes::write(&tally);
    let line = |uid: &str, kind: &str, result: &str, count: u8| {
        format!(
            "prober_probe_total{{container=\"c\",namespace=\"n\",pod=\"p\",pod_uid=\"{uid}\",probe_type=\"{kind}\",result=\"{result}\"}} {count}\n"
        )
    };
    for line in [line("1", "Liveness", "successful", 2), line("1", "Readiness", "failed", 1)] {
        assert!(told.contains(&line), "{line} is not in\n{told}");
    }
    tally.forget("1");
    let told = probes::write(&tally);
    assert!(told.contains(&line("2", "Startup", "unknown", 1)) && !told.contains("pod_uid=\"1\""), "{told}");
}
