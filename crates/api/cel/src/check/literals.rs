//! Mistakes that show without any input, once types are known: durations, timestamps and patterns that cannot be read,
//! literals of mixed types, and formats that do not fit what they are given.

use crate::library::{printf, regexes, time};
use crate::syntax::ast::{Call, Expr, Kind, Literal};
use crate::syntax::source::Source;
use crate::types::Type;
use crate::value::Instant;

pub(super) fn check(expr: &Expr, source: &mut Source) {
    inspect(expr, source, false);
}

/// What is given to `format` may be of mixed types.
fn inspect(expr: &Expr, source: &mut Source, formatted: bool) {
    let mut formatted = formatted;
    match &expr.kind {
        Kind::Call(call) => {
            check_call(expr.at, call, source);
            formatted |= *call.function == *"format";
        }
        Kind::List(items) if !formatted => {
            same_types(items.iter().map(|item| (&item.value, item.optional)), source);
        }
        Kind::Map(entries) if !formatted => {
            same_types(entries.iter().map(|entry| (&entry.key, false)), source);
            same_types(entries.iter().map(|entry| (&entry.value, entry.optional)), source);
        }
        _ => {}
    }
    for child in expr.kind.children() {
        inspect(child, source, formatted);
    }
}

fn same_types<'e>(items: impl Iterator<Item = (&'e Expr, bool)>, source: &mut Source) {
    let mut wanted: Option<&Type> = None;
    for (item, optional) in items {
        let ty = match &item.ty {
            Type::Optional(inner) if optional => inner,
            other => other,
        };
        match wanted {
            None => wanted = Some(ty),
            Some(wanted) if wanted != ty => {
                source.report(item.at, format!("expected type '{wanted}' but found '{ty}'"));
            }
            Some(_) => {}
        }
    }
}

fn check_call(at: usize, call: &Call, source: &mut Source) {
    match (&*call.function, &call.args[..]) {
        ("duration", [arg]) => check_literal("duration", arg, source, |literal| match literal {
            Literal::String(text) => time::parse_duration(text).is_some(),
            _ => false,
        }),
        ("timestamp", [arg]) => check_literal("timestamp", arg, source, |literal| match literal {
            Literal::String(text) => Instant::parse(text, false).is_some(),
            Literal::Int(seconds) => Instant::new(*seconds, 0, 0).is_some(),
            _ => false,
        }),
        ("matches", [.., pattern]) => check_literal("matches", pattern, source, |literal| match literal {
            Literal::String(text) => regexes::compile(text).is_ok(),
            _ => false,
        }),
        ("format", [list]) => check_format(at, call.target.as_ref(), list, source),
        _ => {}
    }
}

fn check_literal(function: &str, arg: &Expr, source: &mut Source, fine: impl Fn(&Literal) -> bool) {
    if let Kind::Literal(literal) = &arg.kind
        && !fine(literal)
    {
        source.report(arg.at, format!("invalid {function} argument"));
    }
}

fn check_format(at: usize, pattern: Option<&Expr>, list: &Expr, source: &mut Source) {
    let (Some(Kind::Literal(Literal::String(pattern))), Kind::List(items)) =
        (pattern.map(|p| &p.kind), &list.kind)
    else {
        return;
    };
    let types: Vec<&Type> = items.iter().map(|item| &item.value.ty).collect();
    if let Err((place, why)) = printf::check(pattern, &types) {
        let at = place.and_then(|place| items.get(place)).map_or(at, |item| item.value.at);
        source.report(at, why);
    }
}
