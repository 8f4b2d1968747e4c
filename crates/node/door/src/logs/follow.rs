//! Reads a log from where it is wanted, over the files that were put aside, and on while the container writes.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use kedge_clock::Clock;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, SeekFrom};
use tokio::sync::mpsc;

use super::line::Printer;
use super::notice::Notice;
use super::{ASK, Wanted, segments, tail};

const READ: usize = 128 * 1024;
/// No runtime writes longer lines; what has no line end for so long is no log.
const LONGEST: usize = 1024 * 1024;
/// Where nothing can be noticed, is looked this often.
const LOOK: Duration = Duration::from_millis(100);
/// After its log was closed, a container is asked soon and often whether it has ended.
const SOON: Duration = Duration::from_millis(20);
const OFTEN: u32 = 25;

/// Whoever writes the log.
pub(super) trait Writing {
    fn goes_on(&self) -> impl Future<Output = bool> + Send;
}

/// The files that are still to be read; the last one is being written.
pub(super) struct Reading {
    path: PathBuf,
    files: Vec<File>,
}

/// Why reading ended.
enum End {
    /// Of what is there.
    Reached,
    /// Nobody wants more.
    Enough,
}

impl Reading {
    pub(super) async fn begin(path: PathBuf, wanted: &Wanted) -> io::Result<Self> {
        let (log, lines) = (path.clone(), wanted.tail);
        // Looking for the end of large files takes time that other requests need.
        let files = tokio::task::spawn_blocking(move || open(&log, lines)).await??;
        Ok(Self { path, files: files.into_iter().map(File::from_std).collect() })
    }

    pub(super) async fn copy(
        self,
        wanted: Wanted,
        writing: &impl Writing,
        clock: &Clock,
        out: mpsc::Sender<bytes::Bytes>,
    ) -> io::Result<()> {
        let mut copying = Copying { printer: Printer::new(&wanted), input: BytesMut::new(), out };
        // Begins before the first look, so that nothing falls between the two.
        let folder = self.path.parent().filter(|_| wanted.follow);
        let notice = folder.and_then(|folder| Notice::of(folder).ok());
        let mut files = self.files;
        let Some(mut last) = files.pop() else { return Ok(()) };
        for mut file in files {
            if let End::Enough = copying.take_all(&mut file).await? {
                return Ok(());
            }
            copying.input.clear();
        }
        let (mut goes_on, mut soon) = (true, 0);
        loop {
            if let End::Enough = copying.take_all(&mut last).await? {
                return Ok(());
            }
            if !wanted.follow || !goes_on {
                return Ok(());
            }
            let pause = match (&notice, soon) {
                (None, _) => LOOK,
                (_, 0) => ASK,
                _ => SOON,
            };
            let mut asks = soon > 0;
            tokio::select! {
                () = copying.out.closed() => return Ok(()),
                seen = noticed(notice.as_ref()) => {
                    if seen? {
                        soon = OFTEN;
                    }
                }
                () = clock.sleep(pause) => {
                    asks = true;
                    soon = soon.saturating_sub(1);
                }
            }
            if asks {
                goes_on = writing.goes_on().await;
            }
            if let Some(next) = successor(&self.path, &last).await? {
                // What the runtime was just writing still goes to the old one.
                clock.sleep(SOON).await;
                if let End::Enough = copying.take_all(&mut last).await? {
                    return Ok(());
                }
                copying.input.clear();
                last = next;
            }
        }
    }
}

/// Whether somebody who wrote has stopped.
async fn noticed(notice: Option<&Notice>) -> io::Result<bool> {
    match notice {
        Some(notice) => Ok(notice.next().await?.closed),
        None => std::future::pending().await,
    }
}

/// The file that has taken the place of the one that is read.
async fn successor(path: &std::path::Path, read: &File) -> io::Result<Option<File>> {
    let there = match tokio::fs::metadata(path).await {
        Ok(there) => there,
        // Just put aside, or removed with its pod.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let here = read.metadata().await?;
    if (there.ino(), there.dev()) == (here.ino(), here.dev()) {
        return Ok(None);
    }
    File::open(path).await.map(Some)
}

fn open(path: &std::path::Path, lines: Option<u64>) -> io::Result<Vec<std::fs::File>> {
    let mut paths = segments::aside(path)?;
    paths.push(path.to_owned());
    let Some(mut left) = lines else {
        return paths.iter().map(std::fs::File::open).collect();
    };
    let mut files = Vec::new();
    for path in paths.iter().rev() {
        let mut file = std::fs::File::open(path)?;
        let start = tail::start_of_last(&file, left)?;
        io::Seek::seek(&mut file, SeekFrom::Start(start.at))?;
        files.insert(0, file);
        left = left.saturating_sub(start.lines);
        if left == 0 {
            break;
        }
    }
    Ok(files)
}

struct Copying {
    printer: Printer,
    /// Read, but not yet a whole line.
    input: BytesMut,
    out: mpsc::Sender<bytes::Bytes>,
}

impl Copying {
    /// Copies what a file has from where it was read to.
    async fn take_all(&mut self, file: &mut File) -> io::Result<End> {
        // Somebody may have emptied it instead of putting it aside.
        let at = file.stream_position().await?;
        if file.metadata().await?.len() < at {
            file.seek(SeekFrom::Start(0)).await?;
            self.input.clear();
        }
        loop {
            self.input.reserve(READ);
            if file.read_buf(&mut self.input).await? == 0 {
                return Ok(End::Reached);
            }
            let mut printed = BytesMut::new();
            while !self.printer.is_done()
                && let Some(end) = self.input.iter().position(|byte| *byte == b'\n')
            {
                self.printer.print(&self.input[..end], &mut printed);
                self.input.advance(end + 1);
            }
            if !printed.is_empty() && self.out.send(printed.freeze()).await.is_err() {
                return Ok(End::Enough);
            }
            if self.printer.is_done() {
                return Ok(End::Enough);
            }
            if self.input.len() > LONGEST {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"));
            }
        }
    }
}
