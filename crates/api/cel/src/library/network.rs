//! Addresses and networks: `ip`, `cidr` and their parts.

use std::net::IpAddr;

use super::{Fun, first, second};
use crate::error::EvalError;
use crate::value::{Opaque, Value};

pub(crate) const SIGNATURES: &str = "
ip string_to_ip (string) ip
ip cidr_ip cidr.() ip
ip.isCanonical ip_is_canonical (string) bool
isIP is_ip (string) bool
family ip_family ip.() int
isUnspecified ip_is_unspecified ip.() bool
isLoopback ip_is_loopback ip.() bool
isLinkLocalMulticast ip_is_link_local_multicast ip.() bool
isLinkLocalUnicast ip_is_link_local_unicast ip.() bool
isGlobalUnicast ip_is_global_unicast ip.() bool
cidr string_to_cidr (string) cidr
isCIDR is_cidr (string) bool
containsIP cidr_contains_ip_string cidr.(string) bool
containsIP cidr_contains_ip_ip cidr.(ip) bool
containsCIDR cidr_contains_cidr_string cidr.(string) bool
containsCIDR cidr_contains_cidr cidr.(cidr) bool
prefixLength cidr_prefix_length cidr.() int
masked cidr_masked cidr.() cidr
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("ip", |args| match first(args)? {
        Value::String(text) => Ok(ip_value(parse_ip(text)?)),
        other => Ok(ip_value(cidr(other)?.0)),
    }),
    ("ip.isCanonical", |args| match first(args)? {
        Value::String(text) => Ok(Value::Bool(parse_ip(text)?.to_string() == **text)),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("isIP", |args| match first(args)? {
        Value::String(text) => Ok(Value::Bool(parse_ip(text).is_ok())),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("family", |args| Ok(Value::Int(if ip(first(args)?)?.is_ipv4() { 4 } else { 6 }))),
    ("isUnspecified", |args| Ok(Value::Bool(ip(first(args)?)?.is_unspecified()))),
    ("isLoopback", |args| Ok(Value::Bool(ip(first(args)?)?.is_loopback()))),
    ("isLinkLocalMulticast", |args| {
        Ok(Value::Bool(match ip(first(args)?)? {
            IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
            IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
        }))
    }),
    ("isLinkLocalUnicast", |args| Ok(Value::Bool(is_link_local(&ip(first(args)?)?)))),
    ("isGlobalUnicast", |args| {
        let address = ip(first(args)?)?;
        let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
        let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
        Ok(Value::Bool(!broadcast && !special && !is_link_local(&address)))
    }),
    ("cidr", |args| match first(args)? {
        Value::String(text) => {
            let (address, length) = parse_cidr(text).map_err(|why| {
                EvalError::function(format!(
                    "network address parse error during conversion from string: {why}"
                ))
            })?;
            Ok(Value::opaque(Opaque::Cidr(address, length)))
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("isCIDR", |args| match first(args)? {
        Value::String(text) => Ok(Value::Bool(parse_cidr(text).is_ok())),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("containsIP", |args| {
        let network = cidr(first(args)?)?;
        let address = match second(args)? {
            // A text that is no address is refused like a value of another type.
            Value::String(text) => parse_ip(text).map_err(|_| EvalError::NoSuchOverload)?,
            other => ip(other)?,
        };
        Ok(Value::Bool(contains(network, address)))
    }),
    ("containsCIDR", |args| {
        let network = cidr(first(args)?)?;
        let (address, length) = match second(args)? {
            Value::String(text) => parse_cidr(text).map_err(|_| EvalError::NoSuchOverload)?,
            other => cidr(other)?,
        };
        Ok(Value::Bool(network.1 <= length && contains(network, address)))
    }),
    ("prefixLength", |args| Ok(Value::Int(i64::from(cidr(first(args)?)?.1)))),
    ("masked", |args| {
        let (address, length) = cidr(first(args)?)?;
        Ok(Value::opaque(Opaque::Cidr(masked(address, length), length)))
    }),
];

fn ip_value<'a>(address: IpAddr) -> Value<'a> {
    Value::opaque(Opaque::Ip(address))
}

fn ip(value: &Value<'_>) -> Result<IpAddr, EvalError> {
    match value {
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Ip(address) => Ok(*address),
            _ => Err(EvalError::NoSuchOverload),
        },
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn cidr(value: &Value<'_>) -> Result<(IpAddr, u8), EvalError> {
    match value {
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Cidr(address, length) => Ok((*address, *length)),
            _ => Err(EvalError::NoSuchOverload),
        },
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn parse_ip(text: &str) -> Result<IpAddr, EvalError> {
    if let Some((address, _)) = text.split_once('%')
        && address.parse::<std::net::Ipv6Addr>().is_ok()
    {
        return Err(EvalError::function(format!("IP address {text:?} with zone value is not allowed")));
    }
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => {
            Err(EvalError::function(format!("IPv4-mapped IPv6 address {text:?} is not allowed")))
        }
        Ok(address) => Ok(address),
        Err(_) => Err(EvalError::function(format!(
            "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
        ))),
    }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let bad = |why: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({text:?}): {why}"
        )
    };
    let (address, length) = text.rsplit_once('/').ok_or_else(|| bad("no '/'"))?;
    let address: IpAddr =
        address.parse().map_err(|_| bad(&format!("ParseAddr({address:?}): unable to parse IP")))?;
    if matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
        return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    let plain = length == "0" || !length.starts_with(['0', '+', '-']);
    let most = if address.is_ipv4() { 32 } else { 128 };
    match length.parse::<u8>() {
        Ok(bits) if plain && bits <= most => Ok((address, bits)),
        Ok(_) if plain => Err(bad("prefix length out of range")),
        _ => Err(bad(&format!("bad bits after slash: {length:?}"))),
    }
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

fn contains((network, length): (IpAddr, u8), address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, length) == masked(address, length)
}
