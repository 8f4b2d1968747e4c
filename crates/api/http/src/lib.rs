//! The API on the wire: sockets, TLS, who are you, may you, routing, encoding.

mod chunks;
pub mod discovery;
pub mod etag;
pub mod openapi;
pub mod partial;
pub mod table;
