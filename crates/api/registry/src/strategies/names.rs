//! How names, labels, ports and addresses must be spelt. Each rule tells the errors what is wrong, in Kubernetes'
//! words; nothing is allocated where nothing is wrong.

use std::net::{IpAddr, Ipv6Addr};

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::fields::{list, map, text, texts};

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const SUBDOMAIN_UNDERSCORE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
     used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which \
     must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
     '*.example.com', regex used for validation is \
     '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
     with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_KEY: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start \
     and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
     is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
     'example.com/MyName')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
     used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
     'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', \
     regex used for validation is '[-A-Za-z0-9]+')";
const VARIABLE: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
     '93%', regex used for validation is '[0-9]+%')";
const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Says what is wrong with a string.
pub(super) fn wrong(errors: &mut Errors, path: &Path<'_>, value: &str, detail: &str) {
    errors.invalid(path, &Value::from(value), detail);
}

fn longer_than(errors: &mut Errors, path: &Path<'_>, value: &str, max: usize) {
    if value.len() > max {
        wrong(errors, path, value, &format!("must be no more than {max} characters"));
    }
}

fn is_lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(value: &str) -> bool {
    let bytes = value.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if is_lower_or_digit(*first) && is_lower_or_digit(*last))
        && bytes.iter().all(|byte| is_lower_or_digit(*byte) || *byte == b'-')
}

pub(super) fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

/// A DNS-1123 label: containers, volumes, namespaces.
pub(super) fn label(errors: &mut Errors, path: &Path<'_>, value: &str) {
    longer_than(errors, path, value, 63);
    if !is_label(value) {
        wrong(errors, path, value, if is_subdomain(value) { "must not contain dots" } else { LABEL });
    }
}

/// A DNS-1123 subdomain: the names of most objects.
pub(super) fn subdomain(errors: &mut Errors, path: &Path<'_>, value: &str) {
    longer_than(errors, path, value, 253);
    if !is_subdomain(value) {
        wrong(errors, path, value, SUBDOMAIN);
    }
}

/// A subdomain whose parts may have underscores: DNS search paths.
pub(super) fn search_domain(errors: &mut Errors, path: &Path<'_>, value: &str) {
    longer_than(errors, path, value, 253);
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
    longer_than(errors, path, value, 253);
    if !value.strip_prefix("*.").is_some_and(is_subdomain) {
        wrong(errors, path, value, WILDCARD);
    }
}

/// A DNS-1035 label: services and what refers to them.
pub(super) fn label_1035(errors: &mut Errors, path: &Path<'_>, value: &str) {
    longer_than(errors, path, value, 63);
    if !is_label(value) || !value.bytes().next().is_some_and(|first| first.is_ascii_lowercase()) {
        wrong(errors, path, value, LABEL_1035);
    }
}

fn is_name_part(value: &str) -> bool {
    let bytes = value.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// `[prefix/]name`: label keys, taints, resources, conditions.
pub(super) fn is_qualified(value: &str) -> bool {
    let name = match value.split_once('/') {
        Some((prefix, _)) if prefix.len() > 253 || !is_subdomain(prefix) => return false,
        Some((_, name)) => name,
        None => value,
    };
    name.len() <= 63 && is_name_part(name)
}

pub(super) fn qualified(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if is_qualified(value) {
        return;
    }
    let mut parts = value.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                wrong(errors, path, value, "prefix part must be non-empty");
            } else {
                if prefix.len() > 253 {
                    wrong(errors, path, value, "prefix part must be no more than 253 bytes");
                }
                if !is_subdomain(prefix) {
                    wrong(errors, path, value, &format!("prefix part {SUBDOMAIN}"));
                }
            }
            name
        }
        (Some(name), None, None) => name,
        _ => return wrong(errors, path, value, LABEL_KEY),
    };
    if name.is_empty() {
        wrong(errors, path, value, "name part must be non-empty");
    } else if name.len() > 63 {
        wrong(errors, path, value, "name part must be no more than 63 bytes");
    }
    if !is_name_part(name) {
        wrong(errors, path, value, NAME_PART);
    }
}

pub(super) fn label_value(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if value.len() > 63 {
        wrong(errors, path, value, "must be no more than 63 bytes");
    }
    if !value.is_empty() && !is_name_part(value) {
        wrong(errors, path, value, LABEL_VALUE);
    }
}

pub(super) fn is_label_value(value: &str) -> bool {
    value.len() <= 63 && (value.is_empty() || is_name_part(value))
}

/// A map of labels: `metadata.labels`, `nodeSelector`, `matchLabels`.
pub(super) fn labels(errors: &mut Errors, path: &Path<'_>, of: &Value, field: &str) {
    for (key, value) in map(of, field) {
        qualified(errors, path, key);
        label_value(errors, path, value.as_str().unwrap_or_default());
    }
}

/// Annotations are keyed like labels, in any case of letters, and hold anything up to a size.
pub(super) fn annotations(errors: &mut Errors, path: &Path<'_>, of: &Value) {
    const MAX: usize = 256 * 1024;
    let mut size = 0;
    for (key, value) in map(of, "annotations") {
        if !is_qualified(key) && !is_qualified(&key.to_lowercase()) {
            qualified(errors, path, &key.to_lowercase());
        }
        size += key.len() + value.as_str().map_or(0, str::len);
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

/// The selector chooses an object with these labels.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let exact = map(selector, "matchLabels").iter().all(|(key, value)| labels.get(key) == Some(value));
    exact
        && list(selector, "matchExpressions").iter().all(|expression| {
            let found = labels.get(text(expression, "key")).and_then(Value::as_str);
            let listed = found.is_some_and(|found| texts(expression, "values").any(|value| value == found));
            match text(expression, "operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

pub(super) fn selects_everything(selector: &Value) -> bool {
    map(selector, "matchLabels").is_empty() && list(selector, "matchExpressions").is_empty()
}

pub(super) fn port_number(errors: &mut Errors, path: &Path<'_>, port: i64) {
    between(errors, path, port, 1, 65535);
}

pub(super) fn port_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    longer_than(errors, path, name, 15);
    if name.is_empty() || !name.bytes().all(|byte| is_lower_or_digit(byte) || byte == b'-') {
        wrong(errors, path, name, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        wrong(errors, path, name, "must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        wrong(errors, path, name, "must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong(errors, path, name, "must not begin or end with a hyphen");
    }
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
    longer_than(errors, path, key, 253);
    if key.is_empty()
        || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    {
        wrong(errors, path, key, CONFIG_KEY);
    }
    match key {
        "." => wrong(errors, path, key, "must not be '.'"),
        ".." => wrong(errors, path, key, "must not be '..'"),
        _ if key.starts_with("..") => wrong(errors, path, key, "must not start with '..'"),
        _ => {}
    }
}

pub(super) fn variable(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if !name.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=') {
        wrong(errors, path, name, VARIABLE);
    }
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

pub(super) fn parse_range(value: &str) -> Option<(IpAddr, u8)> {
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
