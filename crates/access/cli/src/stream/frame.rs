//! Frames of WebSockets (RFC 6455), the client's side: what we send is masked, what we hear is not. Messages that come in pieces are put
//! together again.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// A server that sends more at once is none of ours.
const LONGEST: usize = 32 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) content: Bytes,
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a frame uses what was not agreed on")]
    Reserved,
    #[error("a frame is of no known kind")]
    Kind,
    #[error("a frame is too long")]
    Length,
    #[error("a frame is masked, or goes on with nothing")]
    Order,
}

/// One whole message.
pub(super) fn encode(kind: Kind, parts: &[&[u8]], mask: [u8; 4]) -> BytesMut {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = BytesMut::with_capacity(length + 14);
    out.put_u8(0x80 | kind as u8);
    match length {
        0..=125 => out.put_u8(0x80 | length as u8),
        126..=0xffff => {
            out.put_u8(0x80 | 126);
            out.put_u16(length as u16);
        }
        _ => {
            out.put_u8(0x80 | 127);
            out.put_u64(length as u64);
        }
    }
    out.put_slice(&mask);
    let all = parts.iter().flat_map(|part| part.iter());
    out.extend(all.zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

#[derive(Default)]
pub(super) struct Decoder {
    /// A message whose end is still to come.
    begun: Option<(Kind, BytesMut)>,
}

impl Decoder {
    /// Takes the next message off the front, if it is there as a whole.
    pub(super) fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Message>, FrameError> {
        loop {
            let Some((head, length)) = head(input)? else { return Ok(None) };
            if input.len() < head + length {
                return Ok(None);
            }
            let (fin, opcode) = (input[0] & 0x80 != 0, input[0] & 0x0f);
            input.advance(head);
            let content = input.split_to(length);
            let kind = match opcode {
                0 => None,
                1 => Some(Kind::Text),
                2 => Some(Kind::Binary),
                8 => Some(Kind::Close),
                9 => Some(Kind::Ping),
                10 => Some(Kind::Pong),
                _ => return Err(FrameError::Kind),
            };
            // Signs may come between the pieces of a message.
            if let Some(kind @ (Kind::Close | Kind::Ping | Kind::Pong)) = kind {
                return Ok(Some(Message { kind, content: content.freeze() }));
            }
            let (kind, whole) = match (kind, self.begun.take()) {
                (Some(kind), None) => (kind, content),
                (None, Some((kind, mut whole))) => {
                    whole.unsplit(content);
                    (kind, whole)
                }
                (Some(_), Some(_)) | (None, None) => return Err(FrameError::Order),
            };
            if whole.len() > LONGEST {
                return Err(FrameError::Length);
            }
            if fin {
                return Ok(Some(Message { kind, content: whole.freeze() }));
            }
            self.begun = Some((kind, whole));
        }
    }
}

/// How long the head is and how long what follows it, once both are known.
fn head(input: &[u8]) -> Result<Option<(usize, usize)>, FrameError> {
    let Some(([first, second], mut rest)) = input.split_first_chunk::<2>() else { return Ok(None) };
    if first & 0x70 != 0 {
        return Err(FrameError::Reserved);
    }
    if second & 0x80 != 0 {
        return Err(FrameError::Order);
    }
    let length = match second {
        126 => rest.try_get_u16().map(u64::from),
        127 => rest.try_get_u64(),
        short => Ok(u64::from(*short)),
    };
    let Ok(length) = length else { return Ok(None) };
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST);
    Ok(Some((input.len() - rest.len(), length.ok_or(FrameError::Length)?)))
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{Decoder, FrameError, Kind, Message, encode};

    /// What a server would send: the same without the mask.
    fn plain(kind: u8, fin: bool, content: &[u8]) -> Vec<u8> {
        let mut out = vec![if fin { 0x80 | kind } else { kind }];
        match content.len() {
            length @ 0..=125 => out.push(length as u8),
            length => {
                out.push(126);
                out.extend((length as u16).to_be_bytes());
            }
        }
        out.extend(content);
        out
    }

    #[test]
    fn messages_are_taken_off_the_front() {
        let long = vec![7_u8; 300];
        for (case, input, expected) in [
            ("whole", plain(2, true, b"abc"), Ok(Some((Kind::Binary, b"abc".to_vec())))),
            ("long", plain(2, true, &long), Ok(Some((Kind::Binary, long.clone())))),
            ("not yet all there", plain(2, true, b"abc")[..3].to_vec(), Ok(None)),
            (
                "in pieces, with a sign between",
                [plain(2, false, b"a"), plain(0, true, b"b")].concat(),
                Ok(Some((Kind::Binary, b"ab".to_vec()))),
            ),
            ("goes on with nothing", plain(0, true, b"b"), Err(FrameError::Order)),
            ("masked", encode(Kind::Binary, &[b"a"], [1, 2, 3, 4]).to_vec(), Err(FrameError::Order)),
            ("of no kind", plain(5, true, b""), Err(FrameError::Kind)),
        ] {
            let mut input = BytesMut::from(&input[..]);
            let got = Decoder::default().decode(&mut input);
            let expected =
                expected.map(|one| one.map(|(kind, content)| Message { kind, content: content.into() }));
            assert_eq!(got, expected, "{case}");
        }
    }

    #[test]
    fn what_we_send_is_masked() {
        let sent = encode(Kind::Binary, &[&[0], b"hi"], [1, 2, 3, 4]);
        assert_eq!(&sent[..], [0x82, 0x83, 1, 2, 3, 4, 1, b'h' ^ 2, b'i' ^ 3]);
    }
}
