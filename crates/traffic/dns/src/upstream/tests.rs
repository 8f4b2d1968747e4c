use std::time::Duration;

use super::*;
use crate::testing::{Other, Says, missing};
use crate::wire::{Record, Reply, kind};

fn question(name: &str) -> Question {
    Question {
        name: Name::parse(name).unwrap(),
        kind: kind::A,
        class: 1,
        signatures: false,
        unchecked: false,
    }
}

fn upstream(servers: &[SocketAddr]) -> (Arc<Upstream>, Clock) {
    let clock = Clock::manual(jiff::Timestamp::from_second(1_700_000_000).unwrap());
    let upstream = Upstream::new(Vec::new(), vec!["10.96.0.10:53".parse().unwrap()], clock.clone());
    upstream.ask_these(servers.iter().copied());
    (Arc::new(upstream), clock)
}

/// The answer's code, while the clock goes on by itself.
async fn hasten(upstream: &Arc<Upstream>, clock: &Clock, name: &str) -> Result<Code, Failed> {
    let turning = async {
        loop {
            // Loopback is faster than this, so that what answers at all answers in time.
            tokio::time::sleep(Duration::from_millis(2)).await;
            clock.advance(Duration::from_millis(20));
        }
    };
    tokio::select! {
        found = upstream.resolve(question(name)) => found.map(|(answer, _)| answer.code()),
        () = turning => unreachable!(),
    }
}

async fn nobody() -> SocketAddr {
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.local_addr().unwrap()
}

#[tokio::test]
async fn answers_are_remembered_and_so_is_their_absence() {
    let other = Other::start().await;
    other.has("a.org", "192.0.2.1", 30);
    other.tell("b.org", kind::A, Says::Reply(missing(60)));
    let (upstream, clock) = upstream(&[other.at]);
    for (name, life, code) in [("a.org", 30, Code::Fine), ("b.org", 60, Code::NoSuchName)] {
        for (advance, asked) in [(0, 1), (life - 1, 0), (1, 1)] {
            clock.advance(Duration::from_secs(advance));
            let (answer, age) = upstream.resolve(question(name)).await.unwrap();
            assert_eq!(answer.code(), code, "{name}");
            assert_eq!(other.asked().len(), asked, "{name} {advance} s later");
            assert_eq!(u64::from(age), if asked == 1 { 0 } else { life - 1 }, "{name}");
        }
    }
}

#[tokio::test]
async fn what_does_not_fit_comes_by_connection() {
    let other = Other::start().await;
    let owner = Name::parse("many.org").unwrap();
    let answers = (0..200).map(|last| Record::address(&owner, 60, [192, 0, 2, last].into())).collect();
    other.tell("many.org", kind::A, Says::MoreThan(Reply { answers, ..Reply::default() }));
    let (upstream, _) = upstream(&[other.at]);
    let (answer, _) = upstream.resolve(question("many.org")).await.unwrap();
    assert_eq!(answer.skim().places.len(), 200);
    assert_eq!(other.asked(), ["many.org. 1", "many.org. 1 by connection"]);
}

#[tokio::test]
async fn another_is_asked_if_one_does_not_do() {
    let good = Other::start().await;
    good.has("a.org", "192.0.2.1", 30);
    let silent = Other::start().await;
    silent.tell("a.org", kind::A, Says::Nothing);
    let failing = Other::start().await;
    failing.tell("a.org", kind::A, Says::Reply(Reply::of(Code::Failed)));
    for (case, bad) in [("silent", silent.at), ("failing", failing.at), ("not there", nobody().await)] {
        let (upstream, clock) = upstream(&[bad, good.at]);
        assert_eq!(hasten(&upstream, &clock, "a.org").await, Ok(Code::Fine), "{case}");
        // Whoever answered is asked first from then on.
        silent.asked();
        good.has("b.org", "192.0.2.1", 30);
        assert_eq!(hasten(&upstream, &clock, "b.org").await, Ok(Code::Fine), "{case}");
        assert_eq!(silent.asked(), [""; 0], "{case}");
    }
}

#[tokio::test]
async fn nobody_to_ask_is_known_at_once() {
    let (silent, failing) = (Other::start().await, Other::start().await);
    silent.tell("a.org", kind::A, Says::Nothing);
    failing.tell("a.org", kind::A, Says::Reply(Reply::of(Code::Refused)));
    let ourselves: SocketAddr = "10.96.0.10:53".parse().unwrap();
    // None of these needs a clock that goes on.
    for (case, servers, outcome) in [
        ("no server", vec![], Err(Failed)),
        ("ourselves", vec![ourselves], Err(Failed)),
        ("nobody there", vec![nobody().await, nobody().await], Err(Failed)),
        ("a refusal is passed on", vec![failing.at], Ok(Code::Refused)),
    ] {
        let (upstream, _) = upstream(&servers);
        let found = upstream.resolve(question("a.org")).await.map(|(answer, _)| answer.code());
        assert_eq!(found, outcome, "{case}");
    }
    let (upstream, clock) = upstream(&[silent.at]);
    assert_eq!(hasten(&upstream, &clock, "a.org").await, Err(Failed), "silence");
    assert_eq!(silent.asked().len(), PATIENCE.len(), "it was asked a second time");
}

#[tokio::test]
async fn the_same_question_is_asked_once_at_a_time() {
    let other = Other::start().await;
    other.has("a.org", "192.0.2.1", 0);
    let (upstream, _) = upstream(&[other.at]);
    let all = (0..50).map(|_| upstream.resolve(question("a.org")));
    let answers = futures::future::join_all(all).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(other.asked().len(), 1);
    upstream.resolve(question("a.org")).await.unwrap();
    assert_eq!(other.asked().len(), 1, "what is for no time is asked for again");
}

#[tokio::test]
async fn a_guess_does_not_count() {
    let liar = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (upstream, _) = upstream(&[liar.local_addr().unwrap()]);
    let asking = tokio::spawn(async move { upstream.resolve(question("a.org")).await });
    let mut buffer = [0; 512];
    let (length, from) = liar.recv_from(&mut buffer).await.unwrap();
    let query = crate::wire::Query::read(&buffer[..length]).unwrap();
    let right = crate::wire::encode(&query, &missing(1), 512);
    let mut other_number = right.clone();
    other_number[0] ^= 0xff;
    let mut other_name = right.clone();
    other_name[13] = b'x';
    for wrong in [&other_number, &other_name, &buffer[..length].to_vec(), &vec![1, 2, 3]] {
        liar.send_to(wrong, from).await.unwrap();
    }
    liar.send_to(&right, from).await.unwrap();
    let (answer, _) = asking.await.unwrap().unwrap();
    assert_eq!(answer.code(), Code::NoSuchName);
}

#[tokio::test]
async fn a_changed_file_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("resolv.conf");
    std::fs::write(&file, "# mine\nnameserver 192.0.2.1\nsearch corp.example . other\noptions ndots:2\n")
        .unwrap();
    let (tell, mut told) = tokio::sync::watch::channel(Resolv::default());
    let following = tokio::spawn(follow(file.clone(), move |resolv| drop(tell.send_replace(resolv.clone()))));
    let servers = |resolv: &Resolv| resolv.servers.iter().map(ToString::to_string).collect::<Vec<_>>();
    told.wait_for(|resolv| servers(resolv) == ["192.0.2.1"]).await.unwrap();
    assert_eq!(told.borrow().searches, ["corp.example", "other"].map(|name| Name::parse(name).unwrap()));
    let long = Duration::from_secs(10);
    // Written over, and put in its place.
    std::fs::write(&file, "nameserver 192.0.2.2\nnameserver fd00::1\nnameserver nonsense\n").unwrap();
    tokio::time::timeout(long, told.wait_for(|resolv| servers(resolv) == ["192.0.2.2", "fd00::1"]))
        .await
        .unwrap()
        .unwrap();
    std::fs::write(folder.path().join("new"), "nameserver 192.0.2.3\n").unwrap();
    std::fs::rename(folder.path().join("new"), &file).unwrap();
    tokio::time::timeout(long, told.wait_for(|resolv| servers(resolv) == ["192.0.2.3"]))
        .await
        .unwrap()
        .unwrap();
    std::fs::write(&file, "nameserver 192.0.2.4\n").unwrap();
    tokio::time::timeout(long, told.wait_for(|resolv| servers(resolv) == ["192.0.2.4"]))
        .await
        .unwrap()
        .unwrap();
    following.abort();
}
