//! The registry's handle: what it is made of, and reading one object. Writing, listing and watching are beside it.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use kedge_clock::Clock;
use kedge_kinds::{Kind, Status};
use kedge_reach::Reach;
use kedge_store::{Entry, Revision, Snapshot, Store};
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::watch;

use crate::authorizer::Authorizer;
use crate::catalog::Catalog;
use crate::doors::Doors;
use crate::events;
use crate::gate::Gate;
use crate::list::Pins;
use crate::quota::{self, Quotas};
use crate::request::At;
use crate::served::Served;
use crate::services::{Allocator, keeping, repair};
use crate::{bootstrap, convert, custom, encode, failure, key, measured, namespaces, subresource};

/// How a cluster is laid out, as far as the registry must know it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where Services get their addresses from: one range, or one of each family, the preferred first.
    pub service_cidrs: Vec<(IpAddr, u8)>,
    pub node_ports: RangeInclusive<u16>,
    pub cluster_domain: String,
    /// Where the API server itself can be reached: what `default/kubernetes` leads to.
    pub api_address: Option<(IpAddr, u16)>,
    /// Other servers may share the store: where they are is said by [`Registry::announce`], which somebody has to run.
    pub has_peers: bool,
    /// Makes the Service of the cluster's DNS: nodes answer at its address.
    pub dns_service: bool,
    /// Gives each namespace its default ServiceAccount.
    pub namespace_worker: bool,
    /// Gives pods a volume with their account's token; somebody must publish the authority's certificate then.
    pub mount_tokens: bool,
    /// How long an event stays after it was last written; for ever, if not said.
    pub event_ttl: Option<Duration>,
    /// Lists the kinds of [`crate::measured`] among the others; whoever serves the API has to answer for them.
    pub measures: bool,
    /// Counts what is used under quotas that are new, were changed or may be wrong.
    pub quota_worker: bool,
    /// Serves what CustomResourceDefinitions define, and removes it with them.
    pub definition_worker: bool,
    /// How long a webhook may take to convert objects.
    pub conversion_patience: Duration,
    /// Admission from outside, in the order in which it is asked.
    pub gates: Vec<Arc<dyn Gate>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service_cidrs: vec![(IpAddr::V4(Ipv4Addr::new(10, 96, 0, 0)), 16)],
            node_ports: 30000..=32767,
            cluster_domain: "cluster.local".to_owned(),
            api_address: None,
            has_peers: false,
            dns_service: false,
            namespace_worker: true,
            mount_tokens: false,
            measures: false,
            quota_worker: true,
            event_ttl: Some(Duration::from_secs(3600)),
            definition_worker: true,
            // As long as Kubernetes waits.
            conversion_patience: Duration::from_secs(30),
            gates: Vec::new(),
        }
    }
}

/// Everything that the API can do, without HTTP. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) options: Options,
    pub(crate) pins: Pins,
    pub(crate) allocator: Allocator,
    pub(crate) quotas: Quotas,
    pub(crate) definitions: custom::Definitions,
    reach: Reach,
    catalog: RwLock<Arc<Catalog>>,
    /// Told whenever the catalog was replaced.
    replaced: watch::Sender<()>,
    authorizer: OnceLock<Arc<dyn Authorizer>>,
}

/// An object as it is served.
#[derive(Clone, Debug)]
pub struct Found {
    pub served: Served,
    pub revision: Revision,
}

/// What a write left behind.
#[derive(Clone, Debug)]
pub struct Written {
    pub bytes: Bytes,
    pub revision: Revision,
    pub created: bool,
    pub warnings: Vec<String>,
}

impl Registry {
    /// Opens the API on a store and makes what every cluster has, if it isn't there yet.
    pub async fn start(store: Store, clock: Clock, options: Options) -> Result<Self, Status> {
        let registry = Self::bare(store, clock, options);
        Pins::sweep(&registry.inner, registry.inner.clock.clone(), |inner| &inner.pins);
        // Services get no addresses of a range that nobody looks after, those of the cluster itself among them.
        if let Err(status) = keeping::everything(&registry).await {
            tracing::warn!("cannot look after the ranges of services: {status}");
        }
        bootstrap::run(&registry).await?;
        // A server whose records can't be set right still serves; it says so.
        if let Err(status) = repair::everything(&registry).await {
            tracing::warn!("cannot check what services hold: {status}");
        }
        repair::spawn(&registry);
        keeping::spawn(&registry);
        if registry.inner.options.definition_worker {
            custom::load(&registry)?;
            custom::spawn(&registry);
        }
        if registry.inner.options.namespace_worker {
            namespaces::spawn(&registry);
        }
        if registry.inner.options.quota_worker {
            quota::spawn(&registry);
        }
        if let Some(life) = registry.inner.options.event_ttl {
            events::spawn(&registry, life);
        }
        Ok(registry)
    }

    fn bare(store: Store, clock: Clock, options: Options) -> Self {
        let allocator = Allocator::new(&options);
        let definitions = custom::Definitions::beside(if options.measures { measured::kinds() } else { &[] });
        let reach = Reach::new(Arc::new(Doors::new(store.clone())));
        let inner = Inner {
            store,
            clock,
            pins: Pins::default(),
            allocator,
            options,
            quotas: Quotas::default(),
            catalog: RwLock::new(Arc::new(definitions.catalog())),
            definitions,
            reach,
            replaced: watch::Sender::new(()),
            authorizer: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.catalog.read().clone()
    }

    /// Serves other kinds from now on.
    pub fn replace_catalog(&self, catalog: Catalog) {
        *self.inner.catalog.write() = Arc::new(catalog);
        self.inner.replaced.send_replace(());
        self.inner.quotas.count_all_anew();
    }

    /// Waits until the kind is no longer served as it is here: its definition is another one now, or gone.
    pub fn superseded(&self, kind: &Arc<Kind>) -> impl Future<Output = ()> + Send + use<> {
        let mut replaced = self.inner.replaced.subscribe();
        let (registry, kind) = (self.clone(), kind.clone());
        async move {
            let is_served = || {
                let catalog = registry.catalog();
                let now = catalog.kind(&kind.gv.group, &kind.gv.version, &kind.plural);
                now.is_some_and(|now| Arc::ptr_eq(now, &kind))
            };
            while is_served() {
                // The registry that is held here has the other end.
                let _told = replaced.changed().await;
            }
        }
    }

    /// Says who may what, to those rules that ask. The first one given stays.
    pub fn set_authorizer(&self, authorizer: Arc<dyn Authorizer>) {
        let _ = self.inner.authorizer.set(authorizer);
    }

    pub fn authorizer(&self) -> Option<&Arc<dyn Authorizer>> {
        self.inner.authorizer.get()
    }

    /// Calls the webhooks that convert objects.
    pub(crate) fn reach(&self) -> &Reach {
        &self.inner.reach
    }

    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// `resource_version`: empty for the newest state, `0` for any, a number for one not older than that.
    pub async fn get(&self, at: &At, resource_version: &str) -> Result<Found, Status> {
        let snapshot = self.snapshot_for(resource_version).await?;
        let name = at.name.as_deref().unwrap_or_default();
        let entry = self.entry(&snapshot, at)?;
        if at.subresource.as_deref() == Some("scale") {
            let scale = subresource::scale::of(at, name, &self.object(at, &entry).await?)?;
            return Ok(Found { served: Served::Made(encode::plain(&scale)), revision: entry.modified() });
        }
        let revision = entry.modified();
        Ok(Found { served: self.served(at, entry).await?, revision })
    }

    /// The stored form of an object, for those in this process who need it whole.
    pub(crate) fn entry(&self, snapshot: &Snapshot, at: &At) -> Result<Entry, Status> {
        let name = at.name.as_deref().unwrap_or_default();
        let key = key::object(&at.kind, at.namespace.as_deref(), name);
        snapshot.get(&key).cloned().ok_or_else(|| Status::not_found(&at.kind, name))
    }

    async fn snapshot_for(&self, resource_version: &str) -> Result<Snapshot, Status> {
        match resource_version {
            "" => self.inner.store.latest().await.map_err(failure::status),
            "0" => Ok(self.inner.store.snapshot()),
            text => {
                let asked: Revision = text.parse().map_err(|_| {
                    failure::bare(format!(
                        "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                    ))
                })?;
                let snapshot = self.inner.store.latest().await.map_err(failure::status)?;
                if asked > snapshot.revision() {
                    return Err(failure::too_new(asked, snapshot.revision()));
                }
                Ok(snapshot)
            }
        }
    }

    /// What a client of this version of the kind gets.
    pub(crate) async fn served(&self, at: &At, entry: Entry) -> Result<Served, Status> {
        if at.kind.rules.is_some() {
            let shown = custom::show(&self.catalog(), &at.kind, &entry, entry.modified())?;
            return Ok(Served::Made(match shown {
                Some(bytes) => bytes,
                None => self.served_all(at, &[(entry.clone(), entry.modified())]).await?.swap_remove(0),
            }));
        }
        if !convert::is_needed(&at.kind) {
            return Ok(Served::Stored(entry));
        }
        let object = convert::to_served(&at.kind, parse(&entry)?);
        Ok(Served::Made(encode::encode(&object).with_revision(entry.modified().get())))
    }

    /// Many objects of a custom kind, each with when it took its form.
    pub(crate) async fn served_all(
        &self,
        at: &At,
        entries: &[(Entry, Revision)],
    ) -> Result<Vec<Bytes>, Status> {
        Box::pin(custom::served(self, &at.kind, entries)).await
    }

    /// An object as the path around a write sees it: in the stored version, of a custom kind in that of the request.
    pub(crate) async fn object(&self, at: &At, entry: &Entry) -> Result<Value, Status> {
        match at.kind.rules {
            Some(_) => Box::pin(custom::read(self, &at.kind, entry)).await,
            None => parse(entry),
        }
    }

    /// The bytes of an object to be stored.
    pub(crate) async fn encoded(&self, at: &At, object: &Value) -> Result<encode::Encoded, Status> {
        if at.kind.rules.is_some() && at.kind.gv != at.kind.stored_as {
            let stored = Box::pin(custom::stored(self, &at.kind, object.clone())).await?;
            return Ok(encode::encode(&stored));
        }
        Ok(encode::encode(object))
    }
}

/// What lies in the store was written by us; that it can't be read is the server's failure, not the client's.
pub(crate) fn parse(entry: &Entry) -> Result<Value, Status> {
    parse_bytes(entry.bytes())
}

pub(crate) fn parse_bytes(bytes: &[u8]) -> Result<Value, Status> {
    serde_json::from_slice(bytes).map_err(unreadable)
}

pub(crate) fn unreadable(error: serde_json::Error) -> Status {
    Status::internal(format!("a stored object can't be read: {error}"))
}
