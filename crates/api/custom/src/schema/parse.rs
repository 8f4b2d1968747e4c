//! Reads `openAPIV3Schema`. What a definition may not contain is left out here; saying so is the check's business.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Additional, Check, List, Schema, Type};
use crate::formats::Format;
use crate::pattern::Pattern;
use crate::read::{at, flag, list, map, text, texts};
use crate::rules::RuleSet;

/// Equal names share one allocation: `name` and `type` alone stand in a large definition hundreds of times.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<Box<str>, Arc<str>>);

impl Names {
    pub(crate) fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let new: Arc<str> = name.into();
        self.0.insert(name.into(), new.clone());
        new
    }
}

impl Schema {
    pub(crate) fn parse(source: &Value, names: &mut Names) -> Self {
        let int_or_string = flag(source, "x-kubernetes-int-or-string");
        let kind = Type::parse(text(source, "type"));
        let mut properties: Vec<(Arc<str>, Schema)> = map(source, "properties")
            .iter()
            .map(|(name, schema)| (names.get(name), Schema::parse(schema, names)))
            .collect();
        properties.sort_by(|(a, _), (b, _)| a.cmp(b));
        let default = at(source, "default");
        let mut schema = Self {
            kind,
            nullable: flag(source, "nullable"),
            preserve: flag(source, "x-kubernetes-preserve-unknown-fields"),
            embedded: flag(source, "x-kubernetes-embedded-resource"),
            int_or_string,
            atomic_map: text(source, "x-kubernetes-map-type") == "atomic",
            list: match text(source, "x-kubernetes-list-type") {
                "" => List::Unset,
                "set" => List::Set,
                "map" => {
                    List::Map(texts(source, "x-kubernetes-list-map-keys").map(|key| names.get(key)).collect())
                }
                _ => List::Atomic,
            },
            properties: properties.into(),
            items: source
                .get("items")
                .filter(|items| items.is_object())
                .map(|items| Box::new(Schema::parse(items, names))),
            additional: match at(source, "additionalProperties") {
                Value::Bool(true) => Additional::Any,
                Value::Bool(false) => Additional::Forbidden,
                schema @ Value::Object(_) => Additional::Each(Box::new(Schema::parse(schema, names))),
                _ => Additional::Unset,
            },
            default: (!default.is_null()).then(|| Box::new(default.clone())),
            checks: checks(source, kind, int_or_string, names),
            rules: RuleSet::parse(list(source, "x-kubernetes-validations")),
            ruled: false,
        };
        schema.ruled = schema.rules.is_some() || schema.children().any(|below| below.ruled);
        schema
    }
}

fn checks(source: &Value, kind: Option<Type>, int_or_string: bool, names: &mut Names) -> Box<[Check]> {
    let mut found = Vec::new();
    let mut several = |field: &str, make: fn(Box<[Schema]>) -> Check, found: &mut Vec<Check>| {
        let schemas = list(source, field);
        if !schemas.is_empty() {
            found.push(make(schemas.iter().map(|schema| Schema::parse(schema, names)).collect()));
        }
    };
    several("anyOf", Check::AnyOf, &mut found);
    several("oneOf", Check::OneOf, &mut found);
    several("allOf", Check::AllOf, &mut found);
    if let not @ Value::Object(_) = at(source, "not") {
        found.push(Check::Not(Box::new(Schema::parse(not, names))));
    }
    let whole = |field: &str| at(source, field).as_i64();
    found.extend(whole("maxLength").map(Check::MaxLength));
    found.extend(whole("minLength").map(Check::MinLength));
    let pattern = text(source, "pattern");
    if !pattern.is_empty() {
        found.push(Check::Pattern(Box::new(Pattern::new(pattern))));
    }
    // `int-or-string` has two types, and so none that a format could belong to.
    let single = kind.filter(|_| !int_or_string);
    found.extend(Format::parse(text(source, "format"), single).map(Check::Format));
    let number = |field: &str| at(source, field).as_f64();
    found.extend(number("multipleOf").map(Check::MultipleOf));
    let exclusive = flag(source, "exclusiveMinimum");
    found.extend(number("minimum").map(|limit| Check::Minimum { limit, exclusive }));
    let exclusive = flag(source, "exclusiveMaximum");
    found.extend(number("maximum").map(|limit| Check::Maximum { limit, exclusive }));
    found.extend(whole("minItems").map(Check::MinItems));
    found.extend(whole("maxItems").map(Check::MaxItems));
    if flag(source, "uniqueItems") {
        found.push(Check::UniqueItems);
    }
    let allowed = list(source, "enum");
    if !allowed.is_empty() {
        found.push(Check::Enum(allowed.into()));
    }
    found.extend(whole("minProperties").map(Check::MinProperties));
    found.extend(whole("maxProperties").map(Check::MaxProperties));
    let required: Box<[Arc<str>]> = texts(source, "required").map(|name| names.get(name)).collect();
    if !required.is_empty() {
        found.push(Check::Required(required));
    }
    found.into()
}
