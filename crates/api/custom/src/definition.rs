//! Turns a definition into the kinds that it defines. Expects one that was checked: what cannot be read is left out here.

mod packed;

use std::fmt;
use std::sync::{Arc, OnceLock};

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::kind::{Column, Conversion, ScalePaths};
use kedge_kinds::{GroupVersion, Kind, Rules, Subresource};
use serde_json::{Value, json};

use crate::correlate::Old;
use crate::openapi::{self, About, Dialect};
use crate::place::Place;
use crate::read::{at, flag, has, list, schema_of, text, texts};
use crate::schema::{Names, Schema};
use crate::{defaults, embedded, lists, priority, prune, rules, scale, shapes, validate};
use packed::Packed;

const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Rules could not be sure of the types in an object with such faults.
const BLOCKING: &[&str] = &[
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
];
const PART_VERBS: &[&str] = &["get", "patch", "update"];

/// What one version of a custom kind says about its objects.
struct Version {
    gv: GroupVersion,
    kind: Arc<str>,
    /// The definition's own words. Objects are held against what is read from them when the first one comes.
    source: Packed,
    loaded: OnceLock<Loaded>,
    scale: Option<ScalePaths>,
    selectable: Box<[Arc<str>]>,
    columns: Box<[Column]>,
    conversion: Arc<Conversion>,
    deprecation: Option<Box<str>>,
}

struct Loaded {
    schema: Schema,
    has_defaults: bool,
}

/// Every served version of a definition, the preferred one first.
pub fn compile(definition: &Value) -> Vec<Arc<Kind>> {
    let mut names = Names::default();
    let spec = at(definition, "spec");
    let versions = list(spec, "versions");
    let group = names.get(text(spec, "group"));
    let stored = versions.iter().find(|version| flag(version, "storage"));
    let stored = stored.map_or(Value::Null, |version| at(version, "name").clone());
    let stored_as =
        GroupVersion { group: group.clone(), version: names.get(stored.as_str().unwrap_or_default()) };
    let conversion = Arc::new(conversion(spec));
    let mut served: Vec<&Value> = versions.iter().filter(|version| flag(version, "served")).collect();
    served.sort_by(|a, b| priority::compare(text(a, "name"), text(b, "name")));
    served
        .iter()
        .map(|version| {
            let gv = GroupVersion { group: group.clone(), version: names.get(text(version, "name")) };
            Arc::new(kind(definition, version, gv, stored_as.clone(), conversion.clone(), &mut names))
        })
        .collect()
}

fn kind(
    definition: &Value,
    version: &Value,
    gv: GroupVersion,
    stored_as: GroupVersion,
    conversion: Arc<Conversion>,
    names: &mut Names,
) -> Kind {
    let spec = at(definition, "spec");
    // A name that another definition has taken is not served; the accepted ones are. Before any is, those asked for count.
    let accepted = at(at(definition, "status"), "acceptedNames");
    let called = if text(accepted, "kind").is_empty() { at(spec, "names") } else { accepted };
    let source = schema_of(version);
    let schema = Schema::parse(source, names);
    let kind = names.get(text(called, "kind"));
    let published = openapi::name(&gv.group, &gv.version, &kind);
    let (shapes, root) = shapes::of(&published, &schema);
    let subresources = at(version, "subresources");
    let scale = has(subresources, "scale").then(|| scale::paths(at(subresources, "scale")));
    let mut verbs_of = |verbs: &[&str]| verbs.iter().map(|verb| names.get(verb)).collect::<Vec<_>>();
    let (verbs, part_verbs) = (verbs_of(VERBS), verbs_of(PART_VERBS));
    let mut parts = Vec::new();
    if has(subresources, "status") {
        parts.push(Subresource { name: "status".into(), verbs: part_verbs.clone(), speaks: None });
    }
    if scale.is_some() {
        let spoken = GroupVersion { group: "autoscaling".into(), version: "v1".into() };
        let speaks = Some((spoken, "Scale".into()));
        parts.push(Subresource { name: "scale".into(), verbs: part_verbs, speaks });
    }
    let rules = Version {
        gv: gv.clone(),
        kind: kind.clone(),
        source: Packed::new(source),
        loaded: OnceLock::new(),
        scale,
        selectable: list(version, "selectableFields")
            .iter()
            .map(|field| text(field, "jsonPath").trim_start_matches('.').into())
            .collect(),
        columns: columns(version),
        conversion,
        deprecation: deprecation(spec, version, &gv, &kind),
    };
    Kind {
        prefix: format!("{}/{}", gv.group, text(called, "plural")).into(),
        gv,
        kind,
        list_kind: names.get(text(called, "listKind")),
        plural: names.get(text(called, "plural")),
        singular: names.get(text(called, "singular")),
        short_names: texts(called, "shortNames").map(|name| names.get(name)).collect(),
        categories: texts(called, "categories").map(|name| names.get(name)).collect(),
        namespaced: text(spec, "scope") == "Namespaced",
        verbs,
        subresources: parts,
        stored_as,
        schemas: Arc::new(shapes),
        schema: root,
        rules: Some(Arc::new(rules)),
    }
}

fn conversion(spec: &Value) -> Conversion {
    let conversion = at(spec, "conversion");
    match text(conversion, "strategy") {
        "Webhook" => Conversion::Webhook(at(conversion, "webhook").clone()),
        _ => Conversion::Rename,
    }
}

/// Without columns of its own a version shows the age.
fn columns(version: &Value) -> Box<[Column]> {
    let given = list(version, "additionalPrinterColumns");
    let age = [json!({
        "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "CreationTimestamp is a timestamp representing the server time when this object was created. It \
            is not guaranteed to be set in happens-before order across separate operations. Clients may not set this \
            value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for \
            lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    })];
    let shown = if given.is_empty() { &age } else { given };
    shown
        .iter()
        .map(|column| Column {
            name: text(column, "name").to_owned(),
            type_: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: text(column, "description").to_owned(),
            priority: at(column, "priority").as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0),
            json_path: text(column, "jsonPath").to_owned(),
        })
        .collect()
}

fn deprecation(spec: &Value, version: &Value, gv: &GroupVersion, kind: &str) -> Option<Box<str>> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = at(version, "deprecationWarning").as_str() {
        return Some(warning.into());
    }
    let better = list(spec, "versions")
        .iter()
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| text(other, "name"))
        .filter(|other| priority::compare(other, &gv.version).is_lt())
        .min_by(|a, b| priority::compare(a, b));
    let better = better.map(|version| format!("; use {}/{version} {kind}", gv.group)).unwrap_or_default();
    Some(format!("{gv} {kind} is deprecated{better}").into())
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

#[cfg(test)]
mod tests;
