//! Starts the controllers of a server. They use the API as any client does, only without a socket.

use kedge_client::{Client, World};
use kedge_clock::Clock;
use kedge_engine::{Engine, Leadership};
use kedge_http::Router;
use kedge_registry::User;

/// Runs them until the task is ended. Servers that share a store take turns: the one of them named `me` works while it leads.
pub(crate) async fn run(router: Router, clock: Clock, me: Option<String>) {
    let user = User {
        name: "system:kube-controller-manager".to_owned(),
        groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    let client = kedge_client::in_process(router.acting_as(user));
    let work = || engine(client.clone(), clock.clone()).run();
    match me {
        None => work().await,
        Some(me) => {
            let leadership = Leadership::new(client.clone(), clock.clone(), "kedge-controllers", me);
            leadership.while_held(work).await;
        }
    }
}

fn engine(client: Client, clock: Clock) -> Engine {
    let world = World::new(client.clone(), clock.clone());
    let engine = Engine::new(world, client, clock);
    [kedge_controllers::join, kedge_jobs::join, kedge_nodes::join, kedge_volumes::join]
        .into_iter()
        .fold(engine, |engine, join| join(engine))
}
