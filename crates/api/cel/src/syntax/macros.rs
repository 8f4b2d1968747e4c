//! Calls that are not calls: `has`, `all`, `exists`, `map` and the others bind names, so the parser turns them into their own
//! nodes.

use std::sync::Arc;

use super::ast::{Expr, Fold, FoldKind, Kind, Select};
use super::parser::{Failed, Parser};

/// Names that no program can write, for what macros hold on to.
const UNUSED: &str = "#unused";
pub(crate) const HELD: &str = "@target";

/// `name(args)`
pub(super) fn global(
    parser: &mut Parser<'_>,
    at: usize,
    name: &str,
    mut args: Vec<Expr>,
) -> Result<Expr, Failed> {
    if name != "has" || args.len() != 1 {
        return parser.call(at, name, None, args);
    }
    match args.remove(0) {
        Expr { kind: Kind::Select { operand, field, mode: Select::Value }, .. } => {
            parser.made(at, Kind::Select { operand, field, mode: Select::Test })
        }
        other => parser.fail(other.at, "invalid argument to has() macro"),
    }
}

/// `target.name(args)`
pub(super) fn member(
    parser: &mut Parser<'_>,
    at: usize,
    name: &str,
    target: Expr,
    args: Vec<Expr>,
) -> Result<Expr, Failed> {
    use FoldKind::{All, Exists, ExistsOne, Filter, Map, MapEntries, MapValues};
    let (kind, variables, filtered) = match (name, args.len()) {
        ("all", 2) => (All, 1, false),
        ("all", 3) => (All, 2, false),
        ("exists", 2) => (Exists, 1, false),
        ("exists", 3) => (Exists, 2, false),
        ("exists_one" | "existsOne", 2) => (ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (ExistsOne, 2, false),
        ("map", 2) => (Map, 1, false),
        ("map", 3) => (Map, 1, true),
        ("filter", 2) => (Filter, 1, false),
        ("transformList", 3) => (Map, 2, false),
        ("transformList", 4) => (Map, 2, true),
        ("transformMap", 3) => (MapValues, 2, false),
        ("transformMap", 4) => (MapValues, 2, true),
        ("transformMapEntry", 3) => (MapEntries, 2, false),
        ("transformMapEntry", 4) => (MapEntries, 2, true),
        ("optMap" | "optFlatMap", 2) => return optional(parser, at, name, target, args),
        ("sortBy", 2) => return sort_by(parser, at, target, args),
        _ => return parser.call(at, name, Some(target), args),
    };
    let why = match (kind, variables) {
        (All | Exists | ExistsOne, 1) => "argument must be a simple name",
        (_, 1) => "argument is not an identifier",
        _ => "argument must be a simple name",
    };
    let second_at = args.get(1).map_or(at, |arg| arg.at);
    let mut args = args.into_iter();
    let mut variable = || match args.next() {
        Some(Expr { kind: Kind::Ident(name), .. }) => Ok(name),
        Some(other) => Err(other.at),
        None => Err(at),
    };
    let named = variable()
        .and_then(|var| if variables == 2 { Ok((var, Some(variable()?))) } else { Ok((var, None)) });
    let (var, var2) = match named {
        Ok(named) => named,
        Err(at) => return parser.fail(at, why),
    };
    if Some(&var) == var2.as_ref() {
        return parser.fail(second_at, format!("duplicate variable name: {var}"));
    }
    let mut filter = if filtered { args.next() } else { None };
    let Some(mut body) = args.next() else { return parser.fail(at, why) };
    if kind == Filter {
        filter = Some(body);
        body = Expr::new(at, Kind::Ident(var.clone()));
    }
    parser.made(at, Kind::Fold(Box::new(Fold { kind, range: target, var, var2, filter, body })))
}

/// `x.optMap(v, e)`: `x.hasValue() ? optional.of(e with v = x.value()) : optional.none()`
fn optional(
    parser: &mut Parser<'_>,
    at: usize,
    name: &str,
    target: Expr,
    args: Vec<Expr>,
) -> Result<Expr, Failed> {
    let mut args = args.into_iter();
    let (Some(variable), Some(body)) = (args.next(), args.next()) else {
        return parser.call(at, name, Some(target), vec![]);
    };
    let Kind::Ident(variable_name) = variable.kind else {
        return parser.fail(variable.at, format!("{name}() variable name must be a simple identifier"));
    };
    // Upstream writes the target twice. A chain of these would double the tree with each link, so it is held on to instead,
    // at the cost of evaluating it twice.
    let held: Arc<str> = HELD.into();
    let simple = matches!(target.kind, Kind::Ident(_));
    let (twice, outer) =
        if simple { (target, None) } else { (Expr::new(at, Kind::Ident(held.clone())), Some(target)) };
    let condition = parser.call(at, "hasValue", Some(twice.clone()), vec![])?;
    let value = parser.call(at, "value", Some(twice), vec![])?;
    let bound =
        parser.made(at, Kind::Bind { name: variable_name, value: Box::new(value), body: Box::new(body) })?;
    let yes = if name == "optMap" { parser.call(at, "optional.of", None, vec![bound])? } else { bound };
    let no = parser.call(at, "optional.none", None, vec![])?;
    let choice = parser.call(at, "_?_:_", None, vec![condition, yes, no])?;
    match outer {
        Some(value) => {
            parser.made(at, Kind::Bind { name: held, value: Box::new(value), body: Box::new(choice) })
        }
        None => Ok(choice),
    }
}

/// `l.sortBy(x, key)`: sorts by the list of keys.
fn sort_by(parser: &mut Parser<'_>, at: usize, target: Expr, args: Vec<Expr>) -> Result<Expr, Failed> {
    let mut args = args.into_iter();
    let (Some(variable), Some(body)) = (args.next(), args.next()) else {
        return parser.call(at, "sortBy", Some(target), vec![]);
    };
    let Kind::Ident(var) = variable.kind else {
        return parser.fail(
            variable.at,
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        );
    };
    let held: Arc<str> = UNUSED.into();
    let list = Expr::new(at, Kind::Ident(held.clone()));
    let fold = Fold { kind: FoldKind::Map, range: list.clone(), var, var2: None, filter: None, body };
    let keys = parser.made(at, Kind::Fold(Box::new(fold)))?;
    let sorted = parser.call(at, "@sortByAssociatedKeys", Some(list), vec![keys])?;
    parser.made(at, Kind::Bind { name: held, value: Box::new(target), body: Box::new(sorted) })
}
