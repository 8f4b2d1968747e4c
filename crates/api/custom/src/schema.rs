//! The schema of a custom kind in the form in which objects are held against it: small, because a thousand definitions stay
//! in memory, and total, because what a definition may not say was refused before. Knows no object and no paths.

mod parse;

use std::sync::Arc;

use serde_json::Value;

use crate::formats::Format;
use crate::pattern::Pattern;
use crate::rules::RuleSet;
pub(crate) use parse::Names;

/// One node. Whatever stands under `allOf`, `anyOf`, `oneOf` and `not` has the same form.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) kind: Option<Type>,
    pub(crate) nullable: bool,
    /// Unknown fields stay.
    pub(crate) preserve: bool,
    /// A whole object with `apiVersion`, `kind` and `metadata` of its own stands here.
    pub(crate) embedded: bool,
    pub(crate) int_or_string: bool,
    pub(crate) atomic_map: bool,
    pub(crate) list: List,
    /// Sorted by name.
    pub(crate) properties: Box<[(Arc<str>, Schema)]>,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) additional: Additional,
    pub(crate) default: Option<Box<Value>>,
    /// What a value must fulfil besides its type, in the order in which complaints come.
    pub(crate) checks: Box<[Check]>,
    pub(crate) rules: Option<Box<RuleSet>>,
    /// There are rules here or below.
    pub(crate) ruled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
}

/// `x-kubernetes-list-type`
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum List {
    #[default]
    Unset,
    Atomic,
    Set,
    /// Items are told apart by these fields.
    Map(Box<[Arc<str>]>),
}

/// `additionalProperties`
#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Unset,
    Any,
    Forbidden,
    Each(Box<Schema>),
}

/// A demand on a value. Each speaks only about values of the types that it is made for.
#[derive(Debug)]
pub(crate) enum Check {
    AnyOf(Box<[Schema]>),
    OneOf(Box<[Schema]>),
    AllOf(Box<[Schema]>),
    Not(Box<Schema>),
    MaxLength(i64),
    MinLength(i64),
    Pattern(Box<Pattern>),
    Format(Format),
    MultipleOf(f64),
    Minimum { limit: f64, exclusive: bool },
    Maximum { limit: f64, exclusive: bool },
    MinItems(i64),
    MaxItems(i64),
    UniqueItems,
    Enum(Box<[Value]>),
    MinProperties(i64),
    MaxProperties(i64),
    Required(Box<[Arc<str>]>),
}

impl Type {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "array" => Self::Array,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "object" => Self::Object,
            "string" => Self::String,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }
}

impl Schema {
    /// The schema of a named field, without `additionalProperties`.
    pub(crate) fn property(&self, name: &str) -> Option<&Schema> {
        let at = self.properties.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.properties.get(at).map(|(_, schema)| schema)
    }

    pub(crate) fn each(&self) -> Option<&Schema> {
        match &self.additional {
            Additional::Each(schema) => Some(schema),
            Additional::Unset | Additional::Any | Additional::Forbidden => None,
        }
    }

    /// The schema of whatever stands behind a key.
    pub(crate) fn behind(&self, name: &str) -> Option<&Schema> {
        self.property(name).or_else(|| self.each())
    }

    /// What `type` is, as messages of rules call it; empty where there is none.
    pub(crate) fn type_name(&self) -> &'static str {
        self.kind.map_or("", Type::name)
    }

    pub(crate) fn has_defaults(&self) -> bool {
        self.default.is_some() || self.children().any(Schema::has_defaults)
    }

    /// The nodes below that stand for parts of the value.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Schema> {
        let properties = self.properties.iter().map(|(_, schema)| schema);
        properties.chain(self.items.as_deref()).chain(self.each())
    }
}

/// The two fields and the struct that every whole object has.
pub(crate) fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}
