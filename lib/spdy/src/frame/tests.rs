use bytes::{BufMut, Bytes, BytesMut};
use proptest::prelude::*;

use super::{Decoder, Encoder, Frame, FrameError, Setting};
use crate::headers::Headers;

fn headers(pairs: &[(&str, &str)]) -> Headers {
    pairs.iter().copied().collect()
}

/// Puts pieces of data together again.
fn whole(frames: Vec<Frame>) -> Vec<Frame> {
    let mut out: Vec<Frame> = Vec::new();
    let mut open = false;
    for frame in frames {
        let Frame::Data { stream, fin, data } = frame else {
            open = false;
            out.push(frame);
            continue;
        };
        match out.last_mut() {
            Some(Frame::Data { stream: before, fin: last, data: start })
                if open && *before == stream && !*last =>
            {
                *start = [&start[..], &data[..]].concat().into();
                *last = fin;
            }
            _ => out.push(Frame::Data { stream, fin, data }),
        }
        open = true;
    }
    out
}

fn all(decoder: &mut Decoder, input: &mut BytesMut) -> Result<Vec<Frame>, FrameError> {
    let mut frames = Vec::new();
    while let Some(frame) = decoder.decode(input)? {
        frames.push(frame);
    }
    Ok(frames)
}

#[test]
fn frames_are_the_bytes_that_the_protocol_says() {
    for (frame, bytes) in [
        (Frame::Ping { id: 7 }, &b"\x80\x03\0\x06\0\0\0\x04\0\0\0\x07"[..]),
        (Frame::Reset { stream: 3, status: 5 }, b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x03\0\0\0\x05"),
        (Frame::GoAway { last: 9, status: 0 }, b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x09\0\0\0\0"),
        (Frame::WindowUpdate { stream: 1, by: 256 }, b"\x80\x03\0\x09\0\0\0\x08\0\0\0\x01\0\0\x01\0"),
        (
            Frame::Settings { clear: true, settings: vec![Setting { flags: 1, id: 7, value: 65536 }] },
            b"\x80\x03\0\x04\x01\0\0\x0c\0\0\0\x01\x01\0\0\x07\0\x01\0\0",
        ),
        (Frame::Data { stream: 5, fin: true, data: Bytes::from_static(b"hi") }, b"\0\0\0\x05\x01\0\0\x02hi"),
        (Frame::Data { stream: 5, fin: true, data: Bytes::new() }, b"\0\0\0\x05\x01\0\0\0"),
    ] {
        let mut out = BytesMut::new();
        Encoder::new().unwrap().encode(&frame, &mut out).unwrap();
        assert_eq!(&out[..], bytes, "{frame:?}");
        assert_eq!(all(&mut Decoder::default(), &mut out).unwrap(), [frame]);
    }
}

/// Packed by another zlib, at another level; the second block builds on the first.
#[test]
fn headers_of_others_are_understood() {
    let first = b"\x78\xf9\xe3\xc6\xa7\xc2\x02\xa6\x23\x46\x70\x3a\x2b\x29\x4a\x4d\xcc\x85\x16\x25\xac\xa9\xa0\x80\x06\x00\x00\x00\xff\xff";
    let second =
        b"\x02\x65\x1c\x4c\xa9\xe2\x12\x60\x76\x81\x94\xd8\x45\xa0\xd4\xcd\x64\x61\x00\x00\x00\x00\xff\xff";
    let mut decoder = Decoder::default();
    for (stream, packed, pairs) in [
        (1, &first[..], &[("streamtype", "error")][..]),
        (3, second, &[("streamtype", "stdin"), ("port", "80")]),
    ] {
        let mut input = BytesMut::new();
        input.put_slice(b"\x80\x03\0\x01\0");
        input.put_slice(&(10 + packed.len() as u32).to_be_bytes()[1..]);
        input.put_u32(stream);
        input.put_slice(&[0; 6]);
        input.put_slice(packed);
        let frame = Frame::SynStream {
            stream,
            associated: 0,
            priority: 0,
            fin: false,
            unidirectional: false,
            headers: headers(pairs),
        };
        assert_eq!(all(&mut decoder, &mut input).unwrap(), [frame]);
    }
}

/// A zlib stream that says that it needs a dictionary, and which; flushed to the byte.
#[test]
fn headers_are_packed_with_the_dictionary() {
    let frame = Frame::SynReply { stream: 1, fin: false, headers: headers(&[("streamtype", "error")]) };
    let mut out = BytesMut::new();
    Encoder::new().unwrap().encode(&frame, &mut out).unwrap();
    let packed = &out[12..];
    assert_eq!((packed[0], packed[1] & 0x20), (0x78, 0x20));
    assert_eq!(packed[2..6], [0xe3, 0xc6, 0xa7, 0xc2]);
    assert!(packed.ends_with(&[0, 0, 0xff, 0xff]));
    assert_eq!(all(&mut Decoder::default(), &mut out).unwrap(), [frame]);
}

#[test]
fn a_wrong_frame_is_an_error_and_an_unknown_one_is_nothing() {
    for (case, bytes, wrong) in [
        (
            "another version",
            &b"\x80\x02\0\x06\0\0\0\x04\0\0\0\x07"[..],
            "the peer speaks version 2 of SPDY, not 3",
        ),
        ("a short ping", b"\x80\x03\0\x06\0\0\0\x01\0", "a frame with wrong ping"),
        ("more settings than bytes", b"\x80\x03\0\x04\0\0\0\x04\0\0\x10\0", "a frame with wrong settings"),
        ("a long control frame", b"\x80\x03\0\x01\0\xff\xff\xff", "a frame that is too long"),
        (
            "headers of noise",
            b"\x80\x03\0\x02\0\0\0\x08\0\0\0\x01abcd",
            "headers that cannot be packed or unpacked",
        ),
        ("no headers at all", b"\x80\x03\0\x02\0\0\0\x04\0\0\0\x01", "a frame with wrong headers"),
    ] {
        let error = all(&mut Decoder::default(), &mut BytesMut::from(bytes)).unwrap_err();
        assert_eq!(error.to_string(), wrong, "{case}");
    }
    let mut unknown = BytesMut::from(&b"\x80\x03\0\xff\0\0\0\x02ab\x80\x03\0\x06\0\0\0\x04\0\0\0\x07"[..]);
    assert_eq!(all(&mut Decoder::default(), &mut unknown).unwrap(), [Frame::Ping { id: 7 }]);
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let id = 1_u32..0x7fff_ffff;
    let headers = prop::collection::vec(("[a-z-]{1,12}", "[ -~äß]{0,200}"), 0..6)
        .prop_map(|pairs| pairs.into_iter().collect::<Headers>());
    prop_oneof![
        (id.clone(), any::<bool>(), any::<bool>(), 0_u8..8, headers.clone()).prop_map(
            |(stream, fin, unidirectional, priority, headers)| Frame::SynStream {
                stream,
                associated: 0,
                priority,
                fin,
                unidirectional,
                headers
            }
        ),
        (id.clone(), any::<bool>(), headers.clone()).prop_map(|(stream, fin, headers)| Frame::SynReply {
            stream,
            fin,
            headers
        }),
        (id.clone(), any::<bool>(), headers).prop_map(|(stream, fin, headers)| Frame::Headers {
            stream,
            fin,
            headers
        }),
        (id.clone(), any::<u32>()).prop_map(|(stream, status)| Frame::Reset { stream, status }),
        any::<u32>().prop_map(|id| Frame::Ping { id }),
        // One that ends its stream, so that it never runs into the next when pieces are put together.
        (id, prop::collection::vec(any::<u8>(), 0..5000)).prop_map(|(stream, data)| Frame::Data {
            stream,
            fin: true,
            data: data.into()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_sent_arrives_however_it_is_cut(
        frames in prop::collection::vec(any_frame(), 0..12),
        cuts in prop::collection::vec(1_usize..3000, 1..20),
    ) {
        let (mut encoder, mut sent) = (Encoder::new().unwrap(), BytesMut::new());
        for frame in &frames {
            encoder.encode(frame, &mut sent).unwrap();
        }
        let (mut decoder, mut input, mut seen) = (Decoder::default(), BytesMut::new(), Vec::new());
        let mut cuts = cuts.iter().cycle();
        while !sent.is_empty() {
            let piece = sent.split_to((*cuts.next().unwrap()).min(sent.len()));
            input.put_slice(&piece);
            seen.extend(all(&mut decoder, &mut input).unwrap());
        }
        prop_assert_eq!(whole(seen), frames);
    }

    #[test]
    fn noise_never_breaks_it(noise in prop::collection::vec(any::<u8>(), 0..4000)) {
        let _either = all(&mut Decoder::default(), &mut BytesMut::from(&noise[..]));
    }
}
