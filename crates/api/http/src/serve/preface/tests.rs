use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[tokio::test]
async fn silence_ends_a_connection() {
    for said in [&b""[..], b"PRI"] {
        let (mut peer, stream) = tokio::io::duplex(64);
        let mut stream = Preface::new(stream, HTTP2, Duration::from_millis(20));
        peer.write_all(said).await.unwrap();
        let heard = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut Vec::new())).await;
        let ended = heard.expect("it was still waiting").unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut, "{said:?}");
    }
}

#[tokio::test]
async fn who_spoke_in_time_may_be_silent_later() {
    let (mut peer, stream) = tokio::io::duplex(64);
    let within = Duration::from_millis(20);
    let mut stream = Preface::new(stream, 3, within);
    peer.write_all(b"abcd").await.unwrap();
    let mut heard = [0; 4];
    stream.read_exact(&mut heard).await.unwrap();
    assert!(tokio::time::timeout(5 * within, stream.read_u8()).await.is_err(), "it waits on");
}
