//! How fast a link may send: what is more waits for a moment and is dropped then.

use crate::message::{CREATE, DUMP, Message, REPLACE, attributes, put};
use crate::socket::{NetlinkError, Socket};

const NEW: u16 = 36;
const GET: u16 = 38;

const FIXED: usize = 20;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const ROOT: u32 = u32::MAX;
const BUCKET: &str = "tbf";

const PARAMETERS: u16 = 1;
const RATE: u16 = 4;
const BURST: u16 = 6;
/// Sizes are those of whole frames, so the kernel needs no table of them.
const FRAMES: u8 = 1;

/// Bytes a second, bytes that may go at once after a pause, and bytes that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub rate: u64,
    pub burst: u32,
    pub waiting: u32,
}

/// A bucket that fills with time and that every packet takes from.
pub fn limit(link: u32, pace: Pace) -> Message {
    let mut fixed = [0; FIXED];
    fixed[4..8].copy_from_slice(&link.to_ne_bytes());
    fixed[12..16].copy_from_slice(&ROOT.to_ne_bytes());
    let what = format!("let link {link} send {} bytes a second", pace.rate);
    let mut message = Message::new(what, NEW, CREATE | REPLACE, &fixed);
    message.text(KIND, BUCKET).nested(OPTIONS, |options| {
        let mut parameters = [0; 36];
        parameters[1] = FRAMES;
        let rate = u32::try_from(pace.rate).unwrap_or(u32::MAX);
        parameters[8..12].copy_from_slice(&rate.to_ne_bytes());
        parameters[24..28].copy_from_slice(&pace.waiting.to_ne_bytes());
        put(options, PARAMETERS, &parameters);
        put(options, BURST, &pace.burst.to_ne_bytes());
        put(options, RATE, &pace.rate.to_ne_bytes());
    });
    message
}

impl Socket {
    /// Whether a link sends no faster than somebody wants.
    pub fn is_limited(&mut self, link: u32) -> Result<bool, NetlinkError> {
        let found = self.ask(Message::new("list how fast links send", GET, DUMP, &[0; FIXED]), |body| {
            let at = u32::from_ne_bytes(*body.get(4..)?.first_chunk()?);
            let kind = attributes(body.get(FIXED..)?).find(|attribute| attribute.kind == KIND)?;
            (at == link && kind.name() == BUCKET).then_some(())
        })?;
        Ok(!found.is_empty())
    }
}
