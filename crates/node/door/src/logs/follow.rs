//! Reads a log from where it is wanted, over the files that were put aside, and on while the container writes.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
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
            if !wanted.follow {
                return Ok(());
            }
            if let Some(next) = successor(&self.path, &last).await? {
                // What the runtime was just writing still goes to the old one.
                clock.sleep(SOON).await;
                if let End::Enough = copying.take_all(&mut last).await? {
                    return Ok(());
                }
                copying.input.clear();
                last = next;
                continue;
            }
            if !goes_on {
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

/// The file that was begun after the one that is read: where reading is slower than putting aside, the first of several.
async fn successor(path: &Path, read: &File) -> io::Result<Option<File>> {
    let (path, here) = (path.to_owned(), Identity::of(&read.metadata().await?));
    let found = tokio::task::spawn_blocking(move || after(&path, here)).await??;
    Ok(found.map(File::from_std))
}

fn after(path: &Path, here: Identity) -> io::Result<Option<std::fs::File>> {
    // Just put aside, or removed with its pod.
    let Some(newest) = there(path)? else { return Ok(None) };
    if Identity::of(&newest.metadata()?) == here {
        return Ok(None);
    }
    // It has another name by now. If it has none, all that are left came after it.
    let aside = all(&segments::aside(path)?)?;
    let known = aside.iter().position(|(identity, _)| *identity == here);
    if let Some((_, next)) = aside.into_iter().nth(known.map_or(0, |at| at + 1)) {
        return Ok(Some(next));
    }
    // A new file is there before it is written to. Until then lines go to the old one.
    Ok(Some(newest).filter(|newest| newest.metadata().is_ok_and(|metadata| metadata.len() > 0)))
}

/// A file, whatever it is called at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

impl Identity {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self(metadata.dev(), metadata.ino())
    }
}

fn there(path: &Path) -> io::Result<Option<std::fs::File>> {
    match std::fs::File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Those that have not been removed meanwhile.
fn all(paths: &[PathBuf]) -> io::Result<Vec<(Identity, std::fs::File)>> {
    let mut files = Vec::new();
    for path in paths {
        if let Some(file) = there(path)? {
            files.push((Identity::of(&file.metadata()?), file));
        }
    }
    Ok(files)
}

fn open(path: &Path, lines: Option<u64>) -> io::Result<Vec<std::fs::File>> {
    // The one that is written first: whatever is put aside meanwhile is then among the others.
    let newest = there(path)?;
    let mut files = all(&segments::aside(path)?)?;
    match newest {
        Some(newest) => {
            let here = Identity::of(&newest.metadata()?);
            let until = files.iter().position(|(identity, _)| *identity == here).unwrap_or(files.len());
            files.truncate(until);
            files.push((here, newest));
        }
        None if files.is_empty() => return Err(io::ErrorKind::NotFound.into()),
        None => {}
    }
    let mut files: Vec<_> = files.into_iter().map(|(_, file)| file).collect();
    let Some(mut left) = lines else { return Ok(files) };
    let mut first = files.len();
    while let Some(at) = first.checked_sub(1)
        && let Some(file) = files.get_mut(at)
    {
        let start = tail::start_of_last(file, left)?;
        io::Seek::seek(file, SeekFrom::Start(start.at))?;
        first = at;
        left = left.saturating_sub(start.lines);
        if left == 0 {
            break;
        }
    }
    Ok(files.split_off(first))
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
