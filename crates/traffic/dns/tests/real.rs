//! The whole of it with a real kernel, in a network namespace of one thread: it takes its address, answers there, and leaves nothing.
//! Needs root and `ip`.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong, and make a namespace"
)]

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use kedge_client::{Revision, World};
use kedge_clock::Clock;
use kedge_dns::{Hosts, Settings, Upstreams, release, run};
use kedge_facts::{Namespace, Pod, Service, Slice};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde_json::json;
use tokio::net::UdpSocket;

fn ip(line: &str) -> String {
    let done = Command::new("ip").args(line.split(' ')).output().expect("tests of the network need iproute2");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn it_answers_at_its_own_address_and_leaves_nothing() {
    // SAFETY: only this thread's network changes; no memory or file is shared any less than before.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("tests of the network need root");
    ip("link set lo up");
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("addresses");
    let settings = Settings {
        zone: "cluster.local".to_owned(),
        addresses: vec!["10.96.0.10".parse().unwrap(), "fd00::a".parse().unwrap()],
        port: 53,
        note: note.clone(),
        memory: None,
        ranges: Vec::new(),
        upstreams: Upstreams::These(Vec::new()),
        stubs: Vec::new(),
    };
    let world = World::by_hand();
    let web =
        json!({"metadata": {"namespace": "default", "name": "web"}, "spec": {"clusterIPs": ["10.96.0.7"]}});
    world.feed::<Service>().replace(vec![serde_json::from_value(web).unwrap()], Revision(1));
    world.feed::<Slice>().replace(Vec::new(), Revision(1));
    world.feed::<Namespace>().replace(Vec::new(), Revision(1));
    world.feed::<Pod>().replace(Vec::new(), Revision(1));

    // One thread, as the namespace is this one's.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let serving = run(settings, world, Hosts::default(), None, Clock::system());
        tokio::select! {
            () = serving => panic!("it ended"),
            () = async {
                for at in ["10.96.0.10:53", "[fd00::a]:53"] {
                    assert_eq!(ask(at.parse().unwrap()).await, [10, 96, 0, 7], "{at}");
                }
            } => {}
        }
    });
    let held = ip("addr show lo");
    assert!(held.contains("10.96.0.10/32") && held.contains("fd00::a/128"), "it stays when we end: {held}");
    for _ in 0..2 {
        release(&note).unwrap();
        let held = ip("addr show lo");
        assert!(!held.contains("10.96.0.10") && !held.contains("fd00::a"), "{held}");
    }
    assert!(!note.exists());
}

/// The last four octets of the answer, as soon as somebody answers.
async fn ask(at: SocketAddr) -> [u8; 4] {
    let mut packet = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in ["web", "default", "svc", "cluster", "local"] {
        packet.push(label.len() as u8);
        packet.extend(label.as_bytes());
    }
    packet.extend([0, 0, 1, 0, 1]);
    let any = if at.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).await.unwrap();
    for _ in 0..200 {
        let mut buffer = [0; 512];
        // Before the address is there nobody can be reached at it.
        if socket.send_to(&packet, at).await.is_ok() {
            let heard = tokio::time::timeout(Duration::from_millis(100), socket.recv(&mut buffer)).await;
            // Before everything was read it fails.
            if let Ok(Ok(length)) = heard
                && buffer[3] & 0x0f == 0
            {
                return *buffer[..length].last_chunk().unwrap();
            }
        } else {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    panic!("nobody answers at {at}");
}
