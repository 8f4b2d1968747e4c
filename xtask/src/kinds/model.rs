//! What the sources say about one struct, before it is written down. Shapes are kept in the table's own letters.

use std::collections::BTreeMap;

/// By OpenAPI name.
pub(super) type Types = BTreeMap<String, Type>;

#[derive(Debug, Default, Clone)]
pub(super) struct Type {
    pub(super) atomic: bool,
    /// By JSON name.
    pub(super) fields: BTreeMap<String, Field>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Field {
    pub(super) shape: String,
    pub(super) required: bool,
    pub(super) list: List,
    pub(super) atomic: bool,
    /// Merged field by field although its type is atomic elsewhere.
    pub(super) granular: bool,
    pub(super) patch: Option<Patch>,
    pub(super) tag: u32,
    /// The numbers of the nested messages, outermost first, that hold this field where JSON has it inline.
    pub(super) within: Vec<u32>,
    pub(super) zero: Zero,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) enum List {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Patch {
    pub(super) merge: bool,
    pub(super) retain_keys: bool,
    pub(super) replace: bool,
    pub(super) key: Option<String>,
}

/// What Go writes for an empty value.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) enum Zero {
    /// As the shape and the required-ness suggest.
    #[default]
    Usual,
    Omit,
    Keep,
    Write,
}
