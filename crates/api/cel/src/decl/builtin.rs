//! Declarations of the built-in kinds, from the schemas that all of the API shares. Knows no custom kind.

use std::sync::Arc;

use kedge_kinds::schema::{Schemas, Shape, TypeId};

use super::{Decl, Field, ListKind, MAX_REQUEST_BYTES, Object, Reading};
use crate::types::Type;

impl Decl {
    /// What expressions can see of an object of this type.
    pub fn from_schemas(schemas: &Arc<Schemas>, id: TypeId) -> Decl {
        let Some(object) = schemas.get(id) else { return Type::Dyn.into() };
        if object.open && object.fields.is_empty() {
            return Type::Dyn.into();
        }
        let shared = Arc::clone(schemas);
        let fields = move || {
            let Some(object) = shared.get(id) else { return Vec::new() };
            let of = |field: &kedge_kinds::schema::Field| {
                let mut decl = from_shape(&shared, &field.shape);
                decl.list = match &field.list {
                    kedge_kinds::schema::ListType::Atomic => ListKind::Atomic,
                    kedge_kinds::schema::ListType::Set => ListKind::Set,
                    kedge_kinds::schema::ListType::Map(keys) => ListKind::Map(keys.clone()),
                };
                Field::new(&field.name, Arc::new(decl), field.required)
            };
            object.fields.iter().filter_map(of).collect()
        };
        Type::Object(Arc::new(Object::lazy(&object.name, fields))).into()
    }
}

fn from_shape(schemas: &Arc<Schemas>, shape: &Shape) -> Decl {
    let whole_request = MAX_REQUEST_BYTES - 2;
    match shape {
        Shape::Object(id) => Decl::from_schemas(schemas, *id),
        Shape::Map(values) => {
            let values = from_shape(schemas, values);
            let ty = Type::map(Type::String, values.ty.clone());
            Decl { items: Some(Arc::new(values)), ..Decl::sized(ty, whole_request, 2, Reading::Plain) }
        }
        Shape::List(items) => from_shape(schemas, items).list_of(),
        Shape::String | Shape::Quantity | Shape::Duration => {
            Decl::sized(Type::String, whole_request, 2, Reading::Plain)
        }
        Shape::Bytes => Decl::sized(Type::Bytes, whole_request, 2, Reading::Bytes),
        Shape::Bool => Type::Bool.into(),
        Shape::Int32 | Shape::Int64 => Type::Int.into(),
        Shape::Double => Decl { reading: Reading::Double, ..Type::Double.into() },
        Shape::IntOrString => Decl::sized(Type::Dyn, whole_request, 1, Reading::IntOrString),
        Shape::Time | Shape::MicroTime => Decl::sized(Type::Timestamp, 32, 21, Reading::DateTime),
        Shape::Any => Type::Dyn.into(),
    }
}
