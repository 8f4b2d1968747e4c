//! What an object may look like: one model for built-in and custom kinds. Unknown-field checks, pruning, merging,
//! apply, OpenAPI and protobuf are all driven by it. Knows no HTTP and no storage.

use std::collections::HashMap;
use std::sync::Arc;

/// All object types that a set of kinds is made of. Built-in kinds share one; each custom kind brings its own.
#[derive(Debug, Default)]
pub struct Schemas {
    types: Vec<ObjectType>,
    by_name: HashMap<Arc<str>, TypeId>,
}

/// The place of an object type in its [`Schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub u32);

/// A named struct with its fields.
#[derive(Debug)]
pub struct ObjectType {
    /// The name under which OpenAPI publishes it, `io.k8s.api.core.v1.Container`.
    pub name: Arc<str>,
    /// Sorted by name.
    pub fields: Vec<Field>,
    /// Apply treats the whole object as one value.
    pub atomic: bool,
    /// Unknown fields are kept (custom kinds, `x-kubernetes-preserve-unknown-fields`).
    pub open: bool,
}

#[derive(Debug, Clone)]
pub struct Field {
    pub name: Arc<str>,
    pub shape: Shape,
    pub required: bool,
    /// How apply and strategic merge treat it when it is a list.
    pub list: ListType,
    /// A map or struct that apply treats as one value (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// Merged field by field here although its type is atomic elsewhere (`x-kubernetes-map-type: granular`).
    pub granular: bool,
    /// How a strategic merge patch treats it.
    pub patch: PatchStrategy,
    /// The field's number in upstream's protobuf messages; 0 where it has none.
    pub tag: u32,
    /// Protobuf has it elsewhere or in another form than JSON.
    pub wire: Wire,
    /// What becomes of an empty value when the object is written out.
    pub zero: Zero,
}

/// What kind of value stands somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Object(TypeId),
    Map(Box<Shape>),
    List(Box<Shape>),
    String,
    /// Base64 in JSON, raw in protobuf.
    Bytes,
    Bool,
    Int32,
    Int64,
    Double,
    IntOrString,
    Quantity,
    /// RFC 3339, whole seconds.
    Time,
    /// RFC 3339, microseconds.
    MicroTime,
    /// Go's duration text, `1m30s`.
    Duration,
    /// Any JSON at all (`RawExtension`, `JSON`, `FieldsV1`…).
    Any,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    /// Items are identified by these fields.
    Map(Vec<Arc<str>>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// `merge`: lists are merged (by `merge_key` if items are structs, as a set if they are scalars).
    pub merge: bool,
    /// `retainKeys`: `$retainKeys` is understood here.
    pub retain_keys: bool,
    /// `replace`: a struct is replaced as a whole instead of being merged.
    pub replace: bool,
    pub merge_key: Option<Arc<str>>,
}

/// How a field is written in protobuf where that differs from what its shape says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Wire {
    #[default]
    Plain,
    /// The field stands in nested messages with these numbers, outermost first, although JSON has it inline.
    Within(Arc<[u32]>),
    /// A schema or a list of schemas.
    SchemaOrArray,
    /// A schema or a boolean.
    SchemaOrBool,
    /// A schema or a list of strings.
    SchemaOrStrings,
}

/// Whether upstream writes a value that is empty (`""`, `0`, `false`, `[]`, `{}`). Clients compare what they sent with what
/// they get, so we do as upstream does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Zero {
    /// An empty value is as good as none and vanishes.
    Omit,
    /// An empty value differs from none: it stays when given.
    #[default]
    Keep,
    /// Written even when not given.
    Write,
}

impl Schemas {
    pub fn add(&mut self, object: ObjectType) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.by_name.insert(object.name.clone(), id);
        self.types.push(object);
        id
    }

    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    pub fn get(&self, id: TypeId) -> Option<&ObjectType> {
        self.types.get(id.0 as usize)
    }

    pub fn types(&self) -> impl Iterator<Item = (TypeId, &ObjectType)> {
        (0u32..).map(TypeId).zip(&self.types)
    }

    /// The schema of a whole object, to walk down from.
    pub fn root(&self, id: TypeId) -> Option<Node<'_>> {
        let object = self.types.get(id.0 as usize)?;
        Some(Node { schemas: self, place: Place::Object(object), field: None })
    }
}

/// A position in a schema, walked down in step with a value.
#[derive(Clone, Copy, Debug)]
pub struct Node<'s> {
    schemas: &'s Schemas,
    place: Place<'s>,
    /// The field through which this position was entered; its list and patch facts hold for this value.
    field: Option<&'s Field>,
}

#[derive(Clone, Copy, Debug)]
pub enum Place<'s> {
    Object(&'s ObjectType),
    Shape(&'s Shape),
}

impl<'s> Node<'s> {
    fn of(schemas: &'s Schemas, shape: &'s Shape, field: Option<&'s Field>) -> Self {
        let place = match shape {
            Shape::Object(id) => match schemas.types.get(id.0 as usize) {
                Some(object) => Place::Object(object),
                None => Place::Shape(&Shape::Any),
            },
            other => Place::Shape(other),
        };
        Self { schemas, place, field }
    }

    pub fn place(&self) -> Place<'s> {
        self.place
    }

    pub fn schemas(&self) -> &'s Schemas {
        self.schemas
    }

    /// The field through which we came here, if we came through one (and not through a list or map).
    pub fn entered_by(&self) -> Option<&'s Field> {
        self.field
    }

    /// The struct at this position.
    pub fn object(&self) -> Option<&'s ObjectType> {
        match self.place {
            Place::Object(object) => Some(object),
            Place::Shape(_) => None,
        }
    }

    /// The value behind a key: a struct's field or a map's value. `None` where the schema has no such field.
    pub fn key(&self, name: &str) -> Option<Node<'s>> {
        match self.place {
            Place::Object(object) => match object.fields.binary_search_by(|field| (*field.name).cmp(name)) {
                Ok(at) => {
                    let field = object.fields.get(at)?;
                    Some(Node::of(self.schemas, &field.shape, Some(field)))
                }
                Err(_) if object.open => Some(Node::of(self.schemas, &Shape::Any, None)),
                Err(_) => None,
            },
            Place::Shape(Shape::Map(value)) => Some(Node::of(self.schemas, value, None)),
            Place::Shape(Shape::Any) => Some(*self),
            Place::Shape(_) => None,
        }
    }

    /// An item of the list at this position.
    pub fn item(&self) -> Option<Node<'s>> {
        match self.place {
            Place::Shape(Shape::List(item)) => Some(Node::of(self.schemas, item, None)),
            Place::Shape(Shape::Any) => Some(*self),
            Place::Shape(_) | Place::Object(_) => None,
        }
    }

    pub fn is_any(&self) -> bool {
        matches!(self.place, Place::Shape(Shape::Any))
    }

    /// How the list at this position is merged by apply.
    pub fn list_type(&self) -> &'s ListType {
        static ATOMIC: ListType = ListType::Atomic;
        self.field.map_or(&ATOMIC, |field| &field.list)
    }

    /// Apply treats what stands here as one value.
    pub fn is_atomic(&self) -> bool {
        match self.field {
            Some(field) if field.granular => false,
            Some(field) if field.atomic => true,
            _ => self.object().is_some_and(|object| object.atomic),
        }
    }

    /// How a strategic merge patch treats what stands here.
    pub fn patch(&self) -> &'s PatchStrategy {
        static USUAL: PatchStrategy =
            PatchStrategy { merge: false, retain_keys: false, replace: false, merge_key: None };
        self.field.map_or(&USUAL, |field| &field.patch)
    }
}
