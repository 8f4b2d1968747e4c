//! Three nodes on one machine, each a network namespace with its own containerd and data: a server's, and two that joined it. Stock
//! kubectl drives them. When it is over nothing of them is left. Needs root, `ip`, `nft`, nsenter, containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests end where something is wrong"
)]

#[path = "fleet/calls.rs"]
mod calls;
#[path = "fleet/failures.rs"]
mod failures;
#[path = "fleet/joining.rs"]
mod joining;
#[path = "fleet/leaving.rs"]
mod leaving;
#[path = "fleet/policies.rs"]
mod policies;

use std::time::Instant;

use kedge_fleet::Scene;

type Story = (&'static str, fn(&mut Scene));

#[test]
fn several_nodes_are_one_cluster() {
    let begun = Instant::now();
    let mut scene = Scene::start();
    eprintln!("{:>6} ms: a server runs", begun.elapsed().as_millis());
    let stories: [Story; 14] = [
        ("whoever may not join is told why", joining::refused),
        ("two machines join", joining::joined),
        ("logs and commands on a node that joined", calls::into_pods),
        ("pods reach pods on other nodes", calls::pods),
        ("pods reach services", calls::services),
        ("every node answers at its port", calls::node_ports),
        ("names are known on every node", calls::names),
        ("hosts of DNSRecords are known on every node", calls::hosts),
        ("a machine gets another address", failures::moved),
        ("policies hold on every node", policies::hold),
        ("a node comes back without a token", joining::restarted),
        ("services outlive the server", failures::server_killed),
        ("a node is cut off and comes back", failures::cut_off),
        ("a node is deleted", leaving::deleted),
    ];
    let mut failed = Vec::new();
    for (name, story) in stories {
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| story(&mut scene)));
        let outcome = if told.is_ok() { "ok" } else { "FAILED" };
        eprintln!("{:>6} ms: {name}: {outcome}", begun.elapsed().as_millis());
        if told.is_err() {
            failed.push(name);
            // Whoever did not join can tell nothing else.
            if name == "two machines join" {
                break;
            }
        }
    }
    let last = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| leaving::uninstalled(&mut scene)));
    if last.is_err() {
        failed.push("everything is taken away");
    }
    eprintln!("{:>6} ms: over", begun.elapsed().as_millis());
    assert!(failed.is_empty(), "{failed:?}\n{}", scene.logs());
}
