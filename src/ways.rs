//! Tells this node's network who the nodes of the cluster are, each time that changes. Knows objects, not how packets go.

use std::sync::Arc;

use kedge_client::{Seen, World};
use kedge_facts::Node;
use kedge_network::Member;
use tokio::sync::{Notify, watch};

/// Until the task is ended.
pub(crate) async fn tell(world: &World, members: &watch::Sender<Option<Vec<Member>>>) {
    let changed = Arc::new(Notify::new());
    let wake = changed.clone();
    let listener = Arc::new(move |seen: &Seen<'_>| {
        if seen.is::<Node>() {
            wake.notify_one();
        }
    });
    world.watch::<Node>().listen(&listener);
    world.ready().await;
    loop {
        // What was not read yet is told as soon as it is.
        if let Ok(nodes) = world.cache::<Node>() {
            let now: Vec<Member> = nodes.all().iter().map(|node| member(node)).collect();
            members.send_if_modified(|known| {
                let is_news = known.as_ref() != Some(&now);
                *known = Some(now);
                is_news
            });
        }
        changed.notified().await;
    }
}

fn member(node: &Node) -> Member {
    Member {
        name: node.metadata.name.clone().unwrap_or_default(),
        addresses: node.internal().collect(),
        ranges: node.pod_ranges().filter_map(|range| range.parse().ok()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_as_the_network_sees_it() {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "n1"},
            "spec": {"podCIDRs": ["10.244.1.0/24", "odd", "fd00:1::/64"]},
            "status": {"addresses": [
                {"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "n1"},
            ]},
        }))
        .unwrap();
        let member = member(&node);
        let ranges: Vec<String> = member.ranges.iter().map(ToString::to_string).collect();
        assert_eq!((member.name.as_str(), ranges.join(" ").as_str()), ("n1", "10.244.1.0/24 fd00:1::/64"));
        assert_eq!(member.addresses, ["192.0.2.1".parse::<std::net::IpAddr>().unwrap()]);
    }
}
