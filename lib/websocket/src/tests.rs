//! What comes over the wire, from either side, whole, in pieces and as noise.

use bytes::{BufMut, BytesMut};
use proptest::prelude::*;

use super::{Decoder, FrameError, Kind, Message, Side, accepted, encode};

/// A frame as one side sends it, written down without the code that is tried.
fn frame(from: Side, fin: bool, opcode: u8, content: &[u8]) -> Vec<u8> {
    let (masked, mask) = match from {
        Side::Client => (0x80, [7, 11, 13, 17]),
        Side::Server => (0, [0; 4]),
    };
    let mut frame = vec![u8::from(fin) << 7 | opcode];
    match content.len() {
        short @ 0..=125 => frame.push(masked | short as u8),
        middle @ 126..=0xffff => {
            frame.push(masked | 126);
            frame.extend((middle as u16).to_be_bytes());
        }
        long => {
            frame.push(masked | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    if from == Side::Client {
        frame.extend(mask);
    }
    frame.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn all(from: Side, bytes: &[u8]) -> Result<Vec<Message>, String> {
    let (mut decoder, mut input, mut seen) = (Decoder::new(from), BytesMut::from(bytes), Vec::new());
    while let Some(message) = decoder.decode(&mut input).map_err(|error| error.to_string())? {
        seen.push(message);
    }
    Ok(seen)
}

#[test]
fn messages_are_what_was_sent_and_the_rest_is_refused() {
    let message = |kind, content: &'static [u8]| Message { kind, content: content.into() };
    for from in [Side::Client, Side::Server] {
        let frame = |fin, opcode, content: &[u8]| frame(from, fin, opcode, content);
        let (bare, masked) = match from {
            Side::Client => (0, 0x80),
            Side::Server => (0x80, 0),
        };
        let foreign = match from {
            Side::Client => "a frame that is not masked",
            Side::Server => "a frame that is masked",
        };
        for (case, bytes, seen) in [
            ("one", frame(true, 2, b"hello"), Ok(vec![message(Kind::Binary, b"hello")])),
            ("nothing in it", frame(true, 1, b""), Ok(vec![message(Kind::Text, b"")])),
            (
                "in pieces, with signs between",
                [
                    frame(false, 2, b"he"),
                    frame(true, 9, b"?"),
                    frame(false, 0, b"ll"),
                    frame(true, 10, b"!"),
                    frame(true, 0, b"o"),
                ]
                .concat(),
                Ok(vec![
                    message(Kind::Ping, b"?"),
                    message(Kind::Pong, b"!"),
                    message(Kind::Binary, b"hello"),
                ]),
            ),
            (
                "left in the middle of a message",
                [frame(false, 1, b"he"), frame(true, 8, b"\x03\xe8")].concat(),
                Ok(vec![message(Kind::Close, b"\x03\xe8")]),
            ),
            ("half a frame", frame(true, 2, b"hello")[..6].to_vec(), Ok(vec![])),
            ("the other side's", vec![0x82, bare], Err(foreign.to_owned())),
            ("an extension", vec![0xc2, masked], Err("a frame that uses what was not agreed on".to_owned())),
            (
                "goes on with nothing",
                frame(true, 0, b"x"),
                Err("a frame that goes on with nothing".to_owned()),
            ),
            ("unknown", frame(true, 3, b"x"), Err("a frame that is of no known kind".to_owned())),
            (
                "two begun",
                [frame(false, 2, b"a"), frame(true, 2, b"b")].concat(),
                Err("a frame that begins before the last one has ended".to_owned()),
            ),
            (
                "a long ping",
                frame(true, 9, &[0; 126]),
                Err("a frame that is too long to be a sign, or a piece of one".to_owned()),
            ),
            (
                "a piece of a ping",
                frame(false, 9, b""),
                Err("a frame that is too long to be a sign, or a piece of one".to_owned()),
            ),
            (
                "longer than anything",
                [&[0x82, masked | 0x7f][..], &u64::MAX.to_be_bytes()].concat(),
                Err("a frame that is too long".to_owned()),
            ),
        ] {
            assert_eq!(all(from, &bytes), seen, "{from:?}: {case}");
        }
    }
}

#[test]
fn what_comes_in_pieces_is_no_longer_than_what_comes_at_once() {
    let piece = frame(Side::Server, false, 2, &vec![0; 20 << 20]);
    let rest = frame(Side::Server, true, 0, &vec![0; 20 << 20]);
    let heard = all(Side::Server, &[piece, rest].concat());
    assert_eq!(heard.map(|messages| messages.len()), Err("a frame that is too long".to_owned()));
}

#[test]
fn ours_say_how_long_they_are() {
    for (length, head) in [
        (0, &[0x82, 0][..]),
        (125, &[0x82, 125]),
        (126, &[0x82, 126, 0, 126]),
        (65_536, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let frame = encode(Kind::Binary, &[&vec![1; length]], None);
        assert_eq!((&frame[..head.len()], frame.len()), (head, head.len() + length));
    }
}

#[test]
fn what_clients_send_is_masked_and_what_servers_send_is_not() {
    let sent = encode(Kind::Binary, &[&[0], b"hi"], Some([1, 2, 3, 4]));
    assert_eq!(&sent[..], [0x82, 0x83, 1, 2, 3, 4, 1, b'h' ^ 2, b'i' ^ 3]);
    let message = Message { kind: Kind::Binary, content: b"\0hi"[..].into() };
    let bare = encode(Kind::Binary, &[&[0], b"hi"], None);
    for (from, frame, heard) in [
        (Side::Client, &sent, Ok(Some(message.clone()))),
        (Side::Server, &bare, Ok(Some(message))),
        (Side::Server, &sent, Err(FrameError::Masked)),
        (Side::Client, &bare, Err(FrameError::Bare)),
    ] {
        assert_eq!(Decoder::new(from).decode(&mut frame.clone()), heard);
    }
    // The standard's own example.
    assert_eq!(accepted("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_arrive_however_they_are_cut(
        sent in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..70_000), 1..4),
        cuts in prop::collection::vec(1_usize..9000, 1..9),
        from in prop::sample::select(vec![Side::Client, Side::Server]),
    ) {
        let mut bytes = BytesMut::new();
        sent.iter().for_each(|content| bytes.put_slice(&frame(from, true, 2, content)));
        let (mut decoder, mut input, mut seen) = (Decoder::new(from), BytesMut::new(), Vec::new());
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
        let _either = (all(Side::Client, &noise), all(Side::Server, &noise));
    }
}
