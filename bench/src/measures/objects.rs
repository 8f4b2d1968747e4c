//! One object per request: create, get, update, patch, delete.

use bytes::Bytes;
use http::Method;

use super::{Api, NAMESPACE};
use crate::BenchError;
use crate::connect::Connection;
use crate::load;
use crate::objects;
use crate::report::Line;

const JSON: &str = "application/json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// An operation's request.
struct Call {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Bytes,
}

fn get(object: &str) -> Call {
    let path = format!("{NAMESPACE}/{object}");
    Call { method: Method::GET, path, content_type: "", body: Bytes::new() }
}

impl Api {
    async fn each<F>(&self, measure: &str, count: usize, call: F) -> Result<Line, BenchError>
    where
        F: Fn(usize) -> Call + Clone + Send + Sync + 'static,
    {
        let mut open = load::open(&self.target, self.size.connections).await?;
        self.each_on(&mut open, measure, count, call).await
    }

    async fn each_on<F>(
        &self,
        open: &mut Vec<Connection>,
        measure: &str,
        count: usize,
        call: F,
    ) -> Result<Line, BenchError>
    where
        F: Fn(usize) -> Call + Clone + Send + Sync + 'static,
    {
        let connections = open.len();
        let seen = load::on(open, count, self.server, move |mut connection, number| {
            let call = call(number);
            async move {
                let read = connection.drain(call.method, &call.path, call.content_type, call.body).await?;
                Ok((connection, read))
            }
        });
        Ok(seen.await?.line(measure, connections))
    }

    /// Gets one object, over and over, over connections that stay open.
    pub(crate) async fn gets_on(
        &self,
        open: &mut Vec<Connection>,
        object: &'static str,
    ) -> Result<Line, BenchError> {
        self.each_on(open, "get", self.size.count, move |_| get(object)).await
    }

    pub(super) async fn create_config_maps(&self) -> Result<Line, BenchError> {
        self.config_maps_from("create-configmap", 0).await
    }

    /// Creates as many as `--count` says, numbered from `first` on.
    pub(crate) async fn config_maps_from(&self, measure: &str, first: usize) -> Result<Line, BenchError> {
        let bytes = self.size.bytes;
        self.each(measure, self.size.count, move |number| Call {
            method: Method::POST,
            path: format!("{NAMESPACE}/configmaps"),
            content_type: JSON,
            body: objects::config_map(&format!("config-{}", first + number), bytes),
        })
        .await
    }

    pub(crate) async fn get_config_map(&self) -> Result<Line, BenchError> {
        self.each("get-configmap", self.size.count, |_| get("configmaps/config-0")).await
    }

    pub(super) async fn update_config_maps(&self) -> Result<Line, BenchError> {
        self.config_map_updates("update-configmap", 0, self.size.count).await
    }

    /// Replaces `--count` ConfigMaps in turn, of which there are `there`, numbered from `first`.
    pub(crate) async fn config_map_updates(
        &self,
        measure: &str,
        first: usize,
        there: usize,
    ) -> Result<Line, BenchError> {
        let bytes = self.size.bytes;
        self.each(measure, self.size.count, move |number| {
            let name = format!("config-{}", first + number % there);
            // Longer than it is at creation and than in the round before, or the update would change nothing.
            let body = objects::config_map(&name, bytes + 1 + number / there);
            Call {
                method: Method::PUT,
                path: format!("{NAMESPACE}/configmaps/{name}"),
                content_type: JSON,
                body,
            }
        })
        .await
    }

    pub(super) async fn create_pods(&self) -> Result<Line, BenchError> {
        self.each("create-pod", self.size.count, |number| Call {
            method: Method::POST,
            path: format!("{NAMESPACE}/pods"),
            content_type: JSON,
            body: objects::pod(&format!("pod-{number}")),
        })
        .await
    }

    pub(super) async fn patch_status(&self) -> Result<Line, BenchError> {
        self.each("patch-pod-status", self.size.count, |number| Call {
            method: Method::PATCH,
            path: format!("{NAMESPACE}/pods/pod-{number}/status"),
            content_type: STRATEGIC,
            body: objects::pod_status(number),
        })
        .await
    }

    pub(super) async fn delete(
        &self,
        resource: &'static str,
        stem: &str,
        count: usize,
    ) -> Result<Line, BenchError> {
        let stem = stem.to_owned();
        self.each(&format!("delete-{resource}"), count, move |number| Call {
            method: Method::DELETE,
            path: format!("{NAMESPACE}/{resource}/{stem}-{number}?gracePeriodSeconds=0"),
            content_type: "",
            body: Bytes::new(),
        })
        .await
    }
}
