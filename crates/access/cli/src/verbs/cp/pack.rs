//! A file or folder of this machine as a tar archive, made while it is sent.

use std::io::{self, Write};
use std::path::PathBuf;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::error::CliError;

const PIECE: usize = 64 * 1024;

/// The archive's bytes, and how packing went. Everything in it stands under `name`.
pub(super) fn pack(
    from: PathBuf,
    name: String,
) -> (mpsc::Receiver<Bytes>, oneshot::Receiver<Result<(), CliError>>) {
    let (say, archive) = mpsc::channel(4);
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        let mut out = io::BufWriter::with_capacity(PIECE, Sender(say));
        let packed = write(&from, &name, &mut out);
        let packed =
            packed.map_err(|source| CliError::Io { what: format!("read {}", from.display()), source });
        // Nobody listens any more if the copy was given up.
        let _unheard = tell.send(packed);
    });
    (archive, told)
}

fn write(from: &PathBuf, name: &str, out: &mut impl Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(out);
    // Links are copied as links: following them could copy what was not meant, for ever.
    archive.follow_symlinks(false);
    if from.is_dir() {
        archive.append_dir_all(name, from)?;
    } else {
        archive.append_path_with_name(from, name)?;
    }
    archive.into_inner()?.flush()
}

struct Sender(mpsc::Sender<Bytes>);

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
