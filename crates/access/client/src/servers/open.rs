//! The connections that are open, so that those can be ended which were made from an address that this machine no longer has: nothing
//! that is said on them arrives, and the kernel would notice only after a while.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::net::{Shutdown, getsockname, shutdown};

/// A connection counts for as long as what is handed out for it is held.
#[derive(Default)]
pub(super) struct Open(Mutex<Vec<Weak<OwnedFd>>>);

impl Open {
    pub(super) fn add(&self, socket: &impl AsFd) -> io::Result<Arc<OwnedFd>> {
        let held = Arc::new(socket.as_fd().try_clone_to_owned()?);
        let mut all = self.0.lock();
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&held));
        Ok(held)
    }

    /// Whoever waits for an answer on such a connection hears at once that there will be none.
    pub(super) fn end_stranded(&self) {
        self.end(is_gone);
    }

    fn end(&self, is_stranded: impl Fn(SocketAddr) -> bool) {
        for socket in self.0.lock().iter().filter_map(Weak::upgrade) {
            let from = getsockname(&socket).ok().and_then(|from| SocketAddr::try_from(from).ok());
            if from.is_some_and(&is_stranded) {
                // One that is not connected any more has ended already.
                let _ended = shutdown(&socket, Shutdown::Both);
            }
        }
    }
}

fn is_gone(mut address: SocketAddr) -> bool {
    address.set_port(0);
    UdpSocket::bind(address).is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_who_is_stranded_is_cut_off() {
        assert!(!is_gone("127.0.0.1:6443".parse().unwrap()));
        assert!(is_gone("192.0.2.7:6443".parse().unwrap()), "an address for documents is nobody's");

        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut waiting = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let (_peer, _) = server.accept().unwrap();
        let open = Open::default();
        let held = open.add(&waiting).unwrap();
        waiting.set_nonblocking(true).unwrap();
        open.end_stranded();
        let heard = waiting.read(&mut [0]).unwrap_err();
        assert_eq!(heard.kind(), io::ErrorKind::WouldBlock, "this machine still has the address");
        open.end(|from| from == waiting.local_addr().unwrap());
        assert_eq!(waiting.read(&mut [0]).unwrap(), 0, "whoever waits hears the end");

        drop(held);
        let other = open.add(&waiting).unwrap();
        assert_eq!(open.0.lock().len(), 1, "what is over is forgotten");
        drop(other);
    }
}
