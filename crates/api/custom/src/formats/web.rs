//! Addresses and names of the network.

use std::net::{IpAddr, Ipv6Addr};

pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && parse_ip(text).is_some()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
}

/// Zeros in front are tolerated in IPv4.
fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut bytes = [0; 4];
    let mut parts = text.split('.');
    for byte in &mut bytes {
        let part = parts.next().filter(|part| !part.is_empty())?;
        if !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let plain = part.trim_start_matches('0');
        *byte = if plain.is_empty() { 0 } else { plain.parse().ok()? };
    }
    parts.next().is_none().then(|| IpAddr::from(bytes))
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match parse_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

pub(super) fn is_mac(text: &str) -> bool {
    let (separator, width) = match text.as_bytes().get(2) {
        Some(b':') => (':', 2),
        Some(b'-') => ('-', 2),
        _ => ('.', 4),
    };
    let parts: Vec<&str> = text.split(separator).collect();
    matches!(parts.len() * width / 2, 6 | 8 | 20)
        && parts.iter().all(|part| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// One label of up to 64 characters, or several that end in a domain of letters.
pub(super) fn is_hostname(text: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || !char.is_ascii() || "$+<=>^`|~".contains(char);
    let parts: Vec<&str> = text.split('.').collect();
    if text.len() > 255 || parts.iter().any(|part| part.len() > 63) {
        return false;
    }
    let Some((last, before)) = parts.split_last() else { return false };
    if before.is_empty() {
        let mut chars = last.chars();
        let dashed = last.matches('-').count();
        let second_only = dashed == 0 || (dashed == 1 && last.chars().nth(1) == Some('-'));
        return chars.next().is_some_and(plain)
            && second_only
            && chars.all(|char| plain(char) || char == '-');
    }
    let fits = |part: &&str| {
        part.chars().next().is_some_and(plain)
            && part.chars().last().is_some_and(plain)
            && part.chars().all(|char| plain(char) || char == '-')
    };
    before.iter().all(fits)
        && (2..=63).contains(&last.chars().count())
        && last.chars().all(|char| char.is_ascii_alphabetic() || (!char.is_ascii() && char.is_alphabetic()))
}

/// `name@host`, also behind a person's name in angle brackets.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(rest) => rest.rsplit_once('<').map_or("", |(_, address)| address),
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let quoted = local.len() > 1 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || is_dotted_atom(local)) && (literal || is_dotted_atom(domain))
}

fn is_dotted_atom(text: &str) -> bool {
    let fits =
        |char: char| char.is_ascii_alphanumeric() || !char.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(char);
    text.split('.').all(|part| !part.is_empty() && part.chars().all(fits))
}

/// A path from the root or a whole URI: what can stand in a request's first line.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return false;
    }
    let scheme = text.split_once(':').filter(|(scheme, _)| {
        scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    let rest = match scheme {
        // Whatever follows a scheme without a slash is opaque.
        Some((_, rest)) if !rest.starts_with('/') => return !rest.is_empty() || text.ends_with(':'),
        Some((_, rest)) => rest,
        None if text.starts_with('/') => text,
        None => return false,
    };
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) if scheme.is_some() => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        _ => ("", rest),
    };
    is_authority(host) && percents_fit(path)
}

fn is_authority(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port_fits = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    port_fits && percents_fit(name) && !name.bytes().any(|byte| b" \"<>\\^`{|}".contains(&byte))
}

fn percents_fit(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)))
}
