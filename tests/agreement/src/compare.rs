//! Finds where two answers to the same request differ. Knows nothing of what the fields mean.

use std::fmt;

use serde_json::Value;

use crate::Answer;

/// One place where a server's answer isn't the recorded one; `None` is an absent field.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub topic: String,
    pub step: String,
    /// `status`, `warnings` or a path in the body: `body.spec.containers[0].image`.
    pub path: String,
    pub expected: Option<Value>,
    pub got: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| value.as_ref().map_or("(absent)".to_owned(), Value::to_string);
        write!(f, "{}: expected {}, got {}", self.path, show(&self.expected), show(&self.got))
    }
}

/// Compares the answers of one topic step by step.
pub fn differences(topic: &str, expected: &[Answer], got: &[Answer]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (at, answer) in expected.iter().enumerate() {
        let mut add = |path: String, expected: Option<Value>, got: Option<Value>| {
            let (topic, step) = (topic.to_owned(), answer.name.clone());
            found.push(Difference { topic, step, path, expected, got });
        };
        let Some(other) = got.get(at).filter(|other| other.name == answer.name) else {
            add(
                "step".to_owned(),
                Some(answer.name.clone().into()),
                got.get(at).map(|o| o.name.clone().into()),
            );
            continue;
        };
        if answer.status != other.status {
            add("status".to_owned(), Some(answer.status.into()), Some(other.status.into()));
        }
        if answer.warnings != other.warnings {
            add(
                "warnings".to_owned(),
                Some(answer.warnings.clone().into()),
                Some(other.warnings.clone().into()),
            );
        }
        descend("body".to_owned(), Some(&answer.body), Some(&other.body), &mut add);
    }
    found
}

fn descend(
    path: String,
    expected: Option<&Value>,
    got: Option<&Value>,
    add: &mut impl FnMut(String, Option<Value>, Option<Value>),
) {
    match (expected, got) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let extra = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(extra) {
                let path =
                    if key.contains('.') { format!("{path}[{key:?}]") } else { format!("{path}.{key}") };
                descend(path, a.get(key), b.get(key), add);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                descend(format!("{path}[{at}]"), a.get(at), b.get(at), add);
            }
        }
        (a, b) if a == b => {}
        (a, b) => add(path, a.cloned(), b.cloned()),
    }
}

#[cfg(test)]
mod tests;
