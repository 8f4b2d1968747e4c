//! How much of each resource: what pods ask for and what nodes have, as whole numbers. Knows no pod and no node.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use kedge_kinds::quantity::Quantity;

/// Missing resources count as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    pub milli_cpu: i64,
    /// In bytes.
    pub memory: i64,
    /// Ephemeral storage, in bytes.
    pub storage: i64,
    pub pods: i64,
    /// Everything else (huge pages, devices, what nodes invent), sorted by name.
    pub others: Vec<(Arc<str>, i64)>,
}

/// A resource list as objects have them.
pub type List = BTreeMap<String, Text>;

impl Amounts {
    /// An amount that can't be read is none: the API does not let it in.
    pub fn of_list(list: &List) -> Self {
        let mut all = Self::default();
        for (name, text) in list {
            let amount: Quantity = text.0.parse().unwrap_or_default();
            let value = if name == "cpu" { amount.milli_value() } else { amount.value() };
            all.set(name, value);
        }
        all
    }

    /// In thousandths for `cpu`, whole for all others.
    pub fn get(&self, name: &str) -> i64 {
        match name {
            "cpu" => self.milli_cpu,
            "memory" => self.memory,
            "ephemeral-storage" => self.storage,
            "pods" => self.pods,
            _ => self.place(name).map_or(0, |at| self.others[at].1),
        }
    }

    pub fn set(&mut self, name: &str, value: i64) {
        match name {
            "cpu" => self.milli_cpu = value,
            "memory" => self.memory = value,
            "ephemeral-storage" => self.storage = value,
            "pods" => self.pods = value,
            _ => match self.place(name) {
                Ok(at) => self.others[at].1 = value,
                Err(at) => self.others.insert(at, (name.into(), value)),
            },
        }
    }

    pub fn add(&mut self, more: &Self) {
        self.join(more, i64::saturating_add);
    }

    pub fn subtract(&mut self, less: &Self) {
        self.join(less, i64::saturating_sub);
    }

    /// Of each resource the greater amount.
    pub fn raise_to(&mut self, other: &Self) {
        self.join(other, i64::max);
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.others.binary_search_by(|(other, _)| (**other).cmp(name))
    }

    fn join(&mut self, other: &Self, how: impl Fn(i64, i64) -> i64) {
        self.milli_cpu = how(self.milli_cpu, other.milli_cpu);
        self.memory = how(self.memory, other.memory);
        self.storage = how(self.storage, other.storage);
        self.pods = how(self.pods, other.pods);
        for (name, value) in &other.others {
            match self.place(name) {
                Ok(at) => self.others[at].1 = how(self.others[at].1, *value),
                Err(at) => self.others.insert(at, (name.clone(), how(0, *value))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
