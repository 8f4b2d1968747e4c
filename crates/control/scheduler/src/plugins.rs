//! The plugins by name, with their arguments. Each is one file; this one knows only which there are.

pub mod allocation;
pub mod image_locality;
pub mod inter_pod_affinity;
pub mod least_request;
pub mod least_utilization;
pub mod node_affinity;
pub mod node_declared_features;
pub mod node_name;
pub mod node_ports;
pub mod node_resources_balanced_allocation;
pub mod node_resources_fit;
pub mod node_unschedulable;
pub mod node_volume_limits;
pub mod pod_topology_spread;
#[cfg(test)]
mod speed;
pub mod storage;
pub mod taint_toleration;
#[cfg(test)]
pub(crate) mod testing;
pub mod tolerance;
pub mod volume_binding;
pub mod volume_restrictions;
pub mod volume_zone;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::plugin::{Filter, PreBind, Score};

/// What one plugin does; most do one thing or two.
#[derive(Clone, Default)]
pub struct Parts {
    pub filter: Option<Arc<dyn Filter>>,
    pub score: Option<Arc<dyn Score>>,
    pub pre_bind: Option<Arc<dyn PreBind>>,
}

#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("there is no plugin {0}")]
    Unknown(String),
    #[error("the arguments of {plugin}")]
    Arguments { plugin: &'static str, source: serde_json::Error },
}

/// The plugins that run unless the configuration says otherwise: name and the weight of its score. Filters are asked in this order.
pub const DEFAULT: &[(&str, i64)] = &[
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("NodeDeclaredFeatures", 0),
];

/// A plugin with its arguments as the configuration file has them (`Null` if it has none): `{"scoringStrategy": …}`.
pub fn make(name: &str, arguments: &Value) -> Result<Parts, PluginError> {
    let parts = match name {
        "NodeUnschedulable" => filter(node_unschedulable::NodeUnschedulable),
        "NodeName" => filter(node_name::NodeName),
        "TaintToleration" => both(taint_toleration::TaintToleration),
        "NodeAffinity" => both(node_affinity::NodeAffinity::new(read("NodeAffinity", arguments)?)),
        "NodePorts" => filter(node_ports::NodePorts),
        "NodeResourcesFit" => {
            both(node_resources_fit::NodeResourcesFit::new(read("NodeResourcesFit", arguments)?))
        }
        "VolumeRestrictions" => filter(volume_restrictions::VolumeRestrictions),
        "NodeVolumeLimits" => filter(node_volume_limits::NodeVolumeLimits),
        "VolumeBinding" => {
            let plugin = Arc::new(volume_binding::VolumeBinding);
            Parts { filter: Some(plugin.clone()), score: None, pre_bind: Some(plugin) }
        }
        "VolumeZone" => filter(volume_zone::VolumeZone),
        "PodTopologySpread" => {
            both(pod_topology_spread::PodTopologySpread::new(read("PodTopologySpread", arguments)?))
        }
        "InterPodAffinity" => {
            both(inter_pod_affinity::InterPodAffinity::new(read("InterPodAffinity", arguments)?))
        }
        "NodeResourcesBalancedAllocation" => {
            score(node_resources_balanced_allocation::NodeResourcesBalancedAllocation::new(read(
                "NodeResourcesBalancedAllocation",
                arguments,
            )?))
        }
        "ImageLocality" => score(image_locality::ImageLocality),
        "NodeDeclaredFeatures" => filter(node_declared_features::NodeDeclaredFeatures),
        "LeastRequest" => score(least_request::LeastRequest),
        "LeastUtilization" => score(least_utilization::LeastUtilization),
        _ => return Err(PluginError::Unknown(name.to_owned())),
    };
    Ok(parts)
}

fn read<A: DeserializeOwned + Default>(plugin: &'static str, arguments: &Value) -> Result<A, PluginError> {
    match arguments {
        Value::Null => Ok(A::default()),
        arguments => A::deserialize(arguments).map_err(|source| PluginError::Arguments { plugin, source }),
    }
}

fn filter(filter: impl Filter + 'static) -> Parts {
    Parts { filter: Some(Arc::new(filter)), ..Parts::default() }
}

fn score(score: impl Score + 'static) -> Parts {
    Parts { score: Some(Arc::new(score)), ..Parts::default() }
}

fn both(plugin: impl Filter + Score + 'static) -> Parts {
    let plugin = Arc::new(plugin);
    Parts { filter: Some(plugin.clone()), score: Some(plugin), pre_bind: None }
}
