//! What a call costs once its arguments and result are known. The figures are upstream's, so that what fits a budget there
//! fits here.

use crate::library::Overload;
use crate::value::{Opaque, Value};

pub(crate) const LIST: u64 = 10;
pub(crate) const MAP: u64 = 30;
pub(crate) const STRUCT: u64 = 40;
/// An authorization check is so dear that an expression can afford two.
pub(crate) const CHECK: u64 = 350_000;

/// How the cost of a call follows from its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Fixed(u64),
    /// Walks through its first argument this many times.
    Walk(u64),
    /// Walks through its result twice.
    WalkResult,
    InList,
    Compare,
    Concat,
    Regex,
    Contains,
    /// Walks through the first argument as deep as it goes.
    WalkDeep,
    Selector,
    ContainsIp {
        text: bool,
    },
    ContainsCidr {
        text: bool,
    },
    Validate,
    /// Compares each item of one list with each of the other, this many times.
    Sets(u64),
    ListResult,
    Flatten,
    /// Compares each item of this argument with every other one.
    SelfCompare(usize),
}

impl Rule {
    pub(crate) fn of(function: &str, overloads: &[&'static Overload]) -> Rule {
        let id = match overloads {
            [one] => one.id,
            _ => "",
        };
        match function {
            "check" => return Rule::Fixed(CHECK),
            "fieldSelector" | "labelSelector" => return Rule::Selector,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => return Rule::WalkDeep,
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "jsonpatch.escapeKey" => {
                return Rule::Walk(1);
            }
            "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                return Rule::Walk(1);
            }
            "ip" => return if id == "cidr_ip" { Rule::Fixed(1) } else { Rule::Walk(1) },
            "replace" | "split" | "ip.isCanonical" => return Rule::Walk(2),
            "join" => return Rule::WalkResult,
            "find" | "findAll" => return Rule::Regex,
            "containsIP" => return Rule::ContainsIp { text: id == "cidr_contains_ip_string" },
            "containsCIDR" => return Rule::ContainsCidr { text: id == "cidr_contains_cidr_string" },
            "validate" => return Rule::Validate,
            "@sortByAssociatedKeys" if !id.is_empty() => return Rule::SelfCompare(1),
            "sort" if !id.is_empty() => return Rule::SelfCompare(0),
            _ => {}
        }
        match id {
            "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
            | "strings_quote" | "string_format" => Rule::Walk(1),
            "in_list" => Rule::InList,
            "equals"
            | "not_equals"
            | "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes" => Rule::Compare,
            "add_string" | "add_bytes" => Rule::Concat,
            "matches_string" => Rule::Regex,
            "contains_string" => Rule::Contains,
            "list_sets_contains_list" | "list_sets_intersects_list" => Rule::Sets(1),
            "list_sets_equivalent_list" => Rule::Sets(2),
            "list_slice" | "lists_range" | "list_reverse" => Rule::ListResult,
            "list_flatten" | "list_flatten_int" => Rule::Flatten,
            "list_distinct" => Rule::SelfCompare(0),
            _ => Rule::Fixed(1),
        }
    }

    pub(crate) fn cost(self, args: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
        let size = |place: usize| args.get(place).map_or(1, Value::size);
        match self {
            Rule::Fixed(cost) => cost,
            Rule::Walk(times) => tenth(size(0).saturating_mul(times)),
            Rule::WalkResult => result.map_or(1, |result| tenth(result.size().saturating_mul(2))),
            Rule::InList => size(1),
            Rule::Compare if matches!(args.first(), Some(Value::Opaque(_))) => 1,
            Rule::Compare => tenth(size(0).min(size(1))),
            Rule::Concat => tenth(size(0).saturating_add(size(1))),
            Rule::Regex => tenth(size(0) + 1).saturating_mul(size(1).div_ceil(4)),
            Rule::Contains => tenth(size(0)).saturating_mul(tenth(size(1))),
            Rule::WalkDeep => args.first().map_or(0, deep),
            Rule::Selector => LIST + tenth(size(1)) + size(1).div_ceil(2) * (LIST + STRUCT),
            Rule::ContainsIp { text } => tenth(size(0) * 2) + if text { tenth(size(1)) } else { 0 },
            Rule::ContainsCidr { text } => {
                tenth(size(0) * 2) + tenth(size(0)) + 1 + if text { tenth(size(1)) } else { 0 }
            }
            Rule::Validate => tenth(size(1) + 1).saturating_mul(regex_size(args.first()).div_ceil(4)),
            Rule::Sets(times) => size(0).saturating_mul(size(1)).saturating_mul(times).saturating_add(1),
            Rule::ListResult => result.map_or(1, Value::size).saturating_add(1 + LIST),
            Rule::Flatten => {
                let depth = match args.get(1) {
                    Some(Value::Int(depth)) => u64::try_from(*depth).unwrap_or(0),
                    _ => 1,
                };
                size(0).saturating_mul(depth).saturating_add(1 + LIST)
            }
            Rule::SelfCompare(place) => {
                let square = size(place).saturating_mul(size(place));
                let text = match args.get(place) {
                    Some(Value::List(list)) if list.len() > 0 => {
                        matches!(list.get(0), Ok(Value::String(_) | Value::Bytes(_)))
                    }
                    _ => false,
                };
                let walks = if text { square / 10 } else { 0 };
                square.saturating_mul(2).saturating_add(walks + 1 + LIST)
            }
        }
    }
}

fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

fn regex_size(format: Option<&Value<'_>>) -> u64 {
    match format {
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Format(format) => format.regex_size(),
            _ => 0,
        },
        _ => 0,
    }
}

/// The cost of looking at everything in a value.
fn deep(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10,
        Value::Bytes(bytes) => bytes.len() as u64 / 10,
        Value::List(list) => list.iter().map(|item| item.as_ref().map_or(1, deep)).sum(),
        Value::Map(map) => {
            let of = |key: &Value<'_>| match key {
                Value::String(name) => map.field(name).ok().flatten().as_ref().map_or(0, deep),
                _ => 1,
            };
            map.keys().iter().map(|key| deep(key) + of(key)).sum()
        }
        _ => 1,
    }
}
