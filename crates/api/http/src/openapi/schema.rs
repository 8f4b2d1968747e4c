//! Schemas in OpenAPI's words, in both of its versions. Knows which types a set of kinds needs.

use std::collections::{BTreeMap, BTreeSet};

use kedge_kinds::builtin::Descriptions;
use kedge_kinds::schema::{Field, ListType, ObjectType, Schemas, Shape};
use kedge_kinds::{Kind, Rules, builtin};
use serde_json::{Map, Value, json};

use super::enums::words;

/// Which version of OpenAPI is written. They differ in where definitions lie and in unions, which v2 doesn't have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    V2,
    V3,
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const DURATION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Duration";

/// What an object calls itself: group, version and kind.
pub(super) type Gvk = (String, String, String);

/// All definitions that a set of kinds needs, by name.
pub(super) struct Definitions<'k> {
    types: BTreeMap<String, (&'k Schemas, &'k ObjectType)>,
    /// Custom kinds, which write their own schemas.
    defined: BTreeMap<String, &'k dyn Rules>,
    /// Lists that no table holds: those of custom kinds. Name of the list to name of the item.
    lists: BTreeMap<String, String>,
    scalars: BTreeSet<&'static str>,
    called: BTreeMap<String, BTreeSet<Gvk>>,
    means: Descriptions,
}

impl<'k> Definitions<'k> {
    pub(super) fn of(kinds: &[&'k Kind]) -> Self {
        let mut all = Self {
            types: BTreeMap::new(),
            defined: BTreeMap::new(),
            lists: BTreeMap::new(),
            scalars: BTreeSet::from([PATCH]),
            called: BTreeMap::new(),
            means: Descriptions::read(),
        };
        let shared = &builtin().schemas;
        for name in [DELETE_OPTIONS, STATUS, LIST_META] {
            all.reach_named(shared, name);
        }
        all.call(STATUS, "", "v1", "Status");
        for kind in kinds {
            all.add(kind);
        }
        all
    }

    fn add(&mut self, kind: &'k Kind) {
        let (group, version) = (&*kind.gv.group, &*kind.gv.version);
        let name = type_name(kind);
        match &kind.rules {
            Some(rules) => {
                self.reach_named(&builtin().schemas, OBJECT_META);
                self.defined.insert(name.clone(), &**rules);
            }
            None => {
                self.reach_named(&kind.schemas, &name);
            }
        }
        self.call(&name, group, version, &kind.kind);
        self.call(DELETE_OPTIONS, group, version, "DeleteOptions");
        if kind.verbs.iter().any(|verb| &**verb == "list") {
            let list = list_name(kind);
            if kind.rules.is_some() || !self.reach_named(&kind.schemas, &list) {
                self.lists.insert(list.clone(), name);
            }
            self.call(&list, group, version, &kind.list_kind);
        }
        for (gv, spoken) in kind.subresources.iter().filter_map(|sub| sub.speaks.as_ref()) {
            let name = builtin::openapi_name(&gv.group, &gv.version, spoken);
            if self.reach_named(&builtin().schemas, &name) {
                self.call(&name, &gv.group, &gv.version, spoken);
            }
        }
    }

    fn call(&mut self, name: &str, group: &str, version: &str, kind: &str) {
        let gvk = (group.to_owned(), version.to_owned(), kind.to_owned());
        self.called.entry(name.to_owned()).or_default().insert(gvk);
    }

    /// Takes in a type with everything that it is made of. False where there is no type of this name.
    fn reach_named(&mut self, schemas: &'k Schemas, name: &str) -> bool {
        let Some(object) = schemas.named(name).and_then(|id| schemas.root(id)?.object()) else {
            return false;
        };
        let mut open = vec![object];
        while let Some(object) = open.pop() {
            if self.types.insert(object.name.to_string(), (schemas, object)).is_some() {
                continue;
            }
            for field in &object.fields {
                let mut shape = &field.shape;
                while let Shape::List(inner) | Shape::Map(inner) = shape {
                    shape = inner;
                }
                match shape {
                    Shape::Object(id) => open.extend(schemas.root(*id).and_then(|node| node.object())),
                    other => self.scalars.extend(scalar_name(other)),
                }
            }
        }
        true
    }

    /// Every definition with its name, sorted by name.
    pub(super) fn written(&self, style: Style) -> impl Iterator<Item = (String, Value)> + '_ {
        let own = self.types.keys().chain(self.lists.keys()).chain(self.defined.keys());
        let names: BTreeSet<&str> = (own.map(String::as_str)).chain(self.scalars.iter().copied()).collect();
        names.into_iter().map(move |name| {
            let mut schema = match (self.types.get(name), self.lists.get(name), self.defined.get(name)) {
                (_, _, Some(rules)) if style == Style::V2 => rules.openapi_v2(),
                (_, _, Some(rules)) => rules.openapi_v3(),
                (Some((schemas, object)), ..) => self.object(schemas, object, style),
                (None, Some(item), None) => list(item, style),
                (None, None, None) => scalar(name, style),
            };
            if schema["description"].is_null()
                && let Some(meaning) = self.means.of_type(name)
            {
                schema["description"] = meaning.into();
            }
            if let Some(called) = self.called.get(name) {
                let called = called
                    .iter()
                    .map(|(group, version, kind)| json!({"group": group, "kind": kind, "version": version}));
                schema["x-kubernetes-group-version-kind"] = called.collect();
            }
            (name.to_owned(), schema)
        })
    }

    fn object(&self, schemas: &Schemas, object: &ObjectType, style: Style) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        let required: Vec<&str> =
            object.fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        let properties: Map<String, Value> = object
            .fields
            .iter()
            .map(|field| (field.name.to_string(), self.property(schemas, object, field, style)))
            .collect();
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), properties.into());
        }
        if object.atomic {
            schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
        if object.open {
            schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
        }
        schema.into()
    }

    /// A field with what it means.
    fn property(&self, schemas: &Schemas, object: &ObjectType, field: &Field, style: Style) -> Value {
        let mut schema = property(schemas, object, field, style);
        if let Some(meaning) = self.means.of_field(&object.name, &field.name) {
            if style == Style::V3 && !schema["$ref"].is_null() {
                schema = json!({ "allOf": [schema] });
            }
            schema["description"] = meaning.into();
        }
        schema
    }
}

/// A field's shape with what merging needs to know of it.
fn property(schemas: &Schemas, object: &ObjectType, field: &Field, style: Style) -> Value {
    let mut extra = Map::new();
    if matches!(field.shape, Shape::List(_)) {
        match &field.list {
            // A list that says nothing is atomic.
            ListType::Atomic => {}
            ListType::Set => {
                extra.insert("x-kubernetes-list-type".to_owned(), "set".into());
            }
            ListType::Map(keys) => {
                let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
                extra.insert("x-kubernetes-list-map-keys".to_owned(), keys.into());
                extra.insert("x-kubernetes-list-type".to_owned(), "map".into());
            }
        }
    }
    if field.atomic || field.granular {
        let merged = if field.atomic { "atomic" } else { "granular" };
        extra.insert("x-kubernetes-map-type".to_owned(), merged.into());
    }
    if let Some(key) = &field.patch.merge_key {
        extra.insert("x-kubernetes-patch-merge-key".to_owned(), key.to_string().into());
    }
    let strategies: Vec<&str> = [
        (field.patch.merge, "merge"),
        (field.patch.retain_keys, "retainKeys"),
        (field.patch.replace, "replace"),
    ]
    .into_iter()
    .filter_map(|(set, name)| set.then_some(name))
    .collect();
    if !strategies.is_empty() {
        extra.insert("x-kubernetes-patch-strategy".to_owned(), strategies.join(",").into());
    }
    let mut schema = shape(schemas, &field.shape, style);
    if let Some(words) = words(&object.name, &field.name) {
        let of = if matches!(field.shape, Shape::List(_)) { &mut schema["items"] } else { &mut schema };
        of["enum"] = words.into();
    }
    if extra.is_empty() {
        return schema;
    }
    // In v3 nothing may stand beside a reference.
    if style == Style::V3 && !schema["$ref"].is_null() {
        schema = json!({ "allOf": [schema] });
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.extend(extra);
    }
    schema
}

fn shape(schemas: &Schemas, of: &Shape, style: Style) -> Value {
    match of {
        Shape::Object(id) => match schemas.root(*id).and_then(|node| node.object()) {
            Some(object) => reference(&object.name, style),
            None => json!({}),
        },
        Shape::Map(value) => json!({"type": "object", "additionalProperties": shape(schemas, value, style)}),
        Shape::List(item) => json!({"type": "array", "items": shape(schemas, item, style)}),
        Shape::String => json!({"type": "string"}),
        Shape::Bytes => json!({"type": "string", "format": "byte"}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Int32 => json!({"type": "integer", "format": "int32"}),
        Shape::Int64 => json!({"type": "integer", "format": "int64"}),
        Shape::Double => json!({"type": "number", "format": "double"}),
        Shape::Any => json!({"x-kubernetes-preserve-unknown-fields": true}),
        Shape::IntOrString | Shape::Quantity | Shape::Time | Shape::MicroTime | Shape::Duration => {
            scalar_name(of).map_or_else(|| json!({}), |name| reference(name, style))
        }
    }
}

/// Scalars that have a definition of their own.
fn scalar_name(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::IntOrString => Some(INT_OR_STRING),
        Shape::Quantity => Some(QUANTITY),
        Shape::Time => Some(TIME),
        Shape::MicroTime => Some(MICRO_TIME),
        Shape::Duration => Some(DURATION),
        _ => None,
    }
}

fn scalar(name: &str, style: Style) -> Value {
    match (name, style) {
        (QUANTITY, Style::V3) => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        (INT_OR_STRING, Style::V3) => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        (INT_OR_STRING, Style::V2) => json!({"type": "string", "format": "int-or-string"}),
        (TIME | MICRO_TIME, _) => json!({"type": "string", "format": "date-time"}),
        (PATCH, _) => json!({"type": "object"}),
        _ => json!({"type": "string"}),
    }
}

/// The list of a custom kind.
fn list(item: &str, style: Style) -> Value {
    json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": reference(item, style)},
            "kind": {"type": "string"},
            "metadata": reference(LIST_META, style),
        },
    })
}

pub(super) fn reference(name: &str, style: Style) -> Value {
    let place = match style {
        Style::V2 => "#/definitions/",
        Style::V3 => "#/components/schemas/",
    };
    json!({ "$ref": format!("{place}{name}") })
}

/// The name under which a kind's type is published: that of its Go type, or, for a custom kind, its group read backwards.
pub(super) fn type_name(kind: &Kind) -> String {
    if kind.rules.is_some() {
        let group: Vec<&str> = kind.gv.group.rsplit('.').collect();
        return format!("{}.{}.{}", group.join("."), kind.gv.version, kind.kind);
    }
    let published = kind.node().and_then(|node| node.object()).map(|object| object.name.to_string());
    published.unwrap_or_else(|| builtin::openapi_name(&kind.gv.group, &kind.gv.version, &kind.kind))
}

pub(super) fn list_name(kind: &Kind) -> String {
    let name = type_name(kind);
    let package = name.strip_suffix(&*kind.kind).unwrap_or(META);
    format!("{package}{}", kind.list_kind)
}
