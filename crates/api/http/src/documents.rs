//! Documents about the API: what is served and in which shape. Made once for each set of kinds, then only handed out.

mod schema;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::header::{ETAG, HOST, HeaderValue, IF_NONE_MATCH};
use http::request::Parts;
use kedge_kinds::Status;
use kedge_registry::Catalog;

use crate::aggregate::{Listing, merged};
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::discovery::{self, AggregatedVersion, Discovery};
use crate::etag::fingerprint;
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
        return match extended(api, &made, parts)? {
            Some(answer) => Ok(Some(answer)),
            None => discovered(&made, parts),
        };
    }
    // Making the documents takes a while the first time; other requests need not wait for it.
    let asked = schema::Asked::of(parts);
    let answer = tokio::task::spawn_blocking(move || schema::answer(&made.openapi, &asked)).await;
    let answer = answer
        .map_err(|error| Status::internal(error.to_string()))?
        .map_err(|error| Status::internal(error.to_string()))?;
    let schemas = api.aggregation().schemas();
    if schemas.is_empty() || parts.uri.path().trim_end_matches('/') != "/openapi/v3" {
        return Ok(answer);
    }
    Ok(answer.map(|answer| with_schemas(answer, schemas)))
}

/// The index of schemas with those of extension servers.
fn with_schemas(answer: Answer, schemas: Vec<(String, String)>) -> Answer {
    let bytes = answer.into_body().gathered();
    let mut index: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    for (place, url) in schemas {
        index["paths"][place] = serde_json::json!({ "serverRelativeURL": url });
    }
    answer::document(200, &index, media::Format::Json, false)
}

/// A list of groups in which extension servers have a part; `None` if they have none.
fn extended(api: &Api, made: &Made, parts: &Parts) -> Result<Option<Answer>, Status> {
    if api.aggregation().is_empty() {
        return Ok(None);
    }
    let path = parts.uri.path().trim_matches('/');
    let segments: Vec<&str> = path.split('/').collect();
    let aggregated = aggregated(media::accept_text(&parts.headers));
    let (listing, ours) = match (segments.as_slice(), aggregated) {
        (["apis"], Some(version)) => {
            (Listing::Aggregated, Some(made.discovery.aggregated_groups(version).body.clone()))
        }
        (["apis"], None) => (Listing::Plain, Some(made.discovery.groups())),
        (["apis", group], _) => (Listing::Group(group), made.discovery.group(group)),
        _ => return Ok(None),
    };
    let Some(document) = merged(api.aggregation(), listing, ours.as_deref()) else { return Ok(None) };
    let bytes: bytes::Bytes = document.to_string().into();
    if let (Listing::Aggregated, Some(version)) = (listing, aggregated) {
        let etag = fingerprint(&bytes);
        return Ok(Some(tagged(parts, version, &discovery::Answer { body: bytes, etag })));
    }
    let format = media::negotiate(&parts.headers, media::Offer::ANY)?.format;
    answer::stored(200, &bytes, format, false).map(Some)
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
    answer::stored(200, &document, format, false).map(Some)
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
