//! The gateway against nginx: both pass the same requests on to the same server, in turn, for the same client. And how long a thousand
//! new routes take to be served.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_client::{Revision, Watched, World};
use kedge_clock::Clock;
use kedge_facts::{Service, Slice};
use kedge_gateway::{CONTROLLER, DnsRecord, Front, Routes, Settings, TlsSecret};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::BenchError;
use crate::report::{self, Line};

use super::{Table, fresh, median, named};

const CONNECTIONS: usize = 64;
const HOST: &str = "bench.example";
const ROUTES: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(10);
const TURNS: usize = 20;

pub(crate) async fn gateway(folder: &Path, count: usize, table: &mut Table) -> Result<(), BenchError> {
    report::note("the gateway against nginx…");
    let failed = |source| BenchError::Connect { address: "the gateway".to_owned(), source };
    let backend = backend().map_err(failed)?;
    let (gateway, world) = serve(backend).await?;
    table.at_most(
        "gateway: 1,000 more routes are served",
        routes(gateway, &world).await.map_err(failed)?,
        "ms",
        100.0,
    );
    let Some((nginx, other)) = Nginx::start(&fresh(folder, "nginx")?, backend).await? else {
        report::note("nginx is not installed (Debian: nginx-light): the gateway is compared with nobody");
        return Ok(());
    };
    let (mut rates, mut slowest) = (Vec::new(), Vec::new());
    // Many short turns: what else the machine does hits both alike. The first of each is for caches and connections.
    for turn in 0..=TURNS {
        let theirs = named("nginx", load("proxy", other, count / TURNS).await?);
        let ours = named("kedge", load("gateway", gateway, count / TURNS).await?);
        if turn > 0 {
            rates.push(ours.per_second / theirs.per_second);
            slowest.push(ours.p99_ms.unwrap_or(f64::MAX) / theirs.p99_ms.unwrap_or(1.0));
        }
    }
    nginx.stop().await;
    table.at_least("gateway ÷ nginx, requests/s", median(&mut rates), "×", 1.0);
    table.at_most("gateway ÷ nginx, p99", median(&mut slowest), "×", 1.0);
    Ok(())
}

/// The gateway as a server runs it, with one route to the backend.
async fn serve(backend: SocketAddr) -> Result<(SocketAddr, World), BenchError> {
    let world = World::by_hand();
    hold::<k8s_openapi::api::networking::v1::IngressClass>(
        &world,
        json!([{"metadata": {"name": "kedge"}, "spec": {"controller": CONTROLLER}}]),
    );
    hold::<k8s_openapi::api::networking::v1::Ingress>(&world, json!([]));
    hold::<Service>(
        &world,
        json!([{"metadata": {"name": "s", "namespace": "n"}, "spec": {"ports": [{"port": 80}]}}]),
    );
    hold::<Slice>(
        &world,
        json!([{
            "metadata": {"name": "s", "namespace": "n", "labels": {"kubernetes.io/service-name": "s"}},
            "addressType": "IPv4", "ports": [{"port": backend.port()}], "endpoints": [{"addresses": [backend.ip()]}],
        }]),
    );
    hold::<TlsSecret>(&world, json!([]));
    hold::<DnsRecord>(&world, json!([record("bench", HOST)]));
    let table = Arc::default();
    let settings = Settings { http: Some(([127, 0, 0, 1], 0).into()), ..Settings::new(Arc::new(Nobody)) };
    let not_ready = |why: String| BenchError::NotReady { program: "the gateway".to_owned(), why };
    let front = Front::open(settings, Arc::clone(&table)).map_err(|error| not_ready(error.to_string()))?;
    let at = front.http().ok_or_else(|| not_ready("it has no port".to_owned()))?;
    let first = Routes::of(&world, None).map_err(|error| not_ready(error.to_string()))?;
    table.store(Arc::new(first));
    tokio::spawn(front.serve());
    tokio::spawn(kedge_gateway::keep(world.clone(), Clock::system(), table));
    Ok((at, world))
}

fn record(name: &str, host: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "n", "creationTimestamp": "2030-01-01T12:00:00Z"},
        "spec": {"host": host, "paths": [{"pathName": "p", "service": "s", "port": 80}]},
    })
}

fn hold<K: Watched>(world: &World, objects: Value) {
    let read = objects
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|object| K::read(object.to_string().as_bytes()).ok());
    world.feed::<K>().replace(read.collect(), Revision(1));
}

#[derive(Debug)]
struct Nobody;

impl ResolvesServerCert for Nobody {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}

/// Milliseconds from the first of a thousand new records until the last one answers.
async fn routes(at: SocketAddr, world: &World) -> io::Result<f64> {
    let made: Vec<DnsRecord> = (0..ROUTES)
        .filter_map(|number| {
            let mut record = record(&format!("r{number}"), &format!("h{number}.example"));
            record["metadata"]["resourceVersion"] = (number + 2).to_string().into();
            serde_json::from_value(record).ok()
        })
        .collect();
    let last = format!("h{}.example", ROUTES - 1);
    let mut client = Client::open(at, &last).await?;
    let begun = Instant::now();
    made.into_iter().for_each(|record| world.feed::<DnsRecord>().put(record));
    while !client.ask().await? {
        if begun.elapsed() > PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

/// nginx and where its settings are.
struct Nginx {
    master: Child,
    config: PathBuf,
}

impl Nginx {
    /// Its workers end with it, if it is asked and not killed.
    async fn stop(mut self) {
        let _asked = program().arg("-c").arg(&self.config).args(["-s", "stop"]).status().await;
        let _ended = tokio::time::timeout(PATIENCE, self.master.wait()).await;
    }

    /// Started with what a person would set for speed; none if it is not installed.
    async fn start(folder: &Path, backend: SocketAddr) -> Result<Option<(Self, SocketAddr)>, BenchError> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0");
        let at = listener.and_then(|listener| listener.local_addr());
        let at = at.map_err(|source| BenchError::Connect { address: "a free port".to_owned(), source })?;
        let config = format!(
            "daemon off; worker_processes auto; pid {folder}/pid; error_log {folder}/error.log;
         events {{ worker_connections 4096; }}
         http {{
             access_log off; keepalive_requests 100000000; keepalive_timeout 300s;
             client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
             uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
             upstream backend {{ server {backend}; keepalive 128; keepalive_requests 100000000; }}
             server {{
                 listen {at} reuseport; server_name {HOST};
                 location /p/ {{
                     proxy_pass http://backend/; proxy_http_version 1.1; proxy_set_header Connection \"\";
                     proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
                     proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
                     proxy_set_header X-Forwarded-Host $host;
                 }}
             }}
         }}",
            folder = folder.display(),
        );
        let path = folder.join("nginx.conf");
        std::fs::write(&path, config).map_err(|source| BenchError::Write { path: path.clone(), source })?;
        let master = match program().arg("-c").arg(&path).spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            spawned => {
                spawned.map_err(|source| BenchError::Connect { address: "nginx".to_owned(), source })?
            }
        };
        let begun = Instant::now();
        loop {
            let answers = async { Client::open(at, HOST).await?.ask().await }.await;
            match answers {
                Ok(true) => return Ok(Some((Self { master, config: path }, at))),
                _ if begun.elapsed() > PATIENCE => {
                    let why = std::fs::read_to_string(folder.join("error.log")).unwrap_or_default();
                    return Err(BenchError::NotReady { program: "nginx".to_owned(), why });
                }
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

fn program() -> Command {
    let mut command = Command::new("nginx");
    // Debian keeps it where only root looks.
    command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
    command.stderr(Stdio::null());
    command
}

/// Answers everything with the same small page, on a thread of its own for as long as this process lives.
fn backend() -> io::Result<SocketAddr> {
    const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 128\r\n\r\n\
        0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    std::thread::spawn(move || {
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener)?;
            while let Ok((mut stream, _)) = listener.accept().await {
                let _quick = stream.set_nodelay(true);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while stream.read_buf(&mut head).await? > 0 {
                        if head.ends_with(b"\r\n\r\n") {
                            head.clear();
                            stream.write_all(PAGE).await?;
                        }
                    }
                    io::Result::Ok(())
                });
            }
            io::Result::Ok(())
        })
    });
    Ok(at)
}

/// One connection that asks for the same page again and again.
struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Client {
    async fn open(at: SocketAddr, host: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        let request =
            format!("GET /p/x HTTP/1.1\r\nHost: {host}\r\nUser-Agent: kedge-bench\r\nAccept: */*\r\n\r\n");
        Ok(Self { stream, request: request.into_bytes(), answer: Vec::with_capacity(4096) })
    }

    /// Whether the answer was the backend's.
    async fn ask(&mut self) -> io::Result<bool> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(length) = whole(&self.answer)
                && self.answer.len() >= length
            {
                return Ok(self.answer.starts_with(b"HTTP/1.1 200"));
            }
        }
    }
}

/// How long an answer is, once its head is there.
fn whole(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    Some(head + length)
}

async fn load(measure: &str, at: SocketAddr, count: usize) -> Result<Line, BenchError> {
    let working = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async move {
            let begun = Instant::now();
            let clients = (0..CONNECTIONS).map(|_| async move {
                let mut client = Client::open(at, HOST).await?;
                let mut waits = Vec::with_capacity(count / CONNECTIONS);
                for _ in 0..count / CONNECTIONS {
                    let asked = Instant::now();
                    if !client.ask().await? {
                        return Err(io::Error::other("an answer was not the backend's"));
                    }
                    waits.push(asked.elapsed());
                }
                io::Result::Ok(waits)
            });
            let tasks: Vec<_> = clients.map(tokio::spawn).collect();
            let mut waits = Vec::with_capacity(count);
            for task in tasks {
                waits.extend(task.await.map_err(io::Error::other)??);
            }
            io::Result::Ok((waits, begun.elapsed()))
        })
    });
    let failed = |source| BenchError::Connect { address: measure.to_owned(), source };
    let (mut waits, took) = working.await?.map_err(failed)?;
    waits.sort_unstable();
    let part = |part: usize| waits.get(waits.len() * part / 100).map(|wait| wait.as_secs_f64() * 1000.0);
    Ok(Line {
        measure: measure.to_owned(),
        target: String::new(),
        ops: waits.len(),
        connections: CONNECTIONS,
        seconds: took.as_secs_f64(),
        per_second: waits.len() as f64 / took.as_secs_f64(),
        p50_ms: part(50),
        p99_ms: part(99),
        write_p99_ms: None,
        mb_per_second: None,
        server_cpu_us_per_op: None,
        server_rss_mb: None,
        server_rss_grew_mb: None,
    })
}
