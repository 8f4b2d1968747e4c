//! The engine for several servers: the truth is in etcd, reads come from a mirror of it in memory. A commit is one etcd
//! transaction that compares modification revisions. Knows no kind; its revisions are etcd's.

mod client;
mod mirror;
mod request;
mod value;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::client::Client;
use self::mirror::Mirror;
use crate::error::{EtcdAttempt, Stop, StoreError};
use crate::seal::Seal;
use crate::watch::{Hub, Limits};
use crate::{Committed, Expect, Revision, Txn, apply};

/// How to use an etcd cluster.
#[derive(Clone)]
pub struct EtcdOptions {
    /// Stands in front of every key, so that one cluster can serve others too.
    pub prefix: String,
    pub tls: Option<EtcdTls>,
    /// What watches can be resumed over.
    pub ring: Limits,
    /// How often etcd's history is cut short. It keeps what happened between the last two cuts.
    pub compact_every: Duration,
    /// How long etcd may take to answer, and the mirror to follow.
    pub patience: Duration,
    /// What keeps some values from standing in the clear.
    pub seal: Option<Arc<dyn Seal>>,
}

impl std::fmt::Debug for EtcdOptions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EtcdOptions")
            .field("prefix", &self.prefix)
            .field("sealed", &self.seal.is_some())
            .finish_non_exhaustive()
    }
}

/// Files' contents in PEM: whom to trust and who we are.
#[derive(Clone)]
pub struct EtcdTls {
    pub ca: Vec<u8>,
    /// A client certificate and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for EtcdTls {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A private key must not end up in a log.
        out.debug_struct("EtcdTls").field("identity", &self.identity.is_some()).finish_non_exhaustive()
    }
}

impl Default for EtcdOptions {
    fn default() -> Self {
        EtcdOptions {
            prefix: "/kedge".to_owned(),
            tls: None,
            ring: Limits::default(),
            compact_every: Duration::from_secs(300),
            patience: Duration::from_secs(10),
            seal: None,
        }
    }
}

pub(crate) struct Etcd {
    client: Client,
    hub: Arc<Hub>,
    /// Others have been seen to write to the same etcd outside of our prefix.
    shared: Arc<AtomicBool>,
    /// One tick serves everyone who waits.
    ticking: tokio::sync::Mutex<()>,
    patience: Duration,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Etcd {
    pub(crate) async fn connect(
        endpoints: &[String],
        options: EtcdOptions,
    ) -> Result<(Arc<Hub>, Self), StoreError> {
        let client = Client::new(endpoints, &options)?;
        let state = mirror::load(&client).await?;
        let hub = Arc::new(Hub::new(state.clone(), options.ring));
        let shared = Arc::new(AtomicBool::new(false));
        let mirror = Mirror { client: client.clone(), hub: hub.clone(), shared: shared.clone(), state };
        let tasks = vec![
            tokio::spawn(mirror.run()),
            tokio::spawn(compact(client.clone(), hub.clone(), options.compact_every)),
        ];
        let etcd = Etcd {
            client,
            hub: hub.clone(),
            shared,
            ticking: tokio::sync::Mutex::new(()),
            patience: options.patience,
            tasks: Mutex::new(tasks),
        };
        if options.seal.is_some() {
            etcd.renew().await?;
        }
        Ok((hub, etcd))
    }

    /// Writes again what stands in etcd otherwise than it would be written today. Etcd's history of before is gone when
    /// it is next cut short.
    async fn renew(&self) -> Result<(), StoreError> {
        for (key, at, draft) in mirror::old(&self.client).await? {
            match self.commit(&Txn::new().put(key, Expect::At(at), draft)).await {
                // Somebody wrote it meanwhile, and thereby anew.
                Err(StoreError::Conflict { .. }) => {}
                done => drop(done?),
            }
        }
        Ok(())
    }

    pub(crate) async fn commit(&self, txn: &Txn) -> Result<Committed, StoreError> {
        if self.hub.is_stopped() {
            return Err(StoreError::Stopped { why: Stop::Closed });
        }
        apply::refuse_nonsense(txn)?;
        let response = self.client.txn(request::encode(txn, &self.client)?).await?;
        let revision = client::revision(response.header.as_ref());
        let outcome = request::decode(txn, &self.client, response);
        // Also after a refusal: a caller that reads again in order to try again must find what it was refused for.
        self.follow(revision).await?;
        outcome
    }

    /// Waits until the mirror holds everything that etcd holds now.
    pub(crate) async fn catch_up(&self) -> Result<(), StoreError> {
        let revision = self.client.newest().await?;
        self.follow(revision).await
    }

    /// Waits until the mirror is at `revision`. Others may write to the same etcd outside of our prefix; their
    /// revisions come with no event for us, so we make one. (Asking etcd's watch for its progress would be simpler, but
    /// before 3.4.25 and 3.5.8 it told of progress ahead of the events.)
    async fn follow(&self, revision: Revision) -> Result<(), StoreError> {
        let reached = async {
            let soon = Duration::from_millis(if self.shared.load(Ordering::Relaxed) { 5 } else { 250 });
            if timeout(soon, self.hub.reached(revision)).await.is_ok() {
                return Ok(());
            }
            let _one_at_a_time = self.ticking.lock().await;
            if self.hub.revision() < revision {
                self.client.tick().await?;
                self.hub.reached(revision).await;
            }
            Ok(())
        };
        timeout(self.patience, reached).await.unwrap_or_else(|_| {
            Err(StoreError::Etcd {
                attempt: EtcdAttempt::CatchUp,
                source: Box::new(tonic::Status::deadline_exceeded(format!(
                    "the mirror is at revision {}, not yet at {revision}",
                    self.hub.revision()
                ))),
            })
        })
    }

    pub(crate) fn close(&self) {
        for task in self.tasks.lock().drain(..) {
            task.abort();
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.close();
    }
}

/// Cuts etcd's history short at where it was one period ago. Several servers may do so at once: none of them asks for
/// more than a period's worth to be forgotten.
async fn compact(client: Client, hub: Arc<Hub>, every: Duration) {
    let (mut last, mut done) = (Revision::ZERO, Revision::ZERO);
    loop {
        tokio::time::sleep(every).await;
        if last > done {
            match client.compact(last).await {
                Ok(()) => done = last,
                Err(error) => tracing::warn!(%error, "etcd's history could not be cut short"),
            }
        }
        last = hub.revision();
    }
}
