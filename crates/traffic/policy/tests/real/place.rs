//! A network namespace of its own, and calls from it. Nothing here knows policies.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use kedge_netlink::Namespace;
use rustix::thread::{UnshareFlags, unshare_unsafe};

pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// For what must not happen, and does not happen any later either.
pub(crate) const REFUSED: Duration = Duration::from_millis(400);
/// After this a packet that may be lost is sent again.
const AGAIN: Duration = Duration::from_millis(200);

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

    pub(crate) fn call(&self, to: &str) -> io::Result<TcpStream> {
        self.inside(|| TcpStream::connect_timeout(&to.parse().unwrap(), REFUSED))
    }

    /// Answers at an address by both protocols for as long as the test runs.
    pub(crate) fn serve(&self, at: SocketAddr) {
        let tcp = self.listen(&at.to_string());
        let udp = self.inside(|| UdpSocket::bind(at)).unwrap();
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                drop(stream.map(|mut stream| stream.write_all(b"!")));
            }
        });
        std::thread::spawn(move || {
            while let Ok((_, from)) = udp.recv_from(&mut [0; 8]) {
                drop(udp.send_to(b"!", from));
            }
        });
    }

    pub(crate) fn hears_tcp(&self, to: SocketAddr, patience: Duration) -> bool {
        self.inside(|| {
            let Ok(mut stream) = TcpStream::connect_timeout(&to, patience) else { return false };
            stream.set_read_timeout(Some(patience)).unwrap();
            stream.read_exact(&mut [0]).is_ok()
        })
    }

    pub(crate) fn hears_udp(&self, to: SocketAddr, patience: Duration) -> bool {
        self.inside(|| {
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any).unwrap();
            socket.set_read_timeout(Some(AGAIN)).unwrap();
            if socket.connect(to).is_err() {
                return false;
            }
            let begin = Instant::now();
            loop {
                let heard = socket.send(b"?").and_then(|_| socket.recv(&mut [0]));
                match heard {
                    // Lost: many ask at once before anybody knows the way.
                    Err(error) if error.kind() == ErrorKind::WouldBlock && begin.elapsed() < patience => {}
                    heard => return heard.is_ok(),
                }
            }
        })
    }
}

pub(crate) fn ip(line: &str) {
    let done = Command::new("ip").args(line.split(' ')).output().expect("tests of the network need iproute2");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Each test has a thread of its own, as namespaces belong to threads.
pub(crate) fn on_a_thread(test: impl FnOnce() + Send + 'static) {
    if let Err(panic) = std::thread::spawn(test).join() {
        std::panic::resume_unwind(panic);
    }
}
