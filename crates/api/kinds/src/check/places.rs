//! Where a walk is, and what upstream's decoder calls the place and the types it wants there.

use std::fmt;

use serde_json::Value;

use crate::schema::{ObjectType, Schemas, Shape};

#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    /// A field, with the struct that has it.
    Field(&'p ObjectType, &'p str),
    Entry(&'p str),
    Item(usize),
}

impl<'p> Path<'p> {
    pub(super) fn root() -> Self {
        Self { parent: None, step: Step::Root }
    }

    pub(super) fn field(&'p self, object: &'p ObjectType, name: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Field(object, name) }
    }

    pub(super) fn entry(&'p self, key: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Entry(key) }
    }

    pub(super) fn item(&'p self, at: usize) -> Self {
        Self { parent: Some(self), step: Step::Item(at) }
    }

    /// `ContainerPort.spec.containers.ports.containerPort`: the struct, then the fields on the way without keys and indexes.
    pub(super) fn go(&self) -> Option<String> {
        let mut steps = Vec::new();
        let mut owner = None;
        let mut at = Some(self);
        while let Some(path) = at {
            if let Step::Field(object, name) = path.step {
                owner = owner.or(Some(object));
                steps.push(name);
            }
            at = path.parent;
        }
        steps.reverse();
        Some(format!("{}.{}", short(owner?), steps.join(".")))
    }
}

/// `spec.containers[0].name`
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        parent.fmt(f)?;
        let dot = if parent.parent.is_none() { "" } else { "." };
        match self.step {
            Step::Root => Ok(()),
            Step::Field(_, name) | Step::Entry(name) => write!(f, "{dot}{name}"),
            Step::Item(at) => write!(f, "[{at}]"),
        }
    }
}

fn short(object: &ObjectType) -> &str {
    object.name.rsplit('.').next().unwrap_or(&object.name)
}

/// `v1.PodSpec`
pub(super) fn type_name(object: &ObjectType) -> String {
    let mut parts = object.name.rsplit('.');
    let name = parts.next().unwrap_or_default();
    format!("{}.{name}", parts.next().unwrap_or_default())
}

pub(super) fn go_type(schemas: &Schemas, shape: &Shape) -> String {
    match shape {
        Shape::Object(id) => schemas.get(*id).map(type_name).unwrap_or_default(),
        Shape::Map(value) => format!("map[string]{}", go_type(schemas, value)),
        Shape::List(item) => format!("[]{}", go_type(schemas, item)),
        Shape::String => "string".into(),
        Shape::Bytes => "[]uint8".into(),
        Shape::Bool => "bool".into(),
        Shape::Int32 => "int32".into(),
        Shape::Int64 => "int64".into(),
        Shape::Double => "float64".into(),
        Shape::IntOrString => "intstr.IntOrString".into(),
        Shape::Quantity => "resource.Quantity".into(),
        Shape::Time => "v1.Time".into(),
        Shape::MicroTime => "v1.MicroTime".into(),
        Shape::Duration => "v1.Duration".into(),
        Shape::Any => "runtime.RawExtension".into(),
    }
}

/// What a value is, as Kubernetes' JSON reader calls it.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
