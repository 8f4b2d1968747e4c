//! Anything as an endpoint's answer to the gateway: however its bytes come, it is read as the same, within the limits, and what is passed
//! on is framed in one way only. The first octet says whether it answers a HEAD, the second how the bytes come; a zero stands for many.
#![no_main]

use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use kedge_gateway::{End, Heard, hear};
use libfuzzer_sys::fuzz_target;

/// Past every limit with a few zeros, which have no place in an answer themselves.
const MANY: [u8; 5_000] = [b'x'; 5_000];
const MOST_HEADERS: usize = 128;
const MOST_TRAILERS: usize = 64;
const LONGEST_HEAD: usize = 64 * 1024;
const LONGEST_TRAILERS: usize = 16 * 1024;

fuzz_target!(|input: &[u8]| {
    let [method, seed, answer @ ..] = input else { return };
    let stretched = |byte: &u8| if *byte == 0 { MANY.to_vec() } else { vec![*byte] };
    let answer: Vec<u8> = answer.iter().flat_map(stretched).collect();
    let is_head_method = method % 2 == 1;
    let whole = hear([&answer[..]].into_iter(), is_head_method);
    assert_eq!(hear(pieces(&answer, *seed), is_head_method), whole);
    is_sound(&whole, answer.len(), is_head_method);
});

/// Cut where the seed has it: at every byte, or at places that nobody chose. What is long comes in fewer, as each is looked at from the
/// begin.
fn pieces(mut bytes: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let (mut chance, least) = (u32::from(seed), 1 + bytes.len() / 256);
    std::iter::from_fn(move || {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(u32::from(seed));
        let length = least + (chance >> 16) as usize % (1 << (seed % 14));
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        bytes = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

fn is_sound(heard: &Heard, length: usize, is_head_method: bool) {
    let Heard { status, headers, body, trailers, end, .. } = heard;
    let size =
        |all: &http::HeaderMap| all.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let (head_size, trailers_size): (usize, usize) = (size(headers), size(trailers));
    assert!(headers.len() <= MOST_HEADERS && head_size <= LONGEST_HEAD);
    assert!(trailers.len() <= MOST_TRAILERS && trailers_size <= LONGEST_TRAILERS);
    for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE] {
        assert!(!headers.contains_key(name));
    }
    let left = if let End::Whole { left } = end { *left } else { 0 };
    assert!(head_size + body.len() + trailers_size + left <= length);
    assert!(!is_head_method || body.is_empty());
    if let Some(announced) = headers.get(CONTENT_LENGTH) {
        let announced: u64 = announced.to_str().expect("digits").parse().expect("a number");
        let has_body =
            !is_head_method && status.is_some_and(|status| !matches!(status.as_u16(), 100..200 | 204 | 304));
        let is_whole = matches!(end, End::Whole { .. });
        assert!(body.len() as u64 <= announced && (!is_whole || !has_body || body.len() as u64 == announced));
    }
}
