//! What a cluster does by itself: one folder for each controller, each a pure plan. Knows no client and no clock; the engine
//! has both. Walk: step 6, inside `control/engine`.

mod claim;
mod conditions;
mod deployment;
mod endpoints;
mod garbage;
mod names;
mod pods;
mod replicas;

pub use deployment::Deployments;
pub use endpoints::{EndpointSliceMirrors, EndpointSlices, EndpointsOfServices};
pub use garbage::GarbageCollector;
pub use replicas::{ReplicaSets, ReplicationControllers};

#[cfg(test)]
mod testing;
