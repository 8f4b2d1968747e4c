//! The machine's own settings come back when a node's network goes, unless somebody else needs them. With a real kernel, in network namespaces.
//! Needs root and `ip`.
#![allow(
    unsafe_code,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong, and make namespaces"
)]

#[path = "scene/place.rs"]
mod place;

use kedge_network::{Network, give_back, prepare, remember, remove};
use place::{Place, ip, on_a_thread};

const NAMES: [&str; 4] =
    ["ipv4/ip_forward", "ipv4/conf/all/send_redirects", "ipv6/conf/all/forwarding", "ipv6/conf/lo/accept_ra"];

fn set(name: &str, value: &str) {
    std::fs::write(format!("/proc/sys/net/{name}"), value).unwrap();
}

/// All of them, in this order.
fn shown() -> String {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap();
    NAMES.map(|name| read(name).trim().to_owned()).join(" ")
}

#[test]
fn settings_come_back_unless_somebody_needs_them() {
    type Case = (&'static str, fn(), fn(), &'static str);
    let cases: [Case; 5] = [
        ("nobody cares", || {}, || {}, "0 1 0 1"),
        ("it was so before", || set(NAMES[0], "1"), || {}, "1 1 0 1"),
        ("somebody sets one meanwhile", || {}, || set(NAMES[1], "1"), "0 1 0 1"),
        ("somebody sets it otherwise", || {}, || set(NAMES[3], "0"), "0 1 0 0"),
        ("another has a bridge", || {}, || ip("link add other type bridge"), "1 1 1 1"),
    ];
    for (case, before, meanwhile, expected) in cases {
        on_a_thread(move || {
            let _node = Place::enter_new();
            ip("link set lo up");
            for (name, value) in NAMES.into_iter().zip(["0", "1", "0", "1"]) {
                set(name, value);
            }
            before();
            let data = tempfile::tempdir().unwrap();
            let ranges = ["10.7.1.0/24", "fd07:1::/64"].map(|range| range.parse().unwrap()).to_vec();
            let network = Network::new(data.path(), "n", 1400, ranges, Vec::new());
            // As at every start of a node.
            for _ in 0..2 {
                remember(&network).unwrap();
                prepare(&network).unwrap();
                assert_eq!(shown(), "1 0 1 2", "{case}");
            }
            meanwhile();
            // Doing it twice is doing it once.
            for _ in 0..2 {
                remove(&network).unwrap();
                give_back(&network).unwrap();
                assert_eq!(shown(), expected, "{case}");
            }
            let left: Vec<_> = std::fs::read_dir(data.path()).unwrap().flatten().collect();
            assert!(left.is_empty(), "{case}: {left:?}");
        });
    }
}
