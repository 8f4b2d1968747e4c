//! Looking into objects without knowing their kind: the metadata that all of them have.

use serde_json::{Map, Value};

/// A view of an object's metadata. What an object lacks reads as empty.
#[derive(Debug, Clone, Copy)]
pub struct Meta<'o> {
    metadata: Option<&'o Map<String, Value>>,
}

impl<'o> Meta<'o> {
    pub fn of(object: &'o Value) -> Self {
        Self { metadata: object.get("metadata").and_then(Value::as_object) }
    }

    pub fn get(&self, field: &str) -> Option<&'o Value> {
        self.metadata?.get(field)
    }

    fn text(&self, field: &str) -> &'o str {
        self.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn name(&self) -> &'o str {
        self.text("name")
    }

    pub fn generate_name(&self) -> &'o str {
        self.text("generateName")
    }

    /// Empty for objects of the whole cluster.
    pub fn namespace(&self) -> &'o str {
        self.text("namespace")
    }

    pub fn uid(&self) -> &'o str {
        self.text("uid")
    }

    pub fn resource_version(&self) -> &'o str {
        self.text("resourceVersion")
    }

    pub fn creation_timestamp(&self) -> &'o str {
        self.text("creationTimestamp")
    }

    /// When somebody asked for the deletion, plus the grace period. `None` while nobody has.
    pub fn deletion_timestamp(&self) -> Option<&'o str> {
        self.get("deletionTimestamp").and_then(Value::as_str)
    }

    pub fn deletion_grace_period_seconds(&self) -> Option<i64> {
        self.get("deletionGracePeriodSeconds").and_then(Value::as_i64)
    }

    pub fn is_leaving(&self) -> bool {
        self.deletion_timestamp().is_some()
    }

    pub fn generation(&self) -> i64 {
        self.get("generation").and_then(Value::as_i64).unwrap_or(0)
    }

    pub fn finalizers(&self) -> impl Iterator<Item = &'o str> + use<'o> {
        self.get("finalizers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    pub fn label(&self, key: &str) -> Option<&'o str> {
        self.get("labels")?.get(key)?.as_str()
    }

    pub fn annotation(&self, key: &str) -> Option<&'o str> {
        self.get("annotations")?.get(key)?.as_str()
    }

    pub fn labels(&self) -> impl Iterator<Item = (&'o str, &'o str)> + use<'o> {
        texts(self.get("labels"))
    }

    pub fn annotations(&self) -> impl Iterator<Item = (&'o str, &'o str)> + use<'o> {
        texts(self.get("annotations"))
    }

    pub fn owners(&self) -> impl Iterator<Item = Owner<'o>> + use<'o> {
        self.get("ownerReferences")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|reference| Owner { reference })
    }

    /// The owner that manages this object; there is one at most.
    pub fn controller(&self) -> Option<Owner<'o>> {
        self.owners().find(Owner::is_controller)
    }
}

fn texts(map: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    map.and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// An entry of `ownerReferences`.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'o> {
    reference: &'o Value,
}

impl<'o> Owner<'o> {
    fn text(&self, field: &str) -> &'o str {
        self.reference.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn api_version(&self) -> &'o str {
        self.text("apiVersion")
    }

    pub fn kind(&self) -> &'o str {
        self.text("kind")
    }

    pub fn name(&self) -> &'o str {
        self.text("name")
    }

    pub fn uid(&self) -> &'o str {
        self.text("uid")
    }

    pub fn is_controller(&self) -> bool {
        self.reference.get("controller").and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn blocks_deletion(&self) -> bool {
        self.reference.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or(false)
    }
}

/// An object's metadata to write to; made if it is missing. `None` if the object is none, or has metadata that is none.
pub fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}

/// `apiVersion` split into group and version; the core group is empty.
pub fn group_version(object: &Value) -> (&str, &str) {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    version.split_once('/').unwrap_or(("", version))
}

/// The text of a field by its path: `spec.nodeName`. Numbers and truth values read as they are written.
pub fn field_text(object: &Value, path: &str) -> Option<String> {
    let value = path.split('.').try_fold(object, |value, step| value.get(step))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
