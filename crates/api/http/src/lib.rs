//! The API on the wire: sockets, TLS, who are you, may you, routing, encoding. The only place that serves the API.
//! Walk: step 2. Before it a client, after it `api/registry`. Knows no rules of any kind of object.

mod access;
mod aggregate;
mod answer;
mod api;
mod audit;
mod body;
mod call;
mod certificates;
mod chunks;
mod connect;
mod content;
mod credential;
pub mod discovery;
mod documents;
mod escalate;
pub mod etag;
mod fairness;
mod follower;
mod gzip;
mod health;
mod impersonate;
mod issuer;
mod joining;
mod limit;
mod media;
mod metrics;
mod nodes;
pub mod openapi;
pub mod partial;
mod path;
mod protobuf;
mod proxy;
mod query;
mod rbac;
mod reviews;
mod router;
mod serve;
pub mod table;
mod token;
mod turn;
mod upkeep;
mod usage;
mod verbs;
mod who;

pub use aggregate::FrontProxy;
pub use api::{Options, Patience, StartError, Version};
pub use audit::{Audit, AuditError, AuditLog};
pub use body::{Body, Broken};
pub use connect::NodeClient;
pub use router::{Router, router};
pub use serve::{ServeError, Tls, serve};
pub use who::Peer;

#[cfg(test)]
mod tests;
