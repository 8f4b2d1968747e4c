//! Runs a number of operations over a number of connections and collects how long each took.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::process::{self, Cost};
use crate::report::Line;

/// What was seen: latencies, bytes read, wall time, cost of the server.
pub(crate) struct Seen {
    latencies: Vec<Duration>,
    bytes: usize,
    elapsed: Duration,
    before: Option<Cost>,
    after: Option<Cost>,
}

/// `operation` gets a connection and the operation's number and returns the bytes that it read.
pub(crate) async fn run<F, Fut>(
    target: &Target,
    connections: usize,
    count: usize,
    server: Option<u32>,
    operation: F,
) -> Result<Seen, BenchError>
where
    F: Fn(Connection, usize) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(Connection, usize), BenchError>> + Send,
{
    on(&mut open(target, connections).await?, count, server, operation).await
}

pub(crate) async fn open(target: &Target, connections: usize) -> Result<Vec<Connection>, BenchError> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        open.push(Connection::open(target).await?);
    }
    Ok(open)
}

/// The same over connections that are open and stay so.
pub(crate) async fn on<F, Fut>(
    open: &mut Vec<Connection>,
    count: usize,
    server: Option<u32>,
    operation: F,
) -> Result<Seen, BenchError>
where
    F: Fn(Connection, usize) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(Connection, usize), BenchError>> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    if let Some(pid) = server {
        process::forget_peak(pid);
    }
    let before = server.map(process::cost);
    let start = Instant::now();
    let workers: Vec<_> = open
        .drain(..)
        .map(|mut connection| {
            let (next, operation) = (next.clone(), operation.clone());
            tokio::spawn(async move {
                let (mut latencies, mut bytes) = (Vec::new(), 0);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return Ok::<_, BenchError>((connection, latencies, bytes));
                    }
                    let began = Instant::now();
                    let (back, read) = operation(connection, number).await?;
                    latencies.push(began.elapsed());
                    connection = back;
                    bytes += read;
                }
            })
        })
        .collect();
    let mut seen = Seen { latencies: Vec::new(), bytes: 0, elapsed: Duration::ZERO, before, after: None };
    for worker in workers {
        let (connection, latencies, bytes) = worker.await??;
        open.push(connection);
        seen.latencies.extend(latencies);
        seen.bytes += bytes;
    }
    seen.elapsed = start.elapsed();
    seen.after = server.map(process::cost);
    Ok(seen)
}

/// Does it on one thread: what a single connection hands from thread to thread would be measured, too.
pub(crate) async fn alone<T: Send + 'static>(
    work: impl Future<Output = Result<T, BenchError>> + Send + 'static,
) -> Result<T, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| BenchError::NotReady { program: "a client".to_owned(), why: error.to_string() })?;
    tokio::task::spawn_blocking(move || runtime.block_on(work)).await?
}

impl Seen {
    pub(crate) fn new(latencies: Vec<Duration>, elapsed: Duration) -> Self {
        Self { latencies, bytes: 0, elapsed, before: None, after: None }
    }

    pub(crate) fn costing(mut self, before: Option<Cost>, after: Option<Cost>) -> Self {
        (self.before, self.after) = (before, after);
        self
    }

    pub(crate) fn line(mut self, measure: &str, connections: usize) -> Line {
        self.latencies.sort_unstable();
        let count = self.latencies.len();
        let seconds = self.elapsed.as_secs_f64();
        let at = |share: f64| {
            let place = ((count as f64 * share) as usize).min(count.saturating_sub(1));
            self.latencies.get(place).map(|latency| rounded(latency.as_secs_f64() * 1000.0))
        };
        let big = self.bytes > 50_000_000 || self.bytes / count.max(1) > 100_000;
        let cost = self.before.zip(self.after);
        Line {
            measure: measure.to_owned(),
            target: String::new(),
            ops: count,
            connections,
            seconds: rounded(seconds),
            per_second: rounded(count as f64 / seconds),
            p50_ms: at(0.50),
            p99_ms: at(0.99),
            write_p99_ms: None,
            mb_per_second: big.then(|| rounded(self.bytes as f64 / 1e6 / seconds)),
            server_cpu_us_per_op: cost.map(|(b, a)| rounded((a.cpu_us - b.cpu_us) / count.max(1) as f64)),
            server_rss_mb: self.after.map(|after| rounded(after.rss_mb)),
            server_rss_grew_mb: cost.map(|(b, a)| rounded((a.peak_mb - b.rss_mb).max(0.0))),
        }
    }
}

fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}
