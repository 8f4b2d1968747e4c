//! Tells the service manager that started us how far we are. Where nobody asked, nothing is told.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// From now on what depends on us may start.
pub(crate) fn ready() {
    tell("READY=1");
}

pub(crate) fn stopping() {
    tell("STOPPING=1");
}

/// We need so much more time to end, beyond what the manager gives everybody.
pub(crate) fn ending_takes(time: Duration) {
    tell(&extension(time));
}

fn extension(time: Duration) -> String {
    format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={}", time.as_micros())
}

fn tell(state: &str) {
    let Some(place) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&place, state) {
        tracing::warn!(%error, "cannot tell the service manager: {state}");
    }
}

fn send(place: &OsStr, state: &str) -> io::Result<()> {
    let address = match place.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(place)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_at_a_path_or_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("kedge-notify-{}", std::process::id());
        let named = SocketAddr::from_abstract_name(&name).unwrap();
        for (place, manager) in [
            (path.clone().into_os_string(), UnixDatagram::bind(&path).unwrap()),
            (format!("@{name}").into(), UnixDatagram::bind_addr(&named).unwrap()),
        ] {
            send(&place, "READY=1").unwrap();
            let mut told = [0; 64];
            let length = manager.recv(&mut told).unwrap();
            assert_eq!(&told[..length], b"READY=1");
        }
    }

    #[test]
    fn more_time_is_asked_for_as_the_manager_counts() {
        assert_eq!(extension(Duration::from_secs(150)), "STOPPING=1\nEXTEND_TIMEOUT_USEC=150000000");
    }
}
