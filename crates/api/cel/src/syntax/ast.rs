//! The tree of an expression. The checker fills in types and resolved functions.

use std::sync::Arc;

use crate::library::Overload;
use crate::types::Type;

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    /// Where messages about it point, in characters from the start.
    pub(crate) at: usize,
    /// How deep the tree is below and with it.
    pub(crate) depth: u16,
    /// Filled in by the checker.
    pub(crate) ty: Type,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    Ident(Arc<str>),
    Select {
        operand: Box<Expr>,
        field: Arc<str>,
        mode: Select,
    },
    Call(Box<Call>),
    List(Vec<Item>),
    Map(Vec<Entry>),
    Struct {
        name: Arc<str>,
        fields: Vec<FieldInit>,
    },
    Fold(Box<Fold>),
    /// A name for a value within a body; what `optMap` is made of.
    Bind {
        name: Arc<str>,
        value: Box<Expr>,
        body: Box<Expr>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    /// `a.b`
    Value,
    /// `has(a.b)`
    Test,
    /// `a.?b`
    Optional,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: Arc<str>,
    pub(crate) target: Option<Expr>,
    pub(crate) args: Vec<Expr>,
    /// Filled in by the checker: all that may be meant, one unless something is dyn.
    pub(crate) overloads: Vec<&'static Overload>,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) value: Expr,
    /// `[?x]`
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    /// `{?k: v}`
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct FieldInit {
    pub(crate) name: Arc<str>,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
    pub(crate) at: usize,
}

/// A walk over a list or map.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) kind: FoldKind,
    pub(crate) range: Expr,
    pub(crate) var: Arc<str>,
    /// With a second variable, the first is the index or key.
    pub(crate) var2: Option<Arc<str>>,
    pub(crate) filter: Option<Expr>,
    pub(crate) body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Map,
    /// `filter(x, p)`: the body is `x`, the filter `p`.
    Filter,
    /// `transformMap`: the body is the new value of each key.
    MapValues,
    /// `transformMapEntry`: the body is a map that is merged in.
    MapEntries,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl Expr {
    pub(crate) fn new(at: usize, kind: Kind) -> Self {
        let depth = kind.children().into_iter().map(|child| child.depth).max().unwrap_or(0).saturating_add(1);
        Expr { kind, at, depth, ty: Type::Dyn }
    }

    pub(crate) fn call(at: usize, function: &str, target: Option<Expr>, args: Vec<Expr>) -> Self {
        Expr::new(
            at,
            Kind::Call(Box::new(Call { function: function.into(), target, args, overloads: Vec::new() })),
        )
    }

    /// `a.b.c` as one name.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.to_string()),
            Kind::Select { operand, field, mode: Select::Value } => {
                Some(format!("{}.{field}", operand.qualified_name()?))
            }
            _ => None,
        }
    }
}

impl Kind {
    pub(crate) fn children(&self) -> Vec<&Expr> {
        match self {
            Kind::Literal(_) | Kind::Ident(_) => Vec::new(),
            Kind::Select { operand, .. } => vec![operand],
            Kind::Call(call) => call.target.iter().chain(&call.args).collect(),
            Kind::List(items) => items.iter().map(|item| &item.value).collect(),
            Kind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
            Kind::Struct { fields, .. } => fields.iter().map(|field| &field.value).collect(),
            Kind::Fold(fold) => [&fold.range, &fold.body].into_iter().chain(&fold.filter).collect(),
            Kind::Bind { value, body, .. } => vec![value, body],
        }
    }
}
