//! What a node says of its use of the machine. Who measures it is not known here.

use futures::future::BoxFuture;
use serde_json::{Value, json};

/// Each is made when it is asked for.
pub trait Figures: Send + Sync + 'static {
    /// `/stats/summary`: a Summary of `stats/v1alpha1`.
    fn summary(&self, only_cpu_and_memory: bool) -> BoxFuture<'_, Value>;

    /// `/metrics/resource`, as Prometheus reads it.
    fn resource(&self) -> BoxFuture<'_, String>;

    /// `/metrics`: of the agent itself.
    fn agent(&self) -> BoxFuture<'_, String> {
        Box::pin(async { String::new() })
    }

    /// `/metrics/cadvisor`: of every container.
    fn containers(&self) -> BoxFuture<'_, String> {
        Box::pin(async { String::new() })
    }

    /// `/metrics/probes`.
    fn probes(&self) -> BoxFuture<'_, String> {
        Box::pin(async { String::new() })
    }
}

/// A node that measures nothing.
pub struct Nothing;

impl Figures for Nothing {
    fn summary(&self, _: bool) -> BoxFuture<'_, Value> {
        Box::pin(async { json!({"node": {"nodeName": ""}, "pods": []}) })
    }

    fn resource(&self) -> BoxFuture<'_, String> {
        Box::pin(async { String::new() })
    }
}
