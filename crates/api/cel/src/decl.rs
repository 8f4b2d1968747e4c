//! What is declared about a variable or field: its type, how large it can be, and how its JSON is to be read.
//! Knows nothing of expressions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::types::Type;

mod builtin;
mod schema;

pub use schema::Schema;

/// The largest request that the API accepts, from which the worst sizes follow where a schema sets no limit.
pub(crate) const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// A type with what a schema says about sizes.
#[derive(Clone, Debug)]
pub struct Decl {
    pub(crate) ty: Type,
    /// The most characters, items or entries that it can have; `None` where size means nothing or is not limited.
    pub(crate) max: Option<u64>,
    /// The fewest bytes that it takes in JSON.
    pub(crate) min_bytes: u64,
    /// What a list's items or a map's values are.
    pub(crate) items: Option<Arc<Decl>>,
    pub(crate) list: ListKind,
    pub(crate) reading: Reading,
    pub(crate) nullable: bool,
}

/// Whether the order of a list's items counts when it is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    #[default]
    Atomic,
    Set,
    /// Items are identified by these fields.
    Map(Vec<Arc<str>>),
}

/// How a JSON value becomes a value of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As it stands: what JSON calls a string is a string.
    Plain,
    Double,
    Bytes,
    Date,
    DateTime,
    Duration,
    IntOrString,
}

/// A named object type. Its fields are made when first asked for, since types can contain themselves.
pub struct Object {
    name: Arc<str>,
    fields: OnceLock<HashMap<Arc<str>, Field>>,
    load: Box<dyn Fn() -> Vec<(Arc<str>, Field)> + Send + Sync>,
    /// Any field may be set, and nothing is known of it.
    open: bool,
}

#[derive(Clone, Debug)]
pub struct Field {
    /// The name in JSON; expressions use the escaped one.
    pub name: Arc<str>,
    pub decl: Arc<Decl>,
    pub required: bool,
}

impl From<Type> for Decl {
    fn from(ty: Type) -> Self {
        let items = match &ty {
            Type::List(item) => Some(Arc::new(Decl::from((**item).clone()))),
            Type::Map(_, value) => Some(Arc::new(Decl::from((**value).clone()))),
            _ => None,
        };
        let min_bytes = match &ty {
            Type::Bool => 4,
            Type::String | Type::Bytes | Type::List(_) | Type::Map(..) | Type::Object(_) => 2,
            _ => 1,
        };
        Decl {
            ty,
            max: None,
            min_bytes,
            items,
            list: ListKind::Atomic,
            reading: Reading::Plain,
            nullable: false,
        }
    }
}

impl Decl {
    /// An object type with these fields, each under the name that expressions use.
    pub fn object<N: AsRef<str>>(name: &str, fields: impl IntoIterator<Item = (N, Decl)>) -> Self {
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(name, decl)| {
                let name: Arc<str> = name.as_ref().into();
                (name.clone(), Field { name, decl: Arc::new(decl), required: false })
            })
            .collect();
        Decl::from(Type::Object(Arc::new(Object::new(name, fields))))
    }

    /// A list of what this declares.
    pub fn list_of(self) -> Self {
        let mut list = Decl::from(Type::list(self.ty.clone()));
        list.items = Some(Arc::new(self));
        list
    }

    /// A map of keys of that type to what this declares.
    pub fn map_of(self, key: Type) -> Self {
        let mut map = Decl::from(Type::map(key, self.ty.clone()));
        map.items = Some(Arc::new(self));
        map
    }

    /// The same value of no more characters, items or entries than that.
    pub fn at_most(self, max: u64) -> Self {
        Decl { max: Some(max), ..self }
    }

    /// The same value, but possibly absent: what `optionalOldSelf` makes of `oldSelf`.
    pub fn optional(self) -> Self {
        Decl { ty: Type::optional(self.ty.clone()), ..self }
    }

    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The most characters, items or entries that a value can have.
    pub fn max(&self) -> Option<u64> {
        self.max
    }

    /// The fewest bytes that a value takes in JSON, from which follows how many there can be in one object.
    pub fn min_bytes(&self) -> u64 {
        self.min_bytes
    }

    /// What a list's items or a map's values are.
    pub fn items(&self) -> Option<&Arc<Decl>> {
        self.items.as_ref()
    }

    /// A field by its escaped name.
    pub fn field(&self, escaped: &str) -> Option<&Field> {
        match &self.ty {
            Type::Object(object) => object.field(escaped),
            Type::Optional(inner) => match &**inner {
                Type::Object(object) => object.field(escaped),
                _ => None,
            },
            _ => None,
        }
    }

    fn sized(ty: Type, max: u64, min_bytes: u64, reading: Reading) -> Self {
        Decl { max: Some(max), min_bytes, reading, ..Decl::from(ty) }
    }
}

impl Field {
    /// `None` for a name that no expression can write.
    fn new(name: &str, decl: Arc<Decl>, required: bool) -> Option<(Arc<str>, Field)> {
        Some((crate::names::escape(name)?.into(), Field { name: name.into(), decl, required }))
    }
}

impl Object {
    pub(crate) fn new(name: &str, fields: Vec<(Arc<str>, Field)>) -> Self {
        Object {
            name: name.into(),
            fields: OnceLock::from(fields.into_iter().collect::<HashMap<_, _>>()),
            load: Box::new(Vec::new),
            open: false,
        }
    }

    pub(crate) fn lazy(
        name: &str,
        load: impl Fn() -> Vec<(Arc<str>, Field)> + Send + Sync + 'static,
    ) -> Self {
        Object { name: name.into(), fields: OnceLock::new(), load: Box::new(load), open: false }
    }

    pub(crate) fn open(name: &str) -> Self {
        Object { open: true, ..Object::new(name, Vec::new()) }
    }

    /// The type of a field; `None` if there is no such field.
    pub(crate) fn field_type(&self, escaped: &str) -> Option<Type> {
        match self.field(escaped) {
            Some(field) => Some(field.decl.ty.clone()),
            None => self.open.then_some(Type::Dyn),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// By the name that expressions use.
    pub fn field(&self, escaped: &str) -> Option<&Field> {
        self.fields().get(escaped)
    }

    pub(crate) fn fields(&self) -> &HashMap<Arc<str>, Field> {
        self.fields.get_or_init(|| (self.load)().into_iter().collect())
    }
}

/// Only the name: fields can lead back to the object itself.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.name)
    }
}

#[cfg(test)]
mod tests;
