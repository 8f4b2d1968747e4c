//! Clients that call a Service without end, each in the network of a pod of its node. They are threads of the test rather than the pod's
//! own processes, so that a call that fails is known with its reason, whatever happens to logs and servers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Within this time an answer is there, or it counts as none. A packet may be lost and sent again meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(25);

pub(crate) struct Callers {
    over: Arc<AtomicBool>,
    /// How many calls each made, and how many went well since the last that did not.
    counts: Vec<Arc<Counts>>,
    failures: Receiver<Failure>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    all: AtomicU64,
    streak: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) caller: usize,
    pub(crate) at: Instant,
    pub(crate) why: String,
}

impl Callers {
    /// One for each network.
    pub(crate) fn start(networks: Vec<PathBuf>, service: SocketAddr) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (tell, failures) = channel();
        let counts: Vec<Arc<Counts>> = networks.iter().map(|_| Arc::default()).collect();
        let threads = networks.into_iter().zip(&counts).enumerate().map(|(caller, (network, counts))| {
            let (over, counts, tell) = (over.clone(), counts.clone(), tell.clone());
            std::thread::spawn(move || {
                kedge_fleet::enter(&network);
                while !over.load(Ordering::Relaxed) {
                    call(caller, service, &counts, &tell);
                    std::thread::park_timeout(PAUSE);
                }
            })
        });
        let threads = threads.collect();
        Self { over, counts, failures, threads }
    }

    pub(crate) fn made(&self) -> u64 {
        self.counts.iter().map(|counts| counts.all.load(Ordering::Relaxed)).sum()
    }

    /// Those that failed since somebody asked last.
    pub(crate) fn failed(&self) -> Vec<Failure> {
        self.failures.try_iter().collect()
    }

    /// Begins to count anew how many go well one after the other.
    pub(crate) fn forget_streaks(&self) {
        for counts in &self.counts {
            counts.streak.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn shortest_streak(&self) -> u64 {
        self.counts.iter().map(|counts| counts.streak.load(Ordering::Relaxed)).min().unwrap_or_default()
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _it_said_so_itself = thread.join();
        }
    }
}

fn call(caller: usize, service: SocketAddr, counts: &Counts, tell: &Sender<Failure>) {
    let at = Instant::now();
    let answer = fetch(service);
    counts.all.fetch_add(1, Ordering::Relaxed);
    match answer {
        Ok(()) => {
            counts.streak.fetch_add(1, Ordering::Relaxed);
        }
        Err(why) => {
            counts.streak.store(0, Ordering::Relaxed);
            let _nobody_asks_any_more = tell.send(Failure { caller, at, why });
        }
    }
}

fn fetch(service: SocketAddr) -> Result<(), String> {
    let attempt = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&service, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(page)
    };
    match attempt() {
        Ok(page) if page.starts_with("HTTP/1.") && page.contains(" 200 ") && page.contains("web-") => Ok(()),
        Ok(page) => Err(format!("{page:?}")),
        Err(error) => Err(error.to_string()),
    }
}
