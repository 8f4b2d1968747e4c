//! Keeps what there is to look at after a round in which something was wrong, since everything goes when the run ends.

use std::fs;
use std::path::{Path, PathBuf};

use crate::figures::Row;
use crate::rounds::Stage;

const OBJECTS: [(&str, &str); 6] = [
    ("nodes", "/api/v1/nodes"),
    ("pods", "/api/v1/pods"),
    ("events", "/api/v1/events"),
    ("slices", "/apis/discovery.k8s.io/v1/endpointslices"),
    ("jobs", "/apis/batch/v1/jobs"),
    ("leases", "/apis/coordination.k8s.io/v1/leases"),
];

/// Says in which folder.
pub(crate) fn keep(stage: &Stage, seed: u64, row: &Row) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chaos-{seed}/round-{}", row.round.number));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("round"), row.line()).unwrap();
    for machine in stage.scene.machines() {
        let logs = [
            ("kedge", machine.file("log")),
            ("containerd", machine.data().join("containerd/containerd.log")),
        ];
        for (of, log) in logs {
            let _there_may_be_none = fs::copy(log, folder.join(format!("{}-{of}.log", machine.name)));
        }
    }
    for (name, path) in OBJECTS {
        let told = stage.api.get(path).map_or_else(|why| why, |objects| format!("{objects:#}"));
        fs::write(folder.join(format!("{name}.json")), told).unwrap();
    }
    folder
}
