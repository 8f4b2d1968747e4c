//! Takes questions off sockets and puts answers back. What can be said at once is said in the loop that reads; only what takes longer
//! gets a task, and of those there are only so many.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kedge_clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;

use crate::dns::Dns;
use crate::wire::{Code, Query, Reply, bare, encode};

/// Questions that wait for others at once.
const WAITING: usize = 2000;
const CONNECTIONS: usize = 200;
/// How long a connection may be silent, and how long it may take to read an answer.
const SILENCE: Duration = Duration::from_secs(10);
const READING: Duration = Duration::from_secs(5);
const LARGEST_MESSAGE: usize = u16::MAX as usize;
/// After so many in a row the others on this core have their turn.
const IN_A_ROW: usize = 64;
/// Requests are small; what is larger than any datagram that we would answer is cut, and then no question.
const LARGEST_QUERY: usize = 4096;

/// A place at which questions are answered, over UDP and TCP.
pub struct Door {
    udp: Arc<UdpSocket>,
    tcp: TcpListener,
    dns: Dns,
    clock: Clock,
}

impl Door {
    /// Port 0 is a free one, the same for both.
    pub async fn open(dns: Dns, at: SocketAddr, clock: Clock) -> io::Result<Self> {
        let tcp = TcpListener::bind(at).await?;
        let udp = UdpSocket::bind(tcp.local_addr()?).await?;
        Ok(Self { udp: Arc::new(udp), tcp, dns, clock })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Answers until the task is ended.
    pub async fn serve(self) {
        let connections = self.connections();
        let datagrams = datagrams(self.udp.clone(), self.dns.clone());
        tokio::join!(connections, datagrams);
    }

    async fn connections(&self) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match self.tcp.accept().await {
                Ok((stream, from)) => {
                    let (dns, clock) = (self.dns.clone(), self.clock.clone());
                    tokio::spawn(async move {
                        // How it ended concerns only whoever was at the other end.
                        let _ = converse(stream, from, &dns, &clock).await;
                        drop(place);
                    });
                }
                // No more files may be open, or the peer is gone: others may have more luck in a moment.
                Err(_) => self.clock.sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

async fn datagrams(socket: Arc<UdpSocket>, dns: Dns) {
    let waiting = Arc::new(Semaphore::new(WAITING));
    let mut buffer = vec![0; LARGEST_QUERY];
    loop {
        if socket.readable().await.is_err() {
            return;
        }
        for _ in 0..IN_A_ROW {
            match socket.try_recv_from(&mut buffer) {
                Ok((length, from)) => {
                    let Some(packet) = buffer.get(..length) else { continue };
                    if let Some(answer) = datagram(packet, from, &socket, &dns, &waiting) {
                        // A full socket loses a datagram, as any wire may.
                        let _ = socket.try_send_to(&answer, from);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Somebody did not wait for an answer: the next is another's.
                Err(_) => {}
            }
        }
        tokio::task::yield_now().await;
    }
}

/// What can be answered at once; the rest is on its way.
fn datagram(
    packet: &[u8],
    from: SocketAddr,
    socket: &Arc<UdpSocket>,
    dns: &Dns,
    waiting: &Arc<Semaphore>,
) -> Option<Vec<u8>> {
    let query = match Query::read(packet) {
        Ok(query) => query,
        Err(bad) => return bare(bad),
    };
    let room = query.room();
    if let Some(answer) = dns.quick(&query, from.ip(), room) {
        return Some(answer);
    }
    let Ok(place) = waiting.clone().try_acquire_owned() else {
        return Some(encode(&query, &Reply::of(Code::Failed), room));
    };
    let (socket, dns) = (socket.clone(), dns.clone());
    tokio::spawn(async move {
        let answer = dns.slow(&query, from.ip(), room).await;
        let _ = socket.send_to(&answer, from).await;
        drop(place);
    });
    None
}

/// One question after the other, until the other side has no more, or takes too long.
async fn converse(mut stream: TcpStream, from: SocketAddr, dns: &Dns, clock: &Clock) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let late = || io::Error::from(io::ErrorKind::TimedOut);
    loop {
        let packet = tokio::select! {
            packet = message(&mut stream) => packet?,
            () = clock.sleep(SILENCE) => return Err(late()),
        };
        let answer = match Query::read(&packet) {
            Ok(query) => Some(dns.slow(&query, from.ip(), LARGEST_MESSAGE).await),
            Err(bad) => bare(bad),
        };
        let Some(answer) = answer else { return Ok(()) };
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let framed = [&length.to_be_bytes(), &*answer].concat();
        tokio::select! {
            written = stream.write_all(&framed) => written?,
            () = clock.sleep(READING) => return Err(late()),
        }
    }
}

async fn message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut packet = vec![0; usize::from(length)];
    stream.read_exact(&mut packet).await?;
    Ok(packet)
}

#[cfg(test)]
mod tests;
