//! Gives every part of a tree its type and every call the functions that it may mean, or says what does not fit.
//! Knows declarations, not values.

use std::sync::Arc;

use crate::decl::Decl;
use crate::env::Env;
use crate::library::Function;
use crate::syntax::ast::{Call, Entry, Expr, FieldInit, Fold, FoldKind, Item, Kind, Literal, Select};
use crate::syntax::source::Source;
use crate::types::Type;
use unify::Unifier;

mod literals;
mod unify;

/// Checks a whole expression; mistakes are noted in the source.
pub(crate) fn check(env: &Env, source: &mut Source, expr: &mut Expr) {
    let mut checker = Checker { env, source, types: Unifier::default(), scope: Vec::new() };
    checker.expr(expr);
    if !checker.source.has_issues() {
        let types = std::mem::take(&mut checker.types);
        settle(expr, &types);
        literals::check(expr, checker.source);
    }
}

struct Checker<'c> {
    env: &'c Env,
    source: &'c mut Source,
    types: Unifier,
    /// The variables of the folds around, innermost last.
    scope: Vec<(Arc<str>, Type)>,
}

/// What is still open when all is known is dyn.
fn settle(expr: &mut Expr, types: &Unifier) {
    expr.ty = types.settled(&expr.ty);
    match &mut expr.kind {
        Kind::Literal(_) | Kind::Ident(_) => {}
        Kind::Select { operand, .. } => settle(operand, types),
        Kind::Call(call) => call.target.iter_mut().chain(&mut call.args).for_each(|arg| settle(arg, types)),
        Kind::List(items) => items.iter_mut().for_each(|item| settle(&mut item.value, types)),
        Kind::Map(entries) => entries.iter_mut().for_each(|entry| {
            settle(&mut entry.key, types);
            settle(&mut entry.value, types);
        }),
        Kind::Struct { fields, .. } => fields.iter_mut().for_each(|field| settle(&mut field.value, types)),
        Kind::Fold(fold) => {
            settle(&mut fold.range, types);
            settle(&mut fold.body, types);
            fold.filter.iter_mut().for_each(|filter| settle(filter, types));
        }
        Kind::Bind { value, body, .. } => {
            settle(value, types);
            settle(body, types);
        }
    }
}

/// The types that have a name of their own in expressions.
fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "dyn" => Type::Dyn,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "string" => Type::String,
        "type" => Type::type_of(Type::Dyn),
        "uint" => Type::Uint,
        "optional_type" => Type::optional(Type::Dyn),
        "google.protobuf.Duration" => Type::Duration,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "net.IP" => Type::Opaque(crate::types::IP),
        "net.CIDR" => Type::Opaque(crate::types::CIDR),
        _ => return None,
    })
}

impl Checker<'_> {
    fn expr(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        if let Some((name, ty)) = self.qualified(expr) {
            expr.kind = Kind::Ident(name);
            expr.ty = ty.clone();
            return ty;
        }
        let ty = match &mut expr.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(name) => {
                let message = format!("undeclared reference to '{name}' (in container '')");
                self.wrong(at, message)
            }
            Kind::Select { operand, field, mode } => self.select(at, operand, field, *mode),
            Kind::Call(call) => self.call(at, call),
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Struct { name, fields } => self.structure(at, name, fields),
            Kind::Fold(fold) => self.fold(at, fold),
            Kind::Bind { name, value, body } => {
                let ty = self.expr(value);
                self.within([(name.clone(), ty)], |checker| checker.expr(body))
            }
        };
        expr.ty = ty.clone();
        ty
    }

    fn wrong(&mut self, at: usize, message: String) -> Type {
        self.source.report(at, message);
        Type::Error
    }

    /// A variable or type by its whole name, dots included. Variables of folds have no dots and come first.
    fn qualified(&self, expr: &Expr) -> Option<(Arc<str>, Type)> {
        if let Kind::Ident(name) = &expr.kind
            && let Some((_, ty)) = self.scope.iter().rev().find(|(known, _)| known == name)
        {
            return Some((name.clone(), ty.clone()));
        }
        let name = expr.qualified_name()?;
        let root = name.split('.').next().unwrap_or_default();
        if self.scope.iter().any(|(known, _)| **known == *root) {
            return None;
        }
        let ty = match self.env.declared(&name) {
            Some(decl) => decl.ty().clone(),
            None => Type::type_of(named_type(&name)?),
        };
        Some((name.into(), ty))
    }

    fn within<T>(
        &mut self,
        variables: impl IntoIterator<Item = (Arc<str>, Type)>,
        inside: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = self.scope.len();
        self.scope.extend(variables);
        let result = inside(self);
        self.scope.truncate(outer);
        result
    }

    fn select(&mut self, at: usize, operand: &mut Expr, field: &str, mode: Select) -> Type {
        let found = self.expr(operand);
        let of = self.types.substituted(&found);
        let (of, was_optional) = match &of {
            Type::Optional(inner) => ((**inner).clone(), true),
            _ => (of, false),
        };
        let ty = match &of {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => match object.field_type(field) {
                Some(ty) => ty,
                None => self.wrong(at, format!("undefined field '{field}'")),
            },
            Type::Opaque(name) if crate::types::is_message(name) => {
                self.wrong(at, format!("unexpected failed resolution of '{name}'"))
            }
            Type::Param(_) => {
                self.types.assign(&Type::Dyn, &of);
                Type::Dyn
            }
            of if of.is_dyn() => Type::Dyn,
            of => {
                self.wrong(at, format!("type '{of}' does not support field selection"));
                Type::Dyn
            }
        };
        match mode {
            Select::Test => Type::Bool,
            Select::Optional => Type::optional(ty),
            Select::Value if was_optional => Type::optional(ty),
            Select::Value => self.types.substituted(&ty),
        }
    }

    fn call(&mut self, at: usize, call: &mut Call) -> Type {
        let mut types: Vec<Type> = call.args.iter_mut().map(|arg| self.expr(arg)).collect();
        let mut member = false;
        if let Some(target) = &mut call.target {
            // `format.named(x)`: the target is part of the function's name.
            let whole = target.qualified_name().map(|prefix| format!("{prefix}.{}", call.function));
            match whole.as_deref().and_then(|name| self.env.function(name)).filter(|_| !self.shadows(target))
            {
                Some(function) => {
                    call.function = function.name.into();
                    call.target = None;
                }
                None => {
                    types.insert(0, self.expr(target));
                    member = true;
                }
            }
        }
        let Some(function) = self.env.function(&call.function) else {
            return self.wrong(at, format!("undeclared reference to '{}' (in container '')", call.function));
        };
        if matches!(function.name, "_&&_" | "_||_") {
            return self.logical(call, &types, function);
        }
        match self.resolve(call, function, &types, member) {
            Some(ty) => ty,
            None => {
                let message = no_overload(function.name, &types, member, &self.types);
                self.wrong(at, message)
            }
        }
    }

    /// Whether the first name in `target` is a variable of a fold around.
    fn shadows(&self, target: &Expr) -> bool {
        let name = target.qualified_name().unwrap_or_default();
        let root = name.split('.').next().unwrap_or_default();
        self.scope.iter().any(|(known, _)| **known == *root)
    }

    fn logical(&mut self, call: &mut Call, types: &[Type], function: &'static Function) -> Type {
        call.overloads = function.overloads.iter().collect();
        let mut ty = Type::Bool;
        for (arg, found) in call.args.iter().zip(types) {
            if !self.types.assign(found, &Type::Bool) {
                let found = self.types.substituted(found);
                ty = self.wrong(arg.at, format!("expected type 'bool' but found '{found}'"));
            }
        }
        ty
    }

    /// All overloads that fit. Where several do, the type is theirs if they agree on it.
    fn resolve(
        &mut self,
        call: &mut Call,
        function: &'static Function,
        types: &[Type],
        member: bool,
    ) -> Option<Type> {
        let mut result: Option<Type> = None;
        for overload in function.overloads.iter().filter(|overload| overload.member == member) {
            if overload.args.len() != types.len() {
                continue;
            }
            let fresh = self.types.fresh(overload.params);
            let wanted: Vec<Type> = overload.args.iter().map(|arg| unify::shifted(arg, fresh)).collect();
            if !self.types.assign_all(types, &wanted) {
                continue;
            }
            call.overloads.push(overload);
            let ty = self.types.substituted(&unify::shifted(&overload.result, fresh));
            result = Some(match result {
                None => ty,
                Some(known) if known == ty || known.is_dyn() => known,
                Some(_) => Type::Dyn,
            });
        }
        result
    }

    fn list(&mut self, items: &mut [Item]) -> Type {
        let mut joined = None;
        for item in items {
            let ty = self.expr(&mut item.value);
            let ty = if item.optional { self.unwrapped(&item.value, ty) } else { ty };
            joined = Some(self.join(joined, ty));
        }
        Type::list(joined.unwrap_or_else(|| self.types.variable()))
    }

    fn map(&mut self, entries: &mut [Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.expr(&mut entry.key);
            keys = Some(self.join(keys, key));
            let value = self.expr(&mut entry.value);
            let value = if entry.optional { self.unwrapped(&entry.value, value) } else { value };
            values = Some(self.join(values, value));
        }
        let keys = keys.unwrap_or_else(|| self.types.variable());
        Type::map(keys, values.unwrap_or_else(|| self.types.variable()))
    }

    /// What stands after `?` must be optional.
    fn unwrapped(&mut self, value: &Expr, ty: Type) -> Type {
        match self.types.substituted(&ty) {
            Type::Optional(inner) => (*inner).clone(),
            other if other.is_dyn() => other,
            other => {
                self.wrong(value.at, format!("expected type 'optional_type({other})' but found '{other}'"));
                other
            }
        }
    }

    /// The type of all items of a literal; where they differ, which is looked into later, it is dyn.
    fn join(&mut self, known: Option<Type>, next: Type) -> Type {
        let Some(known) = known else { return next };
        if self.types.assign(&known, &next) { unify::most_general(known, next) } else { Type::Dyn }
    }

    fn structure(&mut self, at: usize, name: &str, fields: &mut [FieldInit]) -> Type {
        let Some(ty) = self.env.constructed(name) else {
            return self.wrong(at, format!("undeclared reference to '{name}' (in container '')"));
        };
        for field in fields {
            let found = self.expr(&mut field.value);
            let found = if field.optional { self.unwrapped(&field.value, found) } else { found };
            let wanted = match &ty {
                Type::Object(object) => object.field_type(&field.name),
                _ => None,
            };
            match wanted {
                None => {
                    self.wrong(field.at, format!("undefined field '{}'", field.name));
                }
                Some(wanted) if !self.types.assign(&wanted, &found) => {
                    let found = self.types.substituted(&found);
                    let field_name = &field.name;
                    self.wrong(field.at, format!("expected type of field '{field_name}' is '{wanted}' but provided type is '{found}'"));
                }
                Some(_) => {}
            }
        }
        ty
    }

    fn fold(&mut self, at: usize, fold: &mut Fold) -> Type {
        let range = self.expr(&mut fold.range);
        let range = self.types.substituted(&range);
        let two = fold.var2.is_some();
        let (first, second) = match &range {
            Type::List(item) if two => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Param(_) => {
                self.types.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other if other.is_dyn() => (Type::Dyn, Type::Dyn),
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.wrong(fold.range.at, message);
                (Type::Error, Type::Error)
            }
        };
        let names = [Some((fold.var.clone(), first.clone())), fold.var2.clone().map(|name| (name, second))];
        let (filter, body) = (&mut fold.filter, &mut fold.body);
        let (filter, body_type) = self.within(names.into_iter().flatten(), |checker| {
            let filter = filter.as_mut().map(|filter| (filter.at, checker.expr(filter)));
            (filter, checker.expr(body))
        });
        let result = match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => Type::Bool,
            FoldKind::Map | FoldKind::Filter => Type::list(self.types.substituted(&body_type)),
            FoldKind::MapValues => Type::map(first, self.types.substituted(&body_type)),
            FoldKind::MapEntries => self.types.substituted(&body_type),
        };
        let condition = match fold.kind {
            FoldKind::All | FoldKind::Exists => {
                self.must_be_bool(fold.body.at, &body_type);
                None
            }
            FoldKind::ExistsOne => Some((body_type, Type::Int)),
            _ => filter.map(|(_, ty)| (ty, result.clone())),
        };
        if let Some((ty, branch)) = condition
            && !self.types.assign(&ty, &Type::Bool)
        {
            let message = no_overload("_?_:_", &[ty, branch.clone(), branch], false, &self.types);
            self.wrong(at, message);
        }
        result
    }

    fn must_be_bool(&mut self, at: usize, ty: &Type) {
        if !self.types.assign(ty, &Type::Bool) {
            let ty = self.types.substituted(ty);
            self.wrong(at, format!("expected type 'bool' but found '{ty}'"));
        }
    }
}

fn no_overload(name: &str, types: &[Type], member: bool, known: &Unifier) -> String {
    let types: Vec<String> = types.iter().map(|ty| known.settled(ty).to_string()).collect();
    let signature = match (member, types.split_first()) {
        (true, Some((target, args))) => format!("{target}.({})", args.join(", ")),
        _ => format!("({})", types.join(", ")),
    };
    format!("found no matching overload for '{name}' applied to '{signature}'")
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

impl Env {
    fn declared(&self, name: &str) -> Option<&Arc<Decl>> {
        self.variables.get(name)
    }
}
