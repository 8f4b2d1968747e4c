//! Many watchers of one resource: does each get every event once and in order, how many a second, how late.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::task::JoinHandle;

use super::{Api, NAMESPACE};
use crate::BenchError;
use crate::connect::Connection;
use crate::load::Seen;
use crate::objects;
use crate::process;
use crate::report::Line;

impl Api {
    pub(super) async fn watch_fanout(&self, watchers: usize, events: usize) -> Result<Line, BenchError> {
        let run = fresh("fan");
        let watching = self.start_watchers(watchers, events, &run).await?;
        let before = self.server.map(process::cost);
        let start = Instant::now();
        // Eight writers at once, as a busy controller would; order is the server's, and all watchers must agree on it.
        self.write(&run, events, 8).await?;
        let mut order: Option<Vec<u32>> = None;
        for watcher in watching {
            let seen = watcher.await??;
            let numbers: Vec<u32> = seen.iter().map(|(number, _)| *number).collect();
            let first = order.get_or_insert_with(|| numbers.clone());
            if *first != numbers {
                return Err(BenchError::Watch {
                    seen: numbers.len(),
                    wanted: events,
                    order: ", in another order",
                });
            }
        }
        let elapsed = start.elapsed();
        let mut line = Seen::new(Vec::new(), elapsed)
            .costing(before, self.server.map(process::cost))
            .line("watch-fanout", watchers);
        line.ops = watchers * events;
        line.per_second = (line.ops as f64 / elapsed.as_secs_f64()).round();
        line.server_cpu_us_per_op = line.server_cpu_us_per_op.map(|total| total / line.ops as f64);
        self.delete_events(&run, events).await?;
        Ok(line)
    }

    pub(super) async fn watch_latency(
        &self,
        watchers: usize,
        rate: u32,
        events: usize,
    ) -> Result<Line, BenchError> {
        let run = fresh("late");
        let watching = self.start_watchers(watchers, events, &run).await?;
        let mut connection = Connection::open(&self.target).await?;
        let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
        let start = Instant::now();
        let (mut sent, mut writes) = (Vec::with_capacity(events), Vec::with_capacity(events));
        for number in 0..events {
            tick.tick().await;
            let begin = Instant::now();
            sent.push(begin);
            create(&mut connection, &run, number).await?;
            writes.push(begin.elapsed());
        }
        let mut latencies = Vec::with_capacity(watchers * events);
        for watcher in watching {
            for (number, at) in watcher.await?? {
                latencies.extend(sent.get(number as usize).map(|sent| at.duration_since(*sent)));
            }
        }
        // Latency counts from before the request is sent to the moment that the watcher has the event: it includes the
        // write itself with its sync.
        let elapsed = start.elapsed();
        let write_p99_ms = Seen::new(writes, elapsed).line("write", 1).p99_ms;
        let late = Seen::new(latencies, elapsed).line("watch-latency", watchers);
        self.delete_events(&run, events).await?;
        Ok(Line { write_p99_ms, ..late })
    }

    /// What is left behind would count as the server's memory later.
    async fn delete_events(&self, run: &str, events: usize) -> Result<(), BenchError> {
        self.delete("configmaps", run, events).await.map(|_| ())
    }

    async fn write(&self, run: &str, events: usize, writers: usize) -> Result<(), BenchError> {
        let mut tasks = Vec::new();
        for writer in 0..writers {
            let mut connection = Connection::open(&self.target).await?;
            let run = run.to_owned();
            tasks.push(tokio::spawn(async move {
                for number in (writer..events).step_by(writers) {
                    create(&mut connection, &run, number).await?;
                }
                Ok::<_, BenchError>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(())
    }

    async fn start_watchers(
        &self,
        watchers: usize,
        events: usize,
        run: &str,
    ) -> Result<Vec<Watcher>, BenchError> {
        let mut connection = Connection::open(&self.target).await?;
        // An empty list tells the revision; a first page that nobody continues would keep its state in the server.
        let list =
            connection.json(&format!("{NAMESPACE}/configmaps?fieldSelector=metadata.name%3Dnone")).await?;
        let from = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
        let marker: Arc<str> = format!("{run}-").into();
        let json = self.target.is_json();
        let mut watching = Vec::new();
        for _ in 0..watchers {
            let mut connection = Connection::open(&self.target).await?;
            let path = format!("{NAMESPACE}/configmaps?watch=1&resourceVersion={from}&timeoutSeconds=600");
            let body = connection.send(Method::GET, &path, "", Bytes::new()).await?.into_body();
            let marker = marker.clone();
            watching.push(tokio::spawn(async move {
                let seen = read_events(body, events, &marker, json).await;
                drop(connection);
                seen
            }));
        }
        Ok(watching)
    }
}

/// A name that no run before has used.
pub(super) fn fresh(name: &str) -> String {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

type Watcher = JoinHandle<Result<Vec<(u32, Instant)>, BenchError>>;

async fn create(connection: &mut Connection, run: &str, number: usize) -> Result<(), BenchError> {
    let body = objects::config_map(&format!("{run}-{number}"), 512);
    connection.drain(Method::POST, &format!("{NAMESPACE}/configmaps"), "application/json", body).await?;
    Ok(())
}

/// Reads frames until all events of this run were seen. Looks for the name only: a hundred JSON parsers on the machine
/// under test would measure themselves.
async fn read_events(
    mut body: Incoming,
    wanted: usize,
    marker: &str,
    json: bool,
) -> Result<Vec<(u32, Instant)>, BenchError> {
    let mut seen = Vec::with_capacity(wanted);
    let mut rest: Vec<u8> = Vec::new();
    while seen.len() < wanted {
        let Some(frame) = body.frame().await else {
            return Err(BenchError::Watch { seen: seen.len(), wanted, order: ", then the stream ended" });
        };
        let now = Instant::now();
        rest.extend_from_slice(frame?.data_ref().map(|data| &data[..]).unwrap_or_default());
        while let Some(end) = event_end(&rest, json) {
            let event = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest.drain(..end);
            // The name comes first of what holds it.
            let digits = event.split(marker).nth(1).unwrap_or_default();
            let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
            seen.extend(digits.parse().ok().map(|number: u32| (number, now)));
        }
    }
    Ok(seen)
}

/// Where the first event ends, if it is here in full: at a line's end, or by its length in protobuf.
fn event_end(bytes: &[u8], json: bool) -> Option<usize> {
    if json {
        return bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    }
    let length = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    (bytes.len() >= 4 + length).then_some(4 + length)
}
