//! Starts the controllers of a server. They use the API as any client does, only without a socket.

use kedge_client::World;
use kedge_clock::Clock;
use kedge_controllers::{
    Deployments, EndpointSliceMirrors, EndpointSlices, EndpointsOfServices, GarbageCollector, ReplicaSets,
    ReplicationControllers,
};
use kedge_engine::Engine;
use kedge_http::Router;
use kedge_registry::User;

/// Runs them until the task is ended.
pub(crate) async fn run(router: Router, clock: Clock) {
    let user = User {
        name: "system:kube-controller-manager".to_owned(),
        groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    let client = kedge_client::in_process(router.acting_as(user));
    let world = World::new(client.clone(), clock.clone());
    let engine = Engine::new(world, client.clone(), clock.clone())
        .with(Deployments)
        .with(ReplicaSets)
        .with(ReplicationControllers)
        .with(EndpointSlices)
        .with(EndpointsOfServices)
        .with(EndpointSliceMirrors)
        .with_worker(GarbageCollector::new(client, clock));
    engine.run().await;
}
