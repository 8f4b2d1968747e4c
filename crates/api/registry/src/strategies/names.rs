//! How names, labels, ports and addresses in a spec must be spelt. Each rule tells the errors what is wrong; those that
//! the whole API shares are the vocabulary's. Nothing is allocated where nothing is wrong.

use std::net::{IpAddr, Ipv6Addr};

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::names::{self, Messages};
use kedge_kinds::selector::LabelSelector;
use serde_json::Value;

use super::fields::{list, map, text, texts};

pub(super) use kedge_kinds::names::is_subdomain;

const SUBDOMAIN_UNDERSCORE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
     used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', \
     regex used for validation is '[-A-Za-z0-9]+')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
     '93%', regex used for validation is '[0-9]+%')";
/// One such value among labels, and no typed client can read the list that it is in.
const NO_TEXT: &str = "must be a string";
const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Says what is wrong with a string.
pub(super) fn wrong(errors: &mut Errors, path: &Path<'_>, value: &str, detail: &str) {
    errors.invalid(path, &Value::from(value), detail);
}

fn tell(errors: &mut Errors, path: &Path<'_>, value: &str, wrongs: Messages) {
    for detail in wrongs {
        wrong(errors, path, value, &detail);
    }
}

fn is_lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// A DNS-1123 label: containers, volumes, namespaces.
pub(super) fn label(errors: &mut Errors, path: &Path<'_>, value: &str) {
    tell(errors, path, value, names::dns1123_label(value));
}

/// A DNS-1123 subdomain: the names of most objects.
pub(super) fn subdomain(errors: &mut Errors, path: &Path<'_>, value: &str) {
    tell(errors, path, value, names::dns1123_subdomain(value));
}

/// A subdomain whose parts may have underscores: DNS search paths.
pub(super) fn search_domain(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if value.len() > 253 {
        wrong(errors, path, value, &names::too_long(253));
    }
    let fits = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        let ends = part.bytes().next().is_some_and(is_lower_or_digit)
            && part.bytes().last().is_some_and(is_lower_or_digit);
        ends && part.bytes().all(|byte| is_lower_or_digit(byte) || matches!(byte, b'-' | b'_'))
    };
    if !value.split('.').all(fits) {
        wrong(errors, path, value, SUBDOMAIN_UNDERSCORE);
    }
}

/// `*.example.com`
pub(super) fn wildcard(errors: &mut Errors, path: &Path<'_>, value: &str) {
    tell(errors, path, value, names::wildcard_dns1123_subdomain(value));
}

/// A DNS-1035 label: services and what refers to them.
pub(super) fn label_1035(errors: &mut Errors, path: &Path<'_>, value: &str) {
    tell(errors, path, value, names::dns1035_label(value));
}

/// `[prefix/]name`: label keys, taints, resources, conditions.
pub(super) fn is_qualified(value: &str) -> bool {
    names::qualified_name(value).is_empty()
}

pub(super) fn qualified(errors: &mut Errors, path: &Path<'_>, value: &str) {
    tell(errors, path, value, names::qualified_name(value));
}

pub(super) fn label_value(errors: &mut Errors, path: &Path<'_>, value: &str) {
    tell(errors, path, value, names::label_value(value));
}

pub(super) fn is_label_value(value: &str) -> bool {
    names::label_value(value).is_empty()
}

/// A map of labels: `metadata.labels`, `nodeSelector`, `matchLabels`.
pub(crate) fn labels(errors: &mut Errors, path: &Path<'_>, of: &Value, field: &str) {
    for (key, value) in map(of, field) {
        qualified(errors, path, key);
        match value.as_str() {
            Some(text) => label_value(errors, path, text),
            None => errors.invalid(path, value, NO_TEXT),
        }
    }
}

/// Annotations are keyed like labels, in any case of letters, and hold anything up to a size.
pub(crate) fn annotations(errors: &mut Errors, path: &Path<'_>, of: &Value) {
    const MAX: usize = 256 * 1024;
    let mut size = 0;
    for (key, value) in map(of, "annotations") {
        if !is_qualified(key) {
            for detail in names::qualified_name(&key.to_lowercase()) {
                wrong(errors, path, key, &detail);
            }
        }
        match value.as_str() {
            Some(text) => size += key.len() + text.len(),
            None => errors.invalid(path, value, NO_TEXT),
        }
    }
    if size > MAX {
        errors.too_long(path, MAX);
    }
}

/// A label selector: `matchLabels` and `matchExpressions`.
pub(super) fn selector(errors: &mut Errors, path: &Path<'_>, selector: &Value) {
    if selector.is_null() {
        return;
    }
    labels(errors, &path.child("matchLabels"), selector, "matchLabels");
    let expressions = path.child("matchExpressions");
    for (i, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let path = expressions.index(i);
        let values = list(expression, "values");
        match text(expression, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                errors
                    .required(&path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.forbidden(&path.child("values"), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => wrong(errors, &path.child("operator"), other, "not a valid selector operator"),
        }
        qualified(errors, &path.child("key"), text(expression, "key"));
        let at_values = path.child("values");
        for (j, value) in texts(expression, "values").enumerate() {
            label_value(errors, &at_values.index(j), value);
        }
    }
}

/// The selector chooses an object with these labels. One that can't be read is refused elsewhere.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    selector.is_null()
        || LabelSelector::of_object(Some(selector)).map_or(true, |selector| selector.matches(label))
}

pub(super) fn selects_everything(selector: &Value) -> bool {
    map(selector, "matchLabels").is_empty() && list(selector, "matchExpressions").is_empty()
}

pub(super) fn port_number(errors: &mut Errors, path: &Path<'_>, port: i64) {
    between(errors, path, port, 1, 65535);
}

pub(super) fn port_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    tell(errors, path, name, names::port_name(name));
}

/// A port by number or by name. An absent one counts as number 0.
pub(super) fn port(errors: &mut Errors, path: &Path<'_>, port: &Value) {
    match port {
        Value::String(name) => port_name(errors, path, name),
        other => port_number(errors, path, other.as_i64().unwrap_or(0)),
    }
}

pub(super) fn between(errors: &mut Errors, path: &Path<'_>, value: i64, low: i64, high: i64) {
    if !(low..=high).contains(&value) {
        errors.invalid(path, &Value::from(value), &format!("must be between {low} and {high}, inclusive"));
    }
}

pub(super) fn not_negative(errors: &mut Errors, path: &Path<'_>, value: i64) {
    if value < 0 {
        errors.invalid(path, &Value::from(value), "must be greater than or equal to 0");
    }
}

pub(super) fn positive(errors: &mut Errors, path: &Path<'_>, value: i64) {
    if value <= 0 {
        errors.invalid(path, &Value::from(value), "must be greater than 0");
    }
}

/// One of a few words; an empty one is missing.
pub(super) fn one_of(errors: &mut Errors, path: &Path<'_>, value: &str, known: &[&str]) {
    if value.is_empty() {
        errors.required(path, "");
    } else if !known.contains(&value) {
        errors.not_supported(path, &Value::from(value), known);
    }
}

/// One of a few words, if the field is there.
pub(super) fn one_of_if_set(errors: &mut Errors, path: &Path<'_>, value: &Value, known: &[&str]) {
    if let Some(word) = value.as_str()
        && !known.contains(&word)
    {
        errors.not_supported(path, value, known);
    }
}

pub(super) fn config_key(errors: &mut Errors, path: &Path<'_>, key: &str) {
    tell(errors, path, key, names::config_key(key));
}

pub(super) fn variable(errors: &mut Errors, path: &Path<'_>, name: &str) {
    tell(errors, path, name, names::env_var(name));
}

pub(super) fn header(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        wrong(errors, path, name, HEADER);
    }
}

/// A count or a share: an integer from 0 on, or a percentage.
pub(super) fn share(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    match value {
        Value::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                errors.invalid(path, value, PERCENT);
            }
        }
        other => not_negative(errors, path, other.as_i64().unwrap_or(0)),
    }
}

/// The percentage that a share is, if it is one.
pub(super) fn percentage(value: &Value) -> Option<i64> {
    value.as_str()?.strip_suffix('%')?.parse().ok()
}

/// Zero, or zero percent.
pub(super) fn is_nothing(value: &Value) -> bool {
    percentage(value).or_else(|| value.as_i64()).unwrap_or(0) == 0
}

/// A share of more than everything.
pub(super) fn share_at_most_all(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    if percentage(value).is_some_and(|percent| percent > 100) {
        errors.invalid(path, value, "must not be greater than 100%");
    }
}

/// An address. Old forms with leading zeros or IPv4 inside IPv6 are accepted as the server always did.
pub(super) fn parse_address(value: &str) -> Option<IpAddr> {
    value.parse().ok().or_else(|| {
        // "010.001.0.1": decimal with leading zeros, which the standard library refuses.
        let mut parts = value.split('.').map(|part| part.parse::<u8>().ok().filter(|_| part.len() <= 3));
        let address = [parts.next()??, parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then(|| IpAddr::from(address))
    })
}

pub(super) fn address(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if parse_address(value).is_none() {
        wrong(errors, path, value, ADDRESS);
    }
}

pub(crate) fn parse_range(value: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = value.split_once('/')?;
    let address = parse_address(address)?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let bits: u8 = bits.parse().ok().filter(|bits| *bits <= max)?;
    Some((address, bits))
}

pub(super) fn range(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if parse_range(value).is_none() {
        wrong(errors, path, value, RANGE);
    }
}

/// An address lies in a range.
pub(super) fn is_inside(address: IpAddr, range: IpAddr, bits: u8) -> bool {
    match (address, range) {
        (IpAddr::V4(address), IpAddr::V4(range)) => {
            (u32::from(address) ^ u32::from(range)).checked_shr(32 - u32::from(bits)).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(range)) => {
            (u128::from(address) ^ u128::from(range)).checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Addresses that traffic for a service must not be sent to.
pub(super) fn endpoint_address(errors: &mut Errors, path: &Path<'_>, value: &str) {
    let Some(address) = parse_address(value) else { return };
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => is_link_local(address),
    };
    if address.is_unspecified() {
        wrong(errors, path, value, &format!("may not be unspecified ({value})"));
    }
    if address.is_loopback() {
        wrong(errors, path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if link_local {
        wrong(errors, path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    let link_multicast = match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    };
    if link_multicast {
        wrong(errors, path, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}
