//! Who has which host. DNSRecords have theirs alone, Ingresses share one; where both ask for the same, the oldest has it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::networking::v1::Ingress;
use kedge_client::{Key, NotReady, World};
use kube::ResourceExt;

use crate::class::Classes;
use crate::record::DnsRecord;

/// Somebody who asks for a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claimant {
    Ingress(Key),
    Record(Key),
}

impl fmt::Display for Claimant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ingress(key) => write!(f, "Ingress {key}"),
            Self::Record(key) => write!(f, "DNSRecord {key}"),
        }
    }
}

/// Orders objects by who came first; those of one second by their names, so that everybody sees the same order.
pub(crate) fn age(object: &impl ResourceExt) -> (Timestamp, Key) {
    let born = object.meta().creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0);
    (born, Key::of(object))
}

/// Each host's owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims(HashMap<String, ((Timestamp, Key), Claimant)>);

impl Claims {
    /// Who asks for this host, without a look at all the others.
    pub(crate) fn about(world: &World, host: &str) -> Result<Self, NotReady> {
        let classes = Classes::of(world)?;
        let mut ingresses = world.cache::<Ingress>()?.all();
        ingresses.retain(|ingress| names(ingress, host) && classes.have(ingress));
        let mut records = world.cache::<DnsRecord>()?.all();
        records.retain(|record| record.spec.host.eq_ignore_ascii_case(host));
        Ok(Self::among(&ingresses, &records))
    }

    pub(crate) fn among(ingresses: &[Arc<Ingress>], records: &[Arc<DnsRecord>]) -> Self {
        let mut claims = Self::default();
        for ingress in ingresses {
            for host in hosts(ingress) {
                claims.add(host, age(&**ingress), Claimant::Ingress);
            }
        }
        for record in records {
            claims.add(&record.spec.host, age(&**record), Claimant::Record);
        }
        claims
    }

    fn add(&mut self, host: &str, age: (Timestamp, Key), claimant: fn(Key) -> Claimant) {
        let host = lower(host);
        let claim = claimant(age.1.clone());
        let is_first = self.0.get(&*host).is_none_or(|owner| (&age, &claim) < (&owner.0, &owner.1));
        if is_first {
            self.0.insert(host.into_owned(), (age, claim));
        }
    }

    pub(crate) fn owner(&self, host: &str) -> Option<&Claimant> {
        self.0.get(&*lower(host)).map(|(_, owner)| owner)
    }

    /// Who keeps this record from its host.
    pub(crate) fn against_record(&self, record: &DnsRecord) -> Option<&Claimant> {
        let own = Claimant::Record(Key::of(record));
        self.owner(&record.spec.host).filter(|owner| **owner != own)
    }

    /// The record that keeps Ingresses from this host.
    pub(crate) fn against_ingress(&self, host: &str) -> Option<&Claimant> {
        self.owner(host).filter(|owner| matches!(owner, Claimant::Record(_)))
    }
}

/// The hosts that an Ingress names, wildcards as they are written.
pub(crate) fn hosts(ingress: &Ingress) -> impl Iterator<Item = &str> {
    let rules = ingress.spec.iter().flat_map(|spec| spec.rules.iter().flatten());
    rules.filter_map(|rule| rule.host.as_deref()).filter(|host| !host.is_empty())
}

pub(crate) fn names(ingress: &Ingress, host: &str) -> bool {
    hosts(ingress).any(|named| named.eq_ignore_ascii_case(host))
}

fn lower(host: &str) -> std::borrow::Cow<'_, str> {
    match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => host.to_ascii_lowercase().into(),
        false => host.into(),
    }
}

#[cfg(test)]
mod tests {
    use kedge_children::testing::object;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_oldest_has_the_host() {
        let ingress = |name: &str, minute: u8, host: &str| {
            Arc::new(object::<Ingress>(json!({
                "metadata": {"name": name, "namespace": "n", "creationTimestamp": format!("2030-01-01T12:{minute:02}:00Z")},
                "spec": {"rules": [{"host": host}]},
            })))
        };
        let record = |name: &str, minute: u8, host: &str| {
            Arc::new(object::<DnsRecord>(json!({
                "metadata": {"name": name, "namespace": "n", "creationTimestamp": format!("2030-01-01T12:{minute:02}:00Z")},
                "spec": {"host": host, "paths": []},
            })))
        };
        for (case, ingresses, records, expected) in [
            ("alone", vec![], vec![record("a", 1, "x.io")], "DNSRecord n/a"),
            (
                "the older record",
                vec![],
                vec![record("a", 2, "x.io"), record("b", 1, "x.io")],
                "DNSRecord n/b",
            ),
            (
                "of one moment, by name",
                vec![],
                vec![record("b", 1, "x.io"), record("a", 1, "x.io")],
                "DNSRecord n/a",
            ),
            ("an older Ingress", vec![ingress("i", 1, "X.io")], vec![record("a", 2, "x.io")], "Ingress n/i"),
            ("an older record", vec![ingress("i", 3, "x.io")], vec![record("a", 2, "x.io")], "DNSRecord n/a"),
            ("another host", vec![ingress("i", 1, "y.io")], vec![record("a", 2, "x.io")], "DNSRecord n/a"),
        ] {
            let claims = Claims::among(&ingresses, &records);
            assert_eq!(claims.owner("x.io").unwrap().to_string(), expected, "{case}");
            let kept_out = records.iter().filter(|record| claims.against_record(record).is_some()).count();
            let won = usize::from(expected.starts_with("DNSRecord"));
            assert_eq!(kept_out, records.len() - won, "{case}");
            assert_eq!(claims.against_ingress("x.io").is_some(), won == 1, "{case}");
        }
    }
}
