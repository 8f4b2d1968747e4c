use bytes::{BufMut, BytesMut};
use http::HeaderMap;
use proptest::prelude::*;

use super::{Decoder, Handshake, Kind, Message, encode};

/// A frame as clients send it.
fn masked(fin: bool, opcode: u8, content: &[u8]) -> Vec<u8> {
    let mask = [7, 11, 13, 17];
    let mut frame = vec![u8::from(fin) << 7 | opcode];
    match content.len() {
        short @ 0..=125 => frame.push(0x80 | short as u8),
        middle @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend((middle as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn all(bytes: &[u8]) -> Result<Vec<Message>, String> {
    let (mut decoder, mut input, mut seen) = (Decoder::default(), BytesMut::from(bytes), Vec::new());
    while let Some(message) = decoder.decode(&mut input).map_err(|error| error.to_string())? {
        seen.push(message);
    }
    Ok(seen)
}

#[test]
fn the_handshake_is_answered_as_the_standard_says() {
    let mut headers = HeaderMap::new();
    headers.insert("upgrade", "websocket".parse().unwrap());
    headers.insert("connection", "keep-alive, Upgrade".parse().unwrap());
    headers.insert("sec-websocket-version", "13".parse().unwrap());
    headers.insert("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==".parse().unwrap());
    headers.append("sec-websocket-protocol", "v5.channel.k8s.io, v4.channel.k8s.io".parse().unwrap());
    let asked = Handshake::of(&headers).unwrap().unwrap();
    assert_eq!(asked.protocols, ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
    let answer = asked.accept(Some("v5.channel.k8s.io"));
    assert_eq!(answer.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(answer.headers()["sec-websocket-protocol"], "v5.channel.k8s.io");
    headers.remove("sec-websocket-version");
    assert_eq!(Handshake::of(&headers).unwrap_err().text, "missing or bad WebSocket version");
    headers.insert("upgrade", "SPDY/3.1".parse().unwrap());
    assert!(Handshake::of(&headers).unwrap().is_none());
}

#[test]
fn messages_are_what_was_sent_and_the_rest_is_refused() {
    let message = |kind, content: &'static [u8]| Message { kind, content: content.into() };
    for (case, bytes, seen) in [
        ("one", masked(true, 2, b"hello"), Ok(vec![message(Kind::Binary, b"hello")])),
        ("nothing in it", masked(true, 1, b""), Ok(vec![message(Kind::Text, b"")])),
        (
            "in pieces, with a ping between",
            [masked(false, 2, b"he"), masked(true, 9, b"?"), masked(false, 0, b"ll"), masked(true, 0, b"o")]
                .concat(),
            Ok(vec![message(Kind::Ping, b"?"), message(Kind::Binary, b"hello")]),
        ),
        ("half a frame", masked(true, 2, b"hello")[..7].to_vec(), Ok(vec![])),
        ("no mask", vec![0x82, 0], Err("a frame that is not masked".to_owned())),
        ("an extension", vec![0xc2, 0x80], Err("a frame that uses what was not agreed on".to_owned())),
        ("goes on with nothing", masked(true, 0, b"x"), Err("a frame that goes on with nothing".to_owned())),
        ("unknown", masked(true, 3, b"x"), Err("a frame that is of no known kind".to_owned())),
        (
            "two begun",
            [masked(false, 2, b"a"), masked(true, 2, b"b")].concat(),
            Err("a frame that begins before the last one has ended".to_owned()),
        ),
        ("a long ping", masked(true, 9, &[0; 126]), Err("a frame that is too long to be a sign".to_owned())),
        (
            "longer than anything",
            [&[0x82, 0xff][..], &u64::MAX.to_be_bytes()].concat(),
            Err("a frame that is too long".to_owned()),
        ),
    ] {
        assert_eq!(all(&bytes), seen, "{case}");
    }
}

#[test]
fn ours_say_how_long_they_are() {
    for (length, head) in [
        (0, &[0x82, 0][..]),
        (125, &[0x82, 125]),
        (126, &[0x82, 126, 0, 126]),
        (65_536, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let frame = encode(Kind::Binary, &[&vec![1; length]]);
        assert_eq!((&frame[..head.len()], frame.len()), (head, head.len() + length));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_arrive_however_they_are_cut(
        sent in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..70_000), 1..4),
        cuts in prop::collection::vec(1_usize..9000, 1..9),
    ) {
        let mut bytes = BytesMut::new();
        sent.iter().for_each(|content| bytes.put_slice(&masked(true, 2, content)));
        let (mut decoder, mut input, mut seen) = (Decoder::default(), BytesMut::new(), Vec::new());
        let mut cuts = cuts.iter().cycle();
        while !bytes.is_empty() {
            input.put_slice(&bytes.split_to((*cuts.next().unwrap()).min(bytes.len())));
            while let Some(message) = decoder.decode(&mut input).unwrap() {
                seen.push(message.content.to_vec());
            }
        }
        prop_assert_eq!(seen, sent);
    }

    #[test]
    fn noise_never_breaks_it(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let _either = all(&noise);
    }
}
