//! Arguments that are wrong whatever the input is: durations, timestamps and patterns written out in the expression.

use crate::library::{regexes, time};
use crate::syntax::ast::{Call, Expr, Kind, Literal};
use crate::syntax::source::Source;

pub(super) fn check(expr: &Expr, source: &mut Source) {
    if let Kind::Call(call) = &expr.kind {
        check_call(call, source);
    }
    for child in expr.kind.children() {
        check(child, source);
    }
}

fn check_call(call: &Call, source: &mut Source) {
    let last = match (&*call.function, &call.args[..]) {
        ("duration" | "timestamp", [arg]) => arg,
        ("matches", [.., pattern]) => pattern,
        _ => return,
    };
    let Kind::Literal(Literal::String(text)) = &last.kind else { return };
    let fine = match &*call.function {
        "duration" => time::parse_duration(text).is_some(),
        "timestamp" => time::parse_timestamp(text).is_some(),
        _ => regexes::compile(text).is_ok(),
    };
    if !fine {
        source.report(last.at, format!("invalid {} argument", call.function));
    }
}
