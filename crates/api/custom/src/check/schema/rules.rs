//! The rules of a schema: their texts, whether they compile, and what they can cost at worst.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::check::shown;
use crate::follow::follow;
use crate::read::{at, flag, has, text};
use crate::rules::{self, Rule};
use crate::schema::Schema;

/// What one rule may cost at worst, and all rules of a schema together.
const RULE_LIMIT: u64 = 10_000_000;
const SCHEMA_LIMIT: u64 = 100_000_000;
const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;

const REASONS: &[&str] =
    &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What is wrong with the texts of rules, before any is compiled.
pub(super) fn texts(schema: &Value, rules: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let broken = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let (source, message) = (text(rule, "rule").trim(), text(rule, "message"));
        if source.is_empty() {
            errors.required(&path.child("rule"), "rule is not specified");
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.invalid(&path.child("message"), &message.into(), "must be non-empty if specified");
        } else if broken(message.trim()) {
            errors.invalid(&path.child("message"), &message.into(), "must not contain line breaks");
        } else if broken(source) && message.trim().is_empty() {
            errors.required(&path.child("message"), "message must be specified if rule contains line breaks");
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.required(&path.child("messageExpression"), detail);
        }
        let reason = at(rule, "reason");
        if reason.as_str().is_some_and(|reason| !REASONS.contains(&reason)) {
            errors.not_supported(&path.child("reason"), reason, REASONS);
        }
        let given = text(rule, "fieldPath");
        let path = path.child("fieldPath");
        if !given.is_empty() && given.trim().is_empty() {
            errors.invalid(&path, &given.into(), "must be non-empty if specified");
        }
        if broken(given) {
            errors.invalid(&path, &given.into(), "must not contain line breaks");
        }
        let leads = || follow(given, &Schema::parse(schema, &mut Default::default()), true).is_ok();
        if !given.is_empty() && !leads() {
            errors.invalid(&path, &given.into(), "must be a valid path");
        }
    }
}

/// What is known of a node from those above it.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// The node is there at all: under a junctor there are no rules.
    present: bool,
    /// It is a whole object.
    whole: bool,
    /// How many values of the node an object can have, if those above it are all limited.
    count: Option<u64>,
    /// The schema was there before: what it costs was accepted then.
    unchanged: bool,
}

impl Context {
    pub(super) fn root(unchanged: bool) -> Self {
        Self { present: true, whole: true, count: Some(1), unchanged }
    }

    pub(super) fn none() -> Self {
        Self { present: false, whole: false, count: None, unchanged: false }
    }

    /// The context of a part of `parent`, in whose context this is.
    pub(super) fn below(self, parent: &Value, schema: &Value) -> Self {
        let limit = |field: &str| at(parent, field).as_i64().map(|limit| u64::try_from(limit).unwrap_or(0));
        let times = match text(parent, "type") {
            "object" if has(parent, "additionalProperties") => limit("maxProperties"),
            "array" => limit("maxItems"),
            _ => Some(1),
        };
        let count = self.count.zip(times).map(|(count, times)| count.saturating_mul(times));
        Self { whole: flag(schema, "x-kubernetes-embedded-resource"), count, ..self }
    }
}

/// The rules of a whole schema: what is wrong with them, and what they cost together.
#[derive(Default)]
pub(super) struct Rules {
    errors: Errors,
    total: u64,
    /// The most expensive ones, those first.
    expensive: Vec<(String, u64)>,
}

impl Rules {
    pub(super) fn compile(
        &mut self,
        schema: &Value,
        given: &[Value],
        path: &Path<'_>,
        uncorrelated: Option<&str>,
        context: Context,
    ) {
        let schema = Schema::parse(schema, &mut Default::default());
        let Some(decl) = rules::declare(&schema, context.whole).filter(|_| context.present) else { return };
        // Where nothing limits them, there are as many values as fit into the largest request.
        let count = context.count.unwrap_or(LARGEST_REQUEST / (decl.min_bytes() + 1));
        for (index, source) in given.iter().enumerate() {
            let rule = Rule::parse(source);
            let compiled = rules::compile(&rule, &schema, &decl);
            let path = path.index(index);
            let (rule_path, message_path) = (path.child("rule"), path.child("messageExpression"));
            match &compiled.program {
                Some(Ok(program)) => {
                    let cost = program.estimate().max.saturating_mul(count);
                    self.spend("estimated rule cost", cost, &rule_path, context);
                }
                Some(Err(why)) => self.refuse(source, why, &rule_path),
                None => {}
            }
            match &compiled.message {
                Some(Ok(program)) => {
                    let cost = program.estimate().max;
                    self.spend("estimated messageExpression cost", cost, &message_path, context);
                }
                Some(Err(why)) => self.refuse(source, why, &message_path),
                None => {}
            }
            let optional = at(source, "optionalOldSelf");
            if compiled.uses_old {
                if let Some(within) = uncorrelated {
                    let detail = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                    );
                    self.errors.invalid(&rule_path, &text(source, "rule").into(), &detail);
                }
            } else if !optional.is_null() {
                let detail = "may not be set if oldSelf is not used in rule";
                self.errors.invalid(&path.child("optionalOldSelf"), optional, detail);
            }
        }
    }

    fn refuse(&mut self, source: &Value, why: &str, path: &Path<'_>) {
        self.errors.invalid_unshown(path, &format!("{}: {why}", shown::rule(source)));
    }

    fn spend(&mut self, what: &str, cost: u64, path: &Path<'_>, context: Context) {
        if cost > RULE_LIMIT && !context.unchanged {
            self.errors.forbidden(path, &exceeded(what, cost, RULE_LIMIT));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA_LIMIT / 100 {
            self.expensive.push((path.to_string(), cost));
            self.expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.expensive.truncate(4);
        }
    }

    pub(super) fn finish(self, path: &Path<'_>, errors: &mut Errors) {
        errors.append(self.errors);
        if self.total <= SCHEMA_LIMIT {
            return;
        }
        for (path, _) in &self.expensive {
            let detail =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.forbidden(&Path::root(path), detail);
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.forbidden(path, &exceeded(what, self.total, SCHEMA_LIMIT));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a factor that people read")]
fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
