//! The plugins by name, with their arguments. Each is one file; this one knows only which there are.

mod node_name;

use std::sync::Arc;

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
];

/// A plugin with its arguments as the configuration file has them (`Null` if it has none): `{"scoringStrategy": …}`.
pub fn make(name: &str, _arguments: &Value) -> Result<Parts, PluginError> {
    let parts = match name {
        "NodeName" => filter(node_name::NodeName),
        _ => return Err(PluginError::Unknown(name.to_owned())),
    };
    Ok(parts)
}

fn filter(filter: impl Filter + 'static) -> Parts {
    Parts { filter: Some(Arc::new(filter)), ..Parts::default() }
}
