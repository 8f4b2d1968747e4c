//! Typed access to the objects of one kind, by the API. What reads and writes a kind is `Watched` and `Written`, built once for each:
//! `kube::Api` would have both built anew wherever it is used. Whoever awaits has what it awaits built into its own crate, so what
//! is the same for all kinds is awaited here, in a box.

mod events;

use std::marker::PhantomData;

use futures::StreamExt;
use futures::future::BoxFuture;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::core::request::Error as RequestError;
use kube::{Client, Error, Resource};
use serde_json::Value;

pub use self::events::{Event, Events};
use crate::Fields;
use crate::wire::{WatchError, pages};
use crate::world::{Watched, Written};

/// The objects of a kind, everywhere or in one namespace.
pub struct Objects<K> {
    client: Client,
    path: String,
    kind: PhantomData<fn() -> K>,
}

impl<K: Watched> Objects<K> {
    pub fn all(client: &Client) -> Self {
        Self { client: client.clone(), path: K::url_path(&(), None), kind: PhantomData }
    }

    pub fn within(client: &Client, namespace: &str) -> Self
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Self { client: client.clone(), path: K::url_path(&(), Some(namespace)), kind: PhantomData }
    }

    pub async fn get(&self, name: &str) -> Result<K, Error> {
        read(&ask(&self.client, self.request().get(name, &GetParams::default())).await?)
    }

    /// Nothing if there is none of that name.
    pub async fn find(&self, name: &str) -> Result<Option<K>, Error> {
        match self.get(name).await {
            Err(Error::Api(status)) if status.code == 404 => Ok(None),
            found => found.map(Some),
        }
    }

    pub async fn list(&self, params: &ListParams) -> Result<Vec<K>, Error> {
        let mut found = Vec::new();
        let mut show = |object: &[u8]| K::read(object).map(|object| found.push(object));
        pages(&self.client, &self.path, params.clone(), &mut show).await?;
        Ok(found)
    }

    pub async fn patch(&self, name: &str, params: &PatchParams, patch: &Patch<Value>) -> Result<K, Error> {
        read(&ask(&self.client, patching(&self.path, name, params, patch)).await?)
    }

    pub async fn delete(&self, name: &str, params: &DeleteParams) -> Result<(), Error> {
        ask(&self.client, self.request().delete(name, params)).await.map(drop)
    }

    /// All of them that a selector of fields or labels selects, and then what changes, for as long as somebody listens.
    pub fn events(&self, selected: ListParams) -> Events<K> {
        events::events(self.client.clone(), self.path.clone(), selected)
    }

    /// The object as it is once something holds for it, or for its absence.
    pub async fn until(
        &self,
        name: &str,
        holds: impl Fn(Option<&K>) -> bool,
    ) -> Result<Option<K>, WatchError> {
        let mut events = self.events(ListParams::default().fields(&format!("metadata.name={name}")));
        loop {
            let now = match events.next().await.transpose()? {
                Some(Event::All(mut found)) => found.pop(),
                Some(Event::Put(object)) => Some(object),
                Some(Event::Gone(_)) | None => None,
            };
            if holds(now.as_ref()) {
                return Ok(now);
            }
        }
    }

    fn request(&self) -> Request {
        Request::new(&*self.path)
    }
}

type Asking = Result<http::Request<Vec<u8>>, RequestError>;

fn ask(client: &Client, request: Asking) -> BoxFuture<'static, Result<String, Error>> {
    let client = client.clone();
    Box::pin(async move { client.request_text(request.map_err(Error::BuildRequest)?).await })
}

fn patching(path: &str, name: &str, params: &PatchParams, patch: &Patch<Value>) -> Asking {
    Request::new(path).patch(name, params, patch)
}

impl<K: Written> Objects<K> {
    pub async fn create(&self, object: &K) -> Result<K, Error> {
        let request = self.request().create(&PostParams::default(), text(&object.write())?);
        read(&ask(&self.client, request).await?)
    }

    pub async fn replace(&self, name: &str, object: &K) -> Result<K, Error> {
        let request = self.request().replace(name, &PostParams::default(), text(&object.write())?);
        read(&ask(&self.client, request).await?)
    }
}

fn read<K: Watched>(text: &str) -> Result<K, Error> {
    K::read(text.as_bytes()).map_err(Error::SerdeError)
}

fn text(object: &Fields) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(object).map_err(Error::SerdeError)
}

#[cfg(test)]
mod tests;
