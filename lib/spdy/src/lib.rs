//! SPDY/3.1: many streams in both directions over one connection, as container runtimes and older clients of Kubernetes speak
//! it. Knows frames, headers and streams; what is said on them is the caller's, and so is the connection.

mod dictionary;
mod frame;
mod headers;
mod session;

pub use frame::{Decoder, Encoder, Frame, FrameError, Setting};
pub use headers::Headers;
pub use session::{Driver, Flow, Reader, Session, SessionError, Stream, Writer};

/// Why a stream was ended before its time, as it is sent.
pub mod reset {
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const INVALID_STREAM: u32 = 2;
    pub const REFUSED_STREAM: u32 = 3;
    pub const CANCEL: u32 = 5;
    pub const FLOW_CONTROL_ERROR: u32 = 7;
    pub const STREAM_ALREADY_CLOSED: u32 = 9;
}
