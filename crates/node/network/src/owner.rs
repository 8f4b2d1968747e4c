//! Whose an address or a wire is: a link in a container's network.

use std::fmt;

use kedge_netlink::link::Mac;
use kedge_range::octets;

/// The kernel takes no longer names of links.
const LONGEST_LINK: usize = 15;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) container: String,
    pub(crate) link: String,
}

impl Owner {
    /// None for names that CNI or the kernel would not take; ours become names of files.
    pub(crate) fn new(container: &str, link: &str) -> Option<Self> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
        let begins = container.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        let is_container = begins && container.chars().all(plain) && container.len() <= 128;
        let is_link = !matches!(link, "" | "." | "..")
            && link.len() <= LONGEST_LINK
            && link.chars().all(|letter| letter.is_ascii_graphic() && !matches!(letter, '/' | ':'));
        (is_container && is_link).then(|| Self { container: container.to_owned(), link: link.to_owned() })
    }

    /// From the name that `Display` gives it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (container, link) = text.split_once('@')?;
        Self::new(container, link)
    }

    /// The node's end of the wire; the bridge is part of it, as two networks may know the same container.
    pub(crate) fn wire(&self, bridge: &str) -> String {
        let hash = fnv(&[bridge.as_bytes(), self.container.as_bytes(), self.link.as_bytes()]);
        format!("veth{:011x}", hash >> 20)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.container, self.link)
    }
}

/// An address that comes back has the same hardware address again, so that nobody keeps a wrong one in mind.
pub(crate) fn mac_of(address: std::net::IpAddr) -> Mac {
    let [.., a, b, c, d, e] = fnv(&[&octets(address)]).to_be_bytes();
    // Locally administered, and one's own.
    [0x02, a, b, c, d, e]
}

/// Spreads names well enough that two of one machine do not meet; nobody's secrets depend on it.
pub(crate) fn fnv(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in parts.iter().flat_map(|part| part.iter().chain(&[0xff])) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_own() {
        for (container, link, is_fine) in [
            ("a1b2", "eth0", true),
            ("a_b.c-d", "net1", true),
            ("", "eth0", false),
            ("../x", "eth0", false),
            ("a/b", "eth0", false),
            ("a@b", "eth0", false),
            ("a", "", false),
            ("a", "..", false),
            ("a", "e/h", false),
            ("a", "sixteen-letters-", false),
        ] {
            let owner = Owner::new(container, link);
            assert_eq!(owner.is_some(), is_fine, "{container} {link}");
            if let Some(owner) = owner {
                assert_eq!(Owner::parse(&owner.to_string()), Some(owner));
            }
        }
    }

    #[test]
    fn wires_have_names_of_their_own() {
        let owner = |container| Owner::new(container, "eth0").unwrap();
        let wire = owner("a").wire("kedge-1");
        assert_eq!(wire.len(), LONGEST_LINK);
        assert_eq!(wire, owner("a").wire("kedge-1"));
        assert_ne!(wire, owner("b").wire("kedge-1"));
        assert_ne!(wire, owner("a").wire("kedge-2"));
    }

    #[test]
    fn hardware_addresses_follow_addresses() {
        let mac = |address: &str| mac_of(address.parse().unwrap());
        assert_eq!(mac("10.244.0.2"), mac("10.244.0.2"));
        assert_ne!(mac("10.244.0.2"), mac("10.244.0.3"));
        assert_eq!(mac("10.244.0.2")[0] & 0x03, 0x02);
    }
}
