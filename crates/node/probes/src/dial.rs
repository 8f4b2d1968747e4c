//! Connections, and why there is none, in the words that people know from Kubernetes.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Outcome;

/// Whether somebody listens.
pub async fn tcp(host: &str, port: u16, limit: Duration) -> Outcome {
    match timeout(limit, dial(host, port)).await {
        Ok(Ok(_)) => Outcome::Success,
        Ok(Err(error)) => Outcome::Failure(error),
        Err(_) => Outcome::Failure(format!("dial tcp {}: i/o timeout", address(host, port))),
    }
}

/// A connection, or the reason in words.
pub(crate) async fn dial(host: &str, port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((host, port)).await;
    stream.map_err(|error| format!("dial tcp {}: {}", address(host, port), reason(&error)))
}

/// An address as it stands in a URL.
pub(crate) fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "connect: no route to host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "connect: network is unreachable".to_owned(),
        io::ErrorKind::ConnectionReset => "connect: connection reset by peer".to_owned(),
        io::ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => error.to_string(),
    }
}
