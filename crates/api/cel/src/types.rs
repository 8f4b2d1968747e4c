//! The types of expressions, and how messages print them. Knows no overloads and no values.

use std::fmt;
use std::sync::Arc;

use crate::decl::{Decl, Object};

/// What an expression can be.
#[derive(Clone, Debug)]
pub enum Type {
    /// Anything; known only when evaluated.
    Dyn,
    /// What a part with a reported mistake has, so that one mistake is reported once.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    Optional(Arc<Type>),
    /// The type of a type, `type(int)`.
    Type(Arc<Type>),
    /// An object with declared fields.
    Object(Arc<Object>),
    /// A type that only its own functions can look into: `kubernetes.Quantity`, `net.IP`…
    Opaque(&'static str),
    /// Not yet known; stands in signatures and while types are being inferred.
    Param(u32),
}

pub(crate) const QUANTITY: &str = "kubernetes.Quantity";
pub(crate) const URL: &str = "kubernetes.URL";
pub(crate) const IP: &str = "net.IP";
pub(crate) const CIDR: &str = "net.CIDR";
pub(crate) const SEMVER: &str = "kubernetes.Semver";
pub(crate) const FORMAT: &str = "kubernetes.NamedFormat";
pub(crate) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
pub(crate) const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
pub(crate) const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
pub(crate) const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
pub(crate) const DECISION: &str = "kubernetes.authorization.Decision";
pub(crate) const JSON_PATCH: &str = "JSONPatch";

/// Which of the opaque types upstream treats as messages without fields, rather than as types with nothing to select.
pub(crate) fn is_message(name: &str) -> bool {
    name.starts_with("kubernetes.")
}

impl Type {
    pub fn list(item: Type) -> Self {
        Type::List(Arc::new(item))
    }

    pub fn map(key: Type, value: Type) -> Self {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    pub fn optional(inner: Type) -> Self {
        Type::Optional(Arc::new(inner))
    }

    pub fn type_of(inner: Type) -> Self {
        Type::Type(Arc::new(inner))
    }

    /// The type of the `authorizer` variable.
    pub fn authorizer() -> Self {
        Type::Opaque(AUTHORIZER)
    }

    /// The type of `authorizer.requestResource`.
    pub fn resource_check() -> Self {
        Type::Opaque(RESOURCE_CHECK)
    }

    /// The type of a `JSONPatch{…}`.
    pub fn json_patch() -> Self {
        let fields =
            [("op", Type::String), ("path", Type::String), ("from", Type::String), ("value", Type::Dyn)];
        Decl::object(JSON_PATCH, fields.map(|(name, ty)| (name, ty.into()))).ty
    }

    /// The type of an `Object{…}` or `Object.spec{…}` whose fields are not known.
    pub fn open_object(name: &str) -> Self {
        Type::Object(Arc::new(Object::open(name)))
    }

    /// Whether nothing is known about it before evaluation.
    pub fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }
}

/// Two types are the same if they have the same name and the same parts; objects are told apart by name.
impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => a == b,
            (Type::Type(a), Type::Type(b)) => a == b,
            (Type::Map(ak, av), Type::Map(bk, bv)) => ak == bk && av == bv,
            (Type::Object(a), Type::Object(b)) => a.name() == b.name(),
            (Type::Opaque(a), Type::Opaque(b)) => a == b,
            (Type::Param(a), Type::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Eq for Type {}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::List(item) => write!(f, "list({item})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
            Type::Type(inner) => match &**inner {
                Type::Dyn | Type::Param(_) => f.write_str("type"),
                inner => write!(f, "type({inner})"),
            },
            Type::Object(object) => f.write_str(object.name()),
            Type::Opaque(name) => f.write_str(name),
            Type::Param(id) => write!(f, "_var{id}"),
        }
    }
}
