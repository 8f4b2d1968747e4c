//! What one call can cost, from the sizes of its arguments. One rule for each function that upstream knows; all else costs 1.

use super::CostRange;
use super::actual::{CHECK, LIST, STRUCT};
use super::estimate::Part;
use super::size::Size;
use crate::types::{self, Type};

/// A call's own cost, without its arguments', and the size of its result where the call says more than its type.
pub(super) struct Called {
    pub(super) cost: CostRange,
    pub(super) size: Option<Size>,
}

const WALK: f64 = 0.1;
const PATTERN: f64 = 0.25;
/// The longest expression that a named format is assumed to be checked with.
const FORMAT_PATTERN: f64 = 128.0;
const FORMAT_NAME: u64 = 64;

impl Called {
    fn of(cost: CostRange) -> Self {
        Called { cost, size: None }
    }

    fn sized(cost: CostRange, size: Size) -> Self {
        Called { cost, size: Some(size) }
    }
}

pub(super) fn estimate(function: &str, id: &str, target: Option<&Part>, args: &[Part]) -> Called {
    extension(function, id, target, args)
        .or_else(|| list_extension(id, target, args))
        .or_else(|| standard(id, target, args))
        .unwrap_or(Called::of(CostRange::exactly(1)))
}

/// The functions that Kubernetes adds, by name.
fn extension(function: &str, id: &str, target: Option<&Part>, args: &[Part]) -> Option<Called> {
    let first = args.first().map(Part::size_or_unknown);
    let of_target = target.map(Part::size_or_unknown);
    Some(match function {
        "check" => Called::of(CostRange::exactly(CHECK)),
        "fieldSelector" | "labelSelector" => {
            let size = first?;
            let requirements = size.factor(0.5).factor((LIST + STRUCT) as f64);
            Called::of(CostRange::exactly(LIST).plus(size.factor(WALK)).plus(requirements))
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            let target = target?;
            let size = target.size_or_unknown();
            match target.items() {
                Some((item, item_size)) => {
                    let text = matches!(item, Type::String | Type::Bytes);
                    let each = if text { item_size.factor(WALK) } else { CostRange::FREE };
                    Called::of(size.times_cost(CostRange::exactly(1).plus(each)))
                }
                None => Called::of(size.factor(WALK)),
            }
        }
        "url" | "jsonpatch.escapeKey" => Called::sized(first?.factor(WALK), first?),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            Called::sized(of_target?.factor(WALK), of_target?)
        }
        "replace" if args.len() >= 2 => {
            let size = replaced(of_target?, first?, args[1].size_or_unknown());
            Called::sized(of_target?.factor(2.0 * WALK), size)
        }
        "split" => {
            let limit = args.get(1).and_then(|limit| limit.literal);
            let max = limit.map_or(of_target?.max, |limit| limit as u64);
            Called::sized(of_target?.factor(2.0 * WALK), Size::at_most(max))
        }
        "join" => joined(target?, first),
        "find" | "findAll" => {
            let text = of_target?.plus(Size::exactly(1)).factor(WALK);
            Called::sized(text.times(first?.factor(PATTERN)), Size::at_most(of_target?.max))
        }
        "ip" if id == "cidr_ip" => Called::of(CostRange::exactly(1)),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            Called::of(first?.factor(WALK))
        }
        "ip.isCanonical" => Called::of(first?.factor(2.0 * WALK)),
        "containsIP" | "containsCIDR" => {
            let bytes = Size { min: 4, max: 16 };
            let mut cost = bytes.plus(bytes).factor(WALK);
            if function == "containsCIDR" {
                cost = cost.plus(bytes.factor(WALK)).plus(CostRange::exactly(1));
            }
            if matches!(id, "cidr_contains_ip_string" | "cidr_contains_cidr_string") {
                cost = cost.plus(first?.factor(WALK));
            }
            Called::of(cost)
        }
        "validate" => Called::of(first?.factor(WALK).factor(FORMAT_PATTERN * PATTERN)),
        "_==_" => return opaque_equality(args),
        _ => return None,
    })
}

/// Types of Kubernetes are compared at a glance.
fn opaque_equality(args: &[Part]) -> Option<Called> {
    let [Part { ty: Type::Opaque(left), .. }, Part { ty: Type::Opaque(right), .. }] = args else {
        return None;
    };
    if left != right {
        return None;
    }
    let most = match *left {
        types::FORMAT => FORMAT_NAME,
        types::URL => args[1].size.map_or(1, |size| size.max),
        _ => 1,
    };
    if most == 1 {
        return Some(Called::of(CostRange::exactly(1)));
    }
    Some(Called::of(CostRange { min: 1, max: most }.factor(WALK)))
}

/// How long a text can be after a replacement.
fn replaced(text: Size, old: Size, new: Size) -> Size {
    let mut count = Size::exactly(0);
    let mut kept = Size::exactly(0);
    if old.min == 0 {
        // An empty text stands between all characters and at both ends.
        (count.max, kept.max) = (text.max.saturating_add(1), text.max);
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        count.max = text.max.div_ceil(old.min);
    }
    if old.max == 0 {
        (count.min, kept.min) = (text.min.saturating_add(1), text.min);
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        count.min = text.min.div_ceil(old.max);
    }
    count.times(new).plus(kept)
}

fn joined(target: &Part, mark: Option<Size>) -> Called {
    let count = target.size_or_unknown();
    let mut size = target.items().map_or(Size::exactly(0), |(_, item)| count.times(item));
    if let Some(mark) = mark {
        let marks = Size { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
        size = size.plus(mark.times(marks));
    }
    Called::sized(size.factor(WALK), size)
}

/// The functions on lists and sets that came later, by overload.
fn list_extension(id: &str, target: Option<&Part>, args: &[Part]) -> Option<Called> {
    let size = |part: Option<&Part>| part.map(Part::size_or_unknown);
    let made =
        |factor: f64, size: Size| Called::sized(size.factor(factor).plus(CostRange::exactly(1 + LIST)), size);
    let literal = |place: usize, otherwise: u64| match args.get(place).and_then(|arg| arg.literal) {
        Some(number) => u64::try_from(number).unwrap_or(0),
        None => otherwise,
    };
    Some(match id {
        "list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list" => {
            let times = if id == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
            let pairs = size(args.first())?.times(size(args.get(1))?);
            Called::of(pairs.factor(times).plus(CostRange::exactly(1)))
        }
        "list_slice" => made(1.0, Size::exactly(literal(1, size(target)?.max).wrapping_sub(literal(0, 0)))),
        "lists_range" => made(1.0, Size::exactly(literal(0, u64::MAX))),
        "list_reverse" => made(1.0, size(target)?),
        "list_flatten" => made(1.0, size(target)?),
        "list_flatten_int" => made(literal(0, u64::MAX) as f64, size(target)?),
        "list_distinct" => made(2.0, size(target)?.times(size(target)?)),
        _ if id.ends_with("_sortByAssociatedKeys") => {
            made(sort_factor(id), size(args.first())?.times(size(args.first())?))
        }
        _ if id.starts_with("list_") && id.ends_with("_sort") => {
            made(sort_factor(id), size(target)?.times(size(target)?))
        }
        _ => return None,
    })
}

fn sort_factor(id: &str) -> f64 {
    if id.contains("_string_") || id.contains("_bytes_") { 2.0 + WALK } else { 2.0 }
}

/// The language's own functions, by overload.
fn standard(id: &str, target: Option<&Part>, args: &[Part]) -> Option<Called> {
    let first = args.first().map(Part::size_or_unknown);
    let second = args.get(1).map(Part::size_or_unknown);
    let of_target = target.map(Part::size_or_unknown);
    Some(match id {
        "string_format" => Called::of(of_target?.factor(WALK)),
        "string_to_bytes" => {
            Called::sized(first?.factor(WALK), Size { min: first?.min, max: first?.max.saturating_mul(4) })
        }
        "bytes_to_string" => {
            Called::sized(first?.factor(WALK), Size { min: first?.min / 4, max: first?.max })
        }
        "strings_quote" => {
            let size = Size {
                min: first?.min.saturating_add(2),
                max: first?.max.saturating_mul(2).saturating_add(2),
            };
            Called::sized(first?.factor(WALK), size)
        }
        "starts_with_string" | "ends_with_string" => Called::of(first?.factor(WALK)),
        "in_list" => Called::of(second?.factor(1.0)),
        "matches_string" => {
            let text = of_target?.plus(Size::exactly(1)).factor(WALK);
            Called::of(text.times(first?.factor(PATTERN)))
        }
        "contains_string" => Called::of(of_target?.factor(WALK).times(first?.factor(WALK))),
        "add_list" => Called::sized(CostRange::exactly(1), first?.plus(second?)),
        "add_string" | "add_bytes" => Called::sized(first?.plus(second?).factor(WALK), first?.plus(second?)),
        "equals"
        | "not_equals"
        | "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => {
            let max = first?.max.min(second?.max);
            Called::of(CostRange { min: u64::from(max > 0), max }.factor(WALK))
        }
        _ => return None,
    })
}
