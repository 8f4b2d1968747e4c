//! How many of the cluster's own names one core answers, over sockets: the DNS of a node on a thread of its own, ten thousand Services in
//! its index, asked by a client on the other core that always has some questions under way.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kedge_client::{Revision, World};
use kedge_clock::Clock;
use kedge_dns::{Dns, Door, Hosts, Settings, Upstreams, start};
use kedge_facts::{Namespace, Pod, Service, Slice};
use serde_json::json;

use crate::BenchError;
use crate::report::{self, Line};

use super::{Table, median, named};

const SERVICES: usize = 10_000;
/// Questions under way at once, as of a node full of busy pods.
const UNDER_WAY: usize = 32;
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn dns(count: usize, table: &mut Table) -> Result<(), BenchError> {
    report::note("the cluster's own names…");
    let failed = |source| BenchError::Connect { address: "the cluster's DNS".to_owned(), source };
    let at = serve().map_err(failed)?;
    let (mut rates, mut slowest) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let load = tokio::task::spawn_blocking(move || load(at, count));
        let mut seen = load.await.map_err(io::Error::other).and_then(|seen| seen).map_err(failed)?;
        seen.waits.sort_unstable();
        let part = |part: usize| {
            seen.waits.get(seen.waits.len() * part / 100).map(|wait| wait.as_secs_f64() * 1000.0)
        };
        let line = Line {
            measure: "dns".to_owned(),
            target: String::new(),
            ops: count,
            connections: UNDER_WAY,
            seconds: seen.took.as_secs_f64(),
            per_second: count as f64 / seen.took.as_secs_f64(),
            p50_ms: part(50),
            p99_ms: part(99),
            write_p99_ms: None,
            mb_per_second: None,
            server_cpu_us_per_op: None,
            server_rss_mb: None,
            server_rss_grew_mb: None,
        };
        rates.push(line.per_second);
        slowest.push(line.p99_ms.unwrap_or(f64::MAX));
        named("dns on one core", line);
    }
    table.at_least("DNS: names of the cluster, one core", median(&mut rates), "/s", 30_000.0);
    table.at_most("DNS: p99 meanwhile, 32 under way", median(&mut slowest), "ms", 5.0);
    Ok(())
}

/// Answers on a thread of its own for as long as this process lives.
fn serve() -> io::Result<SocketAddr> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let opened = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
            let clock = Clock::system();
            let dns = filled(&clock).map_err(io::Error::other)?;
            let door = runtime.block_on(Door::open(dns, (Ipv4Addr::LOCALHOST, 0).into(), clock))?;
            let at = door.address()?;
            Ok((runtime, door, at))
        });
        // Whoever started us waits for the address, or for what is in the way of it.
        match opened {
            Ok((runtime, door, at)) => {
                let _ = tell.send(Ok(at));
                runtime.block_on(door.serve());
            }
            Err(error) => drop(tell.send(Err(error))),
        }
    });
    told.recv().map_err(io::Error::other)?
}

fn filled(clock: &Clock) -> Result<Dns, Box<dyn std::error::Error + Send + Sync>> {
    let world = World::by_hand();
    let settings = Settings {
        zone: "cluster.local".to_owned(),
        addresses: vec![IpAddr::from([10, 96, 0, 10])],
        port: 53,
        note: PathBuf::new(),
        memory: None,
        ranges: Vec::new(),
        upstreams: Upstreams::These(Vec::new()),
        stubs: Vec::new(),
    };
    let dns = start(&settings, world.clone(), Hosts::default(), None, clock.clone())?;
    let services = (0..SERVICES).map(|number| {
        let address = format!("10.96.{}.{}", 1 + number / 250, 1 + number % 250);
        serde_json::from_value(json!({
            "metadata": {"namespace": "default", "name": format!("service-{number}")},
            "spec": {"clusterIP": address, "clusterIPs": [address], "ports": [{"name": "http", "port": 80}]},
        }))
    });
    world.feed::<Service>().replace(services.collect::<Result<_, _>>()?, Revision(1));
    world.feed::<Slice>().replace(Vec::new(), Revision(1));
    world
        .feed::<Namespace>()
        .replace(vec![serde_json::from_value(json!({"metadata": {"name": "default"}}))?], Revision(1));
    world.feed::<Pod>().replace(Vec::new(), Revision(1));
    dns.fill()?;
    Ok(dns)
}

struct Seen {
    took: Duration,
    waits: Vec<Duration>,
}

fn load(at: SocketAddr, count: usize) -> io::Result<Seen> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(at)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let begun = Instant::now();
    let mut sent = vec![begun; usize::from(u16::MAX) + 1];
    let mut waits = Vec::with_capacity(count);
    let mut buffer = [0; 1500];
    let mut next = 0;
    while waits.len() < count {
        while next < count && next - waits.len() < UNDER_WAY {
            let id = u16::try_from(next % sent.len()).unwrap_or_default();
            sent[usize::from(id)] = Instant::now();
            socket.send(&question(id, next % SERVICES))?;
            next += 1;
        }
        // One that is lost would be missed below; on loopback none is.
        let length = socket.recv(&mut buffer)?;
        let [high, low, _, code, _, _, _, answers, ..] = buffer;
        if length < 12 || code & 0x0f != 0 || answers != 1 {
            return Err(io::Error::other("a name of the cluster is not known"));
        }
        waits.push(sent[usize::from(u16::from_be_bytes([high, low]))].elapsed());
    }
    Ok(Seen { took: begun.elapsed(), waits })
}

/// As the resolver of a pod asks.
fn question(id: u16, service: usize) -> Vec<u8> {
    let mut octets = id.to_be_bytes().to_vec();
    octets.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in [&*format!("service-{service}"), "default", "svc", "cluster", "local"] {
        octets.push(u8::try_from(label.len()).unwrap_or_default());
        octets.extend(label.as_bytes());
    }
    octets.extend([0, 0, 1, 0, 1]);
    octets
}
