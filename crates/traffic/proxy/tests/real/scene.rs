//! A node with pods, the world beyond it, and the proxy that carries its Services.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kedge_client::{Revision, World};
use kedge_clock::Clock;
use kedge_facts::{Node, Service, Slice};
use kedge_netlink::{Namespace, Socket};
use kedge_proxy::Settings;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub(crate) const TABLE: &str = "services-test";
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// For what must not happen, and does not happen any later either.
pub(crate) const BRIEFLY: Duration = Duration::from_millis(300);

/// A namespace of its own, until it is dropped.
pub(crate) struct Place {
    file: File,
    namespace: Namespace,
}

impl Place {
    /// This thread is left in it.
    fn enter_new() -> Self {
        // SAFETY: only this thread's network changes; no memory or file is shared any less than before.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("tests of the network need root");
        Self { file: File::open("/proc/thread-self/ns/net").unwrap(), namespace: Namespace::here().unwrap() }
    }

    fn new() -> Self {
        let home = Namespace::here().unwrap();
        let place = Self::enter_new();
        rustix::thread::move_into_link_name_space(home.as_fd(), None).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    pub(crate) fn inside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.namespace.inside(work).unwrap()
    }

    pub(crate) fn listen(&self, at: &str) -> TcpListener {
        let listener = self.inside(|| TcpListener::bind(at));
        let listener = listener.unwrap_or_else(|error| panic!("cannot listen on {at}: {error}"));
        listener.set_nonblocking(true).unwrap();
        listener
    }

    pub(crate) fn call(&self, to: &str) -> std::io::Result<TcpStream> {
        self.inside(|| TcpStream::connect_timeout(&to.parse().unwrap(), PATIENCE))
    }

    pub(crate) fn call_briefly(&self, to: &str) -> std::io::Result<TcpStream> {
        self.inside(|| TcpStream::connect_timeout(&to.parse().unwrap(), BRIEFLY))
    }
}

/// Which server has the call that was just made, and whom it sees.
pub(crate) fn accepted(servers: &[TcpListener]) -> (usize, SocketAddr) {
    let (server, stream) = taken(servers);
    (server, stream.peer_addr().unwrap())
}

pub(crate) fn taken(servers: &[TcpListener]) -> (usize, TcpStream) {
    eventually("a server is called", || {
        servers.iter().enumerate().find_map(|(at, server)| {
            let (stream, _) = server.accept().ok()?;
            stream.set_nonblocking(false).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Some((at, stream))
        })
    })
}

pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Some(seen) => return seen,
            None if start.elapsed() > PATIENCE => panic!("still untrue: {what}"),
            None => std::thread::yield_now(),
        }
    }
}

pub(crate) fn on_a_thread(test: impl FnOnce() + Send + 'static) {
    if let Err(panic) = std::thread::spawn(test).join() {
        std::panic::resume_unwind(panic);
    }
}

pub(crate) fn ip(line: &str) {
    let done = Command::new("ip").args(line.split(' ')).output().expect("tests of the network need iproute2");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

fn set(name: &str, value: &str) {
    std::fs::write(format!("/proc/sys/net/{name}"), value).unwrap_or_else(|error| panic!("{name}: {error}"));
}

struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// 192.0.2.1 is the node's, 192.0.2.9 the world's; pods are 10.7.1.2 and so on, behind the node's 10.7.1.1.
pub(crate) struct Scene {
    pub(crate) node: Place,
    pub(crate) world: Place,
    facts: World,
    running: Option<Running>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let node = Place::enter_new();
        let world = Place::new();
        ip("link set lo up");
        ip(&format!("link add out type veth peer name in netns {}", world.path().display()));
        ip("addr add 192.0.2.1/24 dev out");
        ip("addr add 2001:db8::1/64 dev out nodad");
        ip("link set out up");
        world.inside(|| {
            ip("link set lo up");
            ip("addr add 192.0.2.9/24 dev in");
            ip("addr add 2001:db8::9/64 dev in nodad");
            ip("link set in up");
            ip("route add default via 192.0.2.1");
        });
        ip("link add pods type bridge");
        ip("addr add 10.7.1.1/24 dev pods");
        ip("addr add fd07::1/64 dev pods nodad");
        ip("link set pods up");
        // The way to strangers, by which the node chooses who it is.
        ip("route add default via 192.0.2.9");
        ip("-6 route add default via 2001:db8::9");
        set("ipv4/ip_forward", "1");
        set("ipv6/conf/all/forwarding", "1");
        set("ipv4/conf/pods/route_localnet", "1");
        for link in ["all", "pods", "out"] {
            set(&format!("ipv4/conf/{link}/send_redirects"), "0");
        }
        let facts = World::by_hand();
        facts.feed::<Service>().replace(Vec::new(), Revision(1));
        facts.feed::<Slice>().replace(Vec::new(), Revision(1));
        facts.feed::<Node>().replace(Vec::new(), Revision(1));
        let mut scene = Self { node, world, facts, running: None };
        scene.start();
        scene
    }

    pub(crate) fn pod(&self, number: u8) -> Place {
        let place = Place::new();
        ip(&format!("link add pod{number} type veth peer name eth0 netns {}", place.path().display()));
        // A pod may call itself by way of the node.
        ip(&format!("link set pod{number} master pods up"));
        ip(&format!("link set pod{number} type bridge_slave hairpin on"));
        place.inside(|| {
            ip("link set lo up");
            // A pod has its address alone and sends everything to the node.
            ip(&format!("addr add 10.7.1.{number}/32 dev eth0"));
            ip(&format!("addr add fd07::{number}/128 dev eth0 nodad"));
            ip("link set eth0 up");
            ip("route add 10.7.1.1 dev eth0");
            ip("route add default via 10.7.1.1");
            ip("-6 route add fd07::1 dev eth0");
            ip("-6 route add default via fd07::1");
        });
        place
    }

    /// One port, 80, which is 8080 of its endpoints.
    pub(crate) fn service(&self, name: &str, address: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = json!({
            "metadata": {"name": name, "namespace": "n", "creationTimestamp": "2030-01-01T00:00:00Z"},
            "spec": {"clusterIP": address, "clusterIPs": [address], "ports": [{"port": 80}]},
        });
        edit(&mut value["spec"]);
        if let Some(status) = value["spec"].as_object_mut().and_then(|spec| spec.remove("status")) {
            value["status"] = status;
        }
        self.facts.feed::<Service>().put(serde_json::from_value(value).unwrap());
    }

    /// Pods by their number, each on a node.
    pub(crate) fn endpoints(&self, service: &str, pods: &[(u8, &str)]) {
        self.endpoints_of(service, "TCP", pods);
    }

    pub(crate) fn endpoints_of(&self, service: &str, protocol: &str, pods: &[(u8, &str)]) {
        let endpoint =
            |(pod, node): &(u8, &str)| json!({"addresses": [format!("10.7.1.{pod}")], "nodeName": node});
        self.slice(service, "IPv4", protocol, pods.iter().map(endpoint).collect());
    }

    pub(crate) fn endpoints_at(&self, service: &str, family: &str, addresses: &[&str]) {
        let endpoint = |address: &&str| json!({"addresses": [address], "nodeName": "here"});
        self.slice(service, family, "TCP", addresses.iter().map(endpoint).collect());
    }

    fn slice(&self, service: &str, family: &str, protocol: &str, endpoints: Vec<Value>) {
        let slice = json!({
            "metadata": {
                "name": format!("{service}-{family}"), "namespace": "n",
                "labels": {"kubernetes.io/service-name": service},
            },
            "addressType": family, "endpoints": endpoints, "ports": [{"name": "", "port": 8080, "protocol": protocol}],
        });
        self.facts.feed::<Slice>().put(serde_json::from_value(slice).unwrap());
    }

    /// Waits until calls are led there.
    pub(crate) fn reaches(&self, from: &Place, to: &str, servers: &[TcpListener]) {
        eventually(&format!("{to} is reached"), || {
            let _call = from.call_briefly(to).ok()?;
            accepted(servers);
            Some(())
        });
    }

    /// Waits until the proxy has seen all that it was told, by telling it one thing more.
    pub(crate) fn settled(&self) {
        self.service("last", "10.96.0.99", |_| ());
        let mut socket = Socket::netfilter().unwrap();
        eventually("all is in the kernel", || {
            let addresses = socket.elements(TABLE, "addresses4").ok()?;
            addresses.iter().any(|element| *element.key == [10, 96, 0, 99]).then_some(())
        });
        self.facts
            .feed::<Service>()
            .remove(serde_json::from_value(json!({"metadata": {"name": "last", "namespace": "n"}})).unwrap());
        eventually("all is in the kernel", || {
            let addresses = socket.elements(TABLE, "addresses4").ok()?;
            (!addresses.iter().any(|element| *element.key == [10, 96, 0, 99])).then_some(())
        });
    }

    pub(crate) fn start(&mut self) {
        let (stop, stopped) = oneshot::channel();
        let facts = self.facts.clone();
        let settings = Settings {
            table: TABLE.to_owned(),
            node: "here".to_owned(),
            cluster: vec!["10.7.0.0/16".parse().unwrap(), "fd07::/16".parse().unwrap()],
        };
        // Threads begin in the network of the one that makes them.
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = kedge_proxy::run(settings, facts, Clock::system()) => {}
                    _ = stopped => {}
                }
            });
        });
        self.running = Some(Running { stop, thread });
    }

    pub(crate) fn stop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            let _ended_already = stop.send(());
            thread.join().unwrap();
        }
    }

    pub(crate) fn restart(&mut self) {
        self.stop();
        self.start();
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop();
    }
}
