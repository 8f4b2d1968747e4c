//! Nodes that leave, and machines on which nothing is left.

use kedge_fleet::{Machine, PATIENCE, Scene, Traces, cgroups, told};
use kedge_shipped::eventually;

/// Nothing but files is left of a node.
#[track_caller]
fn nothing_is_left(machine: &Machine, before: &Traces, cgroups: &[std::path::PathBuf]) {
    eventually(&format!("nothing is left on {}", machine.name), PATIENCE, || {
        let after = Traces::of(&machine.host, &machine.data());
        if after == *before { Ok(()) } else { Err(format!("{after:#?}, but was {before:#?}")) }
    });
    let left: Vec<_> = cgroups.iter().filter(|folder| folder.exists()).collect();
    assert!(left.is_empty(), "cgroups of {} are left: {left:?}", machine.name);
}

pub(crate) fn deleted(scene: &mut Scene) {
    let groups = cgroups(&scene.three.data());
    assert!(!groups.is_empty(), "there is no cgroup to look for");
    scene.kubectl(&["delete", "node", "three"]);
    let status = scene.three.ended();
    assert!(status.success(), "{status}\n{}", scene.three.log());
    assert!(scene.three.log().contains("no longer part of the cluster"), "{}", scene.three.log());
    nothing_is_left(&scene.three, &scene.before[2], &groups);
    // It is not part of the cluster any more, and does not pretend to be.
    let output = scene.three.kedge(&["agent", "--server", &scene.url()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("kedge token create"), "{said}");
    // A server's own node is made again.
    scene.kubectl(&["delete", "node", "one"]);
    scene.node_is("one", "True");
}

pub(crate) fn uninstalled(scene: &mut Scene) {
    let Scene { server, two, three, before, .. } = scene;
    for (machine, before) in [server, two, three].into_iter().zip(before) {
        let groups = cgroups(&machine.data());
        let running = machine.is_running();
        if running {
            let refused = machine.kedge(&["uninstall"]).output().unwrap();
            assert!(!refused.status.success(), "{}: something runs there", machine.name);
        }
        machine.stop();
        told(machine.kedge(&["uninstall"]).output().unwrap()).unwrap();
        assert!(!machine.data().exists(), "{}: data is left", machine.name);
        nothing_is_left(machine, before, &groups);
        // Doing it twice is doing it once.
        told(machine.kedge(&["uninstall"]).output().unwrap()).unwrap();
    }
}
