//! What a cluster does by itself: one folder for each controller, each a pure plan. Knows no client and no clock; the engine
//! has both. Walk: step 6, inside `control/engine`.

use kedge_engine::Engine;

mod deployment;
mod endpoints;
mod garbage;
mod replicas;

pub use deployment::Deployments;
pub use endpoints::{EndpointSliceMirrors, EndpointSlices, EndpointsOfServices};
pub use garbage::GarbageCollector;
pub use replicas::{ReplicaSets, ReplicationControllers};


/// Gives an engine every controller of this crate.
pub fn join(engine: Engine) -> Engine {
    let garbage = GarbageCollector::new(engine.client().clone(), engine.clock().clone());
    engine
        .with(Deployments)
        .with(ReplicaSets)
        .with(ReplicationControllers)
        .with(EndpointSlices)
        .with(EndpointsOfServices)
        .with(EndpointSliceMirrors)
        .with_worker(garbage)
}
