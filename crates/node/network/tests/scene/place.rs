//! Places of a scene: network namespaces in which a test's thread works. Knows nothing of pods.
#![allow(dead_code, reason = "each test uses the parts that it needs")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use kedge_netlink::Namespace;
use rustix::thread::{UnshareFlags, unshare_unsafe};

pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A namespace of its own, until it is dropped.
pub(crate) struct Place {
    file: File,
    namespace: Namespace,
}

impl Place {
    /// This thread is left in it.
    pub(crate) fn enter_new() -> Self {
        // SAFETY: only this thread's network changes; no memory or file is shared any less than before.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("tests of the network need root");
        Self { file: File::open("/proc/thread-self/ns/net").unwrap(), namespace: Namespace::here().unwrap() }
    }

    pub(crate) fn new() -> Self {
        let home = Namespace::here().unwrap();
        let place = Self::enter_new();
        rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&home), None).unwrap();
        place
    }

    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    pub(crate) fn inside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.namespace.inside(work).unwrap()
    }

    pub(crate) fn listen(&self, at: &str) -> TcpListener {
        self.inside(|| TcpListener::bind(at)).unwrap_or_else(|error| panic!("cannot listen on {at}: {error}"))
    }

    pub(crate) fn call(&self, to: &str) -> std::io::Result<TcpStream> {
        self.inside(|| TcpStream::connect_timeout(&to.parse().unwrap(), PATIENCE))
    }
}

pub(crate) fn ip(line: &str) {
    let done = Command::new("ip").args(line.split(' ')).output().expect("tests of the network need iproute2");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Who a server sees when it is called.
pub(crate) fn caller(server: &TcpListener, stream: &mut TcpStream) -> IpAddr {
    let (mut seen, from) = server.accept().unwrap();
    seen.write_all(b"hello").unwrap();
    let mut heard = [0; 5];
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"hello");
    from.ip()
}

/// Each test has a thread of its own, as namespaces belong to threads.
pub(crate) fn on_a_thread(test: impl FnOnce() + Send + 'static) {
    if let Err(panic) = std::thread::spawn(test).join() {
        std::panic::resume_unwind(panic);
    }
}
