//! The node's door: HTTPS for logs, commands, ports and figures of the pods that are here, as a kubelet answers. Knows the
//! runtime and is told which pods there are; decides nothing about them. Walk: `api/http` knocks, `node/agent` opens it.

mod access;
mod answer;
mod call;
mod door;
mod figures;
mod files;
mod logs;
mod pods;
mod route;
mod serve;
mod streams;
mod websocket;

pub use access::{Judge, JudgeError, Reviews, User};
pub use door::{Door, Settings};
pub use figures::{Figures, Nothing};
pub use logs::{Rotation, keep_short};
pub use pods::Pods;
pub use serve::{Listening, Tls, TlsError};
