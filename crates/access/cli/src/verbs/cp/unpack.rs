//! A tar archive from a container, unpacked while it comes. Trusts nothing in it: whatever it says, files are made below the place that was
//! named and nowhere else.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::error::CliError;

/// What was left out, and why.
pub(super) type Unpacked = Result<Vec<String>, CliError>;

/// Takes the archive's bytes; tells what was left out, once all are there.
pub(super) fn unpack(prefix: String, to: PathBuf) -> (mpsc::Sender<Vec<u8>>, oneshot::Receiver<Unpacked>) {
    let (archive, heard) = mpsc::channel();
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        let unpacked = read(Receiver { heard, rest: io::Cursor::default() }, &prefix, &to);
        let unpacked =
            unpacked.map_err(|source| CliError::Io { what: format!("write {}", to.display()), source });
        // Nobody listens any more if the copy was given up.
        let _unheard = tell.send(unpacked);
    });
    (archive, told)
}

pub(super) fn read(from: impl Read, prefix: &str, to: &Path) -> io::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut archive = tar::Archive::new(from);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let inside = entry.path()?.into_owned();
        let Some(place) = below(&inside, prefix, to) else {
            warnings.push(format!(
                "warning: file {:?} is outside target destination, skipping",
                inside.display()
            ));
            continue;
        };
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            fs::create_dir_all(&place)?;
        } else if kind.is_symlink() || kind.is_hard_link() {
            let target = entry.link_name()?.unwrap_or_default().into_owned();
            warnings.push(format!(
                "warning: skipping symlink: {:?} -> {:?}",
                place.display(),
                target.display()
            ));
        } else if kind.is_file() {
            if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                fs::create_dir_all(folder)?;
            }
            let mut file = fs::File::create(&place)?;
            io::copy(&mut entry, &mut file)?;
        }
    }
    Ok(warnings)
}

/// Where an entry belongs; nowhere if it is not under what was asked for or leads out of it.
fn below(inside: &Path, prefix: &str, to: &Path) -> Option<PathBuf> {
    let clean = |path: &Path| -> Option<PathBuf> {
        let parts = path.components().filter(|part| !matches!(part, Component::RootDir | Component::CurDir));
        parts.map(|part| if let Component::Normal(name) = part { Some(name) } else { None }).collect()
    };
    // `../` before what was asked for is no way out; `tar` itself takes it off.
    let prefix: PathBuf =
        Path::new(prefix).components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let rest = clean(inside)?.strip_prefix(&prefix).ok()?.to_owned();
    if rest.as_os_str().is_empty() { Some(to.to_owned()) } else { Some(to.join(rest)) }
}

struct Receiver {
    heard: mpsc::Receiver<Vec<u8>>,
    rest: io::Cursor<Vec<u8>>,
}

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.rest.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            match self.heard.recv() {
                Ok(bytes) => self.rest = io::Cursor::new(bytes),
                Err(_) => return Ok(0),
            }
        }
    }
}
