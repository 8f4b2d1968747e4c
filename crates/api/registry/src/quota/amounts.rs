//! Amounts of several resources by name: added, subtracted, compared. Knows no kind and no quota.

use std::collections::BTreeMap;
use std::fmt;

use kedge_kinds::quantity::{Format, Quantity};
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts(BTreeMap<String, Quantity>);

impl Amounts {
    /// What a field such as `requests` or `hard` holds. The schema has already refused what is no amount.
    pub(crate) fn of(field: Option<&Value>) -> Self {
        let entries = field.and_then(Value::as_object).into_iter().flatten();
        Self(entries.map(|(name, value)| (name.clone(), amount(value))).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Quantity> {
        self.0.get(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Quantity)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), amount))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn set(&mut self, name: impl Into<String>, amount: Quantity) {
        self.0.insert(name.into(), amount);
    }

    pub(crate) fn count(&mut self, name: impl Into<String>, number: i64) {
        self.set(name, Quantity::of(number, Format::DecimalSi));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            let sum = self.get(name).map_or(*amount, |known| known.plus(amount));
            self.set(name, sum);
        }
    }

    /// Takes the other's amounts off those that are here; nothing falls below zero.
    pub(crate) fn take_off(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            if let Some(known) = self.0.get_mut(name) {
                let left = known.minus(amount);
                *known = if left.is_negative() { Quantity::ZERO } else { left };
            }
        }
    }

    /// The larger of both, for every resource of either.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            if self.get(name).is_none_or(|known| amount > known) {
                self.set(name, *amount);
            }
        }
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &Quantity) -> bool) {
        self.0.retain(|name, amount| keep(name, amount));
    }

    pub(crate) fn only(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut some = self.clone();
        some.retain(|name, _| keep(name));
        some
    }

    pub(crate) fn to_json(&self) -> Value {
        let entries = self.iter().map(|(name, amount)| (name.to_owned(), amount.to_string().into()));
        Value::Object(entries.collect::<Map<_, _>>())
    }
}

/// As refusals name them: `cpu=1,pods=2`.
impl fmt::Display for Amounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, amount)) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(out, "{comma}{name}={amount}")?;
        }
        Ok(())
    }
}

pub(crate) fn amount(value: &Value) -> Quantity {
    match value {
        Value::String(text) => text.parse().unwrap_or_default(),
        other => other.to_string().parse().unwrap_or_default(),
    }
}
