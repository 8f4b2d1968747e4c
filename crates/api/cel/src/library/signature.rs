//! Reads signatures such as `indexOf string_index_of_string string.(string) int`: name, id, receiver, arguments, result.

use super::Overload;
use crate::types::{self, Type};

/// One overload per line. The lines are ours, so a line that cannot be read is a bug that a test finds.
pub(super) fn read(table: &'static str) -> impl Iterator<Item = (&'static str, Overload)> {
    table.lines().filter_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let (id, rest) = rest.split_once(' ')?;
        let open = rest.find('(').unwrap_or(0);
        // A receiver can have parentheses of its own: `list(A).(int)`.
        let (receiver, rest) = match rest.find(".(") {
            Some(dot) if dot >= open || dot + 1 == open => (Some(&rest[..dot]), &rest[dot + 1..]),
            _ => (None, rest),
        };
        let (args, result) = rest.rsplit_once(' ')?;
        let mut reader = Reader { rest: args.get(1..args.len() - 1)?, params: 0 };
        let mut types = Vec::new();
        if let Some(receiver) = receiver {
            types.push(Reader { rest: receiver, params: 0 }.read(&mut reader.params));
        }
        let mut params = reader.params;
        while !reader.rest.is_empty() {
            types.push(reader.read(&mut params));
            reader.rest = reader.rest.strip_prefix(',').unwrap_or(reader.rest);
        }
        let result = Reader { rest: result, params: 0 }.read(&mut params);
        Some((name, Overload { id, member: receiver.is_some(), args: types, result, params }))
    })
}

struct Reader {
    rest: &'static str,
    params: u32,
}

impl Reader {
    /// One type off the front; `params` grows to cover the type parameters seen.
    fn read(&mut self, params: &mut u32) -> Type {
        let end = self.rest.find(['(', ')', ',']).unwrap_or(self.rest.len());
        let (word, after) = self.rest.split_at(end);
        self.rest = after;
        let mut inner = Vec::new();
        if let Some(list) = after.strip_prefix('(') {
            self.rest = list;
            while !self.rest.is_empty() && !self.rest.starts_with(')') {
                inner.push(self.read(params));
                self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
            }
            self.rest = self.rest.strip_prefix(')').unwrap_or(self.rest);
        }
        let mut inner = inner.into_iter();
        let mut next = || inner.next().unwrap_or(Type::Error);
        match word {
            "A" | "B" => {
                let id = u32::from(word == "B");
                *params = (*params).max(id + 1);
                Type::Param(id)
            }
            "list" => Type::list(next()),
            "map" => {
                let key = next();
                Type::map(key, next())
            }
            "optional" => Type::optional(next()),
            "type" => Type::type_of(next()),
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "null" => Type::Null,
            "timestamp" => Type::Timestamp,
            "duration" => Type::Duration,
            "quantity" => Type::Opaque(types::QUANTITY),
            "url" => Type::Opaque(types::URL),
            "ip" => Type::Opaque(types::IP),
            "cidr" => Type::Opaque(types::CIDR),
            "semver" => Type::Opaque(types::SEMVER),
            "format" => Type::Opaque(types::FORMAT),
            "authorizer" => Type::Opaque(types::AUTHORIZER),
            "pathcheck" => Type::Opaque(types::PATH_CHECK),
            "groupcheck" => Type::Opaque(types::GROUP_CHECK),
            "resourcecheck" => Type::Opaque(types::RESOURCE_CHECK),
            "decision" => Type::Opaque(types::DECISION),
            _ => Type::Error,
        }
    }
}
