//! What a node says about itself and its pods, as far as it is told on: `/stats/summary`. Pure.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

/// One answer of one node.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub(super) node: Option<Measure>,
    /// By namespace and name.
    pods: HashMap<(String, String), Pod>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Pod {
    pub(super) uid: String,
    /// In the node's order.
    pub(super) containers: Vec<(String, Measure)>,
}

/// How much was used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) at: Timestamp,
    /// Billionths of a core.
    pub(super) cores: u64,
    /// Bytes that cannot be taken away.
    pub(super) memory: u64,
    /// The time over which was measured, where the node says it.
    pub(super) window: Option<Duration>,
}

impl Reading {
    /// `None` if it is none.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let summary: Summary = serde_json::from_slice(text).ok()?;
        let pods = summary.pods.into_iter().map(|pod| {
            let measured = |one: Usage| Some((one.name.clone(), one.measure()?));
            let containers = pod.containers.into_iter().filter_map(measured).collect();
            let key = (pod.pod_ref.namespace, pod.pod_ref.name);
            (key, Pod { uid: pod.pod_ref.uid, containers })
        });
        Some(Self { node: summary.node.measure(), pods: pods.collect() })
    }

    pub(super) fn pod(&self, namespace: &str, name: &str) -> Option<&Pod> {
        self.pods.get(&(namespace.to_owned(), name.to_owned()))
    }
}

#[derive(Deserialize)]
struct Summary {
    node: Usage,
    #[serde(default)]
    pods: Vec<PodUsage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodUsage {
    pod_ref: PodRef,
    #[serde(default)]
    containers: Vec<Usage>,
}

#[derive(Deserialize)]
struct PodRef {
    name: String,
    namespace: String,
    #[serde(default)]
    uid: String,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    name: String,
    cpu: Option<Cpu>,
    memory: Option<Memory>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cpu {
    time: Timestamp,
    /// Not there before it was measured twice.
    usage_nano_cores: Option<u64>,
    window_nano_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    working_set_bytes: Option<u64>,
}

impl Usage {
    /// `None` unless both are known: half a measure would be taken for a whole one.
    fn measure(self) -> Option<Measure> {
        let cpu = self.cpu?;
        Some(Measure {
            at: cpu.time,
            cores: cpu.usage_nano_cores?,
            memory: self.memory?.working_set_bytes?,
            window: cpu.window_nano_seconds.map(Duration::from_nanos),
        })
    }
}
