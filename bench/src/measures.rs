//! What can be measured on a Kubernetes API. Each measure works in the namespace `kedge-bench`, on objects that an earlier
//! one may have left there, and can be run alone.

mod lists;
mod objects;
mod scheduling;
mod watches;

use bytes::Bytes;
use clap::ValueEnum;
use http::Method;

use crate::connect::Connection;
use crate::kubeconfig::Target;
use crate::report::Line;
use crate::{BenchError, Size};

pub(crate) use self::scheduling::Load;

pub(crate) const NAMESPACE: &str = "/api/v1/namespaces/kedge-bench";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// Create ConfigMaps of --bytes
    CreateConfigmaps,
    /// Get one ConfigMap by name, over and over
    Get,
    /// Replace ConfigMaps
    UpdateConfigmaps,
    /// Create Pods of about 3 KiB
    CreatePods,
    /// Patch the status of those Pods
    PatchStatus,
    /// List all Pods at once
    List,
    /// List all Pods in pages of 500
    PagedList,
    /// 100 watchers, 2,000 events as fast as they come
    WatchFanout,
    /// 100 watchers, 50 events a second: how late they are
    WatchLatency,
    /// Delete the Pods one by one
    DeletePods,
    /// Delete the ConfigMaps one by one
    DeleteConfigmaps,
    /// 5,000 pods get their nodes, of 200 that are registered for it
    BindPods,
    /// The same on 5,000 nodes, with spread constraints and anti-affinity
    BindPickyPods,
}

impl Measure {
    pub(crate) fn all() -> Vec<Self> {
        Self::value_variants().to_vec()
    }
}

/// The API under test.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) target: Target,
    pub(crate) size: Size,
    pub(crate) server: Option<u32>,
}

impl Api {
    pub(crate) async fn run(&self, measure: Measure) -> Result<Line, BenchError> {
        self.make_namespace().await?;
        match measure {
            Measure::CreateConfigmaps => self.create_config_maps().await,
            Measure::Get => self.get_config_map().await,
            Measure::UpdateConfigmaps => self.update_config_maps().await,
            Measure::CreatePods => self.create_pods().await,
            Measure::PatchStatus => self.patch_status().await,
            Measure::List => self.list(None).await,
            Measure::PagedList => self.list(Some(500)).await,
            Measure::WatchFanout => self.watch_fanout(100, 2_000).await,
            Measure::WatchLatency => self.watch_latency(100, 50, 500).await,
            Measure::DeletePods => self.delete("pods", "pod", self.size.count).await,
            Measure::DeleteConfigmaps => self.delete("configmaps", "config", self.size.count).await,
            Measure::BindPods => self.bind(Load::PLAIN).await,
            Measure::BindPickyPods => self.bind(Load::PICKY).await,
        }
    }

    /// Makes the namespace unless it is there, and its service account, which stock Kubernetes wants before pods.
    pub(crate) async fn make_namespace(&self) -> Result<(), BenchError> {
        let mut connection = Connection::open(&self.target).await?;
        for (path, body) in [
            (
                "/api/v1/namespaces",
                r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kedge-bench"}}"#,
            ),
            (
                "/api/v1/namespaces/kedge-bench/serviceaccounts",
                r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#,
            ),
        ] {
            match connection
                .drain(Method::POST, path, "application/json", Bytes::from_static(body.as_bytes()))
                .await
            {
                Ok(_) | Err(BenchError::Answer { code: 409, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
