//! Every example is taken by the API as it is written, and those with pods do what they say, in real containers. Needs root, containerd,
//! runc and a static busybox.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

#[path = "examples/machine.rs"]
mod machine;
#[path = "examples/readme.rs"]
mod readme;
#[path = "examples/run.rs"]
mod run;

use std::collections::BTreeSet;
use std::path::PathBuf;

use machine::Machine;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn manifests() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".yaml"));
    names.sort();
    names
}

#[test]
fn every_example_is_taken_as_it_is_written() {
    let machine = Machine::without_node();
    // What others in the same file stand on has to be there before anybody can try them.
    machine.kubectl(&["create", "--save-config", "namespace", "team"]);
    machine.kubectl(&["create", "--save-config", "namespace", "careful"]);
    machine.kubectl(&["create", "--save-config", "priorityclass", "urgent", "--value=1000"]);
    for name in manifests() {
        let path = folder().join(&name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{name} does not say what it is for");
        assert!(text.contains("#   kubectl apply -f examples/"), "{name} does not say what to type");
        let path = path.to_str().unwrap();
        let output = machine
            .command(&["apply", "--dry-run=server", "--validate=strict", "-f", path])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("Warning"), "{name}: {said}");
    }
    let told = std::fs::read_to_string(folder().join("README.md")).unwrap();
    for name in manifests() {
        assert!(told.contains(&format!("]({name})")), "README.md does not name {name}");
    }
    machine.takes_config(&folder().join("node/config.yaml"));
}

#[test]
fn examples_do_what_they_say() {
    let all: BTreeSet<String> = manifests().into_iter().collect();
    let run: BTreeSet<&str> = run::STORIES.iter().map(|(name, _)| *name).collect();
    assert_eq!(all.iter().map(String::as_str).collect::<BTreeSet<_>>(), run, "each example is run");
    let machine = Machine::with_node();
    figures_of_the_node_are_explained(&machine);
    run::of_the_node(&machine, &folder().join("node"));
    readme::leads_to_a_web_page(&machine, &folder().join("../README.md"));
    // Each tells on its own; what they share is only the node.
    let failed: Vec<&str> = run::STORIES
        .iter()
        .filter(|(name, story)| {
            let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                machine.kubectl(&["apply", "-f", folder().join(name).to_str().unwrap()]);
                story(&machine);
            }));
            machine.clear(&folder().join(name));
            eprintln!("{name}: {}", if told.is_ok() { "ok" } else { "FAILED" });
            told.is_err()
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(failed.is_empty(), "{failed:?}\n{}", machine.log());
}

/// In docs/metrics.md; what a server shows is compared where there are only servers.
fn figures_of_the_node_are_explained(machine: &Machine) {
    let page = std::fs::read_to_string(folder().join("../docs/metrics.md")).unwrap();
    let of_node = page.split("## Of a node").nth(1).unwrap();
    let told: BTreeSet<&str> =
        of_node.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let text = machine.kubectl(&["get", "--raw", "/api/v1/nodes/here/proxy/metrics"]);
    let shown = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    assert_eq!(shown.collect::<BTreeSet<&str>>(), told);
}
