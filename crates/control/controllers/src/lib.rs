//! What a cluster does by itself: one folder for each controller, each a pure plan. Knows no client and no clock; the engine
//! has both. Walk: step 6, inside `control/engine`.

use kedge_engine::Engine;

mod balancer;
mod daemonset;
mod deployment;
mod endpoints;
mod garbage;
mod namespace;
mod replicas;
mod revisions;
mod statefulset;

pub use balancer::Balancers;
pub use daemonset::DaemonSets;
pub use deployment::Deployments;
pub use endpoints::{EndpointSliceMirrors, EndpointSlices, EndpointsLeftOver, EndpointsOfServices};
pub use garbage::GarbageCollector;
pub use namespace::Namespaces;
pub use replicas::{ReplicaSets, ReplicationControllers};
pub use statefulset::StatefulSets;

/// Gives an engine every controller of this crate.
pub fn join(engine: Engine) -> Engine {
    let garbage = GarbageCollector::new(engine.client().clone(), engine.clock().clone());
    let namespaces = Namespaces::new(&engine);
    engine
        .with(Deployments)
        .with(ReplicaSets)
        .with(ReplicationControllers)
        .with(StatefulSets)
        .with(DaemonSets)
        .with(EndpointSlices)
        .with(EndpointsOfServices)
        .with(EndpointsLeftOver)
        .with(EndpointSliceMirrors)
        .with_worker(garbage)
        .with_worker(namespaces)
}
