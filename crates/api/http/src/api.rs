//! Everything that handlers share: the registry, who may what, limits, counters. Made once, held by every router.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kedge_clock::Clock;
use kedge_kinds::{Details, Reason, Status};
use kedge_registry::{Registry, User};
use prometheus_client::registry::Registry as Registered;
use tokio::sync::watch;

use crate::access::Access;
use crate::aggregate::{Aggregation, FrontProxy};
use crate::audit::Audit;
use crate::connect::{Connections, NodeClient};
use crate::documents::Documents;
use crate::fairness::Fairness;
use crate::limit::Limits;
use crate::metrics::Metrics;
use crate::protobuf::Lists;
use crate::rbac::{Ask, Rbac, What};
use crate::token::Tokens;
use crate::usage::Readings;

/// What a server can be told about itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// Signs service-account tokens: a PKCS#8 PEM of an ECDSA P-256 key.
    pub signing_key: String,
    /// What tokens name as their issuer and default audience.
    pub issuer: String,
    /// Where clients reach this server: `https://10.0.0.1:6443`. Empty: where the issuer says.
    pub address: String,
    /// Every name and address under which clients may look for this server: no node gets a certificate for one.
    pub names: Vec<String>,
    /// Who we are to extension servers; nobody without it.
    pub front_proxy: Option<Arc<FrontProxy>>,
    /// Who we are to nodes; they are not reached without it.
    pub node_client: Option<Arc<NodeClient>>,
    /// Where requests are recorded; none are where there is none.
    pub audit: Option<Audit>,
    /// Tokens that are good for ever: bootstrap and tests.
    pub static_tokens: HashMap<String, User>,
    pub max_reads_in_flight: usize,
    pub max_writes_in_flight: usize,
    /// Beyond this, new connections wait in the kernel's queue.
    pub max_connections: u32,
    pub patience: Patience,
    /// Shown by `/version`.
    pub version: Version,
    /// What other parts of this process count, shown by `/metrics` behind our own.
    pub figures: Arc<Registered>,
}

/// How long a client may take to send something: who takes longer has gone away or wants to tie us up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The head of a request. Also how long an idle HTTP/1 connection is kept; Kubernetes' clients expect about this.
    pub head: Duration,
    /// The body of a request, from the end of its head.
    pub body: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { head: Duration::from_secs(90), body: Duration::from_secs(60) }
    }
}

#[derive(Clone, Debug)]
pub struct Version {
    /// Kubernetes' API level: `v1.36.0+kedge0.1.0`.
    pub git_version: String,
    pub git_commit: String,
    pub build_date: String,
}

impl Options {
    pub fn new(signing_key: String) -> Self {
        Self {
            signing_key,
            issuer: "https://kubernetes.default.svc.cluster.local".to_owned(),
            address: String::new(),
            names: Vec::new(),
            front_proxy: None,
            node_client: None,
            audit: None,
            static_tokens: HashMap::new(),
            max_reads_in_flight: 400,
            max_writes_in_flight: 200,
            max_connections: 10_000,
            patience: Patience::default(),
            version: Version {
                git_version: concat!("v1.36.0+kedge", env!("CARGO_PKG_VERSION")).to_owned(),
                git_commit: String::new(),
                build_date: "1970-01-01T00:00:00Z".to_owned(),
            },
            figures: Arc::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the key for service-account tokens cannot be used")]
    SigningKey(#[from] kedge_pki::PkiError),
    #[error("the key for service-account tokens cannot be used")]
    Token(#[from] jsonwebtoken::errors::Error),
}

pub(crate) struct Api {
    registry: Registry,
    access: Arc<Access>,
    aggregation: Aggregation,
    connections: Connections,
    readings: Readings,
    tokens: Tokens,
    options: Options,
    limits: Limits,
    fairness: Fairness,
    lists: Lists,
    metrics: Metrics,
    documents: Documents,
    stopping: watch::Sender<bool>,
}

impl Api {
    pub(crate) fn new(registry: Registry, options: Options) -> Result<Arc<Self>, StartError> {
        let public = kedge_pki::public_key(&options.signing_key)?;
        let clock = registry.clock().clone();
        let access = Arc::new(Access::new(registry.store()));
        registry.set_authorizer(access.clone());
        Ok(Arc::new(Self {
            access,
            aggregation: Aggregation::new(registry.store(), options.front_proxy.clone()),
            connections: Connections::new(registry.store(), options.node_client.clone()),
            readings: Readings::default(),
            tokens: Tokens::new(options.issuer.clone(), &options.signing_key, &public, clock)?,
            limits: Limits::new(options.max_writes_in_flight),
            lists: Lists::default(),
            fairness: Fairness::new(
                registry.store().clone(),
                options.max_reads_in_flight + options.max_writes_in_flight,
            ),
            metrics: Metrics::new(options.figures.clone()),
            documents: Documents::default(),
            stopping: watch::Sender::new(false),
            registry,
            options,
        }))
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.registry.clock()
    }

    pub(crate) fn aggregation(&self) -> &Aggregation {
        &self.aggregation
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// What nodes said they use.
    pub(crate) fn readings(&self) -> &Readings {
        &self.readings
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    pub(crate) fn rbac(&self) -> &Rbac {
        &self.access.rbac
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// How long lists in protobuf were.
    pub(crate) fn lists(&self) -> &Lists {
        &self.lists
    }

    pub(crate) fn fairness(&self) -> &Fairness {
        &self.fairness
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Turns true once the server is to end.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub(crate) fn patience(&self) -> Patience {
        self.options.patience
    }

    pub(crate) fn most_connections(&self) -> u32 {
        self.options.max_connections
    }

    pub(crate) fn audit(&self) -> Option<&Audit> {
        self.options.audit.as_ref()
    }

    /// Where clients reach this server.
    pub(crate) fn address(&self) -> &str {
        if self.options.address.is_empty() { &self.options.issuer } else { &self.options.address }
    }

    /// Every name and address under which clients may look for this server.
    pub(crate) fn names(&self) -> &[String] {
        &self.options.names
    }

    pub(crate) fn version(&self) -> &Version {
        &self.options.version
    }

    pub(crate) fn static_token(&self, token: &str) -> Option<User> {
        self.options.static_tokens.get(token).cloned()
    }

    pub(crate) fn allows(&self, user: &User, ask: &Ask<'_>) -> bool {
        self.access.check(user, ask, "").is_ok()
    }

    /// Refuses, in Kubernetes' words, what the user may not do.
    pub(crate) fn allow(&self, user: &User, ask: &Ask<'_>) -> Result<(), Status> {
        self.allow_of(user, ask, "")
    }

    /// The same for a request that selects by fields: some may only see what is theirs.
    pub(crate) fn allow_of(&self, user: &User, ask: &Ask<'_>, fields: &str) -> Result<(), Status> {
        self.access.check(user, ask, fields).map_err(|why| forbidden(user, ask, &why))
    }
}

fn forbidden(user: &User, ask: &Ask<'_>, why: &str) -> Status {
    let Ask { verb, what } = ask;
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let who = &user.name;
    match *what {
        What::Path(path) => {
            let message = format!("forbidden: User {who:?} cannot {verb} path {path:?}{why}");
            Status::new(403, Reason::Forbidden, message).with(Details::default())
        }
        What::Resource { group, resource, subresource, namespace, name } => {
            let qualified =
                if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
            let named = if name.is_empty() { qualified } else { format!("{qualified} {name:?}") };
            let full = if subresource.is_empty() {
                resource.to_owned()
            } else {
                format!("{resource}/{subresource}")
            };
            let scope = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {namespace:?}")
            };
            let message = format!(
                "{named} is forbidden: User {who:?} cannot {verb} resource {full:?} in API group {group:?} {scope}{why}"
            );
            let details = Details {
                name: name.to_owned(),
                group: group.to_owned(),
                kind: resource.to_owned(),
                ..Details::default()
            };
            Status::new(403, Reason::Forbidden, message).with(details)
        }
    }
}
