//! The door before real containers: a containerd below a folder of its own, and clients as Kubernetes' are. Needs root,
//! containerd, runc and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

mod client;
mod scene;

use std::time::Duration;

use bytes::Bytes;
use client::{Client, WebSocket};
use kedge_spdy::{Flow, Headers, Session, Stream};
use scene::Scene;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const PATIENCE: Duration = Duration::from_secs(60);

async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(done) => done,
        Err(_) => panic!("still not: {what}"),
    }
}

fn headers(pairs: &[(&str, &str)]) -> Headers {
    pairs.iter().copied().collect()
}

async fn all(stream: &mut Stream) -> Vec<u8> {
    let mut seen = Vec::new();
    // The runtime ends its streams by resetting them.
    while let Ok(Some(data)) = stream.reader.read().await {
        seen.extend_from_slice(&data);
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_read_and_followed_by_those_who_may() {
    // The runtime carries the two streams side by side: what is written at once may be in either order.
    // It reads what it is told before it listens for the answer, so that is given until somebody has heard it.
    let answer = "read x; (while :; do echo got $x; sleep 0.1; done) & read y; kill $!; wait; echo $y";
    let scene = Scene::new(&format!("echo out; sleep 1; echo err >&2; {answer}")).await;
    let admin = scene.client();
    in_time("the log is read, and only by those who may", who_may_read(&scene)).await;

    let logs = "/containerLogs/default/p/main";
    in_time("both are written", async {
        while !admin.get(logs).await.1.contains("err") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    for (query, text) in [
        ("", "out\nerr\n"),
        ("?tailLines=1", "err\n"),
        ("?stream=Stdout", "out\n"),
        ("?limitBytes=5", "out\ne"),
        ("?sinceTime=2999-01-01T00:00:00Z", ""),
    ] {
        assert_eq!(admin.get(&format!("{logs}{query}")).await, (200, text.to_owned()), "{query}");
    }
    let (_, stamped) = admin.get(&format!("{logs}?timestamps=true&tailLines=1")).await;
    let (time, rest) = stamped.split_once(' ').unwrap();
    assert!(rest == "err\n" && time.parse::<jiff::Timestamp>().is_ok(), "{stamped}");
    for (protocol, text) in [("binary.k8s.io", &b"out\nerr\n"[..]), ("base64.binary.k8s.io", b"b3V0CmVycgo=")]
    {
        let mut socket = WebSocket::open(&admin, logs, protocol).await.unwrap();
        let heard = in_time("the log is heard", socket.everything()).await;
        assert_eq!(heard, text, "{protocol}");
    }
    let none = r#"previous terminated container "main" in pod "p" not found"#;
    assert_eq!(admin.get(&format!("{logs}?previous=true")).await, (400, none.to_owned()));

    // Followed until the container ends, which it does when it is told something.
    let mut following = admin.open("GET", &format!("{logs}?follow=true"), "").await.unwrap();
    let mut seen = vec![0; 8];
    in_time("what was said is heard", following.read_exact(&mut seen)).await.unwrap();
    let path = "/attach/default/p/main?input=1&output=1&error=1";
    let mut attached = WebSocket::open(&admin, path, "v4.channel.k8s.io").await.unwrap();
    attached.say(0, b"words\n").await;
    // Each stream begins with nothing, to say that it is open.
    let answer = async {
        loop {
            match attached.hear().await {
                Some((_, text)) if text.is_empty() => {}
                heard => return heard,
            }
        }
    };
    let first = in_time("the process answers", answer).await;
    assert!(
        first.as_ref().is_some_and(|(channel, text)| *channel == 1 && text.starts_with(b"got words\n")),
        "{first:?}"
    );
    attached.say(0, b"enough\n").await;
    let heard = in_time("the process ends", attached.all()).await;
    let is_answer = |text: &str| {
        let answers = text.strip_suffix("enough\n");
        answers.is_some_and(|answers| answers.lines().all(|line| line == "got words"))
    };
    let heard_out = String::from_utf8_lossy(&heard.stdout);
    assert!(is_answer(&heard_out), "{heard_out}");
    assert_eq!(heard.status["status"], "Success");
    let mut rest = String::new();
    in_time("the log ends", following.read_to_string(&mut rest)).await.unwrap();
    assert!(is_answer(&rest) && rest.starts_with("got words\n"), "{rest}");
    scene.end().await;
}

async fn who_may_read(scene: &Scene) {
    let stranger = scene.stranger();
    for (client, path, status, text) in [
        (scene.nobody(), "/pods", 401, "Unauthorized"),
        (stranger, "/pods", 401, "Unauthorized"),
        (scene.with_token("wrong"), "/healthz", 401, "Unauthorized"),
        (scene.with_token("healthy"), "/healthz", 200, "ok"),
        (
            scene.with_token("healthy"),
            "/pods",
            403,
            "Forbidden (user=healthy, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
        ),
        (scene.client(), "/nothing", 404, "404 page not found\n"),
        (scene.client(), "/containerLogs/default/x/main", 404, "pod \"x\" does not exist"),
        (scene.client(), "/containerLogs/default/p/x", 404, "container \"x\" not found in pod \"p\""),
    ] {
        assert_eq!(client.get(path).await, (status, text.to_owned()), "{path}");
    }
    let (status, pods) = scene.client().get("/pods").await;
    let pods: Value = serde_json::from_str(&pods).unwrap();
    assert_eq!((status, &pods["items"][0]["metadata"]["name"]), (200, &json!("p")));
    let (_, files) = scene.client().get("/logs/").await;
    assert!(files.contains("<a href=\"containerd.log\">containerd.log</a>"), "{files}");
    let (_, running) = scene.client().get("/runningpods/").await;
    let running: Value = serde_json::from_str(&running).unwrap();
    assert_eq!(running["items"][0]["spec"]["containers"][0]["name"], "main");
}

fn exit_code(status: &Value) -> Option<&str> {
    let causes = status["details"]["causes"].as_array()?;
    causes.iter().find(|cause| cause["reason"] == "ExitCode")?["message"].as_str()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_talked_with_in_every_protocol() {
    let scene = Scene::new("while :; do sleep 1; done").await;
    let admin = scene.client();
    let exec = "/exec/default/p/main?output=1&error=1&command=sh&command=-c";
    let script = "echo+out;echo+err%3E%262;exit+3";
    for protocol in ["v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"] {
        let path = format!("{exec}&command={script}");
        let mut command = WebSocket::open(&admin, &path, protocol).await.unwrap();
        let heard = in_time("the command ends", command.all()).await;
        assert_eq!((&heard.stdout[..], &heard.stderr[..]), (&b"out\n"[..], &b"err\n"[..]), "{protocol}");
        assert_eq!(exit_code(&heard.status), Some("3"), "{protocol}: {}", heard.status);
    }

    // Everything arrives, and the end of the input too.
    let path = "/exec/default/p/main?input=1&output=1&command=busybox&command=wc&command=-c";
    let mut counting = WebSocket::open(&admin, path, "v5.channel.k8s.io").await.unwrap();
    for _ in 0..64 {
        counting.say(0, &[b'x'; 16_384]).await;
    }
    counting.say(255, &[0]).await;
    let heard = in_time("the input ends", counting.all()).await;
    assert_eq!(String::from_utf8_lossy(&heard.stdout).trim(), "1048576");
    assert_eq!(heard.status["status"], "Success");

    // And so does a lot of output.
    let path = format!("{exec}&command=busybox+head+-c+3000000+/dev/zero");
    let mut much = WebSocket::open(&admin, &path, "v5.channel.k8s.io").await.unwrap();
    assert_eq!(in_time("all of it comes", much.all()).await.stdout.len(), 3_000_000);

    let path = "/exec/default/p/main?input=1&output=1&tty=1&command=sh";
    let mut shell = WebSocket::open(&admin, path, "v5.channel.k8s.io").await.unwrap();
    shell.say(4, br#"{"Width":101,"Height":33}"#).await;
    // The runtime sets the size while the shell runs already.
    shell.say(0, b"until busybox stty size | busybox grep 33; do busybox sleep 0.1; done; exit 5\n").await;
    let heard = in_time("the shell ends", shell.all()).await;
    assert!(String::from_utf8_lossy(&heard.stdout).contains("33 101"), "{:?}", heard.stdout);
    assert_eq!(exit_code(&heard.status), Some("5"));

    in_time("SPDY is passed on", over_spdy(&admin, &format!("{exec}&command={script}"))).await;

    let path = "/exec/default/p/main?output=1&command=ls";
    assert_eq!(admin.get(path).await, (400, "Upgrade request required".to_owned()));
    let gone = WebSocket::open(&admin, &path.replace("main", "gone"), "v5.channel.k8s.io").await;
    assert_eq!(gone.err(), Some((500, "container not found (\"gone\")".to_owned())));
    let (status, said) = admin.post("/run/default/p/main?cmd=busybox+echo+ran").await;
    assert_eq!((status, &*said), (200, "ran\n"));
    scene.end().await;
}

async fn over_spdy(admin: &Client, path: &str) {
    let upgrade =
        "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n";
    let io = admin.open("POST", path, upgrade).await.unwrap();
    let (session, driver) = Session::client(io, Flow::Unwindowed);
    tokio::spawn(driver.run(None));
    let mut error = session.open(headers(&[("streamType", "error")])).await.unwrap();
    let mut stdout = session.open(headers(&[("streamType", "stdout")])).await.unwrap();
    let mut stderr = session.open(headers(&[("streamType", "stderr")])).await.unwrap();
    assert_eq!(all(&mut stdout).await, b"out\n");
    assert_eq!(all(&mut stderr).await, b"err\n");
    let status: Value = serde_json::from_slice(&all(&mut error).await).unwrap();
    assert_eq!(exit_code(&status), Some("3"), "{status}");
}

/// The pod shares the node's network, so whatever listens here is its.
async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _copied = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_are_reached_in_every_protocol() {
    let scene = Scene::new("while :; do sleep 1; done").await;
    let (admin, port) = (scene.client(), echo().await);
    let path = "/portForward/default/p";

    let upgrade =
        "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n";
    let io = admin.open("POST", path, upgrade).await.unwrap();
    in_time("SPDY reaches the port", forward(io, port)).await;

    let tunnel = WebSocket::open(&admin, path, "SPDY/3.1+portforward.k8s.io").await.unwrap();
    in_time("SPDY in a WebSocket reaches the port", forward(tunnel.into_tunnel(), port)).await;

    let path = format!("{path}?ports={port}");
    let mut channels = WebSocket::open(&admin, &path, "v4.channel.k8s.io").await.unwrap();
    channels.say(0, b"hello").await;
    let mut seen = Vec::new();
    while seen.len() < 2 + 2 + 5 {
        let (channel, content) = in_time("channels reach the port", channels.hear()).await.unwrap();
        let place = if channel == 0 { seen.len() } else { 0 };
        seen.splice(place..place, content);
    }
    let number = port.to_le_bytes();
    assert_eq!(seen, [&number[..], &number, b"hello"].concat());
    scene.end().await;
}

async fn forward(io: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + 'static, port: u16) {
    let (session, driver) = Session::client(io, Flow::Unwindowed);
    tokio::spawn(driver.run(None));
    for request in ["0", "1"] {
        let number = port.to_string();
        let about = |kind| headers(&[("streamType", kind), ("port", &number), ("requestID", request)]);
        let error = session.open(about("error")).await.unwrap();
        let data = session.open(about("data")).await.unwrap();
        let (mut wrong, quiet) = error.split();
        quiet.finish().await.unwrap();
        let (mut reader, writer) = data.split();
        let sent: Bytes = vec![7; 200_000].into();
        let sending = sent.clone();
        tokio::spawn(async move {
            writer.write(sending).await.unwrap();
            writer.finish().await.unwrap();
        });
        let mut back = 0;
        while let Ok(Some(data)) = reader.read().await {
            back += data.len();
        }
        assert_eq!(back, sent.len());
        assert_eq!(wrong.read().await.ok().flatten(), None);
    }
    let mut left =
        session.open(headers(&[("streamType", "error"), ("port", "1"), ("requestID", "2")])).await.unwrap();
    let data =
        session.open(headers(&[("streamType", "data"), ("port", "1"), ("requestID", "2")])).await.unwrap();
    let told = left.reader.read().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&told).contains("refused"), "{told:?}");
    drop(data);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_logs_are_put_aside_and_lose_nothing() {
    let scene = Scene::new("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; read x").await;
    let admin = scene.client();
    let short = scene.keep_short(64 * 1024, 100);
    let mut following = admin.open("GET", "/containerLogs/default/p/main?follow=true", "").await.unwrap();
    let wanted: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let mut seen = vec![0; wanted.len()];
    in_time("all lines are heard", following.read_exact(&mut seen)).await.unwrap();
    assert!(seen == wanted.as_bytes(), "something was lost on the way");
    let (status, text) = admin.get("/containerLogs/default/p/main").await;
    assert!(status == 200 && text == wanted, "{status}: {} of {} bytes", text.len(), wanted.len());
    let (_, last) = admin.get("/containerLogs/default/p/main?tailLines=2").await;
    assert_eq!(last, "line 19998\nline 19999\n");
    assert!(scene.log_files() > 1, "nothing was put aside");
    short.abort();
    drop(following.shutdown().await);
    scene.end().await;
}
