use std::time::{Duration, Instant};

use bytes::Bytes;
use kedge_spdy::{Flow, Headers, Session, Stream, reset};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Said;
use super::channels::{Dialect, SETTLING, Streams, carry};
use super::ports::ports;
use crate::call::Query;
use crate::websocket::{Kind, Message};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn streams_are_asked_for_as_of_a_kubelet() {
    let said = |stdin, stdout, stderr, tty| Ok(Said { stdin, stdout, stderr, tty });
    for (query, wanted) in [
        ("input=1&output=1&error=1", said(true, true, true, false)),
        ("output=1&tty=1&error=1", said(false, true, false, true)),
        ("output=true", said(false, true, false, false)),
        ("input=1&output=0", said(true, false, false, false)),
        ("tty=1&error=1", Err("you must specify at least 1 of stdin, stdout, stderr")),
        ("command=ls", Err("you must specify at least 1 of stdin, stdout, stderr")),
    ] {
        let found = Said::of(&Query::parse(query)).map_err(|refusal| refusal.text);
        assert_eq!(found, wanted.map_err(str::to_owned), "{query}");
    }
}

#[test]
fn the_first_protocol_that_we_speak_is_spoken() {
    for (offered, name) in [
        (&["v5.channel.k8s.io", "v4.channel.k8s.io"][..], Ok(Some("v5.channel.k8s.io"))),
        (&["v9.channel.k8s.io", "v4.base64.channel.k8s.io"], Ok(Some("v4.base64.channel.k8s.io"))),
        (&[], Ok(None)),
        (&["chat"], Err(403)),
    ] {
        let offered: Vec<String> = offered.iter().map(ToString::to_string).collect();
        let found = Dialect::of(&offered).map(|(name, _)| name).map_err(|refusal| refusal.status.as_u16());
        assert_eq!(found, name, "{offered:?}");
    }
}

fn dialect(name: &str) -> Dialect {
    Dialect::of(&[name.to_owned()]).unwrap().1
}

#[test]
fn a_message_names_its_channel() {
    for (name, content, read) in [
        ("v4.channel.k8s.io", &b"\0hi"[..], Some((0, &b"hi"[..]))),
        ("v4.channel.k8s.io", b"\x04", Some((4, b""))),
        ("v4.channel.k8s.io", b"", None),
        ("v4.base64.channel.k8s.io", b"0aGk=", Some((0, b"hi"))),
        ("v4.base64.channel.k8s.io", b"0not base64", None),
        ("v4.base64.channel.k8s.io", b"\0aGk=", None),
    ] {
        let message = Message { kind: Kind::Binary, content: content.into() };
        let found = dialect(name).read(message);
        assert_eq!(found.as_ref().map(|(channel, said)| (*channel, &said[..])), read, "{name} {content:?}");
    }
}

#[test]
fn how_it_ended_is_told_as_each_protocol_wants() {
    let failed = br#"{"status":"Failure","message":"exit code 3"}"#;
    for (name, told, wanted) in [
        ("v4.channel.k8s.io", &failed[..], Some(&failed[..])),
        ("channel.k8s.io", failed, Some(b"exit code 3")),
        ("channel.k8s.io", br#"{"status":"Success"}"#, None),
        ("channel.k8s.io", b"", None),
    ] {
        assert_eq!(dialect(name).status(told).as_deref(), wanted, "{name}");
    }
    let lost = dialect("v5.channel.k8s.io").status(b"").unwrap();
    assert!(String::from_utf8(lost).unwrap().contains(r#""status":"Failure""#));
}

#[test]
fn ports_are_numbers() {
    for (query, wanted) in [
        ("ports=80,443", Some(vec![80, 443])),
        ("port=80&port=81", Some(vec![80, 81])),
        ("", None),
        ("ports=0", None),
        ("ports=70000", None),
        ("ports=http", None),
    ] {
        assert_eq!(ports(&Query::parse(query)).ok(), wanted, "{query}");
    }
}

/// A WebSocket client that speaks channels.
struct Client(DuplexStream);

impl Client {
    async fn say(&mut self, channel: u8, content: &[u8]) {
        let length = content.len() + 1;
        let mut frame = vec![0x82];
        match length {
            0..=125 => frame.push(0x80 | length as u8),
            _ => {
                frame.push(0x80 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
        }
        // The mask of zeros changes nothing.
        frame.extend([0; 4]);
        frame.push(channel);
        frame.extend(content);
        self.0.write_all(&frame).await.unwrap();
    }

    async fn answer_ping(&mut self) {
        assert_eq!(self.hear().await, (9, Vec::new()), "whoever is there is asked first");
        // A pong with a mask of zeros.
        self.0.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).await.unwrap();
    }

    /// The next message: its kind and content.
    async fn hear(&mut self) -> (u8, Vec<u8>) {
        let kind = self.0.read_u8().await.unwrap() & 0x0f;
        let length = match self.0.read_u8().await.unwrap() {
            126 => u64::from(self.0.read_u16().await.unwrap()),
            127 => self.0.read_u64().await.unwrap(),
            short => u64::from(short),
        };
        let mut content = vec![0; length as usize];
        self.0.read_exact(&mut content).await.unwrap();
        (kind, content)
    }
}

/// The runtime's end of a command that was asked for.
struct Runtime(Vec<Stream>);

impl Runtime {
    fn take(&mut self, kind: &str) -> Stream {
        let place = self.0.iter().position(|stream| stream.headers.get("streamtype") == Some(kind)).unwrap();
        self.0.remove(place)
    }
}

async fn scene(
    said: Said,
    count: usize,
    name: &str,
    ping: Duration,
) -> (Client, Runtime, Session, JoinHandle<()>) {
    let (here, there) = tokio::io::duplex(4096);
    let (session, driver) = Session::client(here, Flow::Unwindowed);
    let (server, drive) = Session::server(there, Flow::Unwindowed);
    let (opened, mut streams) = mpsc::channel(8);
    tokio::spawn(driver.run(None));
    tokio::spawn(drive.run(Some(opened)));
    let taken = tokio::spawn(async move {
        let mut taken = Vec::new();
        for _ in 0..count {
            let stream = streams.recv().await.unwrap();
            stream.writer.accept(Headers::default()).await.unwrap();
            taken.push(stream);
        }
        taken
    });
    let streams = Streams::open(&session, said).await.unwrap();
    let (client, door) = tokio::io::duplex(4096);
    let dialect = dialect(name);
    let carried = tokio::spawn(async move {
        let _kept = session;
        carry(door, streams, dialect, ping).await;
    });
    (Client(client), Runtime(taken.await.unwrap()), server, carried)
}

/// As much as a pipe and all buffers between do not hold, so that a lost end would show.
const MUCH: usize = 300_000;

async fn a_command_is_talked_with() {
    let said = Said { stdin: true, stdout: true, stderr: true, tty: false };
    let (mut client, mut runtime, _server, _carried) = scene(said, 4, "v5.channel.k8s.io", PATIENCE).await;
    let (mut stdin, stdout, stderr, error) =
        (runtime.take("stdin"), runtime.take("stdout"), runtime.take("stderr"), runtime.take("error"));
    let running = tokio::spawn(async move {
        let mut typed = Vec::new();
        while let Some(data) = stdin.reader.read().await.unwrap() {
            typed.extend_from_slice(&data);
        }
        stderr.writer.write(Bytes::from_static(b"oops")).await.unwrap();
        stdout.writer.write(vec![b'x'; MUCH].into()).await.unwrap();
        error.writer.write(Bytes::from_static(br#"{"status":"Success"}"#)).await.unwrap();
        // As the runtime does it: everything is reset at the end.
        for stream in [stdin, stdout, stderr, error] {
            stream.writer.reset(reset::CANCEL).await.unwrap();
        }
        typed
    });
    client.answer_ping().await;
    client.say(0, b"typed ").await;
    client.say(0, b"words").await;
    client.say(255, &[0]).await;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = loop {
        let (kind, content) = client.hear().await;
        assert_eq!(kind, 2);
        match content[0] {
            1 => out.extend_from_slice(&content[1..]),
            2 => err.extend_from_slice(&content[1..]),
            3 => break content[1..].to_vec(),
            other => panic!("nobody speaks on {other}"),
        }
    };
    assert_eq!(status, br#"{"status":"Success"}"#);
    assert_eq!((out.len(), &err[..]), (MUCH, &b"oops"[..]));
    assert_eq!(client.hear().await, (8, 1000_u16.to_be_bytes().to_vec()));
    assert_eq!(running.await.unwrap(), b"typed words");
}

#[tokio::test]
async fn a_command_is_talked_with_to_its_last_byte() {
    tokio::time::timeout(PATIENCE, a_command_is_talked_with()).await.expect("the command has not ended");
}

async fn a_client_settles() {
    let said = Said { stdin: false, stdout: true, stderr: false, tty: false };
    for answers in [true, false] {
        let (mut client, mut runtime, _server, _carried) =
            scene(said, 2, "v5.channel.k8s.io", PATIENCE).await;
        runtime.take("stdout").writer.write(Bytes::from_static(b"at once")).await.unwrap();
        let began = Instant::now();
        match answers {
            true => client.answer_ping().await,
            // It is not waited for without end.
            false => assert_eq!(client.hear().await.0, 9),
        }
        let first = client.hear().await;
        assert!(began.elapsed() >= SETTLING, "{first:?} came at once");
        assert_eq!(first, (2, vec![1]));
        assert_eq!(client.hear().await, (2, b"\x01at once".to_vec()));
    }
}

#[tokio::test]
async fn a_client_hears_nothing_before_it_knows_its_channels() {
    tokio::time::timeout(PATIENCE, a_client_settles()).await.expect("the client hears nothing");
}

async fn a_terminal_is_resized() {
    let said = Said { stdin: true, stdout: true, stderr: false, tty: true };
    let (mut client, mut runtime, _server, _carried) = scene(said, 4, "v4.channel.k8s.io", PATIENCE).await;
    let mut resize = runtime.take("resize");
    client.say(4, br#"{"Width":80,"Height":24}"#).await;
    assert_eq!(resize.reader.read().await.unwrap().unwrap(), &br#"{"Width":80,"Height":24}"#[..]);
    // A client that leaves takes its streams with it.
    drop(client);
    assert!(runtime.take("stdin").reader.read().await.is_err());
}

#[tokio::test]
async fn a_terminal_is_resized_and_left() {
    tokio::time::timeout(PATIENCE, a_terminal_is_resized()).await.expect("the terminal hears nothing");
}

async fn a_client_that_is_silent_is_asked_for() {
    let said = Said { stdin: true, stdout: true, stderr: false, tty: false };
    let (mut client, _runtime, _server, carried) =
        scene(said, 3, "v5.channel.k8s.io", Duration::from_millis(5)).await;
    // Nobody reads the input, so at last the client is not listened to any more.
    let flood = async {
        loop {
            client.say(0, &[b'x'; 4000]).await;
        }
    };
    let _full = tokio::time::timeout(Duration::from_millis(200), flood).await;
    assert_eq!(client.hear().await.0, 9);
    while client.hear().await.0 != 9 {}
    drop(client);
    carried.await.unwrap();
}

#[tokio::test]
async fn a_client_that_left_without_a_word_is_missed() {
    let missed = tokio::time::timeout(PATIENCE, a_client_that_is_silent_is_asked_for());
    missed.await.expect("nobody misses the client");
}
