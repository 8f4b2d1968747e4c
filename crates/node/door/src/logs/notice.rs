//! Notices that files of a folder are written, closed, made or renamed.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) struct Notice(AsyncFd<OwnedFd>);

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Somebody who wrote has closed a file.
    pub(super) closed: bool,
}

impl Notice {
    #[allow(unsafe_code, reason = "tokio cannot know that a descriptor stays the one that it was")]
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let what = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::CREATE | WatchFlags::MOVED_TO;
        inotify::add_watch(&fd, folder, what)?;
        // SAFETY: an `OwnedFd` is open and the same for as long as it lives, and only we have it.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        Ok(Self(fd))
    }

    /// Returns once something has happened since the last call.
    pub(super) async fn next(&self) -> io::Result<Seen> {
        loop {
            let mut ready = self.0.readable().await?;
            let seen = ready.try_io(|fd| drain(fd.get_ref()));
            if let Ok(seen) = seen {
                return seen;
            }
        }
    }
}

fn drain(fd: &OwnedFd) -> io::Result<Seen> {
    let mut buffer = [const { MaybeUninit::uninit() }; 4096];
    let mut reader = inotify::Reader::new(fd, &mut buffer);
    let mut seen: Option<Seen> = None;
    loop {
        match reader.next() {
            Ok(event) => {
                seen.get_or_insert_default().closed |= event.events().contains(ReadFlags::CLOSE_WRITE);
            }
            Err(Errno::AGAIN) => return seen.ok_or_else(|| io::ErrorKind::WouldBlock.into()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
