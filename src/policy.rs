//! Network policies on this node: enforced for its own pods where they are connected by us. Another network has its own ways, and its
//! own means to close them.

use futures::FutureExt;
use kedge_agent::{Arrival, Guard};
use kedge_client::{Key, World};
use kedge_network::Network;
use kedge_policy::Arrivals;

use crate::traffic::Ground;

/// Containers of a pod start when the rules know its addresses.
pub(crate) fn guard(arrivals: &Arrivals) -> Guard {
    let arrivals = arrivals.clone();
    Guard::new(move |arrival| {
        let arrivals = arrivals.clone();
        async move {
            let Arrival { namespace, name, uid, addresses } = arrival;
            let pod = Key::new(namespace, name);
            if !arrivals.isolated(pod.clone(), uid, addresses).await {
                tracing::warn!(
                    "the pod {pod} starts although the policies for it could not be put in force yet"
                );
            }
        }
        .boxed()
    })
}

/// Enforces them for as long as it is let.
pub(crate) async fn run(ground: &Ground, world: &World, arrivals: &Arrivals) {
    let table = format!("{}-policy", Network::name(&ground.data, &ground.node));
    let settings = kedge_policy::Settings { node: ground.node.clone(), table };
    kedge_policy::run(settings, world.clone(), arrivals.clone(), ground.clock.clone()).await;
}
