//! What a schema of a definition may say, keyword by keyword. Whether it is structural is another file's.

mod lists;
mod rules;

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::{defaults, shown, structural};
use crate::read::{at, flag, has, list, map, schema_of, text};
use crate::schema::{Schema, is_meta};

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
const AT_ROOT: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
    XPreserveUnknownFields XValidations";

/// The schema of one version. `path` is that of the struct around it.
pub(super) fn check(
    version: &Value,
    before: Option<&Value>,
    keeps_status: bool,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let schema = schema_of(version);
    if !schema.is_object() {
        return;
    }
    let told = errors.len();
    let path = path.child("openAPIV3Schema");
    if keeps_status {
        with_status(schema, &path, errors);
    }
    if flag(schema, "nullable") {
        errors.forbidden(&path.child("nullable"), "nullable cannot be true at the root");
    }
    let unreadable = structural::unreadable(schema);
    let mut sound = false;
    if unreadable.is_none() {
        let mut found = structural::check(schema, &path);
        if found.is_empty() {
            defaults::check(&Schema::parse(schema, &mut Default::default()), &path, &mut found);
        }
        sound = found.is_empty();
        errors.append(found);
    }
    let context = Context {
        no_defaults: None,
        within_meta: false,
        uncorrelated: None,
        rules: rules::Context::root(before.is_some_and(|before| schema_of(before) == schema)),
    };
    let mut walk = Walk { schema_errors: Errors::default(), rules: sound.then(rules::Rules::default) };
    walk.node(schema, true, &path, &context);
    errors.append(walk.schema_errors);
    if let Some(rules) = walk.rules {
        rules.finish(&path, errors);
    }
    // What made the schema unreadable was mostly told keyword by keyword.
    if let Some(why) = unreadable.filter(|_| errors.len() == told) {
        errors.invalid(&path, &"".into(), why);
    }
}

/// The status is judged by itself, so nothing at the root may bind it to the rest.
fn with_status(schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in shown::set_fields(schema) {
        if field == "Type" {
            if text(schema, "type") != "object" {
                let detail = "only \"object\" is allowed as the type at the root of the schema if the status \
                     subresource is enabled";
                return errors.invalid(&path.child("type"), at(schema, "type"), detail);
            }
        } else if !AT_ROOT.split(' ').any(|allowed| allowed == field) {
            let detail = format!(
                "{}: only [{AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled",
                shown::schema(schema)
            );
            return errors.invalid_unshown(path, &detail);
        }
    }
}

/// What holds for a node because of what it stands in.
#[derive(Clone)]
struct Context {
    /// Why there can be no defaults here.
    no_defaults: Option<String>,
    within_meta: bool,
    /// The first node above whose parts have no past to compare with.
    uncorrelated: Option<String>,
    rules: rules::Context,
}

struct Walk {
    schema_errors: Errors,
    /// Rules are looked at only if everything else about the schema is sound.
    rules: Option<rules::Rules>,
}

impl Walk {
    fn node(&mut self, schema: &Value, root: bool, path: &Path<'_>, context: &Context) {
        let told = self.schema_errors.len();
        self.keywords(schema, path, context);
        self.additional(schema, path, context);
        for (name, property) in map(schema, "properties") {
            let mut context = Context { rules: context.rules.below(schema, property), ..context.clone() };
            if (root || flag(schema, "x-kubernetes-embedded-resource")) && is_meta(name) {
                context.within_meta = true;
                if root {
                    context.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.node(property, false, &path.child("properties").key(name), &context);
        }
        let apart = Context { rules: rules::Context::none(), ..context.clone() };
        if has(schema, "not") {
            self.node(at(schema, "not"), false, &path.child("not"), &apart);
        }
        for field in ["allOf", "oneOf", "anyOf"] {
            for (at, below) in list(schema, field).iter().enumerate() {
                self.node(below, false, &path.child(field).index(at), &apart);
            }
        }
        for (name, below) in map(schema, "definitions") {
            self.node(below, false, &path.child("definitions").key(name), &apart);
        }
        let items = at(schema, "items");
        if items.is_object() {
            let mut context = Context { rules: context.rules.below(schema, items), ..context.clone() };
            if text(schema, "x-kubernetes-list-type") != "map" {
                context.uncorrelated.get_or_insert_with(|| path.to_string());
            }
            self.node(items, false, &path.child("items"), &context);
        }
        self.extensions(schema, path);
        lists::check(schema, path, &mut self.schema_errors);
        self.rules(schema, told, path, context);
    }

    fn keywords(&mut self, schema: &Value, path: &Path<'_>, context: &Context) {
        let errors = &mut self.schema_errors;
        let kind = text(schema, "type");
        if !kind.is_empty() && !TYPES.contains(&kind) {
            errors.not_supported(&path.child("type"), &kind.into(), TYPES);
        }
        if has(schema, "default")
            && let Some(reason) = &context.no_defaults
        {
            errors.forbidden(&path.child("default"), &format!("must not be set {reason}"));
        }
        for field in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
            if has(schema, field) && at(schema, field) != "" {
                errors.forbidden(&path.child(field), &format!("{field} is not supported"));
            }
        }
        if kind == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            errors.forbidden(&path.child("type"), detail);
        }
        if at(schema, "items").is_array() {
            errors.forbidden(&path.child("items"), "items must be a schema object and not an array");
        }
        if context.within_meta && flag(schema, "x-kubernetes-embedded-resource") {
            let detail = "must not be used inside of resource meta";
            errors.forbidden(&path.child("x-kubernetes-embedded-resource"), detail);
        }
        if flag(schema, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            errors.forbidden(&path.child("uniqueItems"), detail);
        }
    }

    fn additional(&mut self, schema: &Value, path: &Path<'_>, context: &Context) {
        let additional = at(schema, "additionalProperties");
        let path = path.child("additionalProperties");
        if !matches!(additional, Value::Null | Value::Bool(true)) && !map(schema, "properties").is_empty() {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.schema_errors.forbidden(&path, detail);
        }
        if additional.is_object() {
            let mut context = Context { rules: context.rules.below(schema, additional), ..context.clone() };
            if context.within_meta {
                let reason = "inside additionalProperties applying to object metadata";
                context.no_defaults = Some(reason.to_owned());
            }
            self.node(additional, false, &path, &context);
        }
    }

    fn extensions(&mut self, schema: &Value, path: &Path<'_>) {
        let errors = &mut self.schema_errors;
        let kept = at(schema, "x-kubernetes-preserve-unknown-fields");
        if kept == false {
            let path = path.child("x-kubernetes-preserve-unknown-fields");
            errors.invalid(&path, kept, "must be true or undefined");
        }
        let kind = text(schema, "type");
        let map_type = at(schema, "x-kubernetes-map-type");
        if !map_type.is_null() && kind != "object" {
            let detail = "must be object if x-kubernetes-map-type is specified";
            structural::wrong_type(kind, detail, path, errors);
        }
        if !map_type.is_null() && map_type != "atomic" && map_type != "granular" {
            errors.not_supported(&path.child("x-kubernetes-map-type"), map_type, &["atomic", "granular"]);
        }
    }

    fn rules(&mut self, schema: &Value, told: usize, path: &Path<'_>, context: &Context) {
        let given = list(schema, "x-kubernetes-validations");
        if given.is_empty() {
            return;
        }
        let path = path.child("x-kubernetes-validations");
        rules::texts(schema, given, &path, &mut self.schema_errors);
        // A rule cannot be read where the types that it speaks about are unsure.
        if self.schema_errors.len() == told
            && let Some(rules) = &mut self.rules
        {
            rules.compile(schema, given, &path, context.uncorrelated.as_deref(), context.rules);
        }
    }
}
