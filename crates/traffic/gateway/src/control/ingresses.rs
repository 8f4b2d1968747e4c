//! Says of every Ingress of ours where it is reached, and tells if others, who came first, have some of its hosts or paths.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::networking::v1::{
    Ingress, IngressClass, IngressLoadBalancerIngress, IngressLoadBalancerStatus, IngressPortStatus,
    IngressStatus,
};
use kedge_client::{Key, NotReady, Seen, World};
use kedge_engine::{Action, Controller, Plan, Severity};
use kedge_facts::Slice;

use crate::claims::{Claims, age, hosts, names};
use crate::class::{self, Classes};
use crate::own;
use crate::record::DnsRecord;
use crate::routes::wanted;

/// How a status says that others have what it asks for.
const CONFLICT: &str = "kedge.dev/Conflict";

pub(super) struct Ingresses;

impl Controller for Ingresses {
    type Root = Ingress;

    const NAME: &'static str = "kedge-ingresses";

    fn watch(&self, world: &World) {
        wanted(world);
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        let Ok(cache) = world.cache::<Ingress>() else { return Vec::new() };
        let of = |is_meant: &dyn Fn(&Ingress) -> bool| -> Vec<Key> {
            cache
                .all()
                .iter()
                .filter(|ingress| is_meant(ingress))
                .map(|ingress| Key::of(&**ingress))
                .collect()
        };
        if seen.is::<Ingress>() {
            let both = [seen.before::<Ingress>(), seen.now::<Ingress>()];
            let named: Vec<&str> = both.into_iter().flatten().flat_map(hosts).collect();
            let mut keys = of(&|ingress| named.iter().any(|host| names(ingress, host)));
            keys.push(seen.key.clone());
            return keys;
        }
        if seen.is::<DnsRecord>() {
            let both = [seen.before::<DnsRecord>(), seen.now::<DnsRecord>()];
            let named: Vec<&str> = both.into_iter().flatten().map(|record| &*record.spec.host).collect();
            return of(&|ingress| named.iter().any(|host| names(ingress, host)));
        }
        let is_gateway = seen.is::<Slice>() && seen.key.namespace == own::NAMESPACE && {
            let both = [seen.before::<Slice>(), seen.now::<Slice>()];
            both.into_iter().flatten().any(|slice| slice.service() == Some(own::SERVICE))
        };
        if is_gateway || seen.is::<IngressClass>() { of(&|_| true) } else { Vec::new() }
    }

    fn plan(&self, ingress: &Ingress, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        if ingress.metadata.deletion_timestamp.is_some() || !Classes::of(world)?.have(ingress) {
            return Ok(Plan::default());
        }
        let conflicts = conflicts(ingress, world)?;
        let ports = (!conflicts.is_empty()).then(|| {
            let port =
                IngressPortStatus { port: 80, protocol: "TCP".to_owned(), error: Some(CONFLICT.to_owned()) };
            vec![port]
        });
        let reached = gateways(world)?.into_iter().map(|address| IngressLoadBalancerIngress {
            ip: Some(address.to_string()),
            ports: ports.clone(),
            ..IngressLoadBalancerIngress::default()
        });
        let reached: Vec<_> = reached.collect();
        let reached = Some(reached).filter(|reached| !reached.is_empty());
        let status = IngressStatus { load_balancer: Some(IngressLoadBalancerStatus { ingress: reached }) };
        let after = Ingress { status: Some(status), ..ingress.clone() };
        let before = Ingress {
            status: Some(IngressStatus {
                load_balancer: Some(
                    ingress.status.clone().and_then(|status| status.load_balancer).unwrap_or_default(),
                ),
            }),
            ..ingress.clone()
        };
        let Some(change) = Action::status(&before, &after) else { return Ok(Plan::default()) };
        // Told when it comes up, with the status that then has it; not at every look.
        let told = (!conflicts.is_empty())
            .then(|| Action::tell(ingress, Severity::Warning, "Conflict", conflicts.join("; ")));
        Ok(Plan::from(told).then([change]))
    }
}

/// Where the gateways of this cluster are reached.
fn gateways(world: &World) -> Result<BTreeSet<IpAddr>, NotReady> {
    let labels = [("kubernetes.io/service-name".to_owned(), own::SERVICE.to_owned())].into();
    let slices = world.cache::<Slice>()?.labelled(own::NAMESPACE, &labels);
    let ready = slices.iter().flat_map(|slice| &slice.endpoints).filter(|endpoint| endpoint.is_ready());
    Ok(ready.flat_map(|endpoint| endpoint.addresses.iter().copied()).collect())
}

/// What others have of it, each in words.
fn conflicts(ingress: &Ingress, world: &World) -> Result<Vec<String>, NotReady> {
    let mut found = Vec::new();
    let hosts: BTreeSet<&str> = hosts(ingress).collect();
    for host in &hosts {
        if let Some(other) = Claims::about(world, host)?.against_ingress(host) {
            found.push(format!("{other}, which is older, has the host {host}"));
        }
    }
    let asked = paths(ingress);
    let mine = age(ingress);
    for older in class::ours(world)?.iter().take_while(|other| age(&***other) < mine) {
        for (host, path, _) in paths(older).intersection(&asked) {
            found.push(format!("Ingress {}, which is older, has {host}{path}", Key::of(&**older)));
        }
    }
    Ok(found)
}

/// Host, path and whether it is exact.
fn paths(ingress: &Ingress) -> BTreeSet<(&str, &str, bool)> {
    let rules = ingress.spec.iter().flat_map(|spec| spec.rules.iter().flatten());
    let of_rule = rules.flat_map(|rule| {
        let host = rule.host.as_deref().unwrap_or_default();
        rule.http.iter().flat_map(move |http| http.paths.iter().map(move |path| (host, path)))
    });
    of_rule
        .map(|(host, path)| {
            let is_exact = path.path_type == "Exact";
            let at = path.path.as_deref().unwrap_or("/");
            (host, if is_exact { at } else { at.trim_end_matches('/') }, is_exact)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use kedge_children::testing::{hold, noon, object, status};
    use serde_json::{Value, json};

    use super::*;

    fn ingress(name: &str, minute: u8, class: &str, host: &str, path: &str) -> Ingress {
        object(json!({
            "metadata": {
                "name": name, "namespace": "n", "uid": name, "resourceVersion": "1",
                "creationTimestamp": format!("2030-01-01T11:{minute:02}:00Z"),
            },
            "spec": {"ingressClassName": class, "rules": [{"host": host, "http": {"paths": [
                {"path": path, "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}},
            ]}}]},
        }))
    }

    fn world(ingresses: Vec<Ingress>, records: Value, gateways: &[&str]) -> World {
        let world = World::by_hand();
        hold(&world, ingresses);
        hold::<DnsRecord>(&world, serde_json::from_value(records).unwrap());
        hold::<IngressClass>(
            &world,
            vec![object(json!({
                "metadata": {"name": "kedge"}, "spec": {"controller": class::CONTROLLER},
            }))],
        );
        let slice = |address: &&str| {
            object::<Slice>(json!({
                "metadata": {
                    "name": address, "namespace": own::NAMESPACE,
                    "labels": {"kubernetes.io/service-name": own::SERVICE},
                },
                "addressType": "IPv4", "endpoints": [{"addresses": [address]}],
            }))
        };
        hold(&world, gateways.iter().map(slice).collect());
        world
    }

    #[test]
    fn an_ingress_says_where_it_is_reached_and_who_came_first() {
        let mine = ingress("a", 5, "kedge", "x.io", "/shop/");
        let record = json!([{
            "metadata": {"name": "r", "namespace": "n", "creationTimestamp": "2030-01-01T10:00:00Z"},
            "spec": {"host": "x.io", "paths": []},
        }]);
        let with = |other: Ingress| vec![mine.clone(), other];
        for (case, root, ingresses, records, gateways, reached, told) in [
            (
                "alone",
                mine.clone(),
                vec![mine.clone()],
                json!([]),
                vec!["192.0.2.2", "192.0.2.1"],
                "192.0.2.1 192.0.2.2",
                "",
            ),
            ("no gateway", mine.clone(), vec![mine.clone()], json!([]), vec![], "", ""),
            (
                "another class",
                ingress("a", 5, "nginx", "x.io", "/"),
                vec![],
                json!([]),
                vec!["192.0.2.1"],
                "",
                "",
            ),
            (
                "another path",
                mine.clone(),
                with(ingress("b", 1, "kedge", "x.io", "/")),
                json!([]),
                vec!["192.0.2.1"],
                "192.0.2.1",
                "",
            ),
            (
                "a younger one",
                mine.clone(),
                with(ingress("b", 9, "kedge", "x.io", "/shop")),
                json!([]),
                vec!["192.0.2.1"],
                "192.0.2.1",
                "",
            ),
            (
                "an older one",
                mine.clone(),
                with(ingress("b", 1, "kedge", "x.io", "/shop")),
                json!([]),
                vec!["192.0.2.1"],
                "192.0.2.1!",
                "Warning Conflict: Ingress n/b, which is older, has x.io/shop",
            ),
            (
                "an older record",
                mine.clone(),
                vec![mine.clone()],
                record,
                vec!["192.0.2.1"],
                "192.0.2.1!",
                "Warning Conflict: DNSRecord n/r, which is older, has the host x.io",
            ),
        ] {
            let world = world(ingresses, records, &gateways);
            let plan = Ingresses.plan(&root, &world, noon()).unwrap();
            let status = status(&plan);
            let entries = status["loadBalancer"]["ingress"].as_array().cloned().unwrap_or_default();
            let shown: Vec<String> = entries
                .iter()
                .map(|entry| {
                    let mark = if entry["ports"][0]["error"] == CONFLICT { "!" } else { "" };
                    format!("{}{mark}", entry["ip"].as_str().unwrap())
                })
                .collect();
            assert_eq!(shown.join(" "), reached, "{case}");
            let notes = plan.actions.iter().filter(|action| matches!(action, Action::Tell(_)));
            assert_eq!(notes.map(ToString::to_string).collect::<Vec<_>>().join(" "), told, "{case}");
            let mut said = root.clone();
            said.status = serde_json::from_value(status).ok();
            assert_eq!(Ingresses.plan(&said, &world, noon()).unwrap(), Plan::default(), "{case}");
        }
    }
}
