//! Says of every DNSRecord whether its paths lead to pods, and if not, why.

use jiff::Timestamp;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kedge_children::conditions;
use kedge_client::{Key, NotReady, Seen, World};
use kedge_engine::{Action, Controller, Plan};
use kedge_facts::{Service, Slice};
use kube::ResourceExt;

use crate::claims::{Claims, hosts};
use crate::record::DnsRecord;
use crate::routes::{Fault, Named, of_service, wanted};

pub(super) struct Records;

impl Controller for Records {
    type Root = DnsRecord;

    const NAME: &'static str = "kedge-dnsrecords";

    fn watch(&self, world: &World) {
        wanted(world);
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        let Ok(cache) = world.cache::<DnsRecord>() else { return Vec::new() };
        let of = |is_meant: &dyn Fn(&DnsRecord) -> bool| -> Vec<Key> {
            cache.all().iter().filter(|record| is_meant(record)).map(|record| Key::of(&**record)).collect()
        };
        if seen.is::<DnsRecord>() {
            let both = [seen.before::<DnsRecord>(), seen.now::<DnsRecord>()];
            let hosts: Vec<&str> = both.into_iter().flatten().map(|record| &*record.spec.host).collect();
            let mut keys = of(&|record| hosts.contains(&&*record.spec.host));
            keys.push(seen.key.clone());
            return keys;
        }
        if seen.is::<Ingress>() {
            let both = [seen.before::<Ingress>(), seen.now::<Ingress>()];
            let named: Vec<&str> = both.into_iter().flatten().flat_map(hosts).collect();
            return of(&|record| named.iter().any(|host| host.eq_ignore_ascii_case(&record.spec.host)));
        }
        if seen.is::<IngressClass>() {
            return of(&|_| true);
        }
        let both = [seen.before::<Slice>(), seen.now::<Slice>()];
        let mut services: Vec<&str> = both.into_iter().flatten().filter_map(Slice::service).collect();
        if seen.is::<Service>() {
            services.push(&seen.key.name);
        }
        if services.is_empty() {
            return Vec::new();
        }
        of(&|record| {
            record.metadata.namespace.as_ref() == Some(&seen.key.namespace)
                && record.spec.paths.iter().any(|path| services.contains(&&*path.service))
        })
    }

    fn plan(&self, record: &DnsRecord, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
        if record.metadata.deletion_timestamp.is_some() {
            return Ok(Plan::default());
        }
        let finding = finding(record, world)?;
        let mut status = record.status.clone().unwrap_or_default();
        status.observed_generation = record.metadata.generation;
        let paths = &record.spec.paths;
        status.paths = joined(paths.iter().map(|path| format!("/{}", path.path_name)));
        status.services = joined(paths.iter().map(|path| format!("{}:{}", path.service, path.port)));
        conditions::set(&mut status.conditions, finding.condition(record.metadata.generation, now));
        let after = DnsRecord { status: Some(status), ..record.clone() };
        // A record without a status has an empty one, which a patch of it begins with.
        let before = DnsRecord { status: Some(record.status.clone().unwrap_or_default()), ..record.clone() };
        Ok(Action::status(&before, &after).into())
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(",")
}

struct Finding {
    reason: &'static str,
    message: String,
}

impl Finding {
    fn condition(self, generation: Option<i64>, now: Timestamp) -> Condition {
        let is_ready = self.reason == "Serving";
        Condition {
            type_: "Ready".to_owned(),
            status: if is_ready { "True" } else { "False" }.to_owned(),
            reason: self.reason.to_owned(),
            message: self.message,
            observed_generation: generation,
            last_transition_time: conditions::at(now).unwrap_or(Time(now)),
        }
    }
}

fn finding(record: &DnsRecord, world: &World) -> Result<Finding, NotReady> {
    let host = &record.spec.host;
    let claims = Claims::about(world, host)?;
    if let Some(other) = claims.against_record(record) {
        let message = format!("{other}, which is older, has the host {host}");
        return Ok(Finding { reason: "HostConflict", message });
    }
    let (services, slices) = (world.cache::<Service>()?, world.cache::<Slice>()?);
    let namespace = record.namespace().unwrap_or_default();
    let mut missing = Vec::new();
    let mut empty = Vec::new();
    for path in &record.spec.paths {
        let key = Key::new(namespace.clone(), path.service.clone());
        let backend = of_service(&services, &slices, key, Named::Number(path.port));
        let at = format!("/{}", path.path_name);
        match backend.fault {
            None => {}
            Some(Fault::NoService) => missing.push(format!("{at}: there is no Service {}", path.service)),
            Some(Fault::NoPort) => {
                missing.push(format!("{at}: Service {} has no port {}", path.service, path.port))
            }
            Some(Fault::NoEndpoints) => {
                empty.push(format!("{at}: no pod of Service {} is ready", path.service))
            }
        }
    }
    Ok(match (missing.is_empty(), empty.is_empty()) {
        (false, _) => Finding { reason: "ServiceNotFound", message: missing.join("; ") },
        (true, false) => Finding { reason: "NoEndpoints", message: empty.join("; ") },
        (true, true) => {
            Finding { reason: "Serving", message: format!("{host} leads to ready pods on every path") }
        }
    })
}

#[cfg(test)]
mod tests {
    use kedge_children::testing::{hold, noon, object, status};
    use serde_json::{Value, json};

    use super::*;
    use crate::record::Status;

    fn record(name: &str, minute: u8, host: &str) -> DnsRecord {
        object(json!({
            "metadata": {
                "name": name, "namespace": "n", "uid": name, "resourceVersion": "1", "generation": 2,
                "creationTimestamp": format!("2030-01-01T11:{minute:02}:00Z"),
            },
            "spec": {"host": host, "paths": [
                {"pathName": "path1", "service": "one", "port": 22222}, {"pathName": "path2", "service": "two", "port": 80},
            ]},
        }))
    }

    fn world(
        records: Vec<DnsRecord>,
        ingresses: Value,
        services: &[(&str, u16)],
        ready: &[(&str, bool)],
    ) -> World {
        let world = World::by_hand();
        hold(&world, records);
        hold::<IngressClass>(
            &world,
            vec![object(json!({
                "metadata": {"name": "kedge"}, "spec": {"controller": crate::class::CONTROLLER},
            }))],
        );
        hold::<Ingress>(&world, serde_json::from_value(ingresses).unwrap());
        let service = |(name, port): &(&str, u16)| {
            object::<Service>(
                json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"ports": [{"port": port}]}}),
            )
        };
        hold(&world, services.iter().map(service).collect());
        let slice = |(name, is_ready): &(&str, bool)| {
            object::<Slice>(json!({
                "metadata": {"name": name, "namespace": "n", "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4", "ports": [{"port": 8080}],
                "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": is_ready}}],
            }))
        };
        hold(&world, ready.iter().map(slice).collect());
        world
    }

    #[test]
    fn a_record_says_whether_it_leads_anywhere() {
        let both = [("one", 22222), ("two", 80)];
        let older = json!([{
            "metadata": {"name": "i", "namespace": "m", "creationTimestamp": "2030-01-01T10:00:00Z"},
            "spec": {"ingressClassName": "kedge", "rules": [{"host": "x.io"}]},
        }]);
        let others = json!([{
            "metadata": {"name": "i", "namespace": "m", "creationTimestamp": "2030-01-01T10:00:00Z"},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": "x.io"}]},
        }]);
        let none = json!([]);
        let mine = || vec![record("a", 5, "x.io")];
        for (case, world, expected) in [
            (
                "all is well",
                world(mine(), none.clone(), &both, &[("one", true), ("two", true)]),
                "True Serving x.io leads to ready pods on every path",
            ),
            (
                "no Service",
                world(mine(), none.clone(), &[("one", 22222)], &[("one", true)]),
                "False ServiceNotFound /path2: there is no Service two",
            ),
            (
                "no such port",
                world(mine(), none.clone(), &[("one", 1), ("two", 80)], &[("two", true)]),
                "False ServiceNotFound /path1: Service one has no port 22222",
            ),
            (
                "no pods",
                world(mine(), none.clone(), &both, &[("one", true), ("two", false)]),
                "False NoEndpoints /path2: no pod of Service two is ready",
            ),
            (
                "an older record",
                world(vec![record("a", 5, "x.io"), record("b", 4, "x.io")], none, &both, &[]),
                "False HostConflict DNSRecord n/b, which is older, has the host x.io",
            ),
            (
                "an older Ingress",
                world(mine(), older, &both, &[]),
                "False HostConflict Ingress m/i, which is older, has the host x.io",
            ),
            (
                "an Ingress of others",
                world(mine(), others, &both, &[("one", true), ("two", true)]),
                "True Serving x.io leads to ready pods on every path",
            ),
        ] {
            let plan = Records.plan(&record("a", 5, "x.io"), &world, noon()).unwrap();
            let status = status(&plan);
            let condition = &status["conditions"][0];
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            assert_eq!(
                format!("{} {} {}", text("status"), text("reason"), text("message")),
                expected,
                "{case}"
            );
            assert_eq!(status["paths"], "/path1,/path2", "{case}");
            assert_eq!(status["services"], "one:22222,two:80", "{case}");
            assert_eq!(status["observedGeneration"], 2, "{case}");
            // Once it is said, nothing is left to say.
            let mut said = record("a", 5, "x.io");
            said.status = Some(serde_json::from_value::<Status>(status).unwrap());
            let later = noon() + jiff::SignedDuration::from_secs(60);
            assert_eq!(Records.plan(&said, &world, later).unwrap(), Plan::default(), "{case}");
        }
    }
}
