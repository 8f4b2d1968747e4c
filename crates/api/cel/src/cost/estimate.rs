//! What an expression can cost at most and at least, from its form and the declared sizes, before any value is known.
//! The figures are upstream's, since they decide which rules a custom kind may have.

use std::sync::Arc;

use super::CostRange;
use super::actual::{LIST, MAP, STRUCT};
use super::calls::{self, Called};
use super::size::Size;
use crate::decl::Decl;
use crate::env::Env;
use crate::syntax::ast::{Call, Expr, Fold, FoldKind, Kind, Literal, Select};
use crate::syntax::macros::HELD;
use crate::types::Type;

pub(crate) fn estimate(env: &Env, expr: &Expr) -> CostRange {
    Estimator { env, locals: Vec::new() }.expr(expr).cost
}

/// What is known about a part of an expression.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) cost: CostRange,
    pub(super) size: Option<Size>,
    /// Of the keys and values in it, if it was made in the expression.
    pub(super) entries: Option<Entries>,
    pub(super) place: Place,
    pub(super) ty: Type,
    /// Its value, if it is an integer written out.
    pub(super) literal: Option<i64>,
}

/// Where a part is reached from.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Made in the expression.
    Nowhere,
    /// Reached from something, but nothing is declared about it.
    Undeclared,
    Declared(Arc<Decl>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entries {
    pub(super) key: Size,
    pub(super) value: Size,
}

impl Entries {
    fn union(self, other: Entries) -> Entries {
        Entries { key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

impl Part {
    pub(super) fn size_or_unknown(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }

    /// A list's items, where the list's type says what they are.
    pub(super) fn items(&self) -> Option<(Type, Size)> {
        let item = match &self.ty {
            Type::List(item) | Type::Map(item, _) | Type::Optional(item) => (**item).clone(),
            _ => return None,
        };
        let declared = match &self.place {
            Place::Declared(decl) => decl.items().map(|items| declared_size(items)),
            Place::Nowhere | Place::Undeclared => None,
        };
        Some((item, declared.unwrap_or(Size::UNKNOWN)))
    }
}

/// Where a declaration sets no size, upstream counts none.
fn declared_size(decl: &Decl) -> Size {
    Size::at_most(decl.max().unwrap_or(0))
}

fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}

struct Local {
    name: Arc<str>,
    cost: CostRange,
    place: Place,
    size: Option<Size>,
    entries: Option<Entries>,
}

struct Estimator<'e> {
    env: &'e Env,
    locals: Vec<Local>,
}

impl Estimator<'_> {
    fn expr(&mut self, expr: &Expr) -> Part {
        let mut part = match &expr.kind {
            Kind::Literal(literal) => Part {
                size: Some(Size::exactly(match literal {
                    Literal::String(text) => text.chars().count() as u64,
                    Literal::Bytes(bytes) => bytes.len() as u64,
                    _ => 1,
                })),
                literal: match literal {
                    Literal::Int(number) => Some(*number),
                    _ => None,
                },
                ..self.part(expr, CostRange::FREE)
            },
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select { operand, field, mode } => self.select(expr, operand, field, *mode),
            Kind::Call(call) => self.call(expr, call),
            Kind::List(items) => {
                let parts: Vec<Part> = items.iter().map(|item| self.expr(&item.value)).collect();
                let value = sizes(parts.iter());
                let entries = Some(Entries { key: Size::exactly(1), value });
                Part {
                    size: Some(Size::exactly(items.len() as u64)),
                    entries,
                    ..self.part(expr, sum(parts.iter()).plus(CostRange::exactly(LIST)))
                }
            }
            Kind::Map(entries) => {
                let parts: Vec<(Part, Part)> =
                    entries.iter().map(|entry| (self.expr(&entry.key), self.expr(&entry.value))).collect();
                let of = Entries {
                    key: sizes(parts.iter().map(|(key, _)| key)),
                    value: sizes(parts.iter().map(|(_, value)| value)),
                };
                let cost = sum(parts.iter().flat_map(|(key, value)| [key, value]));
                Part {
                    size: Some(Size::exactly(entries.len() as u64)),
                    entries: Some(of),
                    ..self.part(expr, cost.plus(CostRange::exactly(MAP)))
                }
            }
            Kind::Struct { fields, .. } => {
                let parts: Vec<Part> = fields.iter().map(|field| self.expr(&field.value)).collect();
                self.part(expr, sum(parts.iter()).plus(CostRange::exactly(STRUCT)))
            }
            Kind::Fold(fold) => self.fold(expr, fold),
            Kind::Bind { name, value, body } => {
                let value = self.expr(value);
                let held = **name == *HELD;
                let cost = if held { CostRange::FREE } else { value.cost.plus(CostRange::exactly(LIST)) };
                self.locals.push(Local {
                    name: name.clone(),
                    cost: if held { value.cost } else { CostRange::exactly(1) },
                    place: value.place,
                    size: value.size,
                    entries: value.entries,
                });
                let body = self.expr(body);
                self.locals.pop();
                Part { cost: cost.plus(body.cost), place: Place::Nowhere, ..body }
            }
        };
        if part.size.is_none() {
            let declared = match &part.place {
                Place::Declared(decl) => Some(declared_size(decl)),
                Place::Nowhere | Place::Undeclared => None,
            };
            part.size = declared.or_else(|| is_scalar(&expr.ty).then_some(Size::exactly(1)));
        }
        part
    }

    fn part(&self, expr: &Expr, cost: CostRange) -> Part {
        Part { cost, size: None, entries: None, place: Place::Nowhere, ty: expr.ty.clone(), literal: None }
    }

    fn ident(&self, expr: &Expr, name: &Arc<str>) -> Part {
        let part = self.part(expr, CostRange::exactly(1));
        if let Some(local) = self.locals.iter().rev().find(|local| local.name == *name) {
            // What is declared or plain from the type goes before what was computed.
            let known = matches!(local.place, Place::Declared(_)) || is_scalar(&expr.ty);
            let size = if known { None } else { local.size };
            return Part {
                cost: local.cost,
                size,
                entries: local.entries,
                place: local.place.clone(),
                ..part
            };
        }
        match self.env.variables.get(name) {
            Some(decl) => Part { place: Place::Declared(decl.clone()), ..part },
            // The name of a type.
            None => Part { size: Some(Size::exactly(0)), ..part },
        }
    }

    /// A step from a place. Upstream forgets where a path begins, so one that begins nowhere is taken to begin at `self`.
    fn step(&self, from: &Place, to: impl Fn(&Decl) -> Option<Arc<Decl>>) -> Place {
        let found = match from {
            Place::Declared(decl) => to(decl),
            Place::Undeclared => None,
            Place::Nowhere => self.env.variables.get("self").cloned(),
        };
        found.map_or(Place::Undeclared, Place::Declared)
    }

    fn select(&mut self, expr: &Expr, operand: &Expr, field: &str, mode: Select) -> Part {
        let of = self.expr(operand);
        let own = match (mode, &of.ty) {
            (Select::Test, _) => 0,
            (Select::Optional, _) => 1,
            (Select::Value, Type::Map(..) | Type::Object(_)) => 1,
            (Select::Value, _) => 0,
        };
        let place = match mode {
            Select::Value => self.step(&of.place, |decl| decl.field(field).map(|field| field.decl.clone())),
            Select::Test | Select::Optional => Place::Nowhere,
        };
        Part { place, ..self.part(expr, of.cost.plus(CostRange::exactly(own))) }
    }

    fn call(&mut self, expr: &Expr, call: &Call) -> Part {
        let target = call.target.as_ref().map(|target| self.expr(target));
        let args: Vec<Part> = call.args.iter().map(|arg| self.expr(arg)).collect();
        let mut part = self.part(expr, CostRange::FREE);
        let arguments = sum(args.iter());
        match (&*call.function, &args[..]) {
            ("dyn", [arg]) => {
                return Part {
                    size: arg.size,
                    entries: arg.entries,
                    ..self.part(expr, arg.cost.plus(CostRange::exactly(1)))
                };
            }
            ("_&&_" | "_||_", [first, ..]) => {
                part.cost = CostRange { min: first.cost.min, max: arguments.max };
                return part;
            }
            ("_?_:_", [condition, yes, no]) => {
                part.cost = condition.cost.plus(yes.cost.union(no.cost));
                part.size = Some(yes.size_or_unknown().union(no.size_or_unknown()));
                part.entries = yes.entries.zip(no.entries).map(|(yes, no)| yes.union(no));
                return part;
            }
            ("_+_", [left, right]) => {
                part.entries = left.entries.zip(right.entries).map(|(left, right)| left.union(right));
            }
            ("_[_]", [of, _]) => {
                part.size = of.entries.map(|entries| entries.value);
                part.place = self.step(&of.place, |decl| decl.items().cloned());
            }
            _ => {}
        }
        // A range that covers all that may be meant.
        let mut cost: Option<CostRange> = None;
        for overload in &call.overloads {
            let Called { cost: own, size } =
                calls::estimate(&call.function, overload.id, target.as_ref(), &args);
            let whole = own.plus(arguments);
            cost = Some(cost.map_or(whole, |known| known.union(whole)));
            if let Some(size) = size {
                part.size = Some(part.size.map_or(size, |known| known.union(size)));
            }
        }
        let of_target = target.as_ref().map_or(CostRange::FREE, |target| target.cost);
        part.cost = of_target.plus(cost.unwrap_or(CostRange::FREE));
        part
    }

    fn fold(&mut self, expr: &Expr, fold: &Fold) -> Part {
        let range = self.expr(&fold.range);
        let outer = self.locals.len();
        let variables = self.variables(fold, &range);
        self.locals.extend(variables);
        let filter = fold.filter.as_ref().map(|filter| self.expr(filter));
        let body = self.expr(&fold.body);
        self.locals.truncate(outer);
        let exactly = CostRange::exactly;
        // Start, each round and end of what upstream expands the macro to.
        let (start, round, end) = match fold.kind {
            FoldKind::All => (0, CostRange { min: 3, max: body.cost.max.saturating_add(3) }, 1),
            FoldKind::Exists => (0, CostRange { min: 4, max: body.cost.max.saturating_add(4) }, 1),
            FoldKind::ExistsOne => (0, body.cost.plus(CostRange { min: 1, max: 2 }), 2),
            FoldKind::Map | FoldKind::Filter => (LIST, body.cost.plus(exactly(LIST + 2)), 1),
            FoldKind::MapValues => (MAP, body.cost.plus(exactly(3)), 1),
            FoldKind::MapEntries => (MAP, body.cost.plus(exactly(2)), 1),
        };
        let round = match &filter {
            Some(filter) => filter.cost.plus(round.union(exactly(1))),
            None => round,
        };
        let count = range.size_or_unknown();
        let cost = range.cost.plus(exactly(start + end)).plus(count.times_cost(round));
        let mut part = self.part(expr, cost);
        match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => part.size = Some(Size::exactly(1)),
            FoldKind::Map | FoldKind::Filter => {
                part.size = Some(count);
                let value = Size::at_most(body.size_or_unknown().max);
                part.entries = Some(Entries { key: Size::exactly(1), value });
            }
            FoldKind::MapValues | FoldKind::MapEntries => part.size = Some(count),
        }
        part
    }

    /// The variables of one round: what a key and a value of the range can be.
    fn variables(&self, fold: &Fold, range: &Part) -> Vec<Local> {
        let list = !matches!(range.ty, Type::Map(..));
        let keys = match &range.place {
            _ if list => Place::Undeclared,
            from => self.step(from, |_| Some(Arc::new(Decl::from(Type::String)))),
        };
        let values = self.step(&range.place, |decl| decl.items().cloned());
        let local = |name: &Arc<str>, place: &Place, size| Local {
            name: name.clone(),
            cost: CostRange::exactly(1),
            place: place.clone(),
            size,
            entries: None,
        };
        let key = |name| local(name, &keys, range.entries.map(|entries| entries.key));
        let value = |name| local(name, &values, range.entries.map(|entries| entries.value));
        match &fold.var2 {
            Some(second) => vec![key(&fold.var), value(second)],
            None if list => vec![value(&fold.var)],
            None => vec![key(&fold.var)],
        }
    }
}

fn sum<'p>(parts: impl Iterator<Item = &'p Part>) -> CostRange {
    parts.fold(CostRange::FREE, |sum, part| sum.plus(part.cost))
}

/// The range of all their sizes; none have the size 0.
fn sizes<'p>(parts: impl Iterator<Item = &'p Part>) -> Size {
    parts.map(Part::size_or_unknown).reduce(Size::union).unwrap_or(Size::exactly(0))
}
