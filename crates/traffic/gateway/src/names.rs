//! The names of DNSRecords and where they lead: to the gateway. For whoever answers questions about names on this node.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use kedge_client::{Key, NotReady, Seen, World};
use kedge_facts::Service;
use tokio::sync::Notify;

use crate::own;
use crate::record::DnsRecord;

/// Each name with its addresses.
pub type Names = BTreeMap<String, Vec<IpAddr>>;

/// Tells all names, now and whenever they change. Never ends.
pub async fn follow(records: World, facts: World, mut tell: impl FnMut(&Names) + Send) {
    records.watch::<DnsRecord>();
    facts.watch::<Service>();
    let changed = Arc::new(Notify::new());
    let listener = {
        let changed = changed.clone();
        Arc::new(move |seen: &Seen<'_>| {
            let is_gateway =
                seen.is::<Service>() && seen.key.name == own::SERVICE && seen.key.namespace == own::NAMESPACE;
            if is_gateway || seen.is::<DnsRecord>() {
                changed.notify_one();
            }
        })
    };
    records.listen(&listener);
    facts.listen(&listener);
    tokio::join!(records.ready(), facts.ready());
    let mut told = None;
    loop {
        match names(&records, &facts) {
            Ok(names) if told.as_ref() != Some(&names) => {
                tell(&names);
                told = Some(names);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("the names of DNSRecords stay as they are: {error}"),
        }
        changed.notified().await;
    }
}

/// Without a gateway there are none: a name without an address would hide one that others have.
fn names(records: &World, facts: &World) -> Result<Names, NotReady> {
    let gateway = facts.get::<Service>(&Key::new(own::NAMESPACE, own::SERVICE))?;
    let addresses = gateway.map(|service| service.spec.cluster_ips.to_vec()).unwrap_or_default();
    if addresses.is_empty() {
        return Ok(Names::new());
    }
    let records = records.cache::<DnsRecord>()?.all();
    Ok(records.iter().map(|record| (record.spec.host.to_ascii_lowercase(), addresses.clone())).collect())
}

#[cfg(test)]
mod tests {
    use kedge_children::testing::{hold, object};
    use serde_json::json;

    use super::*;

    #[test]
    fn names_lead_to_the_gateway() {
        let world = World::by_hand();
        let record = |name: &str, host: &str| {
            object::<DnsRecord>(
                json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"host": host, "paths": []}}),
            )
        };
        hold(&world, vec![record("a", "x.io"), record("b", "x.io"), record("c", "y.io")]);
        hold::<Service>(&world, vec![]);
        assert_eq!(names(&world, &world).unwrap(), Names::new(), "no gateway yet");
        hold(
            &world,
            vec![object::<Service>(json!({
                "metadata": {"name": own::SERVICE, "namespace": own::NAMESPACE}, "spec": {"clusterIPs": ["10.96.0.9"]},
            }))],
        );
        let shown: Vec<String> = names(&world, &world)
            .unwrap()
            .iter()
            .map(|(name, addresses)| format!("{name}={addresses:?}"))
            .collect();
        assert_eq!(shown, ["x.io=[10.96.0.9]", "y.io=[10.96.0.9]"]);
    }
}
