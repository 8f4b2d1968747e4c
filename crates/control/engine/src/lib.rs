//! The one control loop: what changed wakes a controller, the controller plans, the engine carries the plan out and waits
//! until it can see what it did. Knows no controller's business and no way to the API but the client.
//! Walk: step 6. Before it the watches of `api/store`, after it the same way in as anybody's: `api/http`.

mod action;
mod carry;
mod controller;
mod engine;
mod events;
mod lease;
mod metrics;
mod queue;
mod turn;

pub use action::{Action, Resource, Target};
pub use carry::{Carrier, Done, Refusal, TurnError};
pub use controller::{Controller, Plan, of_root};
pub use engine::Engine;
pub use events::{Note, Recorder, Severity};
pub use kedge_client::{Key, NotReady, Seen, Wait, World};
pub use lease::Leadership;
pub use metrics::Metrics;
pub use queue::Queue;
pub use turn::{Hand, Next, Outcome, Wake, Worker};
