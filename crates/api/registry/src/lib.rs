//! What a request means: merge, default, admit, validate, store; list and watch with selectors. Knows every kind and no HTTP.
//! Walk: step 3. Before it `api/http`, after it `api/store`.

pub mod merge;
pub mod request;
mod strategies;
pub mod strategy;

pub use request::{At, DeleteOptions, FieldValidation, ListQuery, Patch, Propagation, User, VersionMatch, WatchQuery, WriteOptions};
pub use strategies::strategy;
pub use strategy::Strategy;
