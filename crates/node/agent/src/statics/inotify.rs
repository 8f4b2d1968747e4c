//! Hears from the kernel that something in a folder changed. What changed is not asked: whoever hears looks at the folder.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::unix::AsyncFd;

pub(super) struct Inotify(AsyncFd<OwnedFd>);

impl Inotify {
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let handle = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let changes = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::CREATE;
        add_watch(&handle, folder, changes)?;
        #[expect(deprecated, reason = "an owned descriptor stays what it is for as long as it is held")]
        let heard = AsyncFd::new(handle)?;
        Ok(Self(heard))
    }

    /// Waits for the next change.
    pub(super) async fn changed(&mut self) {
        let mut events = [0; 4096];
        loop {
            let Ok(mut ready) = self.0.readable().await else { return std::future::pending().await };
            match ready.try_io(|handle| Ok(rustix::io::read(handle.get_ref(), &mut events)?)) {
                Ok(Ok(_)) => return,
                // The kernel took the folder away from us; the next look finds what there is.
                Ok(Err(_)) => return std::future::pending().await,
                Err(_not_yet) => {}
            }
        }
    }
}
