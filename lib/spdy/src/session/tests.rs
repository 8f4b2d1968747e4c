use std::time::Duration;

use bytes::Bytes;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Flow, Session, SessionError, Stream};
use crate::headers::Headers;
use crate::reset;

const PATIENCE: Duration = Duration::from_secs(20);

/// Both ends of one connection, and the streams that the first opens to the second.
fn pair(flow: Flow) -> (Session, Session, mpsc::Receiver<Stream>) {
    let (here, there) = tokio::io::duplex(4096);
    let (client, drive_client) = Session::client(here, flow);
    let (server, drive_server) = Session::server(there, flow);
    let (opened, streams) = mpsc::channel(8);
    tokio::spawn(drive_client.run(None));
    tokio::spawn(drive_server.run(Some(opened)));
    (client, server, streams)
}

async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    match timeout(PATIENCE, future).await {
        Ok(done) => done,
        Err(_) => panic!("still not: {what}"),
    }
}

async fn all(stream: &mut super::Reader) -> Result<Vec<u8>, SessionError> {
    let mut seen = Vec::new();
    while let Some(data) = stream.read().await? {
        seen.extend_from_slice(&data);
    }
    Ok(seen)
}

fn named(name: &str) -> Headers {
    [("streamType", name)].into_iter().collect()
}

#[tokio::test]
async fn streams_carry_both_ways_and_close_by_halves() {
    for flow in [Flow::Windowed, Flow::Unwindowed] {
        let (client, _server, mut streams) = pair(flow);
        let sent: Bytes = (0..300_000_u32).flat_map(u32::to_be_bytes).collect::<Vec<u8>>().into();
        let echo = tokio::spawn(async move {
            let stream = streams.recv().await.unwrap();
            assert_eq!(stream.headers.get("streamtype"), Some("echo"));
            let (mut reader, writer) = stream.split();
            writer.accept(Headers::default()).await.unwrap();
            while let Some(data) = reader.read().await.unwrap() {
                writer.write(data).await.unwrap();
            }
            writer.write(Bytes::from_static(b"end")).await.unwrap();
            writer.finish().await.unwrap();
        });
        let mut stream = client.open(named("echo")).await.unwrap();
        in_time("the stream is taken", stream.accepted()).await.unwrap();
        let (mut reader, writer) = stream.split();
        let send = sent.clone();
        tokio::spawn(async move {
            writer.write(send).await.unwrap();
            writer.finish().await.unwrap();
        });
        let back = in_time("everything comes back", all(&mut reader)).await.unwrap();
        assert!(back == [&sent[..], b"end"].concat(), "{flow:?}: {} bytes of {}", back.len(), sent.len());
        in_time("the other side is done", echo).await.unwrap();
    }
}

#[tokio::test]
async fn a_stream_that_nobody_reads_holds_up_no_other() {
    let (client, _server, mut streams) = pair(Flow::Windowed);
    let idle = client.open(named("idle")).await.unwrap();
    let busy = client.open(named("busy")).await.unwrap();
    let _unread = streams.recv().await.unwrap();
    let mut read = streams.recv().await.unwrap();
    let flood = tokio::spawn(async move { idle.writer.write(vec![0; 1 << 20].into()).await });
    tokio::spawn(async move {
        busy.writer.write(Bytes::from_static(b"through")).await.unwrap();
        busy.writer.finish().await.unwrap();
    });
    assert_eq!(in_time("the other stream goes on", all(&mut read.reader)).await.unwrap(), b"through");
    assert!(!flood.is_finished(), "the window holds it");
}

#[tokio::test]
async fn pings_resets_and_refusals_are_told() {
    let (client, server, mut streams) = pair(Flow::Unwindowed);
    in_time("the ping is answered", client.ping()).await.unwrap();
    in_time("the ping is answered", server.ping()).await.unwrap();

    let mut stream = client.open(named("bad")).await.unwrap();
    let seen = streams.recv().await.unwrap();
    seen.writer.reset(reset::CANCEL).await.unwrap();
    let told = in_time("the reset is heard", stream.accepted()).await;
    assert!(matches!(told, Err(SessionError::Reset(reset::CANCEL))), "{told:?}");

    // The client takes none.
    let mut back = server.open(named("back")).await.unwrap();
    let told = in_time("the refusal is heard", back.accepted()).await;
    assert!(matches!(told, Err(SessionError::Reset(reset::REFUSED_STREAM))), "{told:?}");

    server.go_away().await.unwrap();
    in_time("everything before is heard", client.ping()).await.unwrap();
    assert!(matches!(client.open(named("late")).await, Err(SessionError::GoneAway)));
}

#[tokio::test]
async fn an_end_that_comes_too_early_is_none() {
    let (here, there) = tokio::io::duplex(4096);
    let (client, driver) = Session::client(here, Flow::Unwindowed);
    let driven = tokio::spawn(driver.run(None));
    let mut stream = client.open(named("cut")).await.unwrap();
    drop::<DuplexStream>(there);
    assert!(matches!(in_time("the end is seen", stream.reader.read()).await, Err(SessionError::Ended)));
    let _ended = in_time("the connection ends", driven).await.unwrap();
    assert!(matches!(client.open(named("late")).await, Err(SessionError::Ended)));
}
