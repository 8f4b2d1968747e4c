//! The log itself: a thread of its own that writes lines and turns the file over when it is large. Records wait for it in a
//! queue that has an end; what finds it full is counted and lost, as nobody's request is held up for the log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use jiff::{SignedDuration, Timestamp};
use kedge_clock::Clock;
use serde_json::Value;

use super::AuditError;

const WAITING: usize = 10_000;
const MEGABYTE: u64 = 1024 * 1024;
const USUAL_MEGABYTES: u64 = 100;

/// Where the log is and how much of it is kept; zero keeps everything.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    /// `-` is standard output.
    pub path: PathBuf,
    pub max_days: u64,
    pub max_backups: usize,
    /// A file that would grow beyond it is put aside; zero takes the usual 100.
    pub max_megabytes: u64,
}

enum Line {
    Record(Value),
    Flush(SyncSender<()>),
}

pub(super) struct Writer {
    queue: SyncSender<Line>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    pub(super) fn start(log: AuditLog, clock: Clock) -> Result<Self, AuditError> {
        let path = log.path.clone();
        let sink =
            Sink::open(log, clock).map_err(|source| AuditError::Open { path: path.clone(), source })?;
        let (queue, lines) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let told = lost.clone();
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || write(sink, &lines, &told))
            .map_err(|source| AuditError::Open { path, source })?;
        Ok(Self { queue, lost })
    }

    pub(super) fn hand_over(&self, record: Value) {
        if self.queue.try_send(Line::Record(record)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.queue.send(Line::Flush(done)).is_ok() {
            // An error only says that the thread is gone, and with it all that could be waited for.
            let _ = wait.recv();
        }
    }
}

fn write(mut sink: Sink, lines: &Receiver<Line>, lost: &AtomicU64) {
    let mut failed = false;
    loop {
        let line = match lines.try_recv() {
            Ok(line) => line,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                // Nothing waits any more: whoever reads the file should see what there is.
                failed = told(sink.flush(), failed);
                match lines.recv() {
                    Ok(line) => line,
                    Err(_) => break,
                }
            }
        };
        match line {
            Line::Record(record) => failed = told(sink.line(&record.to_string()), failed),
            Line::Flush(done) => {
                failed = told(sink.flush(), failed);
                // Whoever asked may have stopped waiting.
                let _ = done.send(());
            }
        }
        let missed = lost.swap(0, Ordering::Relaxed);
        if missed > 0 {
            tracing::error!(missed, "the audit log cannot keep up; records were lost");
        }
    }
    told(sink.flush(), failed);
}

/// Says it once, not for every line of a full disk.
fn told(done: io::Result<()>, failed: bool) -> bool {
    match done {
        Ok(()) => false,
        Err(error) => {
            if !failed {
                tracing::error!(%error, "cannot write the audit log");
            }
            true
        }
    }
}

struct Sink {
    log: AuditLog,
    clock: Clock,
    out: BufWriter<Box<dyn Write + Send>>,
    size: u64,
}

impl Sink {
    fn open(log: AuditLog, clock: Clock) -> io::Result<Self> {
        let (out, size) = open(&log.path)?;
        Ok(Self { log, clock, out, size })
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        let most = match self.log.max_megabytes {
            0 => USUAL_MEGABYTES,
            some => some,
        };
        let len = text.len() as u64 + 1;
        if self.size > 0 && self.size + len > most * MEGABYTE && self.log.path != Path::new("-") {
            self.turn_over()?;
        }
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(b"\n")?;
        self.size += len;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Puts the file aside under the time of day and begins a new one.
    fn turn_over(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let now = self.clock.now();
        let (start, end) = self.names();
        let name = format!("{start}{}{end}", now.strftime("%Y-%m-%dT%H-%M-%S%.3f"));
        fs::rename(&self.log.path, self.log.path.with_file_name(name))?;
        (self.out, self.size) = open(&self.log.path)?;
        self.forget(now)
    }

    /// What the names of files put aside begin and end with.
    fn names(&self) -> (String, String) {
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let end = part(self.log.path.extension());
        let end = if end.is_empty() { end } else { format!(".{end}") };
        (format!("{}-", part(self.log.path.file_stem())), end)
    }

    /// Removes what is older or more than is to be kept.
    fn forget(&self, now: Timestamp) -> io::Result<()> {
        let (start, end) = self.names();
        let folder = self.log.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut aside = Vec::new();
        for file in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            let stamp = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(&end));
            let Some((date, time)) = stamp.and_then(|stamp| stamp.split_once('T')) else { continue };
            let Ok(at) = format!("{date}T{}Z", time.replace('-', ":")).parse::<Timestamp>() else { continue };
            aside.push((at, file.path()));
        }
        aside.sort();
        aside.reverse();
        let oldest = match self.log.max_days {
            0 => Timestamp::MIN,
            days => {
                let kept = SignedDuration::from_hours(24 * i64::try_from(days).unwrap_or(i64::MAX / 24));
                now.saturating_sub(kept).unwrap_or(Timestamp::MIN)
            }
        };
        let kept = if self.log.max_backups == 0 { usize::MAX } else { self.log.max_backups };
        for (_, path) in
            aside.iter().enumerate().filter(|(i, (at, _))| *i >= kept || *at < oldest).map(|(_, one)| one)
        {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<(BufWriter<Box<dyn Write + Send>>, u64)> {
    if path == Path::new("-") {
        return Ok((BufWriter::new(Box::new(io::stdout())), 0));
    }
    // Who did what is nobody's business but the administrator's.
    let file: File = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    Ok((BufWriter::new(Box::new(file)), size))
}
