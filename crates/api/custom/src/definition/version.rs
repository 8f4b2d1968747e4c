//! What one version of a definition says about its objects, asked one object at a time.

use std::fmt;
use std::sync::{Arc, OnceLock};

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::kind::{Column, Conversion, ScalePaths};
use kedge_kinds::{GroupVersion, Rules};
use serde_json::Value;

use super::packed::Packed;
use crate::correlate::Old;
use crate::openapi::{self, About, Dialect};
use crate::place::Place;
use crate::schema::{Names, Schema};
use crate::{defaults, embedded, lists, prune, rules, scale, validate};

/// Rules could not be sure of the types in an object with such faults.
const BLOCKING: &[&str] = &[
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
];

/// What one version of a custom kind says about its objects.
pub(super) struct Version {
    pub(super) gv: GroupVersion,
    pub(super) kind: Arc<str>,
    /// The definition's own words. Objects are held against what is read from them when the first one comes.
    pub(super) source: Packed,
    pub(super) loaded: OnceLock<Loaded>,
    pub(super) scale: Option<ScalePaths>,
    pub(super) selectable: Box<[Arc<str>]>,
    pub(super) columns: Box<[Column]>,
    pub(super) conversion: Arc<Conversion>,
    pub(super) deprecation: Option<Box<str>>,
}

/// The schema in the form in which objects are held against it.
pub(super) struct Loaded {
    schema: Schema,
    has_defaults: bool,
}

impl Version {
    fn about(&self) -> About<'_> {
        About {
            group: &self.gv.group,
            version: &self.gv.version,
            kind: &self.kind,
            selectable: self.selectable.iter().map(|path| &**path).collect(),
        }
    }

    fn published(&self, dialect: Dialect) -> Value {
        let source = Some(self.source.open()).filter(Value::is_object);
        openapi::published(source, &self.about(), dialect)
    }

    fn loaded(&self) -> &Loaded {
        self.loaded.get_or_init(|| {
            let schema = Schema::parse(&self.source.open(), &mut Names::default());
            Loaded { has_defaults: schema.has_defaults(), schema }
        })
    }

    fn schema(&self) -> &Schema {
        &self.loaded().schema
    }
}

impl Rules for Version {
    fn prune(&self, object: &mut Value) -> Vec<String> {
        let unknown = prune::prune(self.schema(), object, true);
        prune::drop_nulls(Some(self.schema()), object);
        unknown
    }

    fn default(&self, object: &mut Value) {
        if self.loaded().has_defaults {
            defaults::fill(self.schema(), object);
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>, errors: &mut Errors) {
        let schema = self.schema();
        let before = old.map(|value| Old { value, schema });
        let found = validate::value(schema, object, before, &Place::Root);
        found.faults.iter().for_each(|fault| fault.tell("", errors));
        if let Some(scale) = &self.scale {
            scale::check(scale, object, errors);
        }
        embedded::validate(self.schema(), object, &Place::Root, errors);
        self.check_lists(object, old, errors);
        self.check_rules(object, old, errors);
    }

    fn validate_status(&self, object: &Value, old: &Value, errors: &mut Errors) {
        if let (Some(status), Some(schema)) = (object.get("status"), self.schema().property("status")) {
            let before = old.get("status").map(|value| Old { value, schema });
            let found = validate::value(schema, status, before, &Place::Root);
            found.faults.iter().for_each(|fault| fault.tell("status", errors));
        }
        if let Some(scale) = &self.scale {
            scale::check_status(scale, object, errors);
        }
        embedded::validate(self.schema(), object, &Place::Root, errors);
        self.check_lists(object, Some(old), errors);
        self.check_rules(object, Some(old), errors);
    }

    fn scale(&self) -> Option<&ScalePaths> {
        self.scale.as_ref()
    }

    fn selectable(&self) -> &[Arc<str>] {
        &self.selectable
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn conversion(&self) -> &Conversion {
        &self.conversion
    }

    fn openapi_v3(&self) -> Value {
        self.published(Dialect::V3)
    }

    fn openapi_v2(&self) -> Value {
        self.published(Dialect::V2)
    }

    fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }
}

impl Version {
    /// Lists that were wrong before may stay so.
    fn check_lists(&self, object: &Value, old: Option<&Value>, errors: &mut Errors) {
        let mut past = Errors::default();
        if let Some(old) = old {
            lists::check(self.schema(), old, &Place::Root, &mut past);
        }
        if past.is_empty() {
            lists::check(self.schema(), object, &Place::Root, errors);
        }
    }
}

impl Version {
    fn check_rules(&self, object: &Value, old: Option<&Value>, errors: &mut Errors) {
        if !self.schema().ruled {
            return;
        }
        if errors.causes().iter().any(|cause| BLOCKING.contains(&&*cause.reason)) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                 errors to complete validation";
            return errors.invalid(&Path::root("<nil>"), &Value::Null, detail);
        }
        rules::check(self.schema(), true, object, old, &Place::Root, errors);
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({} {})", self.gv, self.kind)
    }
}
