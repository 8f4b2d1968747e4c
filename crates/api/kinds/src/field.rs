//! Where in an object something is wrong, and what: paths and the errors that go into a `Status`' causes,
//! in the words that Kubernetes' clients know. Building a path allocates nothing; only printing it does.

use std::fmt;

use serde_json::Value;

use crate::status::Cause;

/// `spec.containers[0].ports[1].name`, built on the way down.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    pub const fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    pub const fn child(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Name(name) }
    }

    pub const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// The value behind a key of a map: `metadata.labels[app]`.
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Name(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Name(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// Everything that is wrong with an object.
#[derive(Debug, Default)]
pub struct Errors(Vec<Cause>);

impl Errors {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn append(&mut self, mut other: Errors) {
        self.0.append(&mut other.0);
    }

    /// By place, then by message: for checks that find things in no order that means anything.
    pub fn sort(&mut self) {
        self.0.sort_by(|a, b| (&a.field, &a.message).cmp(&(&b.field, &b.message)));
    }

    pub fn causes(&self) -> &[Cause] {
        &self.0
    }

    pub fn into_causes(self) -> Vec<Cause> {
        self.0
    }

    fn push(&mut self, reason: &str, path: &Path<'_>, message: String) {
        self.0.push(Cause { reason: reason.to_owned(), message, field: path.to_string() });
    }

    pub fn required(&mut self, path: &Path<'_>, detail: &str) {
        let message =
            if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        self.push("FieldValueRequired", path, message);
    }

    pub fn invalid(&mut self, path: &Path<'_>, value: &Value, detail: &str) {
        self.push("FieldValueInvalid", path, format!("Invalid value: {}: {detail}", shown(value)));
    }

    /// Wrong, and too long or too odd to quote.
    pub fn invalid_unshown(&mut self, path: &Path<'_>, detail: &str) {
        self.push("FieldValueInvalid", path, format!("Invalid value: {detail}"));
    }

    pub fn not_supported(&mut self, path: &Path<'_>, value: &Value, supported: &[&str]) {
        let listed: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
        let message = format!("Unsupported value: {}: supported values: {}", shown(value), listed.join(", "));
        self.push("FieldValueNotSupported", path, message);
    }

    pub fn duplicate(&mut self, path: &Path<'_>, value: &Value) {
        self.push("FieldValueDuplicate", path, format!("Duplicate value: {}", shown(value)));
    }

    /// There twice, and too large to quote.
    pub fn duplicate_unshown(&mut self, path: &Path<'_>) {
        self.push("FieldValueDuplicate", path, "Duplicate value".to_owned());
    }

    pub fn forbidden(&mut self, path: &Path<'_>, detail: &str) {
        self.push("FieldValueForbidden", path, format!("Forbidden: {detail}"));
    }

    pub fn not_found(&mut self, path: &Path<'_>, value: &Value) {
        self.push("FieldValueNotFound", path, format!("Not found: {}", shown(value)));
    }

    /// Not found, and `detail` says what there is.
    pub fn not_found_among(&mut self, path: &Path<'_>, value: &Value, detail: &str) {
        self.push("FieldValueNotFound", path, format!("Not found: {}: {detail}", shown(value)));
    }

    pub fn too_long(&mut self, path: &Path<'_>, max: usize) {
        self.push("FieldValueTooLong", path, format!("Too long: may not be more than {max} bytes"));
    }

    pub fn too_many(&mut self, path: &Path<'_>, found: usize, max: usize) {
        self.push("FieldValueTooMany", path, format!("Too many: {found}: must have at most {max} items"));
    }

    pub fn type_invalid(&mut self, path: &Path<'_>, value: &Value, detail: &str) {
        self.push("FieldValueTypeInvalid", path, format!("Invalid value: {}: {detail}", shown(value)));
    }
}

/// A value as messages quote it: strings in quotes, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
