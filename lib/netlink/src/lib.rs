//! Tells the kernel about links, addresses, routes and packet rules, many things in one message. Knows how they are written
//! down, not what they are for; starts no program and no thread, so that a short-lived process pays for nothing else.

pub mod address;
pub mod flow;
pub mod link;
mod message;
pub mod monitor;
mod namespace;
pub mod neighbour;
pub mod nft;
pub mod qdisc;
pub mod route;
mod socket;
mod tables;

pub use message::{Attribute, Message, attributes};
pub use namespace::Namespace;
pub use rustix::io::Errno;
pub use socket::{NetlinkError, Socket};
