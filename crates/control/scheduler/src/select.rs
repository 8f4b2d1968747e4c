//! Label selectors and node selectors, compiled once and compared by value. Knows labels, no objects.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

pub type Labels = BTreeMap<String, String>;

/// All requirements must hold; `Nothing` holds for nobody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selector {
    Nothing,
    All(Vec<Requirement>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    pub key: String,
    pub test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
    /// Nobody passes it: an operator or a number that can't be read.
    Never,
}

impl Selector {
    pub fn everything() -> Self {
        Self::All(Vec::new())
    }

    /// An absent selector selects nothing, an empty one everything.
    pub fn of(selector: Option<&LabelSelector>) -> Self {
        let Some(selector) = selector else { return Self::Nothing };
        let mut all: Vec<Requirement> =
            selector.match_labels.iter().flatten().map(|(key, value)| Requirement::is(key, value)).collect();
        all.extend(selector.match_expressions.iter().flatten().map(|expression| {
            let values = expression.values.as_deref().unwrap_or_default();
            Requirement { key: expression.key.clone(), test: Test::of(&expression.operator, values) }
        }));
        Self::All(all)
    }

    pub fn of_map(labels: &Labels) -> Self {
        Self::All(labels.iter().map(|(key, value)| Requirement::is(key, value)).collect())
    }

    /// Also requires this; what is required already is not required twice.
    pub fn and(&mut self, requirement: Requirement) {
        if let Self::All(all) = self
            && !all.contains(&requirement)
        {
            all.push(requirement);
        }
    }

    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(all) if all.is_empty())
    }

    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(all) => all.iter().all(|one| one.test.passes(labels.get(&one.key).map(String::as_str))),
        }
    }
}

impl Requirement {
    pub fn is(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), test: Test::In([value.to_owned()].into()) }
    }

    pub fn is_not(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), test: Test::NotIn([value.to_owned()].into()) }
    }

    fn of_node(requirement: &NodeSelectorRequirement) -> Self {
        let values = requirement.values.as_deref().unwrap_or_default();
        Self { key: requirement.key.clone(), test: Test::of(&requirement.operator, values) }
    }
}

impl Test {
    fn of(operator: &str, values: &[String]) -> Self {
        let number = || match values {
            [one] => one.parse::<i64>().ok(),
            _ => None,
        };
        match operator {
            "In" => Self::In(values.iter().cloned().collect()),
            "NotIn" => Self::NotIn(values.iter().cloned().collect()),
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::Absent,
            "Gt" => number().map_or(Self::Never, Self::Above),
            "Lt" => number().map_or(Self::Never, Self::Below),
            _ => Self::Never,
        }
    }

    fn passes(&self, label: Option<&str>) -> bool {
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        match self {
            Self::In(values) => label.is_some_and(|label| values.contains(label)),
            Self::NotIn(values) => label.is_none_or(|label| !values.contains(label)),
            Self::Exists => label.is_some(),
            Self::Absent => label.is_none(),
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
            Self::Never => false,
        }
    }
}

/// One term of a node selector: all that it says of the labels and of the name must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeTerm {
    pub labels: Vec<Requirement>,
    pub name: Vec<Test>,
}

impl NodeTerm {
    pub fn of(term: &NodeSelectorTerm) -> Self {
        let name = term.match_fields.iter().flatten().map(|field| match &*field.key {
            "metadata.name" => Requirement::of_node(field).test,
            _ => Test::Never,
        });
        let labels = term.match_expressions.iter().flatten().map(Requirement::of_node);
        Self { labels: labels.collect(), name: name.collect() }
    }

    /// A term that says nothing selects nothing.
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        (!self.labels.is_empty() || !self.name.is_empty())
            && self.name.iter().all(|test| test.passes(Some(name)))
            && self.labels.iter().all(|one| one.test.passes(labels.get(&one.key).map(String::as_str)))
    }

    /// The only nodes that it can select, if it names them.
    pub fn names(&self) -> Option<&BTreeSet<String>> {
        self.name.iter().find_map(|test| match test {
            Test::In(names) => Some(names),
            _ => None,
        })
    }
}
