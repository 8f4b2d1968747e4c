//! Lists and sets of values: order, sums, slices, membership.

use std::cmp::Ordering;

use super::{Fun, first, operators, second};
use crate::cost::PER_CALL_LIMIT;
use crate::error::EvalError;
use crate::value::{List, Value, compare};

pub(crate) const SIGNATURES: &str = "
isSorted list_int_is_sorted_bool list(int).() bool
isSorted list_uint_is_sorted_bool list(uint).() bool
isSorted list_double_is_sorted_bool list(double).() bool
isSorted list_bool_is_sorted_bool list(bool).() bool
isSorted list_duration_is_sorted_bool list(duration).() bool
isSorted list_timestamp_is_sorted_bool list(timestamp).() bool
isSorted list_string_is_sorted_bool list(string).() bool
isSorted list_bytes_is_sorted_bool list(bytes).() bool
sum list_int_sum_int list(int).() int
sum list_uint_sum_uint list(uint).() uint
sum list_double_sum_double list(double).() double
sum list_duration_sum_duration list(duration).() duration
max list_int_max_int list(int).() int
max list_uint_max_uint list(uint).() uint
max list_double_max_double list(double).() double
max list_bool_max_bool list(bool).() bool
max list_duration_max_duration list(duration).() duration
max list_timestamp_max_timestamp list(timestamp).() timestamp
max list_string_max_string list(string).() string
max list_bytes_max_bytes list(bytes).() bytes
min list_int_min_int list(int).() int
min list_uint_min_uint list(uint).() uint
min list_double_min_double list(double).() double
min list_bool_min_bool list(bool).() bool
min list_duration_min_duration list(duration).() duration
min list_timestamp_min_timestamp list(timestamp).() timestamp
min list_string_min_string list(string).() string
min list_bytes_min_bytes list(bytes).() bytes
indexOf list_a_index_of_int list(A).(A) int
lastIndexOf list_a_last_index_of_int list(A).(A) int
slice list_slice list(A).(int,int) list(A)
flatten list_flatten list(list(A)).() list(A)
flatten list_flatten_int list(dyn).(int) list(dyn)
sort list_int_sort list(int).() list(int)
sort list_uint_sort list(uint).() list(uint)
sort list_double_sort list(double).() list(double)
sort list_bool_sort list(bool).() list(bool)
sort list_duration_sort list(duration).() list(duration)
sort list_timestamp_sort list(timestamp).() list(timestamp)
sort list_string_sort list(string).() list(string)
sort list_bytes_sort list(bytes).() list(bytes)
@sortByAssociatedKeys list_int_sortByAssociatedKeys list(A).(list(int)) list(A)
@sortByAssociatedKeys list_uint_sortByAssociatedKeys list(A).(list(uint)) list(A)
@sortByAssociatedKeys list_double_sortByAssociatedKeys list(A).(list(double)) list(A)
@sortByAssociatedKeys list_bool_sortByAssociatedKeys list(A).(list(bool)) list(A)
@sortByAssociatedKeys list_duration_sortByAssociatedKeys list(A).(list(duration)) list(A)
@sortByAssociatedKeys list_timestamp_sortByAssociatedKeys list(A).(list(timestamp)) list(A)
@sortByAssociatedKeys list_string_sortByAssociatedKeys list(A).(list(string)) list(A)
@sortByAssociatedKeys list_bytes_sortByAssociatedKeys list(A).(list(bytes)) list(A)
lists.range lists_range (int) list(int)
reverse list_reverse list(A).() list(A)
distinct list_distinct list(A).() list(A)
sets.contains list_sets_contains_list (list(A),list(A)) bool
sets.equivalent list_sets_equivalent_list (list(A),list(A)) bool
sets.intersects list_sets_intersects_list (list(A),list(A)) bool
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("isSorted", |args| {
        let items = of(first(args)?)?.values()?;
        for pair in items.windows(2) {
            if compare::order(&pair[0], &pair[1])? == Some(Ordering::Greater) {
                return Ok(Value::Bool(false));
            }
        }
        Ok(Value::Bool(true))
    }),
    ("sum", |args| {
        let items = of(first(args)?)?.values()?;
        let mut sum = match items.first() {
            None | Some(Value::Int(_)) => Value::Int(0),
            Some(Value::Uint(_)) => Value::Uint(0),
            Some(Value::Double(_)) => Value::Double(0.0),
            Some(Value::Duration(_)) => Value::Duration(0),
            Some(_) => return Err(EvalError::NoSuchOverload),
        };
        for item in &items {
            sum = operators::add(&sum, item)?;
        }
        Ok(sum)
    }),
    ("max", |args| extreme(args, "max", Ordering::Less)),
    ("min", |args| extreme(args, "min", Ordering::Greater)),
    ("slice", |args| match args {
        [Value::List(list), Value::Int(start), Value::Int(end)] => slice(list, *start, *end),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("flatten", |args| match args {
        [Value::List(list)] => flatten(list, 1),
        [Value::List(list), Value::Int(depth)] => flatten(list, *depth),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("sort", |args| {
        let list = of(first(args)?)?;
        sorted_by(list, list)
    }),
    ("@sortByAssociatedKeys", |args| sorted_by(of(first(args)?)?, of(second(args)?)?)),
    ("lists.range", |args| match first(args)? {
        Value::Int(count) if *count > PER_CALL_LIMIT as i64 => Err(EvalError::CostExceeded),
        Value::Int(count) => Ok(Value::list((0..*count).map(Value::Int).collect())),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("reverse", |args| {
        let mut items = of(first(args)?)?.values()?;
        items.reverse();
        Ok(Value::list(items))
    }),
    ("distinct", |args| {
        let mut kept = Vec::new();
        for item in of(first(args)?)?.iter() {
            let item = item?;
            if !holds(&kept, &item)? {
                kept.push(item);
            }
        }
        Ok(Value::list(kept))
    }),
    ("sets.contains", |args| Ok(Value::Bool(contains(of(first(args)?)?, of(second(args)?)?)?))),
    ("sets.equivalent", |args| {
        let (a, b) = (of(first(args)?)?, of(second(args)?)?);
        Ok(Value::Bool(contains(a, b)? && contains(b, a)?))
    }),
    ("sets.intersects", |args| {
        let (a, b) = (of(first(args)?)?, of(second(args)?)?);
        for item in a.iter() {
            if b.contains(&item?)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }),
];

fn of<'v, 'a>(value: &'v Value<'a>) -> Result<&'v List<'a>, EvalError> {
    match value {
        Value::List(list) => Ok(list),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn holds<'a>(items: &[Value<'a>], wanted: &Value<'a>) -> Result<bool, EvalError> {
    for item in items {
        if compare::equal(item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains<'a>(outer: &List<'a>, inner: &List<'a>) -> Result<bool, EvalError> {
    for item in inner.iter() {
        if !outer.contains(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn extreme<'a>(args: &[Value<'a>], name: &str, worse: Ordering) -> Result<Value<'a>, EvalError> {
    let mut best: Option<Value<'a>> = None;
    for item in of(first(args)?)?.iter() {
        let item = item?;
        let better = match &best {
            None => true,
            Some(best) => compare::order(best, &item)? == Some(worse),
        };
        if better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| EvalError::function(format!("{name} called on empty list")))
}

pub(super) fn index_of<'a>(list: &List<'a>, wanted: &Value<'a>) -> Result<Value<'a>, EvalError> {
    for (place, item) in list.iter().enumerate() {
        if compare::equal(&item?, wanted)? {
            return Ok(Value::Int(place as i64));
        }
    }
    Ok(Value::Int(-1))
}

pub(super) fn last_index_of<'a>(list: &List<'a>, wanted: &Value<'a>) -> Result<Value<'a>, EvalError> {
    for place in (0..list.len()).rev() {
        if compare::equal(&list.get(place)?, wanted)? {
            return Ok(Value::Int(place as i64));
        }
    }
    Ok(Value::Int(-1))
}

fn slice<'a>(list: &List<'a>, start: i64, end: i64) -> Result<Value<'a>, EvalError> {
    let refuse = |why: &str| Err(EvalError::function(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return refuse("negative indexes not supported");
    };
    if from > to {
        return refuse("start index must be less than or equal to end index");
    }
    if to > list.len() {
        return refuse(&format!("list is length {}", list.len()));
    }
    Ok(Value::list((from..to).map(|place| list.get(place)).collect::<Result<_, _>>()?))
}

fn flatten<'a>(list: &List<'a>, depth: i64) -> Result<Value<'a>, EvalError> {
    if depth < 0 {
        return Err(EvalError::function("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(list, depth, &mut flat)?;
    Ok(Value::list(flat))
}

fn flatten_into<'a>(list: &List<'a>, depth: i64, flat: &mut Vec<Value<'a>>) -> Result<(), EvalError> {
    for item in list.iter() {
        match item? {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, flat)?,
            other => flat.push(other),
        }
    }
    Ok(())
}

fn sorted_by<'a>(list: &List<'a>, keys: &List<'a>) -> Result<Value<'a>, EvalError> {
    let (items, keys) = (list.values()?, keys.values()?);
    let Some(sample) = keys.first() else { return Ok(Value::list(items)) };
    compare::order(sample, sample).map_err(|_| EvalError::function("list elements must be comparable"))?;
    if keys.iter().any(|key| key.type_name() != sample.type_name()) {
        return Err(EvalError::function("list elements must have the same type"));
    }
    let mut places: Vec<usize> = (0..items.len().min(keys.len())).collect();
    places.sort_by(|a, b| compare::order(&keys[*a], &keys[*b]).ok().flatten().unwrap_or(Ordering::Equal));
    Ok(Value::list(places.into_iter().map(|place| items[place].clone()).collect()))
}
