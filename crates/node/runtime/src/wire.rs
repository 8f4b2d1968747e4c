//! The messages of the Container Runtime Interface, v1, as far as we use them: names and numbers are the interface's. Fields
//! that we neither write nor read are left out; a runtime that sends them is understood all the same.

mod container;
mod image;
mod sandbox;
mod stats;
mod status;
mod streaming;

pub use container::*;
pub use image::*;
pub use sandbox::*;
pub use stats::*;
pub use status::*;
pub use streaming::*;

/// A number that may be absent, which is not the same as zero.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Int64Value {
    #[prost(int64, tag = "1")]
    pub value: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct UInt64Value {
    #[prost(uint64, tag = "1")]
    pub value: u64,
}

/// The answer to a call that has nothing to say.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Done {}
