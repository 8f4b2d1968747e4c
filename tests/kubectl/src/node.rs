//! Real containers on this machine, driven with stock kubectl: one server with its node for all stories, as starting one takes longer
//! than most of them. Needs root, containerd, runc and a static busybox.

mod autoscale;
mod exec;
mod logs;
mod machine;
mod names;
mod network;
mod own;
mod policies;
mod ports;
mod records;
mod stay;
mod upkeep;

use machine::Machine;

/// What it is about, and how it goes.
type Story = (&'static str, fn(&Machine));

#[test]
fn kubectl_works_on_a_node() {
    let machine = Machine::start();
    let stories: [Story; 20] = [
        ("what a pod wrote", logs::of_one_that_ended),
        ("what a pod writes", logs::followed),
        ("what it wrote before it was restarted", logs::before_a_restart),
        ("several containers", logs::of_several_containers),
        ("commands in a container", exec::commands),
        ("a terminal", exec::on_a_terminal),
        ("attached to a container", exec::attached),
        ("files in and out", exec::copied),
        ("a look into pods and their node", stay::looked_into),
        ("a pod that is spoken with", stay::spoken_with),
        ("a port of a pod", ports::forwarded),
        ("pods and nodes through the API", ports::through_the_api),
        ("pods on their network", network::reached),
        ("pods that not everybody reaches", policies::isolated),
        ("names that pods look up", names::looked_up),
        ("hosts and paths that lead to Services", records::served),
        ("paths of an Ingress", records::ingress),
        ("how much is used", upkeep::top),
        ("load that is met with more pods", autoscale::under_load),
        ("leaving a node", upkeep::drained),
    ];
    // Told again with our own command line in kubectl's place.
    let again: [Story; 16] = [
        ("ours: what a pod wrote", logs::of_one_that_ended),
        ("ours: what a pod writes", logs::followed),
        ("ours: what it wrote before it was restarted", logs::before_a_restart),
        ("ours: several containers", logs::of_several_containers),
        ("ours: commands in a container", exec::commands),
        ("ours: a terminal", exec::on_a_terminal),
        ("ours: attached to a container", exec::attached),
        ("ours: files in and out", exec::copied),
        ("ours: a look into pods and their node", stay::looked_into),
        ("ours: a pod that is spoken with", stay::spoken_with),
        ("ours: leaving a node", upkeep::drained),
        ("ours: a port of a pod", ports::forwarded),
        ("ours: how much is used", upkeep::top),
        ("pages of what runs", own::described),
        ("folders in and out", own::folders),
        ("several pods behind one name", own::several_pods),
    ];
    // As clients speak that know no WebSockets.
    let older: [Story; 3] = [
        ("by SPDY: commands in a container", exec::commands),
        ("by SPDY: files in and out", exec::copied),
        ("by SPDY: a port of a pod", ports::forwarded),
    ];
    // Each tells on its own; what they share is only the node.
    let failed: Vec<&str> = again
        .into_iter()
        .chain(older)
        .chain(stories)
        .filter(|(name, story)| {
            machine.speak_own(name.starts_with("ours: "));
            machine.speak_spdy(name.starts_with("by SPDY: "));
            let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| story(&machine)));
            machine.speak_own(false);
            machine.speak_spdy(false);
            machine.clear();
            eprintln!("{name}: {}", if told.is_ok() { "ok" } else { "FAILED" });
            told.is_err()
        })
        .map(|(name, _)| name)
        .collect();
    assert!(failed.is_empty(), "{failed:?}\n{}", machine.log());
}
