//! What a request means: merge, default, admit, validate, store; list and watch with selectors. Knows every kind and no HTTP.
//! Walk: step 3. Before it `api/http`, after it `api/store`.

mod admission;
mod authorizer;
mod body;
mod bootstrap;
pub mod catalog;
mod convert;
mod create;
mod custom;
mod delete;
mod doors;
mod encode;
mod events;
pub mod expressions;
mod failure;
pub mod gate;
mod key;
mod list;
pub mod measured;
pub mod merge;
mod metadata;
mod namespaces;
mod object;
mod parsed;
mod patch;
mod peers;
mod quota;
mod registry;
pub mod request;
mod selection;
mod served;
mod services;
pub mod strategies;
pub mod strategy;
mod subresource;
#[cfg(test)]
mod testing;
mod unread;
mod update;
mod watch;

pub use authorizer::{Attributes, Authorizer, Decision};
pub use catalog::Catalog;
pub use delete::Deleted;
pub use doors::Doors;
pub use list::{Items, List};
pub use registry::{Found, Options, Registry, Written};
pub use request::{
    At, DeleteOptions, FieldValidation, Given, Judge, ListQuery, Patch, Propagation, User, VersionMatch,
    WatchQuery, WriteOptions,
};
pub use served::Served;
pub use strategy::Strategy;
pub use watch::{WatchEvent, WatchKind, Watching};
