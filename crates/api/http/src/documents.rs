//! Documents about the API: what is served and in which shape. Made once for each set of kinds, then only handed out.

mod schema;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::header::{ETAG, HOST, HeaderValue, IF_NONE_MATCH};
use http::request::Parts;
use kedge_kinds::Status;
use kedge_registry::Catalog;

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::discovery::{self, AggregatedVersion, Discovery};
use crate::openapi::OpenApi;
use crate::{body::Body, media};

#[derive(Default)]
pub(crate) struct Documents {
    made: ArcSwapOption<Made>,
}

struct Made {
    catalog: Arc<Catalog>,
    discovery: Discovery,
    openapi: OpenApi,
}

impl Documents {
    fn of(&self, catalog: Arc<Catalog>) -> Arc<Made> {
        if let Some(made) = &*self.made.load()
            && Arc::ptr_eq(&made.catalog, &catalog)
        {
            return made.clone();
        }
        let discovery = Discovery::new(catalog.kinds());
        let before = self.made.load_full();
        let openapi = OpenApi::after(before.as_ref().map(|made| &made.openapi), catalog.kinds());
        let made = Arc::new(Made { catalog, discovery, openapi });
        self.made.store(Some(made.clone()));
        made
    }
}

/// `None` if the path names no document.
pub(crate) async fn answer(api: &Api, parts: &Parts) -> Result<Option<Answer>, Status> {
    let made = api.documents().of(api.registry().catalog());
    if !parts.uri.path().starts_with("/openapi/") {
        return discovered(&made, parts);
    }
    // Making the documents takes a while the first time; other requests need not wait for it.
    let asked = schema::Asked::of(parts);
    let answer = tokio::task::spawn_blocking(move || schema::answer(&made.openapi, &asked)).await;
    answer
        .map_err(|error| Status::internal(error.to_string()))?
        .map_err(|error| Status::internal(error.to_string()))
}

fn discovered(made: &Made, parts: &Parts) -> Result<Option<Answer>, Status> {
    let path = parts.uri.path().trim_matches('/');
    let segments: Vec<&str> = path.split('/').collect();
    let discovery = &made.discovery;
    let aggregated = aggregated(media::accept_text(&parts.headers));
    let document = match (segments.as_slice(), aggregated) {
        ([""], _) => return Ok(Some(paths(&made.catalog))),
        (["api"], Some(version)) => {
            return Ok(Some(tagged(parts, version, discovery.aggregated_core(version))));
        }
        (["apis"], Some(version)) => {
            return Ok(Some(tagged(parts, version, discovery.aggregated_groups(version))));
        }
        (["api"], None) => {
            let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
            let host = host
                .or_else(|| parts.uri.authority().map(http::uri::Authority::as_str))
                .unwrap_or("localhost");
            Some(discovery.core_versions(host))
        }
        (["apis"], None) => Some(discovery.groups()),
        (["api", version], _) => discovery.resources("", version),
        (["apis", group], _) => discovery.group(group),
        (["apis", group, version], _) => discovery.resources(group, version),
        _ => None,
    };
    let Some(document) = document else { return Ok(None) };
    let format = media::negotiate(&parts.headers, media::Offer::ANY)?.format;
    answer::stored(200, document, format, false).map(Some)
}

/// Whether the client prefers the aggregated form, and in which version.
fn aggregated(accept: &str) -> Option<AggregatedVersion> {
    accept.split(',').find_map(|clause| {
        if !clause.contains("as=APIGroupDiscoveryList") || clause.contains("protobuf") {
            return None;
        }
        match clause {
            clause if clause.contains("v=v2beta1") => Some(AggregatedVersion::V2Beta1),
            clause if clause.contains("v=v2") => Some(AggregatedVersion::V2),
            _ => None,
        }
    })
}

fn tagged(parts: &Parts, version: AggregatedVersion, found: &discovery::Answer) -> Answer {
    let content_type = match version {
        AggregatedVersion::V2 => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        AggregatedVersion::V2Beta1 => {
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
        }
    };
    with_etag(parts, answer::of(200, content_type, found.body.clone()), &found.etag)
}

/// Sends nothing but 304 to a client that has this content already.
fn with_etag(parts: &Parts, mut answer: Answer, etag: &str) -> Answer {
    let quoted = format!("\"{etag}\"");
    let known = parts.headers.get(IF_NONE_MATCH).and_then(|header| header.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|one| one.trim() == quoted)) {
        *answer.status_mut() = http::StatusCode::NOT_MODIFIED;
        *answer.body_mut() = Body::default();
    }
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        answer.headers_mut().insert(ETAG, value);
    }
    answer
}

fn paths(catalog: &Catalog) -> Answer {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for version in catalog.groups() {
        match version.group.is_empty() {
            true => paths.push(format!("/api/{}", version.version)),
            false => {
                paths.push(format!("/apis/{}", version.group));
                paths.push(format!("/apis/{version}"));
            }
        }
    }
    paths.sort();
    paths.dedup();
    answer::document(200, &serde_json::json!({ "paths": paths }), media::Format::Json, true)
}
