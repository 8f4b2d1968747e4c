//! The lease that says that the node lives. It is kept in memory and written without being read first; only when somebody
//! else touched it is it read again.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use kedge_client::Objects;

use crate::tools::Tools;

/// How often it says that it lives, and for how long that is good.
const BEAT: Duration = Duration::from_secs(10);
const GOOD_FOR: i32 = 40;
/// After a beat that nobody took.
const SOON: Duration = Duration::from_secs(1);

/// Until it is dropped.
pub(super) async fn keep(tools: &Tools) {
    let mut held = None;
    loop {
        let wait = match beat(tools, &mut held).await {
            Ok(()) => BEAT,
            Err(error) => {
                tracing::debug!(%error, "cannot renew this node's lease");
                held = None;
                SOON
            }
        };
        tools.clock.sleep(wait).await;
    }
}

async fn beat(tools: &Tools, held: &mut Option<Lease>) -> Result<(), kube::Error> {
    let name = &tools.place.node;
    let leases = Objects::<Lease>::within(&tools.client, "kube-node-lease");
    if held.is_none() {
        *held = leases.find(name).await?;
    }
    let owner = tools.node.borrow().as_ref().and_then(|node| node.metadata.uid.clone());
    let renewed = renewed(held.take(), name, owner, tools.now());
    let written = match renewed.metadata.resource_version {
        Some(_) => leases.replace(name, &renewed).await,
        None => leases.create(&renewed).await,
    };
    *held = Some(written?);
    Ok(())
}

fn renewed(held: Option<Lease>, name: &str, node: Option<String>, now: Timestamp) -> Lease {
    let mut lease = held.unwrap_or_else(|| Lease {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: None,
    });
    // It goes with the node, once there is one that it can go with.
    if let Some(uid) = node {
        let owners = lease.metadata.owner_references.get_or_insert_default();
        if !owners.iter().any(|owner| owner.uid == uid) {
            owners.retain(|owner| owner.kind != "Node");
            owners.push(OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Node".to_owned(),
                name: name.to_owned(),
                uid,
                ..OwnerReference::default()
            });
        }
    }
    lease.metadata.managed_fields = None;
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(name.to_owned()),
        lease_duration_seconds: Some(GOOD_FOR),
        renew_time: Some(MicroTime(now)),
        ..lease.spec.unwrap_or_default()
    });
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_goes_with_the_node_that_it_is_of() {
        let noon: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
        let uids = |lease: &Lease| {
            let owners = lease.metadata.owner_references.iter().flatten();
            owners.map(|owner| owner.uid.clone()).collect::<Vec<_>>()
        };
        let early = renewed(None, "n", None, noon);
        assert!(uids(&early).is_empty());
        let first = renewed(Some(early), "n", Some("a".to_owned()), noon);
        assert_eq!(uids(&first), ["a"]);
        // The node was deleted and made again.
        let second = renewed(Some(first), "n", Some("b".to_owned()), noon);
        assert_eq!(uids(&second), ["b"]);
        assert_eq!(second.spec.unwrap().holder_identity.as_deref(), Some("n"));
    }
}
