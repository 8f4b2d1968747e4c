//! One record of an answer that we make.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::kind;
use super::name::Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub owner: Name,
    pub ttl: u32,
    pub data: Data,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    A(Ipv4Addr),
    Aaaa(Ipv6Addr),
    Cname(Name),
    Ns(Name),
    Ptr(Name),
    Srv {
        priority: u16,
        weight: u16,
        port: u16,
        target: Name,
    },
    Soa {
        server: Name,
        mailbox: Name,
        serial: u32,
        refresh: u32,
        retry: u32,
        expire: u32,
        minimum: u32,
    },
    Txt(String),
    /// Of a kind that has no names in it, or none that could point elsewhere.
    Raw {
        kind: u16,
        octets: Vec<u8>,
    },
}

impl Record {
    pub fn new(owner: &Name, ttl: u32, data: Data) -> Self {
        Self { owner: owner.clone(), ttl, data }
    }

    pub fn address(owner: &Name, ttl: u32, address: IpAddr) -> Self {
        let data = match address {
            IpAddr::V4(address) => Data::A(address),
            IpAddr::V6(address) => Data::Aaaa(address),
        };
        Self::new(owner, ttl, data)
    }
}

impl Data {
    pub fn kind(&self) -> u16 {
        match self {
            Data::A(_) => kind::A,
            Data::Aaaa(_) => kind::AAAA,
            Data::Cname(_) => kind::CNAME,
            Data::Ns(_) => kind::NS,
            Data::Ptr(_) => kind::PTR,
            Data::Srv { .. } => kind::SRV,
            Data::Soa { .. } => kind::SOA,
            Data::Txt(_) => kind::TXT,
            Data::Raw { kind, .. } => *kind,
        }
    }
}
