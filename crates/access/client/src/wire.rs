//! Lists and watches as they come over the wire. Knows no kind: objects stay JSON here until somebody who knows theirs reads them, so
//! that all of this is built once and not once for each kind.

mod frames;

use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::Client;
use kube::api::{ListParams, WatchParams};
use serde::Deserialize;
use serde_json::value::RawValue;

pub use self::frames::FrameError;
pub(crate) use self::frames::{Frame, Frames, revision};
use crate::world::Revision;

const PAGE: u32 = 500;

/// Why a watch broke off.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("the server no longer has that revision")]
    Gone,
    #[error("the server does not do that: {0}")]
    Refused(String),
    #[error("{0}")]
    Api(Box<kube::Error>),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("the server reported {0}")]
    Reported(String),
    #[error("the server gave no usable revision")]
    NoRevision,
}

impl WatchError {
    /// Nobody is there any more to ask: this process is ending.
    pub(crate) fn is_the_end(&self) -> bool {
        let Self::Api(error) = self else { return false };
        matches!(&**error, kube::Error::Service(cause) if cause.is::<tower::buffer::error::Closed>())
    }
}

impl From<kube::Error> for WatchError {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if status.code == 410 => Self::Gone,
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => {
                Self::Refused(status.message.clone())
            }
            _ => Self::Api(Box::new(error)),
        }
    }
}

impl From<kube::core::Status> for WatchError {
    fn from(status: kube::core::Status) -> Self {
        match status.code {
            410 => Self::Gone,
            code => Self::Reported(format!("{code} {}", status.message)),
        }
    }
}

/// Begins a watch.
pub(crate) async fn watch(
    client: &Client,
    path: &str,
    params: &WatchParams,
    version: &str,
) -> Result<Frames, WatchError> {
    let request = kube::core::Request::new(path).watch(params, version).map_err(kube::Error::BuildRequest)?;
    Ok(Frames::new(client.request_stream(request).await?))
}

/// A part of a list, its objects not read yet.
#[derive(Deserialize)]
struct Page<'a> {
    metadata: ListMeta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Takes one object.
pub(crate) type Show<'a> = dyn FnMut(&[u8]) -> Result<(), serde_json::Error> + Send + 'a;

/// Shows every object of a list, page by page. Gives the list's revision.
pub(crate) fn pages<'a>(
    client: &'a Client,
    path: &'a str,
    params: ListParams,
    show: &'a mut Show<'_>,
) -> BoxFuture<'a, Result<Option<Revision>, kube::Error>> {
    Box::pin(read_pages(client, path, params, show))
}

async fn read_pages(
    client: &Client,
    path: &str,
    mut params: ListParams,
    show: &mut Show<'_>,
) -> Result<Option<Revision>, kube::Error> {
    params.limit = Some(PAGE);
    loop {
        let request = kube::core::Request::new(path).list(&params).map_err(kube::Error::BuildRequest)?;
        let text = client.request_text(request).await?;
        let page: Page<'_> = serde_json::from_str(&text).map_err(kube::Error::SerdeError)?;
        for item in page.items {
            show(item.get().as_bytes()).map_err(kube::Error::SerdeError)?;
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(page.metadata.resource_version.as_deref().and_then(Revision::parse)),
        }
    }
}
