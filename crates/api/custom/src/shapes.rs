//! A custom kind's schema in the vocabulary that all kinds share, by which apply merges objects and tells who owns what.
//! Only shapes: what values must fulfil is validation's.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kedge_kinds::builtin;
use kedge_kinds::schema::{
    Field, ListType, Node, ObjectType, PatchStrategy, Schemas, Shape, TypeId, Wire, Zero,
};

use crate::schema::{Additional, List, Schema, Type};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The shapes of one version's objects; the type is the whole object's.
pub(crate) fn of(name: &str, schema: &Schema) -> (Schemas, TypeId) {
    let mut shapes = Shapes::default();
    let root = shapes.object(name.into(), schema, true);
    (shapes.schemas, root)
}

/// What every custom object is before its definition is asked: a type, metadata, and anything else.
/// Decoding goes by it, because values of the wrong type are validation's to tell.
pub fn outline() -> Option<Node<'static>> {
    static OUTLINE: LazyLock<(Schemas, TypeId)> = LazyLock::new(|| {
        let mut shapes = Shapes::default();
        let anything = Schema { preserve: true, ..Schema::default() };
        let root = shapes.object("io.k8s.apimachinery.pkg.apis.meta.v1.Unstructured".into(), &anything, true);
        (shapes.schemas, root)
    });
    OUTLINE.0.root(OUTLINE.1)
}

#[derive(Default)]
struct Shapes {
    schemas: Schemas,
    /// Built-in types that were taken over, by their place among the built-in ones.
    taken: HashMap<u32, TypeId>,
}

impl Shapes {
    fn object(&mut self, name: Arc<str>, schema: &Schema, whole: bool) -> TypeId {
        let mut fields: Vec<Field> = schema
            .properties
            .iter()
            .filter(|(name, _)| !(whole && crate::schema::is_meta(name)))
            .map(|(name, property)| Field {
                list: match &property.list {
                    List::Set => ListType::Set,
                    List::Map(keys) => ListType::Map(keys.to_vec()),
                    List::Unset | List::Atomic => ListType::Atomic,
                },
                atomic: property.atomic_map,
                ..field(name.clone(), self.shape(property))
            })
            .collect();
        if whole {
            fields.push(field("apiVersion".into(), Shape::String));
            fields.push(field("kind".into(), Shape::String));
            let metadata = builtin().schemas.named(OBJECT_META);
            let metadata = metadata.map_or(Shape::Any, |id| Shape::Object(self.take(id)));
            fields.push(field("metadata".into(), metadata));
            fields.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let open = schema.preserve;
        self.schemas.add(ObjectType { name, fields, atomic: schema.atomic_map, open })
    }

    fn shape(&mut self, schema: &Schema) -> Shape {
        if schema.int_or_string {
            return Shape::IntOrString;
        }
        match schema.kind {
            None => Shape::Any,
            Some(Type::String) => Shape::String,
            Some(Type::Boolean) => Shape::Bool,
            Some(Type::Integer) => Shape::Int64,
            Some(Type::Number) => Shape::Double,
            Some(Type::Array) => {
                let item = schema.items.as_deref().map_or(Shape::Any, |item| self.shape(item));
                Shape::List(Box::new(item))
            }
            Some(Type::Object) if !schema.properties.is_empty() || schema.embedded => {
                // The types below the root are reached through their fields and need no names.
                Shape::Object(self.object("".into(), schema, schema.embedded))
            }
            Some(Type::Object) => match &schema.additional {
                Additional::Each(each) => Shape::Map(Box::new(self.shape(each))),
                Additional::Any => Shape::Map(Box::new(Shape::Any)),
                Additional::Unset | Additional::Forbidden if schema.preserve => Shape::Any,
                Additional::Unset | Additional::Forbidden => {
                    Shape::Object(self.object("".into(), schema, false))
                }
            },
        }
    }

    /// Takes over a built-in type with those that it is made of.
    fn take(&mut self, id: TypeId) -> TypeId {
        if let Some(&taken) = self.taken.get(&id.0) {
            return taken;
        }
        let Some(object) = builtin().schemas.get(id) else { return id };
        let fields =
            object.fields.iter().map(|field| Field { shape: self.take_shape(&field.shape), ..field.clone() });
        let fields = fields.collect();
        let taken =
            ObjectType { name: object.name.clone(), fields, atomic: object.atomic, open: object.open };
        let taken = self.schemas.add(taken);
        self.taken.insert(id.0, taken);
        taken
    }

    fn take_shape(&mut self, shape: &Shape) -> Shape {
        match shape {
            Shape::Object(id) => Shape::Object(self.take(*id)),
            Shape::Map(value) => Shape::Map(Box::new(self.take_shape(value))),
            Shape::List(item) => Shape::List(Box::new(self.take_shape(item))),
            other => other.clone(),
        }
    }
}

fn field(name: Arc<str>, shape: Shape) -> Field {
    Field {
        name,
        shape,
        required: false,
        list: ListType::Atomic,
        atomic: false,
        granular: false,
        patch: PatchStrategy::default(),
        tag: 0,
        wire: Wire::Plain,
        zero: Zero::Keep,
    }
}

#[cfg(test)]
mod tests;
