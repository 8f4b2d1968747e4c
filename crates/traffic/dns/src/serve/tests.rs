use tokio::net::UdpSocket;

use super::*;
use crate::testing::{Cluster, Other, Says, packet, shown, small};
use crate::wire::{Name, Record, kind};

async fn serving(cluster: &Cluster) -> SocketAddr {
    let door =
        Door::open(cluster.dns.clone(), "127.0.0.1:0".parse().unwrap(), cluster.clock.clone()).await.unwrap();
    let at = door.address().unwrap();
    tokio::spawn(door.serve());
    at
}

async fn client(at: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(at).await.unwrap();
    socket
}

async fn by_datagram(socket: &UdpSocket, packet: &[u8]) -> Vec<u8> {
    socket.send(packet).await.unwrap();
    let mut buffer = [0; 4096];
    let waiting = tokio::time::timeout(Duration::from_secs(10), socket.recv(&mut buffer));
    let length = waiting.await.expect("an answer within ten seconds").unwrap();
    buffer[..length].to_vec()
}

async fn by_connection(stream: &mut TcpStream, packet: &[u8]) -> Vec<u8> {
    stream.write_u16(packet.len() as u16).await.unwrap();
    stream.write_all(packet).await.unwrap();
    message(stream).await.unwrap()
}

#[tokio::test]
async fn questions_by_datagram_and_by_connection() {
    let other = Other::start().await;
    other.has("example.org", "192.0.2.1", 60);
    let owner = Name::parse("many.org").unwrap();
    let answers = (0..200).map(|last| Record::address(&owner, 60, [192, 0, 2, last].into())).collect();
    other.tell("many.org", kind::A, Says::MoreThan(Reply { answers, ..Reply::default() }));
    let cluster = Cluster::asking(other.at);
    let at = serving(&cluster).await;
    let (socket, mut stream) = (client(at).await, TcpStream::connect(at).await.unwrap());
    for (name, answer) in [
        ("web.default.svc.cluster.local", "0 A 10.96.0.7"),
        ("none.default.svc.cluster.local", "3 | SOA"),
        ("example.org", "0 A 192.0.2.1"),
    ] {
        let packet = packet(3, name, kind::A, None);
        assert_eq!(shown(&by_datagram(&socket, &packet).await), answer, "{name} by datagram");
        assert_eq!(shown(&by_connection(&mut stream, &packet).await), answer, "{name} by connection");
    }
    for (size, largest) in [(None, 512), (Some(900), 900), (Some(65_000), 1232)] {
        let answer = by_datagram(&socket, &packet(4, "many.org", kind::A, size)).await;
        assert!(
            answer.len() <= largest && shown(&answer).starts_with("0 TC A"),
            "{size:?}: {}",
            answer.len()
        );
    }
    let whole = by_connection(&mut stream, &packet(4, "many.org", kind::A, None)).await;
    assert_eq!(shown(&whole).matches(" A ").count(), 200);
}

#[tokio::test]
async fn what_is_no_question_gets_a_word_or_nothing() {
    let cluster = Cluster::new(&small());
    let at = serving(&cluster).await;
    let socket = client(at).await;
    let mut answer_itself = packet(1, "web.default.svc.cluster.local", kind::A, None);
    answer_itself[2] |= 0x80;
    for silent in [&answer_itself[..], &[], &[0; 5]] {
        socket.send(silent).await.unwrap();
    }
    let mut two = packet(5, "web.default.svc.cluster.local", kind::A, None);
    two[5] = 2;
    // The first that comes is the answer to the last: those before had none.
    assert_eq!(by_datagram(&socket, &two).await, [0, 5, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut later_version = packet(6, "web.default.svc.cluster.local", kind::A, Some(1232));
    let at_version = later_version.len() - 5;
    later_version[at_version] = 1;
    let answer = by_datagram(&socket, &later_version).await;
    assert_eq!(answer[answer.len() - 6], 1, "the upper part of 16, a version that we don't speak");
    let mut chaos = packet(7, "version.bind", kind::TXT, None);
    let last = chaos.len() - 1;
    chaos[last] = 3;
    assert_eq!(shown(&by_datagram(&socket, &chaos).await), "5");
}

#[tokio::test]
async fn who_is_silent_or_never_reads_is_let_go() {
    let cluster = Cluster::new(&small());
    let at = serving(&cluster).await;
    let mut silent = TcpStream::connect(at).await.unwrap();
    let mut halfway = TcpStream::connect(at).await.unwrap();
    halfway.write_u16(500).await.unwrap();
    let turning = tokio::spawn({
        let clock = cluster.clock.clone();
        async move {
            loop {
                tokio::time::sleep(Duration::from_millis(2)).await;
                clock.advance(Duration::from_millis(200));
            }
        }
    });
    for stream in [&mut silent, &mut halfway] {
        let mut buffer = [0; 1];
        let closed = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut buffer));
        assert_eq!(closed.await.expect("it is closed within ten seconds").unwrap_or(0), 0);
    }
    // Questions without end, and nobody takes the answers.
    let deaf = TcpStream::connect(at).await.unwrap();
    let asked = packet(1, "web.default.svc.cluster.local", kind::A, None);
    let framed = [&(asked.len() as u16).to_be_bytes()[..], &asked].concat().repeat(100);
    let flood = async {
        let mut deaf = deaf;
        while deaf.write_all(&framed).await.is_ok() {}
    };
    tokio::time::timeout(Duration::from_secs(20), flood).await.expect("it is let go within twenty seconds");
    turning.abort();
    let socket = client(at).await;
    assert_eq!(shown(&by_datagram(&socket, &asked).await), "0 A 10.96.0.7", "others are served");
}
