//! Which servers are reached without the proxy that the environment names, as other programs read `NO_PROXY`: this machine always, and
//! those that are listed. Pure.

use std::net::IpAddr;

/// Whether a host is reached without a proxy. `exempt` is the list of `NO_PROXY`.
pub(crate) fn is_exempt(host: &str, exempt: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    let here = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    here || exempt.split(',').map(str::trim).any(|entry| matches(&host, address, &entry.to_ascii_lowercase()))
}

fn matches(host: &str, address: Option<IpAddr>, entry: &str) -> bool {
    if entry == "*" {
        return true;
    }
    if let (Some(address), Some((base, bits))) = (address, entry.split_once('/')) {
        return base
            .parse()
            .ok()
            .zip(bits.parse().ok())
            .is_some_and(|(base, bits)| within(address, base, bits));
    }
    // A port of an entry is not ours to tell apart: whoever exempts one port of a server means the server.
    let name = entry
        .rsplit_once(':')
        .filter(|(_, port)| port.parse::<u16>().is_ok())
        .map_or(entry, |(name, _)| name);
    match name.strip_prefix("*.").or(name.strip_prefix('.')) {
        Some(domain) => !domain.is_empty() && host.ends_with(&format!(".{domain}")),
        None => !name.is_empty() && (host == name || host.ends_with(&format!(".{name}"))),
    }
}

fn within(address: IpAddr, base: IpAddr, bits: u32) -> bool {
    let (address, base, width) = match (address, base) {
        (IpAddr::V4(address), IpAddr::V4(base)) => {
            (u128::from(address.to_bits()), u128::from(base.to_bits()), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(base)) => (address.to_bits(), base.to_bits(), 128),
        _ => return false,
    };
    match width - bits.min(width) {
        128 => true,
        rest => address >> rest == base >> rest,
    }
}

#[cfg(test)]
mod tests {
    use super::is_exempt;

    #[test]
    fn this_machine_and_what_is_listed_needs_no_proxy() {
        for (host, exempt, direct) in [
            ("127.0.0.1", "", true),
            ("127.8.9.1", "", true),
            ("[::1]", "", true),
            ("localhost", "", true),
            ("10.1.2.3", "", false),
            ("10.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "10.0.0.0/8, 11.1.2.3", true),
            ("11.1.2.3", "11.1.2.3:6443", true),
            ("fd00::1", "fd00::/8", true),
            ("fd00::1", "10.0.0.0/8", false),
            ("10.1.2.3", "0.0.0.0/0", true),
            ("api.example.com", "example.com", true),
            ("api.example.com", ".example.com", true),
            ("api.example.com", "*.Example.com", true),
            ("example.com", ".example.com", false),
            ("badexample.com", "example.com", false),
            ("api.example.com", "*", true),
            ("api.example.com", ", ,", false),
        ] {
            assert_eq!(is_exempt(host, exempt), direct, "{host} with {exempt:?}");
        }
    }
}
