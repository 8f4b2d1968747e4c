use tokio::io::{AsyncReadExt, duplex};

use super::*;

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn carries_both_ways_until_the_server_ends() {
    let (mut client, near) = duplex(64);
    let (far, mut server) = duplex(64);
    let carried = tokio::spawn(carry(near, far, LONG));
    client.write_all(b"who is there").await.unwrap();
    let mut heard = [0; 12];
    server.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"who is there");
    server.write_all(b"nobody, and goodbye").await.unwrap();
    drop(server);
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "nobody, and goodbye");
    carried.await.unwrap();
}

#[tokio::test]
async fn a_client_that_ends_first_is_answered_and_not_for_ever() {
    for (case, speaks) in [("a server that answers", true), ("a server that says nothing", false)] {
        let (mut client, near) = duplex(64);
        let (far, mut server) = duplex(64);
        let carried = tokio::spawn(carry(near, far, Duration::from_millis(50)));
        client.write_all(b"the end").await.unwrap();
        client.shutdown().await.unwrap();
        let mut heard = String::new();
        server.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "the end", "{case}");
        if speaks {
            server.write_all(b"heard").await.unwrap();
            drop(server);
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, if speaks { "heard" } else { "" }, "{case}");
        carried.await.unwrap();
    }
}
