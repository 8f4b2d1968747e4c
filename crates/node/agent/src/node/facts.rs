//! What this machine is and has, read from the kernel and from the settings. What a person says of the machine wins over
//! what it says of itself.

mod read;

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::{NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use kedge_kinds::Quantity;
use kedge_kinds::quantity::Format;

/// As many as Kubernetes puts on a node unless told otherwise.
const PODS: i64 = 110;
/// Below this much free memory pods have to go, so that it is nobody's.
const MEMORY_FLOOR: i64 = 100 << 20;
/// The same for the disk, one part of so many.
const DISK_FLOOR: i64 = 10;

/// What a person says of the node.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub labels: BTreeMap<String, String>,
    /// Only for a node that is not known yet.
    pub taints: Vec<Taint>,
    /// In the place of what the machine has.
    pub capacity: BTreeMap<String, Quantity>,
    /// Of which nothing is given to pods.
    pub reserved: BTreeMap<String, Quantity>,
}

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) capacity: BTreeMap<String, Quantity>,
    pub(crate) allocatable: BTreeMap<String, Quantity>,
    pub(crate) info: NodeSystemInfo,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
}

impl Facts {
    pub(crate) fn read(node: &str, data: &Path, told: &Told, runtime: String, version: String) -> Self {
        let mut capacity = read::capacity(data);
        capacity.insert("pods".to_owned(), Quantity::of(PODS, Format::DecimalSi));
        capacity.extend(told.capacity.clone());
        let info = read::info(runtime, version);
        let usual = [
            ("kubernetes.io/hostname", node),
            ("kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", &info.architecture),
            ("beta.kubernetes.io/os", "linux"),
            ("beta.kubernetes.io/arch", &info.architecture),
        ];
        let mut labels: BTreeMap<_, _> = usual.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        labels.extend(told.labels.clone());
        let allocatable = allocatable(&capacity, &told.reserved);
        Self { allocatable, capacity, info, labels, taints: told.taints.clone() }
    }
}

/// What is left for pods: without the reserve, the floors under which nothing may fall, and the memory of huge pages.
fn allocatable(
    capacity: &BTreeMap<String, Quantity>,
    reserved: &BTreeMap<String, Quantity>,
) -> BTreeMap<String, Quantity> {
    let nothing = Quantity::ZERO;
    let huge = capacity.iter().filter(|(name, _)| name.starts_with("hugepages-"));
    let huge = huge.fold(nothing, |sum, (_, amount)| sum.plus(amount));
    let left = capacity.iter().map(|(name, amount)| {
        let floor = match &**name {
            "memory" => Quantity::of(MEMORY_FLOOR, Format::BinarySi).plus(&huge),
            "ephemeral-storage" => Quantity::of(amount.value() / DISK_FLOOR, Format::BinarySi),
            _ => nothing,
        };
        let kept = reserved.get(name).map_or(floor, |reserve| floor.plus(reserve));
        let left = amount.minus(&kept);
        (name.clone(), if left.is_negative() { Quantity::of(0, left.format()) } else { left })
    });
    left.collect()
}

/// As the API writes amounts.
pub(crate) fn written(amounts: &BTreeMap<String, Quantity>) -> BTreeMap<String, Written> {
    amounts.iter().map(|(name, amount)| (name.clone(), Written(amount.to_string()))).collect()
}

#[cfg(test)]
mod tests;
