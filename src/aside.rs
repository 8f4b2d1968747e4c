//! Ports of this machine that pods in its own network ask for. Whoever of ours listens there steps aside: such a pod is meant to be
//! reached where it says, as another gateway is that somebody installs.

use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_client::{NotReady, Revision, Seen, World};
use kedge_facts::Pod;
use tokio::sync::{Notify, watch};

/// Tells which there are for as long as it is let.
pub(crate) async fn tell(world: &World, node: &str, taken: &watch::Sender<BTreeSet<u16>>) {
    let changed = Arc::new(Notify::new());
    let listener = {
        let (changed, node) = (changed.clone(), node.to_owned());
        Arc::new(move |seen: &Seen<'_>| {
            let sides = [seen.before::<Pod>(), seen.now::<Pod>()];
            if seen.is::<Pod>() && sides.into_iter().flatten().any(|pod| counts(pod, &node)) {
                changed.notify_one();
            }
        })
    };
    world.listen(&listener);
    if world.catch_up_to::<Pod>(Revision::default()).await.is_err() {
        return;
    }
    loop {
        if let Ok(now) = ports(world, node) {
            taken.send_if_modified(|known| std::mem::replace(known, now.clone()) != now);
        }
        changed.notified().await;
    }
}

fn ports(world: &World, node: &str) -> Result<BTreeSet<u16>, NotReady> {
    let pods = world.cache::<Pod>()?.all();
    let here = pods.iter().filter(|pod| counts(pod, node) && !pod.is_over());
    Ok(here.flat_map(|pod| pod.tcp_ports().collect::<Vec<_>>()).collect())
}

fn counts(pod: &Pod, node: &str) -> bool {
    pod.is_on_host_network() && pod.node() == Some(node)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn ports_of_pods_in_this_nodes_network() {
        let world = World::by_hand();
        let pods = world.feed::<Pod>();
        let pod = |name: &str, node: &str, is_on_host: bool, phase: &str| -> Pod {
            let ports = json!([{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]);
            serde_json::from_value(json!({
                "metadata": {"name": name, "namespace": "n"}, "status": {"phase": phase},
                "spec": {"nodeName": node, "hostNetwork": is_on_host, "containers": [{"ports": ports}]},
            }))
            .unwrap()
        };
        pods.replace(
            vec![pod("other", "there", true, "Running"), pod("own", "here", false, "Running")],
            Revision(1),
        );
        let (taken, mut told) = watch::channel(BTreeSet::new());
        let telling = tokio::spawn({
            let world = world.clone();
            async move { tell(&world, "here", &taken).await }
        });
        // It listens from now on.
        while !telling.is_finished() && told.borrow().is_empty() {
            pods.put(pod("web", "here", true, "Running"));
            tokio::task::yield_now().await;
        }
        assert_eq!(*told.borrow_and_update(), BTreeSet::from([80]));
        pods.put(pod("web", "here", true, "Succeeded"));
        told.changed().await.unwrap();
        assert_eq!(*told.borrow_and_update(), BTreeSet::new());
        telling.abort();
    }
}
