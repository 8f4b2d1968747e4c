//! What one write of a Service takes: addresses and ports, each with its record in the same transaction. Knows no field of a Service.

use std::net::IpAddr;

use kedge_store::{Draft, Expect, Snapshot, Txn};
use serde_json::Value;

use super::sources::Source;
use super::{address_key, address_record};

/// What one transaction takes and gives back.
pub(super) struct Claims<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) service: &'a Value,
    pub(super) txn: Txn,
    /// Keys that this transaction has claimed already.
    pub(super) keys: Vec<String>,
    /// ServiceCIDRs that must still be what they are.
    relied_on: Vec<String>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, service: &'a Value, txn: Txn) -> Self {
        Self { snapshot, service, txn, keys: Vec::new(), relied_on: Vec::new() }
    }

    /// The address that somebody asked for, or why not.
    pub(super) fn named<'s>(
        &mut self,
        mut sources: impl Iterator<Item = &'s Source>,
        address: IpAddr,
    ) -> Result<(), String> {
        let why = match sources.find(|source| source.range.contains(address)) {
            None => "the provided network does not match the current range",
            Some(_) if !self.is_free(&address_key(address)) => "provided IP is already allocated",
            Some(source) => {
                self.take_of(source, address);
                return Ok(());
            }
        };
        Err(format!("failed to allocate IP {address}: {why}"))
    }

    /// An address of the first range that has one.
    pub(super) fn any<'s>(&mut self, sources: impl Iterator<Item = &'s Source>) -> Result<IpAddr, String> {
        for source in sources {
            if let Some(address) = source.range.free(|address| self.is_free(&address_key(address))) {
                self.take_of(source, address);
                return Ok(address);
            }
        }
        Err("failed to allocate a serviceIP: range is full".to_owned())
    }

    /// The range must not begin to leave before the address is written down: whoever removes it looks for addresses only once.
    fn take_of(&mut self, source: &Source, address: IpAddr) {
        if let Some((key, revision)) = source.stored.as_ref().filter(|(key, _)| !self.relied_on.contains(key))
        {
            self.txn = std::mem::take(&mut self.txn).check(key.as_str(), Expect::At(*revision));
            self.relied_on.push(key.clone());
        }
        let record = address_record(address, self.service);
        self.take(address_key(address), record);
    }

    pub(super) fn is_free(&self, key: &str) -> bool {
        self.snapshot.get(key).is_none() && !self.keys.iter().any(|claimed| claimed == key)
    }

    pub(super) fn take(&mut self, key: String, record: Draft) {
        self.txn = std::mem::take(&mut self.txn).put(key.as_str(), Expect::Absent, record);
        self.keys.push(key);
    }
}
