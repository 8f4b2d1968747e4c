//! Addresses and node ports of Services. Each one that is taken has a record in the store, written and removed in the
//! transaction of its Service, so that two Services never get the same and nothing has to be rebuilt after a crash.

mod claims;
mod fields;
pub(crate) mod keeping;
mod range;
pub(crate) mod repair;
mod sources;
mod told;

use std::net::IpAddr;
use std::ops::RangeInclusive;

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::{Kind, Status};
use kedge_store::{Draft, Expect, Snapshot, Txn};
use rand::Rng as _;
use serde_json::{Value, json};

use self::claims::Claims;
pub(crate) use self::range::Range;
use self::sources::Source;
pub(crate) use self::sources::{DEFAULT as DEFAULT_RANGE, FINALIZER as RANGE_FINALIZER};
use self::told::tell;
use crate::encode::encode;
use crate::registry::Options;
use crate::{metadata, object};

const ADDRESSES: &str = "/registry/ipaddresses/";
const PORTS: &str = "/registry/ranges/servicenodeports/";
const MANAGED_BY: &str = "ipaddress.kubernetes.io/managed-by";
const MANAGER: &str = "ipallocator.k8s.io";

/// Knows the ranges that the server was started with; further ones, and what is taken in them, are in the store.
pub(crate) struct Allocator {
    /// One for each family that Services can have.
    ranges: Vec<Range>,
    node_ports: RangeInclusive<u16>,
}

impl Allocator {
    pub(crate) fn new(options: &Options) -> Self {
        let ranges = options.service_cidrs.iter().map(|&(address, bits)| Range::new(address, bits)).collect();
        Self { ranges, node_ports: options.node_ports.clone() }
    }

    pub(crate) fn concerns(&self, kind: &Kind) -> bool {
        &*kind.kind == "Service" && kind.gv.group.is_empty()
    }

    /// Brings the fields that depend on each other into agreement, before anybody judges them.
    pub(crate) fn normalise(&self, old: Option<&Value>, new: &mut Value) {
        fields::normalise(&self.ranges, old, new);
    }

    /// Claims what the Service needs and lacks, and gives back what it no longer needs.
    pub(crate) fn allocate(
        &self,
        snapshot: &Snapshot,
        old: Option<&Value>,
        service: &mut Value,
        txn: Txn,
    ) -> Result<Txn, Status> {
        let mut errors = Errors::default();
        let owner = service.clone();
        let mut claims = Claims::new(snapshot, &owner, txn);
        let had = old.map(taken).unwrap_or_default();
        self.addresses(&mut claims, &had, service, &mut errors)?;
        self.ports(&mut claims, &had, service, &mut errors);
        if !errors.is_empty() {
            let name = object::meta_text(service, "name");
            let causes = errors.into_causes();
            let kind = kedge_kinds::builtin().by_kind("", "v1", "Service");
            return Err(match kind {
                Some(kind) => Status::invalid(kind, name, causes),
                None => Status::internal("services are not served"),
            });
        }
        let has = taken(service);
        let mut txn = claims.txn;
        for key in had.into_iter().filter(|key| !has.contains(key)) {
            txn = txn.delete(key, Expect::Any);
        }
        Ok(txn)
    }

    /// What this record is of can be given to a Service, or could be when it was.
    fn covers(&self, sources: &[Source], record: &str) -> bool {
        if let Some(port) = record.strip_prefix(PORTS) {
            return port.parse().is_ok_and(|port| self.node_ports.contains(&port));
        }
        let address = record.strip_prefix(ADDRESSES).and_then(|text| text.parse().ok());
        address.is_some_and(|address| sources::covers(sources, address))
    }

    fn sources(&self, snapshot: &Snapshot) -> Result<Vec<Source>, Status> {
        sources::all(&self.ranges, snapshot)
    }

    /// Gives everything back.
    pub(crate) fn release(&self, old: &Value, txn: Txn) -> Txn {
        taken(old).into_iter().fold(txn, |txn, key| txn.delete(key, Expect::Any))
    }

    fn addresses(
        &self,
        claims: &mut Claims<'_>,
        had: &[String],
        service: &mut Value,
        errors: &mut Errors,
    ) -> Result<(), Status> {
        if !fields::needs_address(service) {
            return Ok(());
        }
        let families = fields::families(service);
        let mut chosen = fields::addresses(service);
        let path = Path::root("spec");
        let path = path.child("clusterIPs");
        // Most updates want no address that the Service hasn't got, and nobody has to look where there are some.
        let mut known = None;
        for (at, family) in families.into_iter().enumerate() {
            if !self.ranges.iter().any(|range| range.family() == family) {
                continue;
            }
            let named = chosen.get(at).map(|text| text.parse::<IpAddr>());
            let named = match named {
                Some(Ok(address)) if !had.contains(&address_key(address)) => Some(address),
                Some(_) => continue,
                None => None,
            };
            let sources = match known.take() {
                Some(sources) => sources,
                None => self.sources(claims.snapshot)?,
            };
            let claimed = match named {
                Some(address) => claims.named(sources::open(&sources, family), address).map(|()| None),
                None => claims.any(sources::open(&sources, family)).map(Some),
            };
            known = Some(sources);
            match claimed {
                Ok(found) => chosen.extend(found.map(|address| address.to_string())),
                Err(why) => {
                    errors.invalid(&path, &Value::from(chosen.clone()), &why);
                    // Without the first there is no place for the second.
                    if named.is_none() {
                        return Ok(());
                    }
                }
            }
        }
        fields::set_addresses(service, chosen);
        Ok(())
    }

    fn ports(&self, claims: &mut Claims<'_>, had: &[String], service: &mut Value, errors: &mut Errors) {
        let root = Path::root("spec");
        if fields::needs_node_ports(service) {
            let path = root.child("ports");
            let automatic = fields::allocates_node_ports(service);
            for (at, port) in fields::ports_mut(service).iter_mut().enumerate() {
                match port.get("nodePort").and_then(Value::as_i64).filter(|number| *number != 0) {
                    Some(number) => {
                        let path = path.index(at);
                        self.claim_port(claims, had, number, &path.child("nodePort"), errors);
                    }
                    None if automatic => {
                        let path = path.index(at);
                        if let Some(number) = self.free_port(claims, &path.child("nodePort"), errors) {
                            object::as_map(port).insert("nodePort".to_owned(), number.into());
                        }
                    }
                    None => {}
                }
            }
        }
        if fields::needs_health_port(service) {
            let path = root.child("healthCheckNodePort");
            let number = object::at(service, &["spec", "healthCheckNodePort"]).and_then(Value::as_i64);
            match number.filter(|number| *number != 0) {
                Some(number) => self.claim_port(claims, had, number, &path, errors),
                None => {
                    if let Some(number) = self.free_port(claims, &path, errors) {
                        object::map_mut(service, "spec")
                            .insert("healthCheckNodePort".to_owned(), number.into());
                    }
                }
            }
        }
    }

    fn claim_port(
        &self,
        claims: &mut Claims<'_>,
        had: &[String],
        number: i64,
        path: &Path<'_>,
        errors: &mut Errors,
    ) {
        let Some(port) = u16::try_from(number).ok().filter(|port| self.node_ports.contains(port)) else {
            let (low, high) = (self.node_ports.start(), self.node_ports.end());
            let why =
                format!("provided port is not in the valid range. The range of valid ports is {low}-{high}");
            return errors.invalid(path, &number.into(), &why);
        };
        let key = port_key(port);
        // Two protocols of one Service may share a number.
        if had.contains(&key) || claims.keys.contains(&key) {
            return;
        }
        if claims.snapshot.get(&key).is_some() {
            return errors.invalid(path, &number.into(), "provided port is already allocated");
        }
        claims.take(key, port_record(claims.service));
    }

    fn free_port(&self, claims: &mut Claims<'_>, path: &Path<'_>, errors: &mut Errors) -> Option<u16> {
        let (low, high) = (*self.node_ports.start(), *self.node_ports.end());
        let start = rand::rng().random_range(low..=high);
        let found = (start..=high).chain(low..start).find(|port| claims.is_free(&port_key(*port)));
        match found {
            Some(port) => claims.take(port_key(port), port_record(claims.service)),
            None => errors.invalid(path, &0.into(), "failed to allocate a nodePort: range is full"),
        }
        found
    }
}

/// The keys of everything that a Service holds.
fn taken(service: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    if fields::needs_address(service) {
        let parsed = fields::addresses(service).into_iter().filter_map(|text| text.parse().ok());
        keys.extend(parsed.map(address_key));
    }
    let ports = object::at(service, &["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
    let numbers =
        ports.map(|port| port.get("nodePort")).chain([object::at(service, &["spec", "healthCheckNodePort"])]);
    for number in numbers.flatten().filter_map(Value::as_u64).filter_map(|number| u16::try_from(number).ok())
    {
        let key = port_key(number);
        if number != 0 && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn address_key(address: IpAddr) -> String {
    format!("{ADDRESSES}{address}")
}

fn port_key(port: u16) -> String {
    format!("{PORTS}{port}")
}

fn port_record(service: &Value) -> Draft {
    let owner = json!({"namespace": object::meta_text(service, "namespace"), "name": object::meta_text(service, "name")});
    Draft::new(owner.to_string().into_bytes())
}

/// Whether we wrote this IPAddress; others may keep some of their own.
fn is_ours(address: &Value) -> bool {
    address["metadata"]["labels"][MANAGED_BY] == MANAGER
}

/// An address that is taken is an object of its own, `IPAddress`, that clients can see.
fn address_record(address: IpAddr, service: &Value) -> Draft {
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let record = json!({
        "kind": "IPAddress", "apiVersion": "networking.k8s.io/v1",
        "metadata": {
            "name": address.to_string(), "uid": metadata::uid(),
            "creationTimestamp": object::meta_text(service, "creationTimestamp"),
            "labels": {
                "ipaddress.kubernetes.io/ip-family": family,
                MANAGED_BY: MANAGER,
            },
        },
        "spec": {"parentRef": {
            "group": "", "resource": "services",
            "namespace": object::meta_text(service, "namespace"), "name": object::meta_text(service, "name"),
        }},
    });
    let encoded = encode(&record);
    Draft::with_revision_at(encoded.bytes, encoded.hole)
}

#[cfg(test)]
mod tests;
