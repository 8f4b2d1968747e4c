//! Ten thousand Services with ten endpoints each, carried by the kernel: how soon all are, how soon one change is, what a call costs beside
//! one among ten, and what it takes to know them. In a network namespace of its own, so it runs as a process of its own; needs root.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use kedge_client::World;
use kedge_clock::Clock;
use kedge_facts::{Node, Service, Slice};
use kedge_netlink::nft::Watch;
use kedge_netlink::route::Route;
use kedge_netlink::{Socket, address, link, route};
use kedge_proxy::Settings;
use kube::config::Kubeconfig;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::server::Server;
use super::{Table, fresh};
use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::{BenchError, process, report};

const NFT_TABLE: &str = "bench-services";
const NAMESPACE: &str = "/api/v1/namespaces/default/services";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const ENDPOINTS: usize = 10;
const FEW: usize = 10;
const WRITERS: usize = 16;
/// Nobody's, until this gives it to the loop.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, Deserialize)]
struct Figures {
    services: usize,
    program_s: f64,
    change_p50_ms: f64,
    change_p99_ms: f64,
    call_us_few: f64,
    call_us_many: f64,
    rss_mb: f64,
    /// Of it, what is known of Services and endpoints, which other parts of a node share.
    facts_mb: f64,
}

/// Runs ourselves in a namespace of its own, and enters what is said there.
pub(super) async fn proxy(
    kedge: &Path,
    folder: &Path,
    scale: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("ten thousand Services…");
    let data = fresh(folder, "proxy")?;
    let myself =
        std::env::current_exe().map_err(|source| BenchError::Read { path: "self".into(), source })?;
    let mut command = tokio::process::Command::new("unshare");
    command.arg("--net").arg(myself).arg("services").arg("--kedge").arg(kedge).arg("--data").arg(&data);
    command.args(["--scale", &scale.to_string()]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let done = command.output().await.map_err(|error| failed(&error))?;
    let figures: Figures = serde_json::from_slice(&done.stdout).map_err(|error| failed(&error))?;
    let Figures { services, facts_mb, change_p50_ms, .. } = figures;
    report::note(&format!(
        "half of all changes within {change_p50_ms:.1} ms; {facts_mb:.0} MB of facts that others share"
    ));
    let many = format!("{services} Services of {ENDPOINTS} endpoints");
    table.at_most(&format!("{many}: first in the kernel"), figures.program_s, "s", 3.0);
    table.at_most(
        &format!("{many}: one change, from write to kernel, p99"),
        figures.change_p99_ms,
        "ms",
        50.0,
    );
    table.at_most(&format!("{many}: memory to know and carry them"), figures.rss_mb, "MB", 60.0);
    let ratio = figures.call_us_many / figures.call_us_few;
    table.at_most(&format!("a call among {services} Services ÷ among {FEW}"), ratio, "×", 1.1);
    Ok(())
}

/// The part in the namespace: prints its figures as one line.
pub(crate) async fn inside(kedge: &Path, data: &Path, scale: usize) -> Result<(), BenchError> {
    set_up().map_err(|error| failed(&error))?;
    let services = 10_000 / scale;
    let server = Server::kedge(kedge, data).await?;
    let target = server.target()?;
    let echo = TcpListener::bind((HERE, 0)).map_err(|error| failed(&error))?;
    let port = echo.local_addr().map_err(|error| failed(&error))?.port();
    let door = echo_service(&target, port).await?;
    create(&target, 0..FEW).await?;

    let few = carried(&server.kubeconfig).await?;
    let echo = Echo { listener: echo, door };
    let (echo, call_us_few) = calls(echo).await?;
    few.proxy.abort();
    kedge_proxy::remove(NFT_TABLE).map_err(|error| failed(&error))?;
    drop(few);

    create(&target, FEW..services).await?;
    let before = process::cost(std::process::id()).rss_mb;
    let many = carried(&server.kubeconfig).await?;
    let mut changes = changes(&target, 1_000 / scale.min(5)).await?;
    changes.sort_by(f64::total_cmp);
    let part = |part: usize| changes.get(changes.len() * part / 100).copied().unwrap_or(f64::NAN);
    let rss_mb = process::cost(std::process::id()).rss_mb - before;
    let (_, call_us_many) = calls(echo).await?;
    let figures = Figures {
        services,
        program_s: many.took.as_secs_f64(),
        change_p50_ms: part(50),
        change_p99_ms: part(99),
        call_us_few,
        call_us_many,
        rss_mb,
        facts_mb: many.rss_mb - before,
    };
    many.proxy.abort();
    server.stop().await;
    report::verdict(&serde_json::to_string(&figures).unwrap_or_default());
    Ok(())
}

fn failed(error: &dyn std::fmt::Display) -> BenchError {
    BenchError::NotReady { program: "the proxy of Services".to_owned(), why: error.to_string() }
}

/// A loop with an address that endpoints may have, and a way to all Services.
fn set_up() -> Result<(), kedge_netlink::NetlinkError> {
    let mut socket = Socket::route()?;
    let lo = socket.link("lo")?.index;
    let to = (IpAddr::from([10, 96, 0, 0]), 16);
    let route = Route { to, via: None, link: lo, metric: 0, origin: 4 };
    socket.tell(&mut [link::up(lo), address::add(lo, HERE, 32), route::set(&route)])
}

struct Carried {
    proxy: tokio::task::JoinHandle<()>,
    took: Duration,
    rss_mb: f64,
    _world: World,
}

/// Runs the proxy until all that the API has is in the kernel, which it is at once.
async fn carried(kubeconfig: &Path) -> Result<Carried, BenchError> {
    let config = Kubeconfig::read_from(kubeconfig).map_err(|error| failed(&error))?;
    let client = kedge_client::https(config).await.map_err(|error| failed(&error))?;
    let clock = Clock::system();
    let world = World::new(client, clock.clone());
    world.watch::<Service>().watch::<Slice>().watch::<Node>();
    world.ready().await;
    let rss_mb = process::cost(std::process::id()).rss_mb;
    let settings = Settings { table: NFT_TABLE.to_owned(), node: "bench".to_owned(), cluster: Vec::new() };
    let begin = Instant::now();
    let proxy = tokio::spawn(kedge_proxy::run(settings, world.clone(), clock));
    let mut socket = Socket::netfilter().map_err(|error| failed(&error))?;
    while !socket.tables().map_err(|error| failed(&error))?.iter().any(|table| table == NFT_TABLE) {
        if begin.elapsed() > PATIENCE {
            return Err(failed(&"its table does not come"));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(Carried { proxy, took: begin.elapsed(), rss_mb, _world: world })
}

fn service(name: &str, selector: bool) -> Value {
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
    });
    if selector {
        service["metadata"]["labels"] = json!({"app": name});
    }
    service
}

fn slice(name: &str, port: u16, addresses: Vec<String>) -> Value {
    let endpoint =
        |address: String| json!({"addresses": [address], "conditions": {"ready": true}, "nodeName": "other"});
    let endpoints: Vec<Value> = addresses.into_iter().map(endpoint).collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}], "endpoints": endpoints,
    })
}

/// Ten that no other Service has; `turn` gives the first another one.
fn addresses(at: usize, turn: usize) -> Vec<String> {
    let address = |end: usize| {
        let number = at * ENDPOINTS + end;
        let second = if end == 0 { 128 + turn % 2 } else { 64 };
        format!("10.{}.{}.{}", second + number / 65_536, number / 256 % 256, number % 256)
    };
    (0..ENDPOINTS).map(address).collect()
}

async fn post(connection: &mut Connection, path: &str, object: &Value) -> Result<(), BenchError> {
    let body = Bytes::from(object.to_string());
    connection.drain(Method::POST, path, "application/json", body).await.map(drop)
}

async fn create(target: &Target, range: std::ops::Range<usize>) -> Result<(), BenchError> {
    let writers = (0..WRITERS).map(|writer| {
        let (target, range) = (target.clone(), range.clone());
        tokio::spawn(async move {
            let mut connection = Connection::open(&target).await?;
            for at in range.skip(writer).step_by(WRITERS) {
                let name = format!("s{at}");
                post(&mut connection, NAMESPACE, &service(&name, true)).await?;
                post(&mut connection, SLICES, &slice(&name, 8080, addresses(at, 0))).await?;
            }
            Ok::<_, BenchError>(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(())
}

/// The address of a Service that answers.
async fn echo_service(target: &Target, port: u16) -> Result<SocketAddr, BenchError> {
    let mut connection = Connection::open(target).await?;
    post(&mut connection, NAMESPACE, &service("echo", false)).await?;
    post(&mut connection, SLICES, &slice("echo", port, vec![HERE.to_string()])).await?;
    let made = connection.json(&format!("{NAMESPACE}/echo")).await?;
    let address = made["spec"]["clusterIP"].as_str().and_then(|text| text.parse().ok());
    address
        .map(|address: IpAddr| SocketAddr::new(address, 80))
        .ok_or_else(|| failed(&"the Service has no address"))
}

/// From before the write until the kernel tells of the change.
async fn changes(target: &Target, count: usize) -> Result<Vec<f64>, BenchError> {
    let mut connection = Connection::open(target).await?;
    let mut watch = Watch::over(NFT_TABLE).map_err(|error| failed(&error))?;
    let mut took = Vec::new();
    for turn in 0..count {
        let at = turn % FEW;
        let change = slice(&format!("s{at}"), 8080, addresses(at, 1 + turn / FEW));
        let body = Bytes::from(json!({"endpoints": change["endpoints"]}).to_string());
        watch.was_touched().map_err(|error| failed(&error))?;
        let begin = Instant::now();
        let path = format!("{SLICES}/s{at}");
        connection.drain(Method::PATCH, &path, "application/merge-patch+json", body).await?;
        while !watch.was_touched().map_err(|error| failed(&error))? {
            if begin.elapsed() > PATIENCE {
                return Err(failed(&"a change does not come"));
            }
            tokio::task::yield_now().await;
        }
        took.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(took)
}

struct Echo {
    listener: TcpListener,
    door: SocketAddr,
}

/// What one call costs, in millionths of a second: the least of many short rounds, as whatever else the machine does only adds to it.
async fn calls(echo: Echo) -> Result<(Echo, f64), BenchError> {
    const ROUNDS: usize = 100;
    const CALLS: u32 = 100;
    let called = tokio::task::spawn_blocking(move || {
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            for _ in 0..CALLS {
                let call = TcpStream::connect_timeout(&echo.door, PATIENCE)?;
                let (taken, _) = echo.listener.accept()?;
                // Whoever hangs up last waits no more.
                drop(taken);
                drop(call);
            }
            least = least.min(begin.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
            // A processor may be slower for a while.
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok::<_, io::Error>((echo, least))
    });
    called.await?.map_err(|error| failed(&error))
}
