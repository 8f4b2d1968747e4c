//! Selectors over labels and fields: read from a query, or from a `LabelSelector` object, and matched. Knows no kind; which
//! fields can be selected is the registry's.

mod fields;
mod labels;

use serde_json::Value;

pub use fields::{FieldError, FieldSelector, FieldTerm};
pub use labels::{LabelError, Operator, Requirement};

use crate::names;

/// A conjunction of requirements; none at all selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// `None` selects nothing, which only an absent selector of some objects means.
    requirements: Option<Vec<Requirement>>,
}

impl LabelSelector {
    pub fn everything() -> Self {
        Self { requirements: Some(Vec::new()) }
    }

    pub fn nothing() -> Self {
        Self { requirements: None }
    }

    pub fn new(requirements: Vec<Requirement>) -> Self {
        Self { requirements: Some(requirements) }
    }

    /// A query's `app=web,tier in (a, b),!canary`.
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        labels::parse(text).map(Self::new)
    }

    /// A plain map, as services have: every entry must be there.
    pub fn of_map<'m>(map: impl IntoIterator<Item = (&'m str, &'m str)>) -> Self {
        let equals = |(key, value): (&str, &str)| Requirement {
            key: key.into(),
            operator: Operator::In,
            values: vec![value.into()],
        };
        Self::new(map.into_iter().map(equals).collect())
    }

    /// A `LabelSelector` object. An absent one selects nothing, an empty one everything.
    pub fn of_object(selector: Option<&Value>) -> Result<Self, LabelError> {
        let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
            return Ok(Self::nothing());
        };
        let mut requirements = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            requirements.push(Requirement::new(key, Operator::In, vec![value.into()])?);
        }
        for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
            let operator = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(LabelError::Operator(other.into())),
            };
            let values = expression["values"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(Box::from);
            requirements.push(Requirement::new(
                expression["key"].as_str().unwrap_or_default(),
                operator,
                values.collect(),
            )?);
        }
        Ok(Self::new(requirements))
    }

    pub fn is_everything(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// The requirements, to index by; `None` if nothing can match.
    pub fn requirements(&self) -> Option<&[Requirement]> {
        self.requirements.as_deref()
    }

    /// `label` gives the value of a key.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        let matches = |requirement: &Requirement| requirement.matches(label(&requirement.key));
        self.requirements.as_ref().is_some_and(|all| all.iter().all(matches))
    }

    /// Against an object's `metadata.labels`.
    pub fn matches_object(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.matches(|key| labels.get(key).and_then(Value::as_str))
    }
}

impl Requirement {
    /// Checks the key and the values by the operator's rules.
    pub fn new(key: &str, operator: Operator, values: Vec<Box<str>>) -> Result<Self, LabelError> {
        let faults = names::qualified_name(key);
        if !faults.is_empty() {
            return Err(LabelError::Key { key: key.into(), why: faults.join("; ") });
        }
        let wrong = |why| Err(LabelError::Values { values: format!("{values:?}").replace(", ", ","), why });
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                return wrong("for 'in', 'notin' operators, values set can't be empty");
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                return wrong("values set must be empty for exists and does not exist");
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                return wrong("for 'Gt', 'Lt' operators, exactly one value is required");
            }
            _ => {}
        }
        for (at, value) in values.iter().enumerate() {
            let compares = matches!(operator, Operator::GreaterThan | Operator::LessThan);
            if compares && value.parse::<i64>().is_err() {
                return Err(LabelError::NoInteger { at, value: value.clone() });
            }
            let faults = names::label_value(value);
            if !faults.is_empty() {
                return Err(LabelError::Value {
                    at,
                    key: key.into(),
                    value: value.clone(),
                    why: faults.join("; "),
                });
            }
        }
        Ok(Self { key: key.into(), operator, values })
    }

    pub fn matches(&self, label: Option<&str>) -> bool {
        let among = |label: &str| self.values.iter().any(|value| **value == *label);
        let compare = |holds: fn(i64, i64) -> bool| {
            let label = label.and_then(|label| label.parse().ok());
            let limit = self.values.first().and_then(|limit| limit.parse().ok());
            label.zip(limit).is_some_and(|(label, limit)| holds(label, limit))
        };
        match self.operator {
            Operator::In => label.is_some_and(among),
            // An object without the label is not in the set either.
            Operator::NotIn => !label.is_some_and(among),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => compare(|label, limit| label > limit),
            Operator::LessThan => compare(|label, limit| label < limit),
        }
    }
}

#[cfg(test)]
mod tests;
