//! Admission from outside the registry, as `gate::Gate`s: webhooks ask servers, policies ask expressions. Stores nothing.
//! Walk: step 3, between the registry's own plugins and its validation.

mod policies;
mod request;
mod webhooks;

pub use policies::{Policies, keep_checked};
pub use webhooks::Webhooks;

#[cfg(test)]
mod testing;
