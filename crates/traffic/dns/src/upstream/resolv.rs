//! The node's own `resolv.conf`: whom it asks and what it appends. Followed as it changes, by the kernel's word.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::unix::AsyncFd;

use crate::wire::Name;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resolv {
    pub(crate) servers: Vec<IpAddr>,
    pub(crate) searches: Vec<Name>,
}

impl Resolv {
    pub(crate) fn parse(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    found.servers.extend(words.next().and_then(|at| at.parse::<IpAddr>().ok()))
                }
                // The last line counts.
                Some("search" | "domain") => {
                    found.searches = words.filter_map(Name::parse).filter(|name| !name.is_root()).collect();
                }
                _ => {}
            }
        }
        found
    }
}

/// Tells what the file says, now and whenever it says something else. A file that is away for a moment says what it said last.
pub(crate) async fn follow(file: PathBuf, tell: impl Fn(&Resolv)) {
    let mut known = None;
    loop {
        // Listening begins before reading, so that nothing falls between.
        let changes = Changes::of(&file);
        if let Ok(text) = std::fs::read_to_string(&file) {
            let found = Resolv::parse(&text);
            if known.as_ref() != Some(&found) {
                tell(&found);
                known = Some(found);
            }
        }
        match changes {
            Ok(changes) => changes.next().await,
            Err(error) => {
                tracing::warn!("cannot follow {}: {error}; what it says now is kept", file.display());
                return std::future::pending().await;
            }
        }
    }
}

/// Hears of changes to a file, the link that leads to it and the folders of both.
struct Changes(AsyncFd<OwnedFd>);

impl Changes {
    fn of(file: &Path) -> io::Result<Self> {
        let handle = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let target = std::fs::canonicalize(file).ok();
        let files = [Some(file), target.as_deref()].into_iter().flatten();
        let places: BTreeSet<&Path> = files.flat_map(|file| [Some(file), file.parent()]).flatten().collect();
        let kinds = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::ATTRIB;
        let mut heard = 0;
        for place in places {
            heard += usize::from(add_watch(&handle, place, kinds).is_ok());
        }
        if heard == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        #[expect(deprecated, reason = "an owned descriptor stays what it is for as long as it is held")]
        let heard = AsyncFd::new(handle)?;
        Ok(Self(heard))
    }

    async fn next(&self) {
        let mut events = [0; 4096];
        loop {
            let Ok(mut ready) = self.0.readable().await else { return std::future::pending().await };
            match ready.try_io(|handle| Ok(rustix::io::read(handle.get_ref(), &mut events)?)) {
                Ok(Ok(_)) => return,
                Ok(Err(_)) => return std::future::pending().await,
                Err(_not_yet) => {}
            }
        }
    }
}
