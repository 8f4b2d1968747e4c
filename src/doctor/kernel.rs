//! Whether the kernel can do what pods and Services need: tried, in a network namespace that is gone afterwards. Whoever may not try
//! learns nothing.

use std::fs;

use kedge_netlink::link::{self, Tunnel, Wire};
use kedge_netlink::nft::Batch;
use kedge_netlink::{Namespace, NetlinkError, Socket};
use rustix::thread::{UnshareFlags, unshare_unsafe};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const MTU: u32 = 1400;
const NETWORK: [&str; 4] = ["nf_tables (nftables)", "bridge", "veth", "vxlan"];

/// Each with whether the kernel has it; none where that cannot be tried.
pub(crate) fn features() -> Vec<(&'static str, Option<bool>)> {
    // A thread of its own: it never comes back from where it goes, and what it made goes with it.
    let tried = std::thread::spawn(network).join().ok().flatten();
    let network = NETWORK.iter().enumerate().map(|(at, name)| (*name, tried.map(|found| found[at])));
    network.chain([("overlay (a file system)", overlay())]).collect()
}

#[allow(unsafe_code, reason = "what a thread shares is a promise that the kernel's call cannot check")]
fn network() -> Option<[bool; 4]> {
    // SAFETY: this thread ends right after; nobody else relies on the network that it is in.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.ok()?;
    let rules = || -> Result<(), NetlinkError> {
        let mut batch = Batch::of("kedge-doctor");
        batch.table();
        Socket::netfilter()?.apply(&mut batch)
    };
    let mut socket = Socket::route().ok()?;
    let bridge = socket.tell(&mut [link::bridge("doctor0", MAC, MTU)]);
    let wire = Namespace::here().ok().and_then(|namespace| {
        let (here, there, here_mac, there_mac) = ("doctor1", "doctor2", MAC, MAC);
        let wire = Wire { here, here_mac, group: 1, there, there_mac, namespace: &namespace, mtu: MTU };
        socket.tell(&mut [link::wire(&wire)]).ok()
    });
    let tunnel =
        socket.tell(&mut [link::tunnel("doctor3", MAC, MTU, Tunnel { id: 1, port: 8472, from: None })]);
    Some([rules().is_ok(), bridge.is_ok(), wire.is_some(), tunnel.is_ok()])
}

/// Its module may come only when it is asked for.
fn overlay() -> Option<bool> {
    let known = fs::read_to_string("/proc/filesystems").ok()?;
    let has = |text: &str| text.lines().any(|line| line.contains("overlay"));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let modules = || fs::read_to_string(format!("/lib/modules/{}/modules.dep", release.trim()));
    Some(has(&known) || modules().is_ok_and(|text| has(&text)))
}
