//! Whom the cluster's DNS asks, in a word on the command line or in the config file.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::Deserialize;

const PORT: u16 = 53;

/// `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:5353`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Nameserver(pub(crate) SocketAddr);

impl FromStr for Nameserver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let alone = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, PORT));
        let found = alone.or_else(|_| text.parse());
        found.map(Self).map_err(|_| format!("{text:?} is no server like 192.0.2.1 or 192.0.2.1:5353"))
    }
}

impl TryFrom<String> for Nameserver {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// `example.org=192.0.2.1`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct DnsStub {
    pub(crate) domain: String,
    pub(crate) server: Nameserver,
}

impl FromStr for DnsStub {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no domain with its server like example.org=192.0.2.1");
        let (domain, server) = text.split_once('=').ok_or_else(wrong)?;
        let is_name = kedge_dns::wire::Name::parse(domain).is_some_and(|name| !name.is_root());
        let server = server.parse().map_err(|_| wrong())?;
        if is_name { Ok(Self { domain: domain.to_owned(), server }) } else { Err(wrong()) }
    }
}

impl TryFrom<String> for DnsStub {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_domains_with_servers() {
        for (text, server) in [
            ("192.0.2.1", Some("192.0.2.1:53")),
            ("192.0.2.1:5353", Some("192.0.2.1:5353")),
            ("2001:db8::1", Some("[2001:db8::1]:53")),
            ("[2001:db8::1]:5353", Some("[2001:db8::1]:5353")),
            ("example.org", None),
            ("", None),
        ] {
            let found = text.parse::<Nameserver>().ok().map(|found| found.0.to_string());
            assert_eq!(found.as_deref(), server, "{text}");
        }
        for (text, fine) in [
            ("example.org=192.0.2.1", true),
            ("org=192.0.2.1:53", true),
            ("example.org", false),
            ("=192.0.2.1", false),
            ("a..b=192.0.2.1", false),
            ("example.org=else", false),
        ] {
            assert_eq!(text.parse::<DnsStub>().is_ok(), fine, "{text}");
        }
    }
}
