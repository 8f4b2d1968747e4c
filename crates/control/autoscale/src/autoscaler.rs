//! A HorizontalPodAutoscaler as far as it matters to scaling. Its status is kept as it was written: all that is asked of it is
//! whether it still says the same.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::amount::Amount;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Autoscaler {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: Spec,
    #[serde(default)]
    pub status: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) scale_target_ref: Reference,
    pub(crate) min_replicas: Option<i32>,
    pub(crate) max_replicas: i32,
    #[serde(deserialize_with = "or_default")]
    pub(crate) metrics: Vec<Metric>,
    pub(crate) behavior: Option<Behavior>,
}

impl Spec {
    pub(crate) fn least(&self) -> i32 {
        self.min_replicas.unwrap_or(1)
    }

    /// Something is measured that doesn't need pods to be there.
    pub(crate) fn measures_without_pods(&self) -> bool {
        self.metrics.iter().any(|metric| matches!(metric, Metric::Object { .. } | Metric::External { .. }))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Reference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Reference {
    /// Nothing stands for the core group.
    pub(crate) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum Metric {
    Resource {
        resource: OfPods,
    },
    ContainerResource {
        #[serde(rename = "containerResource")]
        resource: OfPods,
    },
    Pods {
        pods: Named,
    },
    Object {
        object: Named,
    },
    External {
        external: Named,
    },
    /// From a future that we don't know yet.
    #[serde(other)]
    Unknown,
}

impl Metric {
    pub(crate) fn is_used_by_pods(&self) -> bool {
        matches!(self, Self::Resource { .. } | Self::ContainerResource { .. })
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Resource { .. } => "Resource",
            Self::ContainerResource { .. } => "ContainerResource",
            Self::Pods { .. } => "Pods",
            Self::Object { .. } => "Object",
            Self::External { .. } => "External",
            Self::Unknown => "",
        }
    }
}

/// What pods use of a resource, all their containers together or one of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct OfPods {
    pub(crate) name: String,
    pub(crate) container: Option<String>,
    pub(crate) target: Target,
}

/// Something that somebody else measures.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Named {
    pub(crate) metric: Identifier,
    pub(crate) described_object: Reference,
    pub(crate) target: Target,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Identifier {
    pub(crate) name: String,
    pub(crate) selector: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Target {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) average_utilization: Option<i32>,
    pub(crate) average_value: Option<Amount>,
    pub(crate) value: Option<Amount>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Behavior {
    pub(crate) scale_up: Option<Rules>,
    pub(crate) scale_down: Option<Rules>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rules {
    pub(crate) stabilization_window_seconds: Option<i64>,
    pub(crate) select_policy: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) policies: Vec<Policy>,
    pub(crate) tolerance: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Policy {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) value: i32,
    pub(crate) period_seconds: i64,
}

/// Null says nothing, too.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

kedge_client::watched!(Autoscaler);

impl kube::Resource for Autoscaler {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "HorizontalPodAutoscaler".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "autoscaling".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v2".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "horizontalpodautoscalers".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
