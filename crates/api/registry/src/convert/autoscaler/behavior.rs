//! How fast an autoscaler may scale, as v1 notes it in an annotation: with capital names, and null for what is not said.

use serde_json::{Map, Value};

const DIRECTIONS: [&str; 2] = ["scaleUp", "scaleDown"];
const RULES: [&str; 4] = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"];
const POLICY: [&str; 3] = ["type", "value", "periodSeconds"];

/// What stands in the annotation.
pub(super) fn noted(behavior: &Value) -> Value {
    named(behavior, &DIRECTIONS, |rules| {
        named(rules, &RULES, |rule| match rule {
            Value::Array(policies) => {
                policies.iter().map(|policy| named(policy, &POLICY, Value::clone)).collect()
            }
            other => other.clone(),
        })
    })
}

fn named(of: &Value, names: &[&str], inner: impl Fn(&Value) -> Value) -> Value {
    if of.is_null() {
        return Value::Null;
    }
    let field =
        |name: &&str| (recased(name, char::to_ascii_uppercase), inner(of.get(*name).unwrap_or(&Value::Null)));
    Value::Object(names.iter().map(field).collect())
}

/// What an annotation says, whichever way its names begin.
pub(super) fn read(note: Value) -> Value {
    match note {
        Value::Object(fields) => {
            let said = fields.into_iter().filter(|(_, value)| !value.is_null());
            let said = said.map(|(name, value)| (recased(&name, char::to_ascii_lowercase), read(value)));
            Value::Object(said.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(read).collect(),
        other => other,
    }
}

fn recased(name: &str, first: impl Fn(&char) -> char) -> String {
    let mut letters = name.chars();
    letters.next().iter().map(first).chain(letters).collect()
}
